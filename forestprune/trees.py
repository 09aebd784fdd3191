"""One regression tree as plain arrays in level order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from formulations.arrays import BoolArray, FloatArray, IntArray, frozen

# Rounding allowed in the mean property, relative to the largest value of the tree.
_MEAN_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class Tree:
    """Nodes of a binary tree, root first, layer by layer, siblings side by side.

    A row goes left when its feature is at most the threshold, compared as float64 after the
    feature was cast to float32, or when it is missing and ``missing_left`` says so.

    Attributes
    ----------
    feature
        (nodes,) int32 feature of the split, −1 at a leaf.
    threshold
        (nodes,) float64 threshold of the split.
    left
        (nodes,) int32 left child; the right child is the next node. −1 at a leaf.
    missing_left
        (nodes,) whether a missing feature goes left.
    parent
        (nodes,) int32 parent, −1 at the root.
    value
        (nodes, q) float64 response of the node, in the units of y.
    cover
        (nodes,) float64 weight of the training rows in the node.
    """

    feature: IntArray
    threshold: FloatArray
    left: IntArray
    missing_left: BoolArray
    parent: IntArray
    value: FloatArray
    cover: FloatArray

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
    ) -> Tree:
        """Bring nodes with two child arrays (−1 at leaves, root at 0) into level order."""
        layers: list[IntArray] = [np.zeros(1, dtype=np.int64)]
        parents = [np.full(1, -1, dtype=np.int64)]
        above = 0
        while True:
            inner = np.flatnonzero(left[layers[-1]] >= 0)
            if len(inner) == 0:
                break
            split = layers[-1][inner]
            parents.append(np.repeat(inner + above, 2))
            above += len(layers[-1])
            layers.append(np.column_stack([left[split], right[split]]).ravel())
        order = np.concatenate(layers)
        parent = np.concatenate(parents)
        leaf = left[order] < 0
        # The first of the two nodes that name a parent is its left child.
        child = np.full(len(order), -1, dtype=np.int64)
        child[parent[1::2]] = np.arange(1, len(order), 2)
        return cls(
            feature=frozen(np.where(leaf, -1, feature[order]), np.int32),
            threshold=frozen(np.where(leaf, 0.0, threshold[order]), np.float64),
            left=frozen(child, np.int32),
            missing_left=frozen(missing_left[order], np.bool_),
            parent=frozen(parent, np.int32),
            value=frozen(value[order], np.float64),
            cover=frozen(cover[order], np.float64),
        )

    @property
    def n_nodes(self) -> int:
        """Number of nodes, the root counted."""
        return len(self.left)

    @cached_property
    def leaves(self) -> IntArray:
        """Positions of the leaves, in level order."""
        return np.flatnonzero(self.left < 0)

    @cached_property
    def layer(self) -> IntArray:
        """(nodes,) layer of each node, 0 for the root."""
        layer = np.zeros(self.n_nodes, dtype=np.int64)
        begin, end = 0, 1
        while end < self.n_nodes:
            begin, end = end, int(np.searchsorted(self.parent, end))
            layer[begin:] += 1
        return layer

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
        kept = int(np.searchsorted(self.layer, depth, side="right"))
        left = np.where(self.layer[:kept] == depth, -1, self.left[:kept])
        parts: dict[str, Any] = {
            name: frozen(getattr(self, name)[:kept])
            for name in ("threshold", "missing_left", "parent", "value", "cover")
        }
        feature = np.where(left < 0, -1, self.feature[:kept])
        return Tree(feature=frozen(feature, np.int32), left=frozen(left, np.int32), **parts)

    @property
    def has_mean_values(self) -> bool:
        """Whether every inner node's value is the cover-weighted mean of its children's."""
        inner = np.flatnonzero((self.left >= 0) & (self.cover > 0.0))
        mean = self._mean_of_children(inner)
        allowed = _MEAN_TOLERANCE * max(float(np.abs(self.value).max()), np.finfo(float).tiny)
        return bool(np.all(np.abs(mean - self.value[inner]) <= allowed))

    def with_mean_values(self) -> Tree:
        """Return the tree with inner values that are the means of the leaves below, by cover."""
        changed = replace(self, value=np.array(self.value))
        for layer in range(self.depth - 1, -1, -1):
            inner = np.flatnonzero((self.layer == layer) & (self.left >= 0) & (self.cover > 0.0))
            changed.value[inner] = changed._mean_of_children(inner)
        return replace(changed, value=frozen(changed.value))

    def _mean_of_children(self, inner: IntArray) -> FloatArray:
        left = self.left[inner]
        weight = np.stack([self.cover[left], self.cover[left + 1]])[:, :, None]
        value = np.stack([self.value[left], self.value[left + 1]])
        return np.asarray((weight * value).sum(axis=0) / weight.sum(axis=0))
