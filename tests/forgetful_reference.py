"""A slow and plain decision tree, for comparison with the incremental ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def entropy_units(n: Array) -> Array:
    """n log2 n in units of 2^-28, rounded, so that sums are exact."""
    n = np.asarray(n, dtype=np.float64)
    return np.rint(n * np.log2(np.maximum(n, 1.0)) * 2.0**28)


@dataclass
class Node:
    value: Array  # weight of each class, or the mean target
    weight: float
    feature: int = -1
    threshold: float = 0.0
    children: list[Node] = field(default_factory=list)


@dataclass
class ReferenceTree:
    """CART on the rows given in order of arrival; ties to the first feature, lowest threshold."""

    n_classes: int
    criterion: str = "gini"
    features: list[int] | None = None
    min_samples_split: int = 2
    min_samples_leaf: int = 1
    min_impurity_decrease: float = 0.0
    min_statistic: float = 0.0

    def build(self, X: Array, y: Array, weight: Array, max_height: int) -> Node:
        self.X, self.y, self.w = X, y, weight.astype(np.float64)
        usable = self.features if self.features is not None else list(range(X.shape[1]))
        self.usable = usable
        rows = np.argsort(X[:, usable[0]], kind="stable")
        self.root_weight = self.w.sum()
        return self._grow(rows, max_height)

    def _grow(self, rows: Array, levels: int) -> Node:
        y, w = self.y[rows], self.w[rows]
        total = w.sum()
        if self.n_classes:
            value = np.bincount(y, weights=w, minlength=self.n_classes)
            mixed = value.max(initial=0.0) < total
        else:
            # Sums run from the first row to the last.
            value = np.add.accumulate(w * y)[-1:] / total if len(rows) else np.zeros(1)
            mixed = len(rows) > 0 and y.min() < y.max()
        node = Node(value, total)
        if (
            not mixed
            or levels == 0
            or total < max(self.min_samples_split, 2 * self.min_samples_leaf)
        ):
            return node
        best = (-1.0, -1, 0, rows)
        for f in self.usable:
            ordered = self._ordered(rows, f)
            scores = self._scores(ordered, f, node)
            at = int(np.argmax(scores))  # the first of the largest
            if scores[at] > best[0]:
                best = (scores[at], f, at + 1, ordered)
        score, f, count, ordered = best
        gain = self._gain(score, node)
        if score < 0.0 or gain < self.min_impurity_decrease * self.root_weight:
            return node
        if not self._evident(gain, ordered, node):
            return node
        left, right = self.X[ordered[count - 1], f], self.X[ordered[count], f]
        middle = 0.5 * left + 0.5 * right
        node.feature, node.threshold = f, middle if middle < right else left
        node.children = [
            self._grow(part, levels - 1) for part in (ordered[:count], ordered[count:])
        ]
        return node

    def _ordered(self, rows: Array, f: int) -> Array:
        by_arrival = np.sort(rows)
        return by_arrival[np.argsort(self.X[by_arrival, f], kind="stable")]

    def _scores(self, ordered: Array, f: int, node: Node) -> Array:
        x, y, w = self.X[ordered, f], self.y[ordered], self.w[ordered]
        n_left = np.cumsum(w)[:-1]
        n_right = node.weight - n_left
        if self.n_classes == 0:
            d = np.add.accumulate(w * (y - node.value[0]))[:-1]
            scores = d * d / (n_left * n_right)
        elif self.criterion == "entropy":
            left = np.cumsum(w[:, None] * (y[:, None] == np.arange(self.n_classes)), axis=0)[:-1]
            parts = entropy_units(left).sum(1) + entropy_units(node.value - left).sum(1)
            scores = parts - entropy_units(n_left) - entropy_units(n_right)
            scores += entropy_units(node.weight)
        elif self.n_classes == 2:
            d = np.cumsum(w * (node.weight * y - node.value[1]))[:-1]
            scores = d * d / (n_left * n_right)
        else:
            left = np.cumsum(w[:, None] * (y[:, None] == np.arange(self.n_classes)), axis=0)[:-1]
            squares = (left**2).sum(1), ((node.value - left) ** 2).sum(1)
            scores = (squares[0] * n_right + squares[1] * n_left) / (n_left * n_right)
        allowed = (x[:-1] != x[1:]) & (np.minimum(n_left, n_right) >= self.min_samples_leaf)
        return np.where(allowed, scores, -1.0)

    def _gain(self, score: float, node: Node) -> float:
        n, value = node.weight, node.value
        if self.n_classes == 0:
            return score * n
        if self.criterion == "entropy":
            return (score - float(entropy_units(value).sum())) * 2.0**-28
        if self.n_classes == 2:
            return 2.0 * score / n
        return score - float((value**2).sum()) / n

    def _evident(self, gain: float, ordered: Array, node: Node) -> bool:
        if self.min_statistic == 0.0:
            return True
        if self.criterion == "entropy":
            return bool(2.0 * np.log(2.0) * gain >= self.min_statistic)
        if self.n_classes:
            impurity = 1.0 - float((node.value**2).sum()) / (node.weight * node.weight)
            return bool(gain >= self.min_statistic * impurity)
        d = self.y[ordered] - node.value[0]
        squares = np.add.accumulate(self.w[ordered] * d * d)[-1]
        return bool(gain * node.weight >= self.min_statistic * squares)


def listed(root: Node) -> tuple[Array, Array, Array, Array]:
    """Features, thresholds, values and weights of all nodes, level by level."""
    nodes = [root]
    for node in nodes:  # grows as it goes
        nodes += node.children
    return (
        np.array([node.feature for node in nodes]),
        np.array([node.threshold for node in nodes]),
        np.array([node.value for node in nodes]),
        np.array([node.weight for node in nodes]),
    )
