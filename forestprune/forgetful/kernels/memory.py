"""What a tree remembers: which rows it forgets, where it keeps new ones, and their order."""

from __future__ import annotations

import numpy as np

from forestprune.forgetful.kernels.draws import below, mix
from forestprune.forgetful.kernels.layout import (
    AT_RANDOM,
    CALLS,
    FREE,
    FRESH,
    GONE,
    HELD,
    SEED,
    Batch,
    Bytes,
    Room,
    Rules,
    Trees,
)
from formulations.arrays import FloatArray, IntArray
from formulations.kernels.compiled import kernel, view_kernel

# Rows that are sorted by counting.
_RUN = 128

# Unsigned, so that indexing needs no check for negative numbers.
_ONE = np.uint64(1)

# Keys of draws for different purposes.
FORGETTING, SPLITTING = 0x466F72, 0x53706C


@kernel
def sort_batch(X: FloatArray, order: IntArray) -> bool:
    """Sort the rows of X (b, F) by every feature into ``order`` (F, b); equal values as given.

    Returns whether that is possible: not with a NaN.

    In runs of rows the place of each is the number of those before it: many comparisons, but
    side by side and without a branch, which is fastest for few rows. Runs are then merged.
    """
    b = X.shape[0]
    x = np.empty(b + 15)
    equal = np.empty(_RUN, dtype=np.int64)
    merged = np.empty(b, dtype=np.int32)
    for f in range(X.shape[1]):
        for i in range(b):
            x[i] = X[i, f]
            if x[i] != x[i]:
                return False
        rows = order[f, :b]
        for begin in range(0, b, _RUN):
            end = min(b, begin + _RUN)
            # Whole vectors of numbers: those after the last row count for none.
            padded = (end - begin + 15) // 16 * 16
            for j in range(end - begin, padded):
                x[begin + j] = np.inf
            equal[: end - begin] = 0
            for i in range(end - begin):
                value = x[begin + i]
                place = np.int64(0)
                for number in x[begin : begin + padded]:
                    place += number < value
                rows[begin + place + equal[place]] = begin + i
                equal[place] += 1
        width = _RUN
        while width < b:
            for begin in range(0, b, 2 * width):
                middle, end = min(b, begin + width), min(b, begin + 2 * width)
                i, j = begin, middle
                for to in range(begin, end):
                    if j >= end or (i < middle and x[rows[i]] <= x[rows[j]]):
                        merged[to] = rows[i]
                        i += 1
                    else:
                        merged[to] = rows[j]
                        j += 1
            rows[:] = merged
            width *= 2
    return True


@view_kernel
def forget(new: int, r_size: int, tree: Trees, rules: Rules, gone: Bytes) -> None:
    """Mark in ``gone`` the slots of the rows to forget.

    So many old rows are forgotten that at most ``r_size`` remain with the ``new`` ones, which
    are never forgotten at once. A draw without replacement takes as many steps as it draws
    (Floyd's algorithm).
    """
    state, arrival = tree.state, tree.arrival
    held = state[HELD]
    count = held - min(held, max(0, r_size - new))
    if rules.whole[AT_RANDOM] and count < held:
        key = mix(np.uint64(state[SEED]) ^ np.uint64(FORGETTING), np.uint64(state[CALLS]))
        for j in range(held - count, held):
            place = below(key, np.uint64(j), j + 1)
            gone[arrival[j if gone[arrival[place]] else place]] = 1
    else:
        for j in range(count):
            gone[arrival[j]] = 1


@view_kernel
def settle(t: int, batch: Batch, tree: Trees, room: Room) -> int:
    """Keep the rows of the batch in free slots, and bring the order of arrival up to date.

    The slots of forgotten rows stay as they are until the next update. Their list and that of
    the new rows go to ``room.changed``; how many these are is returned.
    """
    state, arrival, free = tree.state, tree.arrival, tree.free
    gone, fresh, changed = room.flag[GONE], room.flag[FRESH], room.changed[0]
    n_changed = kept = 0
    for j in range(state[HELD]):
        slot = arrival[j]
        leaves = gone[slot]
        changed[n_changed] = 2 * slot
        arrival[kept] = slot
        n_changed += leaves
        kept += 1 - leaves
    n_gone = n_changed
    n_free = state[FREE]
    weighted = batch.weight.shape[0] > 0
    for i in range(batch.X.shape[0]):
        weight = batch.weight[t, i] if weighted else 1
        if weight == 0:
            room.place[i] = -1
            continue
        n_free -= 1
        slot = free[n_free]
        room.place[i] = slot
        for f in range(batch.X.shape[1]):
            tree.X[f, slot] = batch.X[i, f]
        if tree.label.shape[0] == 0:
            tree.target[slot] = batch.target[i]
        else:
            tree.label[slot] = batch.label[i]
            if tree.coded.shape[0] > 0:
                tree.coded[slot] = 2 * weight + batch.label[i]
        tree.weight[slot] = weight
        fresh[slot] = 1
        arrival[kept] = slot
        kept += 1
        changed[n_changed] = 2 * slot + 1
        n_changed += 1
    for j in range(n_gone):
        free[n_free] = changed[j] >> 1
        n_free += 1
    state[HELD], state[FREE] = kept, n_free
    return n_changed


@view_kernel
def merge(
    held: int,
    x: FloatArray,
    order: IntArray,
    sorted_batch: IntArray,
    place: IntArray,
    gone: Bytes,
    merged: IntArray,
) -> int:
    """Merge the sorted batch into the kept order without the forgotten rows; return the length.

    Old rows come before new ones of the same value.
    """
    at, end, stop = np.uint64(0), np.uint64(0), np.uint64(held)
    for row in sorted_batch:
        if place[row] < 0:
            continue
        new = np.uint32(place[row])
        value = x[new]
        while at < stop and x[order[at]] <= value:
            merged[end] = order[at]
            end += _ONE - np.uint64(gone[order[at]])
            at += _ONE
        merged[end] = new
        end += _ONE
    while at < stop:
        merged[end] = order[at]
        end += _ONE - np.uint64(gone[order[at]])
        at += _ONE
    return int(np.int64(end))


@view_kernel
def min_g_inc(held: int, batch: Batch, tree: Trees, room: Room) -> None:
    """minGInc: bring the rows sorted by each feature up to date, and hand them to the root.

    Only the batch was sorted; ``held`` rows were held before it. Which boundary is best `min_g`
    finds in these orders: at the root, and below in those that the children inherit.
    """
    b = batch.X.shape[0]
    for f in range(tree.X.shape[0]):
        if tree.usable[f]:
            merged = room.order[0, f]
            end = merge(
                held,
                tree.X[f],
                tree.order[f],
                batch.sorted[f, :b],
                room.place,
                room.flag[GONE],
                merged,
            )
            for j in range(end):
                tree.order[f, j] = merged[j]
