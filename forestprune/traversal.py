"""Compiled passes of rows through trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from forestprune.trees import Tree
from formulations.arrays import BoolArray, FloatArray, IntArray, frozen
from formulations.kernels.compiled import kernel

# Rows that go down a tree side by side, so that their memory accesses overlap.
_ABREAST = 16


class Nodes(NamedTuple):
    """Arrays of `Tree` of all trees, one tree after the other.

    At a leaf ``left`` is the leaf itself, its feature 0, its threshold +inf and
    ``missing_left`` true, so that a row that has arrived stays; ``leaf`` is the number of the
    leaf in its tree. ``start`` is where each tree begins, with one entry more than trees.
    """

    start: IntArray
    depth: IntArray
    feature: IntArray
    threshold: FloatArray
    left: IntArray
    missing_left: BoolArray
    leaf: IntArray


def join_trees(trees: Sequence[Tree]) -> Nodes:
    """Lay the nodes of at least one tree side by side."""

    def of(name: str) -> npt.NDArray[Any]:
        return np.concatenate([getattr(tree, name) for tree in trees])

    start = np.concatenate([[0], np.cumsum([tree.n_nodes for tree in trees])]).astype(np.int64)
    depth = np.array([tree.depth for tree in trees], dtype=np.int64)
    own = of("feature"), of("threshold"), of("left"), of("missing_left")
    leaf = np.empty(start[-1], dtype=np.int32)
    _hold_at_leaves(start, *own, leaf)
    return Nodes(*(frozen(array) for array in (start, depth, *own, leaf)))


@kernel
def _hold_at_leaves(
    start: IntArray,
    feature: IntArray,
    threshold: FloatArray,
    left: IntArray,
    missing_left: BoolArray,
    leaf: IntArray,
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


@kernel
def descend(nodes: Nodes, i: int, X: npt.NDArray[np.float32], begin: int, at: IntArray) -> None:
    """Send rows ``begin``, … of X (m, features) down tree i; ``at`` receives their nodes."""
    first = nodes.start[i]
    count = at.shape[0]
    at[:] = 0
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
def find_leaves(
    nodes: Nodes, X: npt.NDArray[np.float32], codes: npt.NDArray[np.unsignedinteger[Any]]
) -> None:
    """Write the number of the leaf of each row in each tree to ``codes`` (n, m)."""
    rows = X.shape[0]
    at = np.empty(_ABREAST, dtype=np.int32)
    for i in range(codes.shape[0]):
        first = nodes.start[i]
        code = codes[i]
        for begin in range(0, rows, _ABREAST):
            group = at[: min(_ABREAST, rows - begin)]
            descend(nodes, i, X, begin, group)
            for j in range(group.shape[0]):
                code[begin + j] = nodes.leaf[first + group[j]]


@kernel
def add_leaf_values(
    nodes: Nodes, X: npt.NDArray[np.float32], value: FloatArray, prediction: FloatArray
) -> None:
    """Add the value (nodes, q) of the leaf of each row in each tree to ``prediction`` (m, q)."""
    rows = X.shape[0]
    at = np.empty(_ABREAST, dtype=np.int32)
    for i in range(nodes.depth.shape[0]):
        first = nodes.start[i]
        for begin in range(0, rows, _ABREAST):
            group = at[: min(_ABREAST, rows - begin)]
            descend(nodes, i, X, begin, group)
            for j in range(group.shape[0]):
                for o in range(value.shape[1]):
                    prediction[begin + j, o] += value[first + group[j], o]
