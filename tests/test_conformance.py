"""One set of checks for every solver on every tiny problem."""

from __future__ import annotations

from time import perf_counter

import numpy as np
import pytest
from conftest import SUBTREES, TINY, random_layers, random_trees

import forestprune as fp
from forestprune import (
    Guarantee,
    LayerPruning,
    PruningData,
    SubtreePruning,
    available_solvers,
    solve,
    verify,
)
from formulations import ChoiceFormulation
from solvers import EngineFailure, UnsupportedProblem
from solvers._core.registry import solver_class, solver_names

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


@pytest.fixture(params=sorted({**TINY, **SUBTREES}))
def any_tiny(request: pytest.FixtureRequest) -> ChoiceFormulation:
    """Each of the named tiny problems, of depth layers and of subtrees."""
    return {**TINY, **SUBTREES}[request.param]()


@pytest.fixture(params=[*sorted(TINY), "subtrees", "subtrees_duplicates", "subtrees_outputs"])
def repeated(request: pytest.FixtureRequest) -> ChoiceFormulation:
    """Those that are solved again and again: all of depth layers, some of subtrees."""
    return {**TINY, **SUBTREES}[request.param]()


def close(problem: ChoiceFormulation) -> float:
    """Differences of the objective that an interior-point method leaves."""
    return 1e-5 * problem.data.target_square


def test_every_registered_solver_is_covered() -> None:
    assert {label.partition("[")[0] for label in LABELS} == set(available_solvers())


def test_answers_stand_up_to_brute_force(any_tiny: ChoiceFormulation, label: str) -> None:
    optimum = solve(any_tiny, "brute_force").objective
    result = solve(any_tiny, label)
    assert result.bound <= optimum + any_tiny.tolerance <= result.objective + 2 * any_tiny.tolerance
    if result.choice is None:
        assert result.objective == np.inf
        assert result.guarantee in (Guarantee.BOUND_ONLY, Guarantee.NONE)
    else:
        assert result.objective == any_tiny.objective(result.choice)
    if result.guarantee is Guarantee.OPTIMAL:
        assert result.gap <= 1e-6 or result.absolute_gap <= any_tiny.tolerance
        assert result.objective <= optimum * (1 + 1e-6) + any_tiny.tolerance
    if solver_class(label.partition("[")[0]).method == "exact":
        assert result.guarantee is Guarantee.OPTIMAL
    checked = verify(any_tiny, result)
    assert checked.sound, str(checked)


def test_relaxations_agree(any_tiny: ChoiceFormulation) -> None:
    bounds = [
        solve(any_tiny, label).bound
        for label in LABELS
        if solver_class(label.partition("[")[0]).method == "relaxation"
    ]
    assert max(bounds) - min(bounds) <= close(any_tiny)


def test_the_engine_agrees_with_the_recomputed_relaxation(any_tiny: ChoiceFormulation) -> None:
    forms = ("ecos", "ecos[form=rows]", "clarabel", "clarabel[form=rows]")
    for label in [label for label in forms if label in LABELS]:
        result = solve(any_tiny, label)
        if "engine_objective" in result.extra:
            value = result.extra["engine_objective"]
            assert result.relaxed is not None
            assert abs(any_tiny.relaxed_objective(result.relaxed) - value) <= close(any_tiny)
            assert value >= result.bound - close(any_tiny)


def test_same_seed_same_answer(repeated: ChoiceFormulation, label: str) -> None:
    first, second = (solve(repeated, label, seed=7) for _ in range(2))
    np.testing.assert_array_equal(first.choice, second.choice)
    assert (first.objective, first.bound) == (second.objective, second.bound)


def test_a_warm_start_is_never_made_worse(repeated: ChoiceFormulation, label: str) -> None:
    best = solve(repeated, "brute_force")
    result = solve(repeated, label, warm_start=best)
    assert result.objective <= best.objective + repeated.tolerance


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


@pytest.mark.parametrize("factor", [1e-6, 1e4, 1e8])
def test_scaling_the_response_of_subtrees(factor: float, label: str) -> None:
    parents, values, codes, y = random_trees(23, 14, [3, 4, 1, 2])
    data = PruningData.from_trees(parents, values, codes, y)
    times = [factor * value for value in values]
    scaled = PruningData.from_trees(parents, times, codes, factor * y)
    small = solve(SubtreePruning(data, 0.8), label)
    big = solve(SubtreePruning(scaled, 0.8 * factor**2), label)
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


def test_the_order_does_not_matter_for_subtrees(label: str) -> None:
    parents, values, codes, y = random_trees(38, 20, [3, 5, 2])
    rows, trees = np.random.default_rng(0).permutation(20), [2, 0, 1]
    plain = solve(SubtreePruning(PruningData.from_trees(parents, values, codes, y), 0.8), label)
    shuffled = PruningData.from_trees(
        [parents[i] for i in trees], [values[i] for i in trees], codes[trees][:, rows], y[rows]
    )
    other = solve(SubtreePruning(shuffled, 0.8), label)
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


def installed(*labels: str) -> list[str]:
    """Those of some labels whose engine is installed."""
    return [label for label in labels if label.partition("[")[0] in available_solvers()]


@pytest.mark.parametrize("label", installed("relaxation", "branch_and_bound", "scip"))
def test_the_time_limit_holds_for_subtrees(label: str) -> None:
    data = PruningData.from_trees(*random_trees(40, 1500, [30] * 40, signal=0.05))
    problem = SubtreePruning(data, 0.5)
    solve(problem, label, time_limit=0.001)  # compiles the kernels and starts the engine
    began = perf_counter()
    result = solve(problem, label, time_limit=0.3, gap=0.0)
    assert perf_counter() - began <= 0.3 * 1.1 + 1.0
    assert result.termination == "time_limit"
    assert verify(problem, result).sound


def test_a_time_limit_keeps_the_warm_start(larger: LayerPruning) -> None:
    start = solve(larger, "cbcd")
    result = solve(larger, "ecos[form=rows]", time_limit=0.05, warm_start=start)
    assert result.objective == start.objective


def test_a_refusal_has_its_reason_and_alternatives(larger: LayerPruning) -> None:
    with pytest.raises(UnsupportedProblem, match=r"9\.09e\+27 choices.*Solvers that can: .*cbcd"):
        solve(larger, "brute_force")
    assert "brute_force" not in available_solvers(larger)


@pytest.mark.parametrize(
    "label", installed("branch_and_bound", "branch_and_bound[presolve=False]", "highs", "scip")
)
def test_too_many_subtrees_to_search_leave_what_is_known(label: str) -> None:
    problem = SubtreePruning(PruningData.from_trees(*random_trees(40, 100, [30] * 4)), 0.5)
    relaxed = solve(problem, "relaxation")
    assert relaxed.gap > 0.01
    result = solve(problem, label)
    assert result.termination == "too_large"
    assert result.objective <= relaxed.objective
    assert result.bound == pytest.approx(relaxed.bound, rel=1e-3)
    assert result.guarantee is Guarantee.LOCAL
    assert verify(problem, result).sound


def test_too_many_subtrees_to_list_are_refused() -> None:
    problem = SubtreePruning(PruningData.from_trees(*random_trees(40, 100, [30])), 0.5)
    with pytest.raises(UnsupportedProblem, match=r"4\.41e\+04 choices.*20,000 can be listed.*cbcd"):
        solve(problem, "brute_force")
    with pytest.raises(UnsupportedProblem, match=r"20,000 can be listed; relaxation\[form=rows\]"):
        solve(problem, "relaxation[form=gram]")


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
    from solvers._engines import process as _process

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


def test_a_gap_without_figures_is_infinite(larger: LayerPruning) -> None:
    result = solve(larger, "ecos[form=rows]", time_limit=0.001)
    assert (result.choice, result.gap, result.absolute_gap) == (None, np.inf, np.inf)


def test_facade_exports_what_it_says() -> None:
    assert all(hasattr(fp, name) for name in fp.__all__)
