"""Compiled passes of rows through trees."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from formulations.arrays import BoolArray, FloatArray, IntArray
from formulations.compiled import kernel

# Rows that go down a tree side by side, so that their memory accesses overlap.
_ABREAST = 16


class Nodes(NamedTuple):
    """Arrays of `Tree` of all trees, one tree after the other.

    At a leaf ``left`` is the leaf itself, its threshold +inf and ``missing_left`` true, so
    that a row that has arrived stays; ``leaf`` is the number of the leaf in its tree.
    """

    start: IntArray
    depth: IntArray
    feature: IntArray
    threshold: FloatArray
    left: IntArray
    missing_left: BoolArray
    leaf: IntArray


@kernel
def descend(nodes: Nodes, i: int, X: npt.NDArray[np.float32], begin: int, at: IntArray) -> None:
    """Send rows ``begin``, … of X (m, features) down tree i; ``at`` receives their leaves."""
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
