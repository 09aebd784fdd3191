"""One set of checks for every solver on every tiny problem."""

from __future__ import annotations

from time import perf_counter

import numpy as np
import pytest
from conftest import TINY, random_layers

import forestprune as fp
from forestprune import Guarantee, LayerPruning, PruningData, available_solvers, solve, verify
from solvers import EngineFailure, UnsupportedProblem
from solvers._registry import solver_class, solver_names

VARIANTS = [
    "cbcd[local_search=False]",
    "cbcd[swap=index]",
    "cbcd[swap=performance]",
    "ecos[form=rows]",
    "clarabel[form=rows]",
    "clarabel[rounding=False]",
]
# ECOS has no wheel for every Python; what is not installed cannot be run.
LABELS = sorted(
    label
    for label in [*solver_names(), *VARIANTS]
    if label.partition("[")[0] in available_solvers()
)


@pytest.fixture(params=LABELS)
def label(request: pytest.FixtureRequest) -> str:
    """Every installed solver, and options that change how it works."""
    return str(request.param)


def close(problem: LayerPruning) -> float:
    """Differences of the objective that an interior-point method leaves."""
    return 1e-5 * problem.data.target_square


def test_every_registered_solver_is_covered() -> None:
    assert {label.partition("[")[0] for label in LABELS} == set(available_solvers())


def test_answers_stand_up_to_brute_force(tiny: LayerPruning, label: str) -> None:
    optimum = solve(tiny, "brute_force").objective
    result = solve(tiny, label)
    assert result.bound <= optimum + tiny.tolerance <= result.objective + 2 * tiny.tolerance
    if result.choice is None:
        assert result.objective == np.inf
        assert result.guarantee in (Guarantee.BOUND_ONLY, Guarantee.NONE)
    else:
        assert result.objective == tiny.objective(result.choice)
    if result.guarantee is Guarantee.OPTIMAL:
        assert result.gap <= 1e-6 or result.absolute_gap <= tiny.tolerance
        assert result.objective <= optimum * (1 + 1e-6) + tiny.tolerance
    if solver_class(label.partition("[")[0]).method == "exact":
        assert result.guarantee is Guarantee.OPTIMAL
    checked = verify(tiny, result)
    assert checked.sound, str(checked)


def test_relaxations_agree(tiny: LayerPruning) -> None:
    bounds = [
        solve(tiny, label).bound
        for label in LABELS
        if solver_class(label.partition("[")[0]).method == "relaxation"
    ]
    assert max(bounds) - min(bounds) <= close(tiny)


def test_the_engine_agrees_with_the_recomputed_relaxation(tiny: LayerPruning) -> None:
    forms = ("ecos", "ecos[form=rows]", "clarabel", "clarabel[form=rows]")
    for label in [label for label in forms if label in LABELS]:
        result = solve(tiny, label)
        if "engine_objective" in result.extra:
            value = result.extra["engine_objective"]
            assert result.relaxed is not None
            assert abs(tiny.relaxed_objective(result.relaxed) - value) <= close(tiny)
            assert value >= result.bound - close(tiny)


def test_same_seed_same_answer(tiny: LayerPruning, label: str) -> None:
    first, second = (solve(tiny, label, seed=7) for _ in range(2))
    np.testing.assert_array_equal(first.choice, second.choice)
    assert (first.objective, first.bound) == (second.objective, second.bound)


def test_a_warm_start_is_never_made_worse(tiny: LayerPruning, label: str) -> None:
    best = solve(tiny, "brute_force")
    result = solve(tiny, label, warm_start=best)
    assert result.objective <= best.objective + tiny.tolerance


@pytest.mark.parametrize("factor", [1e-6, 1e4, 1e8])
@pytest.mark.parametrize("name", ["random", "weighted_outputs", "duplicates", "stumps"])
def test_scaling_the_response(name: str, factor: float, label: str) -> None:
    problem = TINY[name]()
    data = problem.data
    layers, y = random_layers(3, 12, [2, 3, 1, 2])
    data = PruningData.from_layers(layers, y, 0.7)
    scaled = PruningData.from_layers([factor * D for D in layers], factor * y, 0.7)
    small = solve(LayerPruning(data, 0.4, "depth"), label)
    big = solve(LayerPruning(scaled, 0.4 * factor**2, "depth"), label)
    np.testing.assert_array_equal(small.choice, big.choice)
    assert big.objective == pytest.approx(small.objective * factor**2, rel=1e-9)
    assert big.bound == pytest.approx(small.bound * factor**2, rel=1e-5)


def test_the_order_of_rows_and_trees_does_not_matter(label: str) -> None:
    layers, y = random_layers(20, 14, [2, 3, 1])
    rows, trees = np.random.default_rng(0).permutation(14), [2, 0, 1]
    plain = solve(LayerPruning(PruningData.from_layers(layers, y), 0.5, "depth"), label)
    shuffled = PruningData.from_layers([layers[i][rows] for i in trees], y[rows])
    other = solve(LayerPruning(shuffled, 0.5, "depth"), label)
    assert other.objective == pytest.approx(plain.objective, rel=1e-9)
    assert other.bound == pytest.approx(plain.bound, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("label", ["brute_force", "cbcd[patience=100000000]", "ecos[form=rows]"])
def test_the_time_limit_holds(label: str, larger: LayerPruning) -> None:
    problem = larger
    if label == "brute_force":
        layers, y = random_layers(1, 12, [9] * 8)
        problem = LayerPruning(PruningData.from_layers(layers, y), 0.1, "depth")
    solve(problem, "cbcd[local_search=False]", time_limit=0.001)  # compiles the kernels
    began = perf_counter()
    result = solve(problem, label, time_limit=0.2, gap=0.0)
    assert perf_counter() - began <= 0.2 * 1.1 + 1.0
    assert result.termination == "time_limit"
    if label != "ecos[form=rows]":
        assert result.objective <= problem.objective(problem.zero())


def test_a_time_limit_keeps_the_warm_start(larger: LayerPruning) -> None:
    start = solve(larger, "cbcd")
    result = solve(larger, "ecos[form=rows]", time_limit=0.05, warm_start=start)
    assert result.objective == start.objective


def test_a_refusal_has_its_reason_and_alternatives(larger: LayerPruning) -> None:
    with pytest.raises(UnsupportedProblem, match=r"9\.09e\+27 choices.*Solvers that can: .*cbcd"):
        solve(larger, "brute_force")
    assert "brute_force" not in available_solvers(larger)


def test_a_false_bound_is_a_failure_not_a_row(
    problem: LayerPruning, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = solver_class("brute_force").run

    def boastful(*given: object) -> object:
        answer = honest(*given)  # type: ignore[arg-type]
        answer.bound = answer.bound * 1.01
        return answer

    monkeypatch.setattr(solver_class("brute_force"), "run", boastful)
    with pytest.raises(EngineFailure, match="above a feasible objective"):
        solve(problem, "brute_force")


def test_an_infeasible_choice_is_a_failure(
    problem: LayerPruning, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = solver_class("cbcd").run

    def careless(*given: object) -> object:
        answer = honest(*given)  # type: ignore[arg-type]
        answer.choice = answer.choice + 9
        return answer

    monkeypatch.setattr(solver_class("cbcd"), "run", careless)
    with pytest.raises(EngineFailure, match="infeasible choice"):
        solve(problem, "cbcd")


def test_a_dead_engine_is_reported(problem: LayerPruning, monkeypatch: pytest.MonkeyPatch) -> None:
    from solvers import _process

    solve(problem, "clarabel")
    running = _process._running
    assert running is not None
    monkeypatch.setattr(type(running), "alive", True)
    running._child.kill()
    running._child.wait()
    with pytest.raises(EngineFailure, match="ended with exit code"):
        solve(problem, "clarabel")
    monkeypatch.undo()
    assert solve(problem, "clarabel").choice is not None


def test_facade_exports_what_it_says() -> None:
    assert all(hasattr(fp, name) for name in fp.__all__)
