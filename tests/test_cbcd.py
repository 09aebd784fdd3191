"""Coordinate descent ends in a fixed point, and local search finds most optima."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from forestprune import LayerPruning, solve
from solvers._choices.descent import Descent
from solvers._core.base import Control


def improves(problem: LayerPruning, choice: np.ndarray) -> bool:
    """Whether changing one tree alone lowers the objective by more than rounding."""
    now = problem.objective(choice)
    for i, depth in enumerate(problem.data.depths):
        for k in range(depth + 1):
            other = choice.copy()
            other[i] = k
            if problem.objective(other) < now - 2.0 * problem.tolerance:
                return True
    return False


@pytest.mark.parametrize("label", ["cbcd", "cbcd[local_search=False]"])
def test_the_end_is_a_fixed_point(tiny: LayerPruning, label: str) -> None:
    assert not improves(tiny, solve(tiny, label, gap=0.0).choice)


def test_the_end_is_a_fixed_point_on_a_larger_problem(larger: LayerPruning) -> None:
    for alpha in (0.05, 0.5, 5.0):
        problem = larger.with_alpha(alpha)
        assert not improves(problem, solve(problem, "cbcd", gap=0.0).choice)


def test_random_problems_against_brute_force(make_random: Callable[[int], LayerPruning]) -> None:
    found = 0
    for seed in range(200):
        problem = make_random(seed)
        optimum = solve(problem, "brute_force").objective
        plain = solve(problem, "cbcd[local_search=False]")
        searched = solve(problem, "cbcd")
        assert searched.objective <= plain.objective + problem.tolerance
        for result in (plain, searched):
            assert result.bound <= optimum + problem.tolerance
            assert optimum <= result.objective + problem.tolerance
        found += searched.objective <= optimum + problem.tolerance
    assert found >= 180


def test_the_trace_never_rises(larger: LayerPruning) -> None:
    result = solve(larger, "cbcd[patience=50]", gap=0.0)
    objectives = [entry.objective for entry in result.trace]
    assert objectives == sorted(objectives, reverse=True)
    assert result.objective == pytest.approx(objectives[-1], rel=1e-12)


def test_the_carried_residual_and_objective_stay_true(larger: LayerPruning) -> None:
    descent = Descent(larger, larger.zero())
    descent.run(Control())
    saved, objective = descent.saved(), descent.objective
    before = descent.state.choice.copy()
    descent.exchange(0, 1)
    descent.run(Control())
    leaf_values = larger.leaf_values(descent.state.choice)
    np.testing.assert_allclose(descent.state.residual, larger.residual(leaf_values), atol=1e-12)
    assert descent.objective == pytest.approx(larger.objective(descent.state.choice), rel=1e-12)
    descent.restore(saved, objective)
    np.testing.assert_array_equal(descent.state.choice, before)
    assert descent.objective == pytest.approx(larger.objective(before), rel=1e-12)


def test_ties_go_to_the_shallowest(make_random: Callable[[int], LayerPruning]) -> None:
    from conftest import TINY

    np.testing.assert_array_equal(solve(TINY["ties"](), "cbcd").choice, [1, 0])


def test_a_warm_start_is_used(larger: LayerPruning) -> None:
    first = solve(larger, "cbcd")
    second = solve(larger, "cbcd[local_search=False]", warm_start=first)
    np.testing.assert_array_equal(first.choice, second.choice)


def test_a_callback_ends_the_run(larger: LayerPruning) -> None:
    seen: list[float] = []

    def stop_at_once(entry: object) -> bool:
        seen.append(entry.objective)  # type: ignore[attr-defined]
        return True

    result = solve(larger, "cbcd", gap=0.0, callback=stop_at_once)
    assert result.termination == "callback"
    assert len(seen) == 1


def test_the_gap_asked_for_ends_the_search(larger: LayerPruning) -> None:
    result = solve(larger, "cbcd", gap=10.0)
    assert (result.termination, result.guarantee) == ("gap_reached", "optimal")
