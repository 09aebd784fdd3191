"""The search for α that meets a number of nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor

from forestprune import SubtreePruning, pruning_data
from forestprune.budget import BudgetSearch
from solvers import Guarantee, Result, solve

Solve = Callable[..., Result]


def _subtrees(trees: int) -> SubtreePruning:
    generator = np.random.default_rng(0)
    X = generator.normal(size=(400, 4))
    y = X[:, 0] ** 2 + X[:, 1] + 0.3 * generator.normal(size=400)
    model = RandomForestRegressor(trees, max_depth=8, random_state=0).fit(X, y)
    return SubtreePruning(pruning_data(model, X, y), 1.0)


@pytest.fixture(scope="module")
def problem() -> SubtreePruning:
    return _subtrees(30)


def _timed(calls: list[float | None]) -> Solve:
    """Every solve takes a second, as far as the search can tell."""

    def timed(problem: Any, *, time_limit: float | None, **options: Any) -> Result:
        calls.append(time_limit)
        result = solve(problem, time_limit=time_limit, **options)
        return replace(result, build_seconds=0.0, solve_seconds=1.0)

    return timed


@pytest.mark.parametrize("solves", range(1, 14))
def test_the_search_may_end_at_any_solve(problem: SubtreePruning, solves: int) -> None:
    calls: list[float | None] = []
    search = BudgetSearch(problem, 300, _timed(calls), {"time_limit": solves - 0.5})
    alpha, result = search.run()
    assert len(calls) <= solves
    assert all(limit is not None and limit > 0.0 for limit in calls)
    found = problem.with_alpha(alpha)
    assert found.kept_nodes(result.choice) == search.nodes <= 300
    assert result.objective == pytest.approx(found.objective(result.choice))


def test_what_is_only_roughly_solved_is_not_called_optimal(problem: SubtreePruning) -> None:
    results = []
    for solves in range(2, 12):
        search = BudgetSearch(problem, 300, _timed([]), {"time_limit": solves - 0.5})
        results.append(search.run()[1])
    assert all(
        result.guarantee is not Guarantee.OPTIMAL or result.gap <= 1e-6 for result in results
    )
    assert Guarantee.FEASIBLE in {result.guarantee for result in results}


@pytest.mark.parametrize(("limit", "most"), [(100, 14), (300, 11), (1000, 10), (2500, 14)])
def test_sizes_guide_the_search(problem: SubtreePruning, limit: int, most: int) -> None:
    calls: list[float | None] = []
    search = BudgetSearch(problem, limit, _timed(calls), {"time_limit": None})
    search.run()
    # Halving a decade takes 11 solves beside those that find the decade.
    assert len(calls) <= most
    assert 0.97 * limit <= search.nodes <= limit


def test_where_sizes_jump_past_the_limit_the_place_is_found() -> None:
    problem = _subtrees(1)
    first = solve(problem.with_alpha(problem.alpha_max() * 0.999))
    smallest = problem.kept_nodes(first.choice)
    calls: list[float | None] = []
    # A split adds two nodes, so that no model has as many.
    search = BudgetSearch(problem, smallest + 1, _timed(calls), {"time_limit": None})
    alpha, _ = search.run()
    assert search.nodes == smallest
    assert problem.kept_nodes(solve(problem.with_alpha(alpha / 1.01)).choice) > smallest + 1
    assert len(calls) <= 25
