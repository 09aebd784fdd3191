"""Iterative hard thresholding where coefficients are free: steps, then a refit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from formulations import CoefficientFormulation
from formulations.arrays import FloatArray, IntArray
from solvers._coefficients.iht_columns import Columns, GramColumns, RowColumns, columns_of
from solvers._coefficients.thresholding import Steps, search
from solvers._core.base import Answer, Control, Solver
from solvers._core.compiling import compile_by


@dataclass(frozen=True, eq=False)
class _Fit:
    """Coefficients with their objective."""

    columns: Columns
    b: FloatArray
    image: FloatArray
    objective: float

    @classmethod
    def of(cls, columns: Columns, b: FloatArray) -> _Fit:
        """Compute the objective."""
        image = columns.image(b)
        return cls(columns, b, image, columns.loss(b, image) + columns.penalty(b))

    @cached_property
    def products(self) -> FloatArray:
        """(columns,) ⟨r, P_c⟩ / m."""
        return self.columns.products(self.image)

    @cached_property
    def own_products(self) -> FloatArray:
        """(columns,) ⟨t_i, P_c⟩ / m with t_i the prediction of the column's group."""
        return np.asarray(self.columns.own @ self.b)

    @cached_property
    def support(self) -> IntArray:
        """The used columns."""
        return np.flatnonzero(self.b)

    @cached_property
    def refitted(self) -> _Fit:
        """The best coefficients on the same support."""
        return _Fit.of(self.columns, self.columns.refit(self.support))

    def gains(self, curvature: float) -> tuple[FloatArray, FloatArray]:
        """Return (columns,) best coefficients of a step, and by how much each lowers its model.

        With σ_c = ⟨r, P_c⟩ / κ + ⟨t_i, P_c⟩ the model of group i in `thresholding` is
        least at b_c = σ_c / (‖P_c‖² + λ / κ), and below its value without the group by
        κ σ_c b_c / m − cost_c.
        """
        columns = self.columns
        product = self.products / curvature + self.own_products
        if columns.problem.rule.nonnegative:
            product = np.maximum(product, 0.0)
        b = product / (columns.square + columns.ridge / curvature)
        return b, curvature * product * b - columns.cost


class _CoefficientSteps(Steps[_Fit]):
    """Steps of problems with free coefficients.

    A new support is refitted at once where that is cheap, else once it stays.
    """

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self.blocks = columns.n_groups
        self.tolerance = columns.problem.tolerance

    def at(self, b: FloatArray) -> _Fit:
        """Return a point to step from."""
        return _Fit.of(self.columns, b)

    def step(self, at: _Fit, curvature: float) -> _Fit | None:
        """Return the point after a step of all groups, or None when it stays."""
        b, gain = at.gains(curvature)
        used = self._best(gain)
        if np.array_equal(used, at.support):
            better = at.refitted
            return better if better.objective < at.objective - self.tolerance else None
        if len(used) <= self.columns.few:
            return self.at(self.columns.refit(used))
        stepped = np.zeros_like(b)
        stepped[used] = b[used]
        return self.at(stepped)

    def disturbed(self, at: _Fit, generator: np.random.Generator) -> _Fit:
        """Return a fit of about half of the used groups and another one, at a random column."""
        columns = self.columns
        kept = at.support[generator.random(len(at.support)) < 0.5]
        unused = np.setdiff1d(columns.groups, columns.groups[at.support])
        if len(unused) and self._room(kept) > 0:
            group = generator.choice(unused)
            choices = np.arange(columns.start[group], columns.start[group + 1])
            taken = generator.choice(choices[columns.count[choices] == 1])
            kept = np.sort(np.append(kept, taken))
        return self.at(columns.refit(kept))

    def relaxed(self, at: _Fit) -> FloatArray:
        """Return the coefficients of all columns of the problem."""
        return self.columns.point(at.b)

    def is_local(self, at: _Fit) -> bool:
        """Return whether no group can lower the objective alone."""
        columns = self.columns
        gain = at.gains(1.0)[1]
        counts = np.zeros(columns.n_groups, dtype=np.int64)
        counts[columns.groups[at.support]] = columns.count[at.support]
        allowed = columns.count - counts[columns.groups] <= self._room(at.support)
        gain[~allowed] = -np.inf
        best = np.zeros(columns.n_groups)
        np.maximum.at(best, columns.groups, gain)
        now = np.zeros(columns.n_groups)
        used = at.support
        length = columns.square[used] + columns.ridge[used]
        product = (at.products + at.own_products)[used]
        b = at.b[used]
        now[columns.groups[used]] = 2.0 * product * b - length * b**2 - columns.cost[used]
        return bool(np.all(best - now <= self.tolerance))

    def _room(self, support: IntArray) -> int:
        """Return how many more trees may be used."""
        most = self.columns.problem.most_trees
        used = int(self.columns.count[support].sum())
        return self.columns.problem.data.n_trees if most is None else most - used

    def _best(self, gain: FloatArray) -> IntArray:
        """Return the columns of the largest gains, in order: one a group, of those above 0.

        Where the number of trees is limited the columns of a group are 1, 2, … copies of one.
        Each further copy gains less, so the best are those of the largest differences.
        """
        columns = self.columns
        most = columns.problem.most_trees
        if len(gain) == 0:
            return np.empty(0, dtype=np.int64)
        if most is None:
            best = np.maximum.reduceat(gain, columns.start[:-1])[columns.groups]
            tops = np.flatnonzero((gain >= best) & (gain > self.tolerance))
            return tops[np.unique(columns.groups[tops], return_index=True)[1]]
        added = np.diff(gain, prepend=0.0)
        first = columns.start[:-1]
        added[first] = gain[first]
        largest = np.argsort(-added, kind="stable")[:most]
        largest = largest[added[largest] > self.tolerance]
        numbers = np.bincount(columns.groups[largest], minlength=columns.n_groups)
        return (first + numbers - 1)[numbers > 0]


class IHTCoefficients(Solver[CoefficientFormulation]):
    """Proximal gradient steps of all trees, each followed by a refit, with restarts.

    The solution is called locally optimal when no tree could lower the objective alone.
    """

    takes = CoefficientFormulation
    summary = "iterative hard thresholding with refits and restarts"
    method = "heuristic"
    proof = "dual bound at the solution"

    def prepare(self, problem: CoefficientFormulation) -> None:
        """Compile the kernels."""
        compile_by(_use_columns, problem)

    def build(self, problem: CoefficientFormulation) -> Columns:
        """Compute the products of the columns, of all pairs if there are few."""
        return columns_of(problem)

    def run(self, problem: CoefficientFormulation, model: Columns, control: Control) -> Answer:
        """Descend from the warm start or from no tree, then start again."""
        steps = _CoefficientSteps(model)
        b = np.zeros(model.n_columns)
        if control.warm_start is not None and control.warm_beta is not None:
            b = model.coefficients(control.warm_start, control.warm_beta)
        best, relaxed, termination = search(
            steps, steps.at(b), self.options.restarts, control, problem.linear_bound
        )
        choice, beta = problem.solution(model.point(best.b))
        return Answer(
            termination, choice=choice, beta=beta, local=steps.is_local(best), relaxed=relaxed
        )


def _use_columns(problem: CoefficientFormulation) -> None:
    for columns in (GramColumns(problem), RowColumns(problem)):
        columns.products(columns.image(np.zeros(columns.n_columns)))
    problem.linear_bound(np.zeros(problem.n_columns))
