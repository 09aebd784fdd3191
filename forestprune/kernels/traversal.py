"""Compiled passes of rows through trees.

Trees of many leaves are gone down node by node (here); small ones are passed as a whole, with
a bit for each leaf (`masks`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from forestprune.kernels.masks import Masks, add_small_trees, find_small_trees, masks_of
from forestprune.trees import Tree
from formulations.arrays import BoolArray, FloatArray, IntArray, frozen
from formulations.kernels.compiled import kernel

# Rows that go down a tree side by side, so that their memory accesses overlap.
_ABREAST = 16


class Nodes(NamedTuple):
    """Arrays of `Tree` of all trees, one tree after the other.

    At a leaf ``left`` is the leaf itself, its feature 0, its threshold +inf and
    ``missing_left`` true, so that a row that has arrived stays; ``leaf`` is the number of the
    leaf in its tree. ``start`` is where each tree begins, with one entry more than trees;
    ``leaves`` is the number of leaves of each tree, ``categorical`` whether it splits by
    category.
    """

    start: IntArray
    depth: IntArray
    leaves: IntArray
    categorical: BoolArray
    feature: IntArray
    threshold: FloatArray
    left: IntArray
    missing_left: BoolArray
    leaf: IntArray
    categories: npt.NDArray[np.uint64]


class Passes(NamedTuple):
    """What is needed to pass rows through all trees: ``large`` are the trees without masks."""

    nodes: Nodes
    masks: Masks
    large: IntArray


def join_trees(trees: Sequence[Tree], dtype: str) -> Passes:
    """Lay the nodes of at least one tree side by side, for rows of a dtype."""

    def of(name: str) -> npt.NDArray[Any]:
        return np.concatenate([getattr(tree, name) for tree in trees])

    start = np.concatenate([[0], np.cumsum([tree.n_nodes for tree in trees])]).astype(np.int64)
    depth = np.array([tree.depth for tree in trees], dtype=np.int64)
    by_category = np.array([tree.categories is not None for tree in trees])
    own = of("feature"), of("threshold"), of("left"), of("missing_left")
    leaf, leaves = np.empty(start[-1], dtype=np.int32), np.empty(len(trees), dtype=np.int64)
    _hold_at_leaves(start, *own, leaf, leaves)
    bits = _categories(trees)
    nodes = Nodes(
        *(frozen(array) for array in (start, depth, leaves, by_category, *own, leaf, bits))
    )
    masks = masks_of(start, leaves, *own, bits, dtype)
    return Passes(nodes, masks, frozen(np.setdiff1d(np.arange(len(trees)), masks.tree)))


def _categories(trees: Sequence[Tree]) -> npt.NDArray[np.uint64]:
    """Return `Tree.categories` of all trees, in as many words as the widest has."""
    widths = [0 if tree.categories is None else tree.categories.shape[1] for tree in trees]
    if not any(widths):
        return np.empty((0, 0), dtype=np.uint64)
    bits = np.zeros((sum(tree.n_nodes for tree in trees), max(widths)), dtype=np.uint64)
    begin = 0
    for tree, width in zip(trees, widths, strict=True):
        if tree.categories is not None:
            bits[begin : begin + tree.n_nodes, :width] = tree.categories
        begin += tree.n_nodes
    return bits


@kernel
def _hold_at_leaves(
    start: IntArray,
    feature: IntArray,
    threshold: FloatArray,
    left: IntArray,
    missing_left: BoolArray,
    leaf: IntArray,
    leaves: IntArray,
) -> None:
    """Count the leaves of each tree, and make them hold the rows that arrive."""
    for i in range(start.shape[0] - 1):
        number = 0
        for node in range(start[i], start[i + 1]):
            leaf[node] = number
            if left[node] < 0:
                feature[node], threshold[node] = 0, np.inf
                left[node], missing_left[node] = node - start[i], True
                number += 1
        leaves[i] = number


@kernel
def descend(nodes: Nodes, i: int, X: npt.NDArray[Any], begin: int, at: IntArray) -> None:
    """Send rows ``begin``, … of X (m, features) down tree i; ``at`` receives their nodes."""
    first = nodes.start[i]
    count = at.shape[0]
    at[:] = 0
    if nodes.categorical[i]:
        for j in range(count):
            at[j] = _leaf_by_category(nodes, i, X, begin + j)
        return
    for _ in range(nodes.depth[i]):
        moved = False
        for j in range(count):
            node = first + at[j]
            x = X[begin + j, nodes.feature[node]]
            right = not (nodes.missing_left[node] if np.isnan(x) else x <= nodes.threshold[node])
            after = nodes.left[node] + right
            moved = moved or after != at[j]
            at[j] = after
        if not moved:
            break


@kernel
def _leaf_by_category(nodes: Nodes, i: int, X: npt.NDArray[Any], row: int) -> int:
    """Return the leaf of one row in a tree that also splits by category."""
    at, words = 0, nodes.categories.shape[1]
    for _ in range(nodes.depth[i]):
        node = nodes.start[i] + at
        x, threshold = X[row, nodes.feature[node]], nodes.threshold[node]
        if np.isnan(x):
            right = not nodes.missing_left[node]
        elif np.isnan(threshold):
            right = True
            if -1.0 < x < 64.0 * words:
                code = np.int64(x)
                bit = nodes.categories[node, code >> 6] >> np.uint64(code & 63)
                right = bit & np.uint64(1) == 0
        else:
            right = not x <= threshold
        at = nodes.left[node] + right
    return at


@kernel
def find_leaves(
    passes: Passes, X: npt.NDArray[Any], codes: npt.NDArray[np.unsignedinteger[Any]]
) -> None:
    """Write the number of the leaf of each row in each tree to ``codes`` (n, m)."""
    nodes = passes.nodes
    find_small_trees(passes.masks, nodes.start, nodes.leaf, X, codes)
    rows = X.shape[0]
    at = np.empty(_ABREAST, dtype=np.int32)
    for i in passes.large:
        first = nodes.start[i]
        code = codes[i]
        for begin in range(0, rows, _ABREAST):
            group = at[: min(_ABREAST, rows - begin)]
            descend(nodes, i, X, begin, group)
            for j in range(group.shape[0]):
                code[begin + j] = nodes.leaf[first + group[j]]


@kernel
def add_leaf_values(
    passes: Passes, X: npt.NDArray[Any], value: FloatArray, prediction: FloatArray
) -> None:
    """Add the value (nodes, q) of the leaf of each row in each tree to ``prediction`` (m, q)."""
    nodes = passes.nodes
    add_small_trees(passes.masks, nodes.start, X, value, prediction)
    rows = X.shape[0]
    at = np.empty(_ABREAST, dtype=np.int32)
    for i in passes.large:
        first = nodes.start[i]
        for begin in range(0, rows, _ABREAST):
            group = at[: min(_ABREAST, rows - begin)]
            descend(nodes, i, X, begin, group)
            for j in range(group.shape[0]):
                for o in range(value.shape[1]):
                    prediction[begin + j, o] += value[first + group[j], o]
