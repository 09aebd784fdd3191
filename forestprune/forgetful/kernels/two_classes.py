"""The best boundary between rows of two classes, with a close look only where it may lie."""

from __future__ import annotations

import numpy as np

from formulations.arrays import FloatArray, IntArray
from formulations.kernels.compiled import view_kernel

# Rows whose boundaries are ruled out together.
CHUNK = 32
# Less than 1 by more than the rounding of a comparison.
_ROUNDING = 1.0 - 1e-9
# The tally of rows is their weight plus 2³² times the weight of those of class 1.
ONES_SHIFT, WEIGHT_MASK = 32, 0xFFFFFFFF


@view_kernel
def two_class_score(
    left: float, left_ones: float, total: float, ones: float, table: IntArray
) -> float:
    """Score a boundary by the weights on its left; convex in both of them.

    Gini (without a table) is d² / (n_left · n_right), d = n · ones_left − ones · n_left; entropy
    is Σ T(l) − T(n_left) + Σ T(r) − T(n_right) + T(n) with the table of T(n) = n log₂ n.
    """
    right = total - left
    if table.shape[0] == 0:
        d = total * left_ones - ones * left
        return d * d / (left * right)
    n, k = np.uint64(left), np.uint64(left_ones)
    m, j = np.uint64(right), np.uint64(ones - left_ones)
    on_left = table[k] + table[n - k] - table[n]
    return np.float64(on_left + table[j] + table[m - j] - table[m] + table[n + m])


@view_kernel
def may_exceed(
    left: float, left_ones: float, total: float, ones: float, table: IntArray, best: float
) -> bool:
    """Whether a score can be above ``best``: with rounding in doubt, and without a division."""
    if table.shape[0] == 0:
        d = total * left_ones - ones * left
        return d * d > best * _ROUNDING * (left * (total - left))
    return two_class_score(left, left_ones, total, ones, table) > best * _ROUNDING


@view_kernel
def gini_may_exceed(
    lefts: IntArray, left_ones: IntArray, total: float, ones: float, best: float
) -> bool:
    """Whether one of several boundaries can have a score above ``best``, all side by side."""
    bound = best * _ROUNDING
    above = 0
    for j in range(lefts.shape[0]):
        left, k = np.float64(lefts[j]), np.float64(left_ones[j])
        d = total * k - ones * left
        above += int(d * d > bound * (left * (total - left)))
    return above > 0


@view_kernel
def entropy_may_exceed(
    low: float,
    low_ones: float,
    high: float,
    high_ones: float,
    total: float,
    ones: float,
    table: IntArray,
    best: float,
) -> bool:
    """Whether a boundary between two others can have a score above ``best``.

    A convex function is largest at a corner of the parallelogram of what can lie between: the
    two ends, all rows of class 1 first, or all rows of class 0 first.
    """
    new = high_ones - low_ones
    return (
        may_exceed(low + new, high_ones, total, ones, table, best)
        or may_exceed(high - new, low_ones, total, ones, table, best)
        or may_exceed(low, low_ones, total, ones, table, best)
        or may_exceed(high, high_ones, total, ones, table, best)
    )


@view_kernel
def scan_rows(
    rows: IntArray,
    lefts: IntArray,
    left_ones: IntArray,
    x: FloatArray,
    total: float,
    ones: float,
    min_leaf: float,
    table: IntArray,
    best: float,
) -> tuple[float, int]:
    """Return the best score of the boundaries between consecutive rows, and its rows on the left.

    Without a score above the ``best`` given it is returned, and no rows.
    """
    count = 0
    most = total - min_leaf
    for j in range(rows.shape[0] - 1):
        left, k = np.float64(lefts[j]), np.float64(left_ones[j])
        if (
            may_exceed(left, k, total, ones, table, best)
            and min_leaf <= left <= most
            and x[rows[j]] != x[rows[j + 1]]
        ):
            score = two_class_score(left, k, total, ones, table)
            if score > best:
                best, count = score, j + 1
    return best, count


@view_kernel
def scan_two_classes(
    order: IntArray,
    low: int,
    high: int,
    X: FloatArray,
    features: IntArray,
    coded: IntArray,
    total: float,
    ones: float,
    min_leaf: float,
    table: IntArray,
    prefix: IntArray,
) -> tuple[float, int, int, int]:
    """Find the best boundary of the rows at ``low`` … ``high`` of the orders by some features.

    ``features`` ascend. Of each, first the weights up to each row and the best score after every
    `CHUNK`-th; then all boundaries of the chunks that may hold a better one.

    Returns
    -------
    score, feature, count, tally
        The score, −1 where no boundary is allowed; rows on the left and their tally.
    """
    n = high - low
    lefts, left_ones = prefix[0, :n], prefix[1, :n]
    best, feature, count, at_best = -1.0, -1, 0, 0
    for f in features:
        rows, x = order[f, low:high], X[f]
        weight = weight_ones = np.int64(0)
        for j in range(n):
            code = np.int64(coded[rows[j]])
            weight += code >> 1
            weight_ones += (code >> 1) & -(code & 1)
            lefts[j], left_ones[j] = weight, weight_ones
        floor = best
        for j in range(CHUNK - 1, n - 1, CHUNK):
            left, k = np.float64(lefts[j]), np.float64(left_ones[j])
            if (
                may_exceed(left, k, total, ones, table, floor)
                and min_leaf <= left <= total - min_leaf
                and x[rows[j]] != x[rows[j + 1]]
            ):
                floor = max(floor, two_class_score(left, k, total, ones, table))
        if floor > best:
            # Just below, so that the first boundary of this score is found.
            best = np.nextafter(floor, -1.0)
        low_weight = low_ones = 0.0
        for begin in range(0, n - 1, CHUNK):
            end = min(begin + CHUNK, n - 1)
            if best < 0.0:
                look = True
            elif table.shape[0] == 0:
                look = gini_may_exceed(lefts[begin:end], left_ones[begin:end], total, ones, best)
            else:
                high_weight, high_ones = np.float64(lefts[end - 1]), np.float64(left_ones[end - 1])
                look = entropy_may_exceed(
                    low_weight, low_ones, high_weight, high_ones, total, ones, table, best
                )
                low_weight, low_ones = high_weight, high_ones
            if look:
                score, passed = scan_rows(
                    rows[begin : end + 1],
                    lefts[begin:end],
                    left_ones[begin:end],
                    x,
                    total,
                    ones,
                    min_leaf,
                    table,
                    best,
                )
                if passed > 0:
                    best, feature, count = score, f, begin + passed
                    ones_then = np.int64(left_ones[count - 1])
                    at_best = lefts[count - 1] + (ones_then << ONES_SHIFT)
    return best if feature >= 0 else -1.0, feature, count, at_best
