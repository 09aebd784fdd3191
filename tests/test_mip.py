"""Engines of mixed-integer programming agree with exhaustive search, and are not overtrusted."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from time import perf_counter

import numpy as np
import pytest
from conftest import random_layers

from forestprune import Guarantee, LayerPruning, PruningData, solve, verify
from formulations import ChoiceColumns
from formulations.rewritings.linearised import CentredForm, count_products
from solvers import BoundSource, EngineFailure, InvalidOption, UnsupportedProblem, solve_path
from solvers._choices import mip
from solvers._engines.pyomo import EngineAnswer

LABELS = ["highs", "highs[presolve=False]", "highs[form=products]", "scip"]
INSTALLED = [label for label in LABELS if label != "scip" or find_spec("pyscipopt") is not None]


def centred(problem: LayerPruning) -> tuple[ChoiceColumns, CentredForm]:
    """All choices of a problem, centred at random weights."""
    columns = ChoiceColumns.every(problem)
    weights = np.random.default_rng(0).uniform(size=columns.n_columns)
    for begin, end in zip(columns.start[:-1], columns.start[1:], strict=True):
        weights[begin:end] /= weights[begin:end].sum()
    value = problem.objective(problem.zero())
    return columns, CentredForm.at(columns, weights, value)


@pytest.fixture
def coupled() -> LayerPruning:
    """Twelve trees whose columns overlap, so that the relaxation leaves something to do."""
    layers, y = random_layers(13, 60, [3] * 12, signal=0.3)
    return LayerPruning(PruningData.from_layers(layers, y, 0.2), 0.2, "depth")


def test_the_centred_form_has_the_objective(make_random: Callable[[int], LayerPruning]) -> None:
    generator = np.random.default_rng(1)
    for seed in range(30):
        problem = make_random(seed)
        if problem.data.depths.max() == 0:
            continue
        columns, form = centred(problem)
        assert form.cost.min() >= 0.0
        assert form.bound <= problem.objective(problem.full())
        for _ in range(5):
            depths = generator.integers(0, problem.data.depths + 1)
            selected = columns.selected(depths)
            residuals = form.residuals(selected)
            value = form.cost[selected].sum() + (residuals**2).sum()
            objective = problem.objective(depths)
            assert form.bound + form.scale * value == pytest.approx(objective, rel=1e-9)
            products = form.products()
            x = columns.weights(selected)
            linear = products.constant + products.linear @ x
            linear += products.coefficient @ (x[products.left] * x[products.right])
            assert form.bound + form.scale * linear == pytest.approx(objective, rel=1e-9)
            assert len(products.left) == count_products(form.start)
            low, high = form.ranges()
            if value <= 1.0:
                assert (low - 1e-9 <= residuals).all()
                assert (residuals <= high + 1e-9).all()


def test_first_tangents_cover_the_ranges(coupled: LayerPruning) -> None:
    _, form = centred(coupled)
    rows, points = form.first_tangents(0.25)
    low, high = form.ranges()
    for j in range(form.n_rows):
        here = points[rows == j]
        assert (here[0], here[-1]) == (low[j], high[j])
        assert np.diff(here).max() <= 0.25 + 1e-12


@pytest.mark.parametrize("label", INSTALLED)
def test_random_problems_against_brute_force(
    make_random: Callable[[int], LayerPruning], label: str
) -> None:
    asked = 0
    for seed in range(25):
        problem = make_random(seed)
        optimum = solve(problem, "brute_force").objective
        result = solve(problem, label)
        assert result.guarantee is Guarantee.OPTIMAL, (seed, result)
        assert result.bound <= optimum + problem.tolerance
        assert result.objective <= optimum * (1 + 1e-6) + problem.tolerance
        assert verify(problem, result).sound
        asked += result.extra.get("engine_calls", 0)
    assert asked > 5


@pytest.mark.parametrize("label", INSTALLED)
def test_a_larger_problem_agrees_with_own_search(coupled: LayerPruning, label: str) -> None:
    own = solve(coupled, "branch_and_bound", gap=1e-7)
    result = solve(coupled, label, gap=1e-4)
    assert result.guarantee is Guarantee.OPTIMAL
    assert result.extra["engine_calls"] >= 1
    assert result.bound_source is BoundSource.ENGINE
    assert result.bound <= own.objective + coupled.tolerance
    assert own.bound <= result.objective + coupled.tolerance
    claims = "\n".join(verify(coupled, result).claims)
    assert "the engine's claim" in claims


def test_the_incumbent_starts_the_engine(coupled: LayerPruning) -> None:
    result = solve(coupled, "highs", gap=1e-4)
    assert "MIP start solution is feasible: objective value is 1" in result.log


@pytest.mark.parametrize("label", [label for label in INSTALLED if "products" not in label])
def test_a_time_limit_keeps_incumbent_and_bound(larger: LayerPruning, label: str) -> None:
    start = solve(larger, "cbcd")
    solve(larger, label, time_limit=0.1)  # starts the process
    began = perf_counter()
    result = solve(larger, label, time_limit=1.0, gap=0.0)
    assert perf_counter() - began <= 1.0 * 1.1 + 1.0
    assert result.termination == "time_limit"
    assert result.objective <= start.objective
    assert -np.inf < result.bound <= result.objective
    assert result.trace


def test_a_callback_ends_the_run(coupled: LayerPruning) -> None:
    result = solve(coupled, "highs", gap=0.0, callback=lambda entry: True)
    assert result.termination == "callback"
    assert result.choice is not None


def test_the_number_of_threads_can_change(coupled: LayerPruning) -> None:
    values = [solve(coupled, "highs", gap=1e-4, threads=n).objective for n in (1, 2, 1)]
    assert max(values) - min(values) <= 1e-4 * values[0]


def test_too_many_products_are_refused(larger: LayerPruning) -> None:
    with pytest.raises(UnsupportedProblem, match=r"at most 10000 products.*form=outer"):
        solve(larger, "highs[form=products,presolve=False]", gap=0.0)


def test_wrong_options_are_refused(problem: LayerPruning) -> None:
    with pytest.raises(InvalidOption, match="form must be one of outer, products"):
        solve(problem, "highs[form=rows]")
    with pytest.raises(InvalidOption, match="presolve must be True or False"):
        solve(problem, "highs", presolve=1)


def test_a_bound_above_a_known_solution_is_a_failure(
    coupled: LayerPruning, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = mip.EngineSearch.call

    def boastful(self: mip.EngineSearch, *given: object) -> EngineAnswer:
        answer = honest(self, *given)  # type: ignore[arg-type]
        assert answer is not None
        return EngineAnswer(answer.x, answer.bound + 1.0, answer.timed_out, answer.log)

    monkeypatch.setattr(mip.EngineSearch, "call", boastful)
    with pytest.raises(EngineFailure, match="above a feasible objective"):
        solve(coupled, "highs")


def test_a_path_can_be_certified_by_an_engine(problem: LayerPruning) -> None:
    path = solve_path(problem, values=4, solver="highs")
    assert all(result.guarantee is Guarantee.OPTIMAL for result in path.results)
