"""ForestPrune in all its variants."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from forestprune.budget import BudgetSearch
from forestprune.competitors._core.base import Competitor, Limits, Point, Size, Task
from forestprune.competitors._core.searching import largest_within
from forestprune.pruned import PrunedEnsemble
from forestprune.recipe import Recipe
from formulations import Formulation
from formulations.arrays import FloatArray
from solvers import EngineFailure, Result, solve_path


class ForestPrune(Competitor):
    """Depths chosen for all trees together (Liu and Mazumder 2023), and what goes beyond it.

    Options are those of `prune`: ``weights`` (nodes or depth), ``polish`` (ridge, best subset
    or None), ``joint``, ``shape`` (depth or subtree), and further ones. Sizes are those before
    polishing, which can only drop trees.

    A limit of nodes is met by a search for α, as `prune` does.
    """

    over = "alpha"
    summary = "depths or subtrees chosen together (Liu and Mazumder 2023)"
    exact = "what the solver proves at the α found"
    Options: ClassVar[type] = Recipe

    def within(self, task: Task, limits: Limits) -> PrunedEnsemble:
        """Return the model at the smallest α that is found to fit."""
        recipe: Recipe = self.options
        problem = recipe.problem(task.data, 1.0)
        limit = task.time_limit
        if limits.max_trees is None:
            assert limits.max_nodes is not None
            options = {"time_limit": limit if limit < float("inf") else None}
            search = BudgetSearch(problem, limits.max_nodes, recipe.solved, options)
            alpha, result = search.run()
            return self._model(task, alpha, result)

        def at(alpha: float, before: Result | None) -> tuple[Size, Result]:
            result = recipe.solved(problem.with_alpha(alpha), warm_start=before)
            return _size(problem, result), result

        alpha, found, _ = largest_within(at, problem.alpha_max(), limits, limit)
        if found is None:
            found = recipe.solved(problem.with_alpha(alpha))
        return self._model(task, alpha, found)

    def path(self, task: Task, values: int | FloatArray) -> Iterator[Point]:
        """Yield models along α, of a standardised response, each from the solution before."""
        recipe: Recipe = self.options
        variance = task.data.y_variance
        wanted = values if isinstance(values, int) else values * variance
        limit = task.time_limit if task.time_limit < float("inf") else None
        path = solve_path(
            recipe.problem(task.data, 1.0), values=wanted, solver=recipe.solver, time_limit=limit
        )
        for alpha, result in zip(path.values.tolist(), path.results, strict=True):
            if result.choice is None:
                raise EngineFailure(f"{result.solver} found no choice ({result.termination})")
            value = alpha / variance if variance > 0.0 else alpha
            yield Point(value, self._model(task, alpha, result))

    def _model(self, task: Task, alpha: float, result: Result) -> PrunedEnsemble:
        recipe: Recipe = self.options
        return recipe.weighed(PrunedEnsemble.cut(task.source, result, alpha), task.data, {})


def _size(problem: Formulation, result: Result) -> Size:
    assert result.choice is not None
    return Size(
        problem.kept_nodes(result.choice, result.beta),
        problem.kept_trees(result.choice, result.beta),
    )
