"""The first k trees."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from forestprune.competitors._core.base import Competitor, Limits, Point, Task, counted, evenly
from forestprune.competitors._core.making import made
from forestprune.pruned import PrunedEnsemble
from formulations import InvalidInput
from formulations.arrays import FloatArray


@dataclass(frozen=True)
class FirstKOptions:
    """Options of `FirstK`.

    Attributes
    ----------
    average
        Whether the k trees are averaged, and not summed as they are. None: where the source
        averages, that is where its weights sum to 1 and nothing is added to them.
    """

    average: bool | None = None

    def __post_init__(self) -> None:
        if self.average not in (True, False, None):
            raise InvalidInput(f"average must be True, False or None, not {self.average!r}")


class FirstK(Competitor):
    """The baseline of FP §4: the first k trees, as if no more had been grown.

    For bagging that is the mean of k trees, for boosting the model after k stages; both are
    exact. Of a tree that the fit has reduced to a leaf nothing is counted.
    """

    over = "trees"
    summary = "the first k trees (baseline of FP §4)"
    exact = "the source's own model after k trees"
    Options: ClassVar[type] = FirstKOptions

    def within(self, task: Task, limits: Limits) -> PrunedEnsemble:
        """Return as many trees as fit."""
        nodes = np.cumsum(task.tree_nodes)
        trees = np.cumsum(task.tree_nodes > 0)
        fits = (nodes <= limits.nodes) & (trees <= limits.trees)
        return self._first(task, int(fits.sum()))

    def path(self, task: Task, values: int | FloatArray) -> Iterator[Point]:
        """Yield the first k trees for every k."""
        n = task.source.n_trees
        numbers = evenly(values, n) if isinstance(values, int) else counted(values)
        for k in numbers:
            if k > n:
                raise InvalidInput(f"values must not be above the number of trees {n}, got {k}")
            yield Point(float(k), self._first(task, k))

    def _first(self, task: Task, k: int) -> PrunedEnsemble:
        source = task.source
        scale = source.scale
        shares = scale[:, None] * np.stack([tree.value[0] for tree in source.trees])
        average = self.options.average
        if average is None:
            average = _averages(task)
        first = np.arange(source.n_trees) < k
        factor, added = 1.0, -shares[k:].sum(axis=0)
        if average:
            # Without a tree there is nothing to average: the means of the roots remain.
            factor = float(scale.sum() / scale[:k].sum()) if k else 1.0
            added = factor * shares[:k].sum(axis=0) - shares.sum(axis=0) if k else 0.0 * added
        depths = np.where(first, task.data.depths, 0)
        return made(task, depths, beta=np.where(first, factor, 0.0), added=added)


def _averages(task: Task) -> bool:
    source = task.source
    if source.init is not None or not np.isclose(source.scale.sum(), 1.0, rtol=1e-9):
        return False
    roots = np.stack([tree.value[0] for tree in source.trees])
    return bool(np.allclose(source.constant, source.scale @ roots, rtol=1e-9, atol=1e-12))
