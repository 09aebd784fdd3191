"""Small trees, passed as a whole: rows have a bit for each leaf that they can still reach.

A split that sends a row to the right takes from it the leaves on the left. When all splits of
the tree have been looked at, whichever would have been met, the lowest bit left is the row's
leaf. That is more work a tree than going down, and none of it waits for other work: rows are
compared many at a time. Lucchese et al., "QuickScorer: A Fast Algorithm to Rank Documents with
Additive Ensembles of Regression Trees", SIGIR 2015.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from formulations.arrays import BoolArray, FloatArray, IntArray, frozen
from formulations.kernels.compiled import kernel

# The number of leaves that a mask has bits for.
MOST_LEAVES = 64

# Rows that all trees pass over before the next ones come: so many that a tree's start does not
# count, and so few that their features stay in a near cache.
_BLOCK, _LEAST, _CACHE_BYTES = 1024, 64, 2**19

_ALL = np.uint64(2**64 - 1)
# A de Bruijn sequence: its products with powers of two differ in their six highest bits.
_SEQUENCE, _SIX = np.uint64(0x03F79D71B4CB0A89), np.uint64(58)


class Masks(NamedTuple):
    """Splits of the trees of at most `MOST_LEAVES` leaves, one tree after the other.

    ``tree`` (small,) says which trees these are, ``start`` where each begins among the splits,
    and ``node`` (small, 64) which node of the tree a lowest bit stands for, by its product with
    the sequence. Of a split ``column`` is its feature's place in ``features``, all that are
    split on; ``threshold`` is of the rows' own type; ``mask`` are the leaves that a row has left
    which goes right; ``word`` is its row in ``categories``, −1 for numbers.
    """

    tree: IntArray
    start: IntArray
    node: IntArray
    features: IntArray
    column: IntArray
    threshold: npt.NDArray[Any]
    missing_left: BoolArray
    mask: npt.NDArray[np.uint64]
    word: IntArray
    categories: npt.NDArray[np.uint64]


def masks_of(
    start: IntArray,
    leaves: IntArray,
    feature: IntArray,
    threshold: FloatArray,
    left: IntArray,
    missing_left: BoolArray,
    categories: npt.NDArray[np.uint64],
    dtype: str,
) -> Masks:
    """Return masks for rows of a dtype; arguments as in `traversal.Nodes`."""
    tree = np.flatnonzero(leaves <= MOST_LEAVES)
    begin: IntArray = np.concatenate([[0], np.cumsum(leaves[tree] - 1)]).astype(np.int64)
    split: IntArray = np.empty(begin[-1], dtype=np.int64)
    mask = np.empty(begin[-1], dtype=np.uint64)
    node = np.zeros((len(tree), MOST_LEAVES), dtype=np.int32)
    _fill_masks(tree, start, left, begin, split, mask, node)
    begin, split, mask = _merged(begin, split, mask, feature, threshold, missing_left)
    features, column = np.unique(feature[split], return_inverse=True)
    parts = (
        tree,
        begin,
        node,
        features.astype(np.int64),
        column.astype(np.int64),
        rounded_down(threshold[split], dtype),
        missing_left[split],
        mask,
        np.where(np.isnan(threshold[split]), split, -1),
        categories,
    )
    return Masks(*(frozen(part) for part in parts))


def _merged(
    begin: IntArray,
    split: IntArray,
    mask: npt.NDArray[np.uint64],
    feature: IntArray,
    threshold: FloatArray,
    missing_left: BoolArray,
) -> tuple[IntArray, IntArray, npt.NDArray[np.uint64]]:
    """Return splits of which each tree has each number only once.

    What goes right at equal splits loses all their left leaves. In trees with one split a layer
    there are no more than layers, instead of nodes.
    """
    if not len(split):
        return begin, split, mask
    tree = np.repeat(np.arange(len(begin) - 1), np.diff(begin))
    keys = tree, feature[split], threshold[split], missing_left[split]
    order = np.lexsort(keys[::-1])
    # No two NaN are equal, so that no categorical splits are merged.
    new = np.any([key[order][1:] != key[order][:-1] for key in keys], axis=0)
    first = np.flatnonzero(np.concatenate([[True], new]))
    kept = np.bincount(tree[order[first]], minlength=len(begin) - 1)
    starts = np.concatenate([[0], np.cumsum(kept)]).astype(np.int64)
    return starts, split[order[first]], np.bitwise_and.reduceat(mask[order], first)


def rounded_down(threshold: FloatArray, dtype: str) -> npt.NDArray[Any]:
    """Return the largest numbers of a dtype that are not above: these compare in the same way."""
    with np.errstate(over="ignore"):
        nearest = threshold.astype(dtype)
    above = nearest > threshold
    nearest[above] = np.nextafter(nearest[above], np.dtype(dtype).type(-np.inf))
    return nearest


@kernel
def _fill_masks(
    tree: IntArray,
    start: IntArray,
    left: IntArray,
    begin: IntArray,
    split: IntArray,
    mask: npt.NDArray[np.uint64],
    node: IntArray,
) -> None:
    """Fill in which leaves each split takes away; leaves are counted from the left."""
    below = np.empty(2 * MOST_LEAVES, dtype=np.int64)
    lowest = np.empty(2 * MOST_LEAVES, dtype=np.int64)
    one = np.uint64(1)
    for k in range(tree.shape[0]):
        first = start[tree[k]]
        count = start[tree[k] + 1] - first
        for at in range(count - 1, -1, -1):
            child = left[first + at]
            below[at] = 1 if child == at else below[child] + below[child + 1]
        lowest[0] = 0
        place = begin[k]
        for at in range(count):
            child = left[first + at]
            bit = one << np.uint64(lowest[at])
            if child == at:
                node[k, (bit * _SEQUENCE) >> _SIX] = at
                continue
            lowest[child], lowest[child + 1] = lowest[at], lowest[at] + below[child]
            lost = ((one << np.uint64(below[child])) - one) * bit
            split[place], mask[place] = first + at, ~lost
            place += 1


@kernel
def _reach(
    masks: Masks, k: int, columns: npt.NDArray[Any], reached: npt.NDArray[np.uint64]
) -> None:
    """Fill the place (rows,) in ``masks.node`` of the leaf of each row in the k-th small tree."""
    count = reached.shape[0]
    reached[:] = _ALL
    for s in range(masks.start[k], masks.start[k + 1]):
        x, limit, mask = columns[masks.column[s]], masks.threshold[s], masks.mask[s]
        if masks.word[s] >= 0:
            _reach_by_category(masks, s, x, reached)
        elif masks.missing_left[s]:
            for j in range(count):
                reached[j] = reached[j] & mask if x[j] > limit else reached[j]
        else:
            for j in range(count):
                reached[j] = reached[j] if x[j] <= limit else reached[j] & mask
    for j in range(count):
        lowest = reached[j] & (~reached[j] + np.uint64(1))
        reached[j] = (lowest * _SEQUENCE) >> _SIX


@kernel
def _reach_by_category(
    masks: Masks, s: int, x: npt.NDArray[Any], reached: npt.NDArray[np.uint64]
) -> None:
    """Take the leaves on the left from rows whose category is not in a split's set."""
    words = masks.categories[masks.word[s]]
    end = 64.0 * words.shape[0]
    for j in range(reached.shape[0]):
        stays = masks.missing_left[s]
        if not np.isnan(x[j]):
            stays = False
            if -1.0 < x[j] < end:
                code = np.int64(x[j])
                stays = (words[code >> 6] >> np.uint64(code & 63)) & np.uint64(1) != 0
        if not stays:
            reached[j] &= masks.mask[s]


@kernel
def _rows_at_once(masks: Masks, X: npt.NDArray[Any]) -> int:
    wide = max(masks.features.shape[0] * X.itemsize, 1)
    return int(min(_BLOCK, max(_LEAST, _CACHE_BYTES // wide)))


@kernel
def _turn(masks: Masks, X: npt.NDArray[Any], begin: int, count: int, columns: Any) -> None:
    """Lay out a block of rows by its columns, those that are split on."""
    for j in range(count):
        for f in range(masks.features.shape[0]):
            columns[f, j] = X[begin + j, masks.features[f]]


@kernel
def find_small_trees(
    masks: Masks,
    start: IntArray,
    leaf: IntArray,
    X: npt.NDArray[Any],
    codes: npt.NDArray[np.unsignedinteger[Any]],
) -> None:
    """Write the number of the leaf of each row in each small tree to its row of ``codes``."""
    block = _rows_at_once(masks, X)
    columns = np.empty((masks.features.shape[0], block), dtype=X.dtype)
    reached = np.empty(block, dtype=np.uint64)
    table = np.empty(MOST_LEAVES, dtype=codes.dtype)
    for begin in range(0, X.shape[0] if masks.tree.shape[0] else 0, block):
        count = min(block, X.shape[0] - begin)
        _turn(masks, X, begin, count, columns)
        for k in range(masks.tree.shape[0]):
            i = masks.tree[k]
            _reach(masks, k, columns, reached[:count])
            for s in range(MOST_LEAVES):
                table[s] = leaf[start[i] + masks.node[k, s]]
            for j in range(count):
                codes[i, begin + j] = table[reached[j]]


@kernel
def add_small_trees(
    masks: Masks,
    start: IntArray,
    X: npt.NDArray[Any],
    value: FloatArray,
    prediction: FloatArray,
) -> None:
    """Add the value (nodes, q) of the leaf of each row in each small tree."""
    block = _rows_at_once(masks, X)
    columns = np.empty((masks.features.shape[0], block), dtype=X.dtype)
    reached = np.empty(block, dtype=np.uint64)
    table = np.empty(MOST_LEAVES)
    total = np.empty((value.shape[1], block))
    for begin in range(0, X.shape[0] if masks.tree.shape[0] else 0, block):
        count = min(block, X.shape[0] - begin)
        _turn(masks, X, begin, count, columns)
        total[:] = 0.0
        for k in range(masks.tree.shape[0]):
            _reach(masks, k, columns, reached[:count])
            for o in range(value.shape[1]):
                adds = False
                for s in range(MOST_LEAVES):
                    table[s] = value[start[masks.tree[k]] + masks.node[k, s], o]
                    adds = adds or table[s] != 0.0
                if adds:  # a tree of one class among many leaves all other sums alone
                    own = total[o]
                    for j in range(count):
                        own[j] += table[reached[j]]
        for j in range(count):
            for o in range(value.shape[1]):
                prediction[begin + j, o] += total[o, j]
