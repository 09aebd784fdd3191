"""One regression tree as plain arrays in level order."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from formulations.arrays import BoolArray, FloatArray, IntArray, PickledByFields, frozen
from formulations.kernels.compiled import kernel

# Rounding allowed in the mean property, relative to the largest value of the tree.
_MEAN_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class Tree(PickledByFields):
    """Nodes of a binary tree, root first, layer by layer, siblings side by side.

    A row goes left when its feature is at most the threshold, compared as float64 after the
    feature was cast to what the source casts it to, or when it is missing and ``missing_left``
    says so. At a categorical split the feature is a code, and goes left if its bit is set.

    Attributes
    ----------
    feature
        (nodes,) int32 feature of the split, −1 at a leaf.
    threshold
        (nodes,) float64 threshold of the split, NaN at a categorical one.
    left
        (nodes,) int32 left child; the right child is the next node. −1 at a leaf.
    missing_left
        (nodes,) whether a missing feature goes left.
    parent
        (nodes,) int32 parent, −1 at the root.
    layer
        (nodes,) int32 layer, 0 for the root.
    value
        (nodes, q) float64 response of the node, in the units of y.
    cover
        (nodes,) float64 weight of the training rows in the node.
    categories
        (nodes, words) uint64: bit ``c % 64`` of word ``c // 64`` is set if category c goes
        left. None where all splits are numerical.
    """

    feature: IntArray
    threshold: FloatArray
    left: IntArray
    missing_left: BoolArray
    parent: IntArray
    layer: IntArray
    value: FloatArray
    cover: FloatArray
    categories: npt.NDArray[np.uint64] | None = None

    @classmethod
    def from_children(
        cls,
        left: IntArray,
        right: IntArray,
        feature: IntArray,
        threshold: FloatArray,
        missing_left: BoolArray,
        value: FloatArray,
        cover: FloatArray,
        categories: npt.NDArray[np.uint64] | None = None,
    ) -> Tree:
        """Bring nodes with two child arrays (−1 at leaves, root at 0) into level order."""
        order = np.empty(len(left), dtype=np.int64)
        child, parent, layer = np.empty((3, len(left)), dtype=np.int32)
        _walk_by_layers(
            np.ascontiguousarray(left, dtype=np.int64),
            np.ascontiguousarray(right, dtype=np.int64),
            order,
            child,
            parent,
            layer,
        )
        leaf = child < 0
        return cls(
            feature=frozen(np.where(leaf, -1, feature[order]), np.int32),
            threshold=frozen(np.where(leaf, 0.0, threshold[order]), np.float64),
            left=frozen(child),
            missing_left=frozen(missing_left[order], np.bool_),
            parent=frozen(parent),
            layer=frozen(layer),
            value=frozen(value[order], np.float64),
            cover=frozen(cover[order], np.float64),
            categories=None if categories is None else frozen(categories[order], np.uint64),
        )

    @classmethod
    def from_leaves(cls, left: IntArray, **nodes: Any) -> Tree:
        """Build a tree of which only the leaves have values and covers.

        Inner nodes get the means of the leaves below, by cover, or of their two children where
        no row of the fit has reached these leaves.

        Parameters
        ----------
        left, **nodes
            As `from_children` takes them; values and covers of inner nodes are not read.
        """
        tree = cls.from_children(left, **nodes)
        value, cover = tree.value.copy(), tree.cover.copy()
        _sum_covers(tree.left, cover)
        _average_leaves(tree.left, cover, value, True)
        return replace(tree, value=frozen(value), cover=frozen(cover))

    @property
    def n_nodes(self) -> int:
        """Number of nodes, the root counted."""
        return len(self.left)

    @cached_property
    def leaves(self) -> IntArray:
        """Positions of the leaves, in level order."""
        return np.flatnonzero(self.left < 0)

    @property
    def depth(self) -> int:
        """Number of layers below the root."""
        return int(self.layer[-1])

    @property
    def features(self) -> set[int]:
        """Features that the splits use."""
        return set(np.unique(self.feature[self.left >= 0]).tolist())

    def cut(self, depth: int) -> Tree:
        """Return the tree without the layers below ``depth``; its last nodes become leaves."""
        return self.keep(self.layer <= depth)

    def keep(self, nodes: BoolArray) -> Tree:
        """Return the tree of some of its nodes; a node whose children are not kept is a leaf.

        Parameters
        ----------
        nodes
            (nodes,) whether to keep each: the root, and children only together and with their
            parent.
        """
        if nodes.all():
            return self
        # Copies, so that a small pruned ensemble does not keep the large one in memory.
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        parts = {name: part[nodes].copy() for name, part in given.items() if part is not None}
        place = np.cumsum(nodes) - 1
        inner = (parts["left"] >= 0) & nodes[parts["left"]]
        parts["left"] = np.where(inner, place[parts["left"]], -1)
        parts["parent"] = np.where(parts["parent"] >= 0, place[parts["parent"]], -1)
        parts["feature"][~inner] = -1
        parts["threshold"][~inner] = 0.0
        if not np.isnan(parts["threshold"]).any():
            parts.pop("categories", None)
        kinds = {"left": np.int32, "parent": np.int32}
        return Tree(**{name: frozen(part, kinds.get(name)) for name, part in parts.items()})

    @property
    def has_mean_values(self) -> bool:
        """Whether every inner node's value is the cover-weighted mean of the leaves below."""
        allowed = _MEAN_TOLERANCE * float(np.abs(self.value).max())
        return bool(np.all(np.abs(self.with_mean_values().value - self.value) <= allowed))

    def with_mean_values(self) -> Tree:
        """Return the tree with inner values that are the means of the leaves below, by cover.

        A node without cover keeps its value: no row of the fit has reached it.
        """
        value = self.value.copy()
        _average_leaves(self.left, self.cover, value, False)
        return replace(self, value=frozen(value))


@kernel
def _walk_by_layers(
    left: IntArray,
    right: IntArray,
    order: IntArray,
    child: IntArray,
    parent: IntArray,
    layer: IntArray,
) -> None:
    """Fill ``order`` with the old positions of the nodes in level order, the rest with links."""
    order[0] = layer[0] = 0
    parent[0] = -1
    end = 1
    for node in range(order.shape[0]):
        old = order[node]
        child[node] = -1
        if left[old] >= 0:
            child[node] = end
            order[end], order[end + 1] = left[old], right[old]
            parent[end] = parent[end + 1] = node
            layer[end] = layer[end + 1] = layer[node] + 1
            end += 2


@kernel
def _sum_covers(left: IntArray, cover: FloatArray) -> None:
    """Replace inner covers by the sums of the leaves below."""
    for node in range(left.shape[0] - 1, -1, -1):
        first = left[node]
        if first >= 0:
            cover[node] = cover[first] + cover[first + 1]


@kernel
def _average_leaves(left: IntArray, cover: FloatArray, value: FloatArray, halves: bool) -> None:
    """Replace inner values by the means of the leaves below.

    Without cover they stay or, where ``halves`` says so, are the means of the two children.
    """
    for node in range(left.shape[0] - 1, -1, -1):
        first = left[node]
        if first >= 0:
            total = cover[first] + cover[first + 1]
            if total > 0.0 or halves:
                share = cover[first] / total if total > 0.0 else 0.5
                for o in range(value.shape[1]):
                    value[node, o] = share * value[first, o] + (1.0 - share) * value[first + 1, o]
