"""Cost-complexity pruning of all trees at one α."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from forestprune.competitors._core.base import Competitor, Limits, Point, Task
from forestprune.competitors._core.making import made
from forestprune.competitors._core.weakest_links import split_prices
from forestprune.pruned import PrunedEnsemble
from formulations.arrays import FloatArray, IntArray


class Ccp(Competitor):
    """Minimal cost-complexity pruning (Breiman and others 1984), one α for all trees (FP §4).

    The fitted trees are pruned from their own node values and covers, by weakest links;
    nothing is fitted again. For bagging that is exactly the forest that scikit-learn fits with
    this ``ccp_alpha`` and the same seed, since its trees do not depend on each other and are
    pruned after they were grown: for the squared error and the Gini impurity. Boosting fitted
    with ``ccp_alpha`` grows later trees on what pruned ones leave: that is another model.

    The choice depends on the rows of the fit alone, through the covers of the nodes.
    """

    over = "ccp_alpha"
    summary = "cost-complexity pruning, one α for all trees (Breiman et al. 1984)"
    exact = "the smallest α within the limits, over all its steps"

    def within(self, task: Task, limits: Limits) -> PrunedEnsemble:
        """Return the trees at the smallest α that fits."""
        steps = _Steps(task)
        fits = (steps.nodes <= limits.nodes) & (steps.trees <= limits.trees)
        alpha = float(steps.alpha[np.argmax(fits)])
        return made(task, steps.marks(alpha), penalty=alpha)

    def path(self, task: Task, values: int | FloatArray) -> Iterator[Point]:
        """Yield the trees at every α, by default such that sizes are evenly spaced in log."""
        steps = _Steps(task)
        alphas = steps.spaced(values) if isinstance(values, int) else values[::-1]
        for alpha in alphas.tolist():
            yield Point(alpha, made(task, steps.marks(alpha), penalty=alpha))


class _Steps:
    """The sizes of all trees along α.

    Attributes
    ----------
    alpha
        Ascending, 0 first: where the size changes.
    nodes, trees
        The size from each α on to the next.
    """

    def __init__(self, task: Task) -> None:
        source = task.source
        # The units of scikit-learn: the mean over outputs, or over classes the Gini impurity,
        # of which the one output for two classes has half.
        factor = 1.0 / source.n_outputs
        if source.classes is not None:
            factor = 2.0 if source.n_outputs == 1 else 1.0
        prices = [split_prices(tree, factor) for tree in source.trees]
        self._price = np.concatenate(prices)
        self._parent = task.data.parent
        self._begin = np.repeat(task.data.node_start[:-1], np.diff(task.data.node_start))
        split = np.sort(self._price[self._price > -np.inf])
        root = np.sort(self._price[task.data.node_start[:-1]])
        self.alpha = np.unique(np.append(split, 0.0))
        self.trees = len(root) - np.searchsorted(root, self.alpha, side="right")
        self.nodes = 2 * (len(split) - np.searchsorted(split, self.alpha, side="right"))
        self.nodes += self.trees

    def marks(self, alpha: float) -> IntArray:
        """Return (nodes,) marks of what is kept at an α: the splits that cost more, and roots."""
        split = self._price > alpha
        above = split[self._parent + self._begin]
        return np.where(self._parent < 0, split, above).astype(np.int64)

    def spaced(self, count: int) -> FloatArray:
        """Return at most so many α, falling, with sizes evenly spaced in the logarithm."""
        kept = np.flatnonzero(self.nodes > 0)
        if len(kept) == 0:
            return np.zeros(1)
        least, most = float(self.nodes[kept[-1]]), float(self.nodes[kept[0]])
        sizes = np.geomspace(least, most, count) if count > 1 else np.array([least])
        # Sizes fall with α; of each wanted size the smallest α that is not larger.
        place = np.searchsorted(-self.nodes, -sizes * (1.0 + 1e-12))
        return np.asarray(self.alpha[np.unique(np.minimum(place, kept[-1]))][::-1])
