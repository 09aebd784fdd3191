"""Lasso over the predictions of trees."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np
from scipy.optimize import nnls

from forestprune.competitors._core.base import Competitor, Limits, Point, Size, Task
from forestprune.competitors._core.columns import TreeColumns
from forestprune.competitors._core.descent import lasso_weights
from forestprune.competitors._core.making import made
from forestprune.competitors._core.searching import largest_within
from forestprune.pruned import PrunedEnsemble
from formulations.arrays import FloatArray
from solvers import Termination
from solvers._core.base import require_bool, require_one_of

# The smallest λ of a path of a given number, relative to the largest.
_SPAN = 1e-4

_Columns = Literal["trees", "source"]


@dataclass(frozen=True)
class LassoOptions:
    """Options of `Lasso`.

    Attributes
    ----------
    nonnegative
        Whether weights must not be negative.
    refit
        Whether the trees that are left get the weights of least squares.
    intercept
        Whether a constant is fitted as well, without a penalty.
    columns
        ``"trees"``: λ is the price of a tree's own prediction, T_i. ``"source"``: that of
        γ_i T_i. So averages keep their 1/n in the published experiments, where a given λ
        shrinks n times as much; with equal γ_i both have the same path at other λ.
    """

    nonnegative: bool = False
    refit: bool = False
    intercept: bool = True
    columns: _Columns = "trees"

    def __post_init__(self) -> None:
        for name in ("nonnegative", "refit", "intercept"):
            require_bool(name, getattr(self, name))
        require_one_of("columns", self.columns, get_args(_Columns))


class Lasso(Competitor):
    """ISLE's post-processing (Friedman and Popescu 2003): a lasso over whole trees.

        minimise over b, c   (1/2m) ‖ r0 − c − Σ_i b_i T_i ‖² + λ ‖b‖₁

    with T_i a tree's prediction less the mean of its root, and r0 what the source's start and
    roots leave of y. Solved by scikit-learn's coordinate descent on the products of the
    columns, exact up to its duality gap. A limit is met by the smallest λ found to do so.
    """

    over = "lambda"
    summary = "lasso over whole trees (ISLE, Friedman and Popescu 2003)"
    exact = "the optimum at the λ found, to a relative gap of 1e-6"
    Options: ClassVar[type] = LassoOptions

    def within(self, task: Task, limits: Limits) -> PrunedEnsemble:
        """Return the model of the smallest λ that is found to fit."""
        columns = self._columns(task)

        def at(penalty: float, before: FloatArray | None) -> tuple[Size, FloatArray]:
            found = self._solved(columns, [penalty], before)[0]
            kept = columns.tree[found != 0.0]
            return Size(int(task.tree_nodes[kept].sum()), len(kept)), found

        top = self._top(columns)
        penalty, found, ended = largest_within(at, top, limits, task.time_limit)
        if found is None:
            found = np.zeros(len(columns.tree))
        return self._model(task, columns, penalty, found, ended)

    def path(self, task: Task, values: int | FloatArray) -> Iterator[Point]:
        """Yield the models along falling λ."""
        columns = self._columns(task)
        if isinstance(values, int):
            top = self._top(columns)
            values = np.geomspace(_SPAN * top, top, values) if top > 0.0 else np.zeros(1)
        penalties = values[::-1].tolist()
        for penalty, found in zip(penalties, self._solved(columns, penalties, None), strict=True):
            yield Point(penalty, self._model(task, columns, penalty, found))

    def _columns(self, task: Task) -> TreeColumns:
        scale = task.source.scale if self.options.columns == "trees" else None
        return TreeColumns(task.data, scale, self.options.intercept)

    def _top(self, columns: TreeColumns) -> float:
        """Return the smallest λ at which no tree has a weight."""
        slopes = columns.slopes if self.options.nonnegative else np.abs(columns.slopes)
        return float(slopes.max(initial=0.0))

    def _solved(
        self, columns: TreeColumns, penalties: list[float], start: FloatArray | None
    ) -> FloatArray:
        """Return (penalties, columns) coefficients."""
        return lasso_weights(
            columns.matrix,
            columns.target,
            columns.products,
            columns.slopes,
            penalties,
            start=start,
            nonnegative=self.options.nonnegative,
        )

    def _model(
        self,
        task: Task,
        columns: TreeColumns,
        penalty: float,
        found: FloatArray,
        ended: Termination = Termination.CONVERGED,
    ) -> PrunedEnsemble:
        if self.options.refit:
            found = self._refitted(columns, found)
        beta = columns.relative(found)
        depths = np.where(beta != 0.0, task.data.depths, 0)
        return made(
            task,
            depths,
            beta=beta,
            added=columns.constant(beta),
            penalty=penalty,
            termination=ended,
        )

    def _refitted(self, columns: TreeColumns, found: FloatArray) -> FloatArray:
        kept = np.flatnonzero(found)
        refitted = np.zeros_like(found)
        if len(kept):
            matrix = columns.matrix[:, kept]
            if self.options.nonnegative:
                refitted[kept] = nnls(matrix, columns.target)[0]
            else:
                refitted[kept] = np.linalg.lstsq(matrix, columns.target, rcond=None)[0]
        return refitted
