"""One set of checks for every solver on every tiny problem with free coefficients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from conftest import random_layers
from free_problems import (
    DATA,
    SUBTREE_DATA,
    SUBTREE_VARIANTS,
    VARIANTS,
    make_free,
    optimum,
)

from forestprune import Guarantee, JointPruning, Polishing, PruningData, solve, verify
from forestprune import available_solvers as ready
from solvers import UnsupportedProblem
from solvers._core.registry import solver_class, solver_names

LABELS = [name for name in solver_names() if name in ready()]
CASES = [(data, variant) for data in DATA for variant in sorted(VARIANTS)]
CASES += [(data, variant) for data in SUBTREE_DATA for variant in sorted(SUBTREE_VARIANTS)]


@pytest.fixture(params=LABELS)
def label(request: pytest.FixtureRequest) -> str:
    """Every installed solver."""
    return str(request.param)


@pytest.fixture(params=CASES, ids=["-".join(case) for case in CASES])
def free(request: pytest.FixtureRequest) -> Any:
    """Every variant on the data of several tiny problems."""
    return make_free(*request.param)


def test_answers_stand_up_to_enumeration(free: Any, label: str) -> None:
    if label not in ready(free):
        with pytest.raises(UnsupportedProblem, match=r"Solvers that can: .*cbcd"):
            solve(free, label)
        return
    least = optimum(free)
    # Dependent columns without a ridge have coefficients of any size: engines need a limit.
    needs_limit = free.rule.ridge == 0.0 and label in ("highs", "scip", "gurobi")
    try:
        result = solve(free, label)
    except UnsupportedProblem as error:
        if not needs_limit or "state a limit by beta_bound" not in str(error):
            raise
        return
    rounding = 1e-9 * free.data.target_square
    assert result.bound <= least + rounding
    if result.choice is not None:
        assert result.objective >= least - rounding
        assert result.objective == free.objective(result.choice, result.beta)
    if result.guarantee is Guarantee.OPTIMAL:
        assert result.objective <= least * (1 + 1e-6) + rounding
    if solver_class(label).method == "exact":
        assert result.guarantee is Guarantee.OPTIMAL
    checked = verify(free, result)
    assert checked.sound, str(checked)


@pytest.mark.parametrize("variant", sorted(VARIANTS | SUBTREE_VARIANTS))
def test_the_same_again_and_from_the_best(variant: str, label: str) -> None:
    problem = make_free("subtrees" if variant in SUBTREE_VARIANTS else "random", variant)
    if label not in ready(problem):
        pytest.skip("refused, as another test checks")
    if variant == "subtrees_without_ridge" and label in ("highs", "scip", "gurobi"):
        pytest.skip("dependent columns without a ridge need a limit, as another test checks")
    first, second = (solve(problem, label, seed=7) for _ in range(2))
    np.testing.assert_array_equal(first.choice, second.choice)
    np.testing.assert_array_equal(first.beta, second.beta)
    assert (first.objective, first.bound) == (second.objective, second.bound)
    best = solve(problem, "brute_force")
    again = solve(problem, label, warm_start=best)
    assert again.objective <= best.objective + problem.tolerance


@pytest.mark.parametrize("factor", [1e-6, 1e8])
@pytest.mark.parametrize("kind", ["joint", "counted", "priced", "limited"])
def test_scaling_the_response(kind: str, factor: float, label: str) -> None:
    layers, y = random_layers(3, 12, [2, 3, 1, 2])

    def scaled(by: float) -> Any:
        data = PruningData.from_layers([by * D for D in layers], by * y, 0.7)
        size = 0.1 * by * by
        return {
            "joint": lambda: JointPruning(data, size, 0.5, weights="depth"),
            "counted": lambda: JointPruning(data, size, size, 0, "depth", 0.1 * by * by),
            "priced": lambda: Polishing(data, data.depths, size, 0, ridge=0.1 * by * by),
            "limited": lambda: Polishing(data, data.depths, rho=0, n_trees=2, ridge=0.1 * by * by),
        }[kind]()

    small, big = scaled(1.0), scaled(factor)
    if kind == "joint":
        big = JointPruning(big.data, big.alpha, 0.5 * factor**2, weights="depth")
    if label not in ready(small):
        pytest.skip("refused, as another test checks")
    one, other = solve(small, label), solve(big, label)
    np.testing.assert_array_equal(one.choice, other.choice)
    np.testing.assert_array_equal(one.beta != 0.0, other.beta != 0.0)
    assert other.objective == pytest.approx(one.objective * factor**2, rel=1e-6)
    assert other.bound == pytest.approx(one.bound * factor**2, rel=1e-4)


def test_random_problems_are_solved_as_by_enumeration(make_random: Any) -> None:
    found = 0
    for seed in range(60):
        data = make_random(seed).data
        if not data.depths.any():
            continue
        unit = data.target_square
        for problem in (
            JointPruning(data, 0.2 * unit, 0.1, weights="depth"),
            Polishing(data, data.depths, rho=0, n_trees=min(2, int((data.depths > 0).sum()))),
        ):
            least = optimum(problem)
            exact = solve(problem, "brute_force")
            assert exact.objective == pytest.approx(least, rel=1e-9, abs=1e-12 * unit)
            found += solve(problem, "cbcd").objective <= least * (1 + 1e-9) + problem.tolerance
    assert found >= 105  # of about 115: a heuristic, but a good one
