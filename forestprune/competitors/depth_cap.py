"""All trees cut at one depth."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from forestprune.competitors._core.base import (
    Competitor,
    Limits,
    Point,
    Size,
    Task,
    counted,
    evenly,
)
from forestprune.competitors._core.making import made
from forestprune.pruned import PrunedEnsemble
from formulations import LayerPruning
from formulations.arrays import FloatArray, IntArray


class DepthCap(Competitor):
    """One depth for all trees: what a smaller ``max_depth`` would have left of them.

    Exact for trees that are grown depth by depth, which does not change what is above.
    Node values are the source's, and no weight changes.
    """

    over = "depth"
    summary = "all trees cut at one depth"
    exact = "the largest depth within the limits"

    def within(self, task: Task, limits: Limits) -> PrunedEnsemble:
        """Return the trees at the largest depth that fits."""
        problem = LayerPruning(task.data, 0.0)
        for depth in range(int(task.data.depths.max()), 0, -1):
            choice = _at(task, depth)
            if limits.allow(Size(problem.kept_nodes(choice), problem.kept_trees(choice))):
                return made(task, choice)
        return made(task, _at(task, 0))

    def path(self, task: Task, values: int | FloatArray) -> Iterator[Point]:
        """Yield the trees cut at every depth."""
        deepest = int(task.data.depths.max())
        depths = evenly(values, deepest) if isinstance(values, int) else counted(values)
        for depth in depths:
            yield Point(float(depth), made(task, _at(task, depth)))


def _at(task: Task, depth: int) -> IntArray:
    return np.minimum(task.data.depths, depth)
