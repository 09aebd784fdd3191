"""From a node to its children: their rows, sorted by each feature, and what changed in them."""

from __future__ import annotations

import numpy as np

from forestprune.forgetful.kernels.layout import Bytes
from formulations.arrays import FloatArray, IntArray
from formulations.kernels.compiled import view_kernel

# Unsigned, so that indexing needs no check for negative numbers.
_ONE = np.uint64(1)


@view_kernel
def separates_alike(
    rows: IntArray, count: int, x: FloatArray, old: float, new: float, fresh: Bytes
) -> bool:
    """Whether no remembered row lies between the old and the new threshold.

    ``rows`` are sorted by ``x``; ``count`` of them are left of the new threshold.
    """
    if old > new:
        for j in range(count, rows.shape[0]):
            if x[rows[j]] > old:
                break
            if not fresh[rows[j]]:
                return False
    else:
        for j in range(count - 1, -1, -1):
            if x[rows[j]] <= old:
                break
            if not fresh[rows[j]]:
                return False
    return True


@view_kernel
def divide_changes(
    changed: IntArray, x: FloatArray, old: float, new: float, out: IntArray, end: int
) -> tuple[int, int]:
    """Write the changes of the left child, then those of the right one, to ``out`` from ``end``.

    Rows that came go by the new threshold, rows that went by the one they had come by.
    """
    middle = end
    for side in range(2):
        for change in changed:
            threshold = new if change & 1 else old
            if (x[change >> 1] > threshold) == side:
                out[end] = change
                end += 1
        if side == 0:
            middle = end
    return middle, end


@view_kernel
def copy_rows(rows: IntArray, out: IntArray) -> None:
    """Copy rows to the beginning of ``out``."""
    for j in range(rows.shape[0]):
        out[j] = rows[j]


@view_kernel
def divide_rows(rows: IntArray, marked: Bytes, right: np.uint8, count: int, out: IntArray) -> None:
    """Copy the ``count`` rows of the left child to ``out``, then those of the right one.

    Both keep their order. The rows of the right child are those whose mark is ``right``.
    """
    to_left, to_right = np.uint64(0), np.uint64(count)
    for slot in rows:
        goes_left = np.uint64(marked[slot] ^ right)
        out[to_left if goes_left else to_right] = slot
        to_left += goes_left
        to_right += _ONE - goes_left


@view_kernel
def select_rows(rows: IntArray, marked: Bytes, wanted: np.uint8, out: IntArray) -> None:
    """Copy the rows of one child, whose mark is ``wanted``, to ``out``; they keep their order."""
    to = np.uint64(0)
    for slot in rows:
        out[to] = slot
        to += _ONE - np.uint64(marked[slot] ^ wanted)


@view_kernel
def hand_down(
    f: int,
    low: int,
    count: int,
    high: int,
    children: int,
    order: IntArray,
    usable: Bytes,
    marked: Bytes,
    out: IntArray,
) -> None:
    """Give the children of a node their rows, sorted by each feature, by a stable partition.

    ``children`` is 1 for the left one alone, 2 for the right one alone, which both begin at
    ``low``, and 3 for both, side by side. Only the rows of the smaller one are marked.
    """
    split = order[f, low:high]
    n = high - low
    mark_right = 2 * count > n
    smaller = split[count:] if mark_right else split[:count]
    for slot in smaller:
        marked[slot] = 1
    for g in range(order.shape[0]):
        if not usable[g]:
            continue
        if g == f:
            if children == 2:
                copy_rows(split[count:], out[g, low:high])
            else:
                copy_rows(split, out[g, low:high])
        elif children == 3:
            divide_rows(
                order[g, low:high],
                marked,
                np.uint8(mark_right),
                count,
                out[g, low:high],
            )
        else:
            select_rows(
                order[g, low:high],
                marked,
                np.uint8(mark_right == (children == 2)),
                out[g, low:high],
            )
    for slot in smaller:
        marked[slot] = 0
