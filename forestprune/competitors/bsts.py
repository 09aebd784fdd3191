"""The best subset of trees under a limit of nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import ClassVar, Literal, get_args

import numpy as np

from forestprune.competitors._core.base import Competitor, Limits, Point, Task, counted
from forestprune.competitors._core.columns import TreeColumns
from forestprune.competitors._core.making import made
from forestprune.competitors._search.fixed import best_fixed
from forestprune.competitors._search.free import best_free
from forestprune.competitors._search.subsets import Products
from forestprune.pruned import PrunedEnsemble
from formulations.arrays import FloatArray
from solvers import Guarantee
from solvers._core.base import require_one_of
from solvers._core.result import BoundSource

_GAP = 1e-6

_Weights = Literal["free", "fixed"]


@dataclass(frozen=True)
class BstsOptions:
    """Options of `Bsts`.

    Attributes
    ----------
    weights
        ``"free"``: the trees that are left get the weights of least squares, with a constant.
        ``"fixed"``: they keep those of the source, so that of an average a few trees keep
        their 1/n, and what they predict shrinks towards the start.
    """

    weights: _Weights = "free"

    def __post_init__(self) -> None:
        require_one_of("weights", self.weights, get_args(_Weights))


class Bsts(Competitor):
    """Best subset tree selection (FP §4): whole trees under a limit of nodes or trees.

        minimise  (1/m) ‖ r0 − c − Σ_i b_i T_i ‖²   subject to   Σ_i nodes_i [b_i ≠ 0] ≤ max_nodes

    with free weights b and constant c; or b_i in {0, γ_i} and c = 0. The published experiments
    ask a commercial solver. Here an own search works on the products of the columns: exchanges
    of trees first, then branch and bound, which proves the optimum or, at the time limit, a
    bound (``result.gap``). With fixed weights it is tight; with free ones it is where few trees
    fit, and else as far off as least squares on all trees is.
    """

    over = "nodes"
    summary = "best subset of whole trees under a limit (FP §4)"
    exact = "branch and bound, or the gap at the time limit"
    Options: ClassVar[type] = BstsOptions

    def within(self, task: Task, limits: Limits) -> PrunedEnsemble:
        """Return the best subset found."""
        return self._best(task, self._columns(task), limits)

    def path(self, task: Task, values: int | FloatArray) -> Iterator[Point]:
        """Yield the best subset under every limit of nodes, by default evenly spaced in log."""
        columns = self._columns(task)
        if isinstance(values, int):
            nodes = task.tree_nodes[task.tree_nodes > 0]
            least, most = (nodes.min(), nodes.sum()) if len(nodes) else (1.0, 1.0)
            count = values if least < most else 1
            values = np.geomspace(least, most, count).round() if count > 1 else np.array([least])
        for nodes_allowed in counted(values):
            limits = Limits(max_nodes=nodes_allowed)
            yield Point(float(nodes_allowed), self._best(task, columns, limits))

    def _columns(self, task: Task) -> TreeColumns:
        return TreeColumns(task.data, centred=self.options.weights == "free")

    def _best(self, task: Task, columns: TreeColumns, limits: Limits) -> PrunedEnsemble:
        began = perf_counter()
        cost = task.tree_nodes[columns.tree]
        # A tree that is too large by itself only makes bounds worse; one may be constant here.
        able = np.flatnonzero((cost <= limits.nodes) & (columns.products.diagonal() > 0.0))
        problem = Products(
            columns.products[np.ix_(able, able)],
            columns.slopes[able],
            columns.square,
            cost[able],
            limits.nodes,
            limits.trees,
        )
        search = best_free if self.options.weights == "free" else best_fixed
        found = search(problem, task.time_limit, _GAP)
        coefficients = np.zeros(len(columns.tree))
        coefficients[able] = found.coefficients
        beta = columns.relative(coefficients)
        proven = found.bound >= problem.enough(found.loss, 2.0 * _GAP)
        return made(
            task,
            np.where(beta != 0.0, task.data.depths, 0),
            beta=beta,
            added=columns.constant(beta),
            bound=found.bound,
            bound_source=BoundSource.EXHAUSTION,
            termination=found.termination,
            guarantee=Guarantee.OPTIMAL if proven else Guarantee.FEASIBLE,
            solve_seconds=perf_counter() - began,
        )
