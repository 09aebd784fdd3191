"""Names, labels, options, paths and verification."""

from __future__ import annotations

import os
import signal
import threading
from dataclasses import replace

import numpy as np
import pytest

from forestprune import InvalidInput, LayerPruning, capability_table, solve, solve_path, verify
from solvers import (
    InvalidOption,
    MissingEngine,
    UnknownSolver,
    format_label,
    parse_label,
    predicted_memory,
)
from solvers._core.registry import make_solver, solver_class


@pytest.mark.parametrize(
    "label",
    ["cbcd", "cbcd[local_search=False]", "cbcd[local_search=False,patience=3]", "ecos[form=rows]"],
)
def test_labels_round_trip(label: str) -> None:
    assert make_solver(label)[0] == label
    name, options = parse_label(label)
    assert format_label(name, solver_class(name).Options(**options)) == label


def test_options_may_be_typed_either_way(problem: LayerPruning) -> None:
    assert solve(problem, "cbcd", patience=3).solver == "cbcd[patience=3]"
    assert solve(problem, "cbcd[ patience = 3 , swap='index' ]").solver == (
        "cbcd[patience=3,swap=index]"
    )


@pytest.mark.parametrize(
    ("label", "error", "message"),
    [
        (
            "cbdc",
            UnknownSolver,
            r"unknown solver 'cbdc'; did you mean 'cbcd'\? Known: .*brute_force",
        ),
        ("cbcd[", UnknownSolver, "a solver is a name"),
        ("cbcd[patience]", InvalidOption, "options in a label read name=value"),
        ("cbcd[patiense=3]", InvalidOption, "no option 'patiense'; did you mean 'patience'"),
        ("cbcd[patience=0]", InvalidOption, "patience must be an integer of at least 1, not 0"),
        ("cbcd[local_search=1]", InvalidOption, "local_search must be True or False, not 1"),
        ("cbcd[swap=best]", InvalidOption, "swap must be one of correlation, performance, index"),
        ("ecos[form=matrix]", InvalidOption, "form must be one of gram, rows, not 'matrix'"),
        ("brute_force[fast=True]", InvalidOption, "it has none"),
    ],
)
def test_bad_labels_are_refused(
    problem: LayerPruning, label: str, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        solve(problem, label)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"time_limit": 0}, "time_limit must be above 0"),
        ({"time_limit": "1h"}, "time_limit must be a number of at least 0"),
        ({"gap": -0.1}, "gap must be a number of at least 0, not -0.1"),
        ({"seed": -1}, "seed must be an integer of at least 0"),
        ({"threads": 0}, "threads must be an integer of at least 1"),
        ({"warm_start": [9, 9, 9, 9]}, "warm_start is not feasible"),
    ],
)
def test_bad_arguments_are_refused(
    problem: LayerPruning, arguments: dict[str, object], message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        solve(problem, **arguments)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="problem must be a formulation"):
        solve([1.0])  # type: ignore[arg-type]


def test_a_missing_engine_is_named(problem: LayerPruning, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solver_class("ecos"), "engines", ("cvxpy", "no_such_engine"))
    with pytest.raises(MissingEngine, match="pip install no_such_engine"):
        solve(problem, "ecos")
    rows = {row["solver"]: row for row in capability_table()}
    assert rows["ecos"]["status"] == "missing: no_such_engine"
    assert rows["cbcd"]["status"] == "ready"


def test_memory_is_predicted(larger: LayerPruning) -> None:
    assert predicted_memory(larger, "cbcd") is None
    rows, gram = (predicted_memory(larger, f"ecos[form={form}]") for form in ("rows", "gram"))
    assert rows is not None
    assert gram is not None
    assert rows > gram


def test_ctrl_c_keeps_the_incumbent(larger: LayerPruning) -> None:
    def interrupt() -> None:
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    timer = threading.Timer(0.3, interrupt)
    timer.start()
    result = solve(larger, "cbcd[patience=100000000]", gap=0.0, time_limit=30)
    assert result.termination == "interrupted"
    assert result.objective < larger.objective(larger.zero())
    assert result.bound > -np.inf
    assert signal.getsignal(signal.SIGINT) == before


def test_ctrl_c_ends_an_engine(larger: LayerPruning) -> None:
    solve(larger, "ecos", time_limit=30)  # starts the engine's process
    timer = threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    result = solve(larger, "ecos[form=rows]", time_limit=30)
    timer.join()
    assert result.termination == "interrupted"
    assert result.solve_seconds < 5.0


def test_a_path_has_a_result_for_every_alpha(larger: LayerPruning) -> None:
    path = solve_path(larger, values=12)
    assert len(path) == 12
    assert (np.diff(path.values) < 0).all()
    np.testing.assert_array_equal(path[0].choice, larger.zero())
    objectives = [result.objective for result in path]
    assert objectives == sorted(objectives, reverse=True)
    frame = path.to_frame()
    assert len(frame) == 13
    assert frame["solver"].iloc[-1] == "full"
    assert frame["loss"].iloc[-1] == pytest.approx(larger.loss(larger.full()))
    for alpha, result in zip(path.values, path, strict=True):
        assert verify(larger.with_alpha(float(alpha)), result).sound


def test_exact_optima_never_rise_as_alpha_falls(problem: LayerPruning) -> None:
    path = solve_path(problem, values=[3.0, 0.1, 1.0, 0.0], solver="brute_force", pool=False)
    np.testing.assert_array_equal(path.values, [3.0, 1.0, 0.1, 0.0])
    objectives = [result.objective for result in path]
    assert objectives == sorted(objectives, reverse=True)


def test_pooling_never_makes_a_path_worse(larger: LayerPruning) -> None:
    loose = solve_path(larger, values=10, pool=False, local_search=False)
    pooled = solve_path(larger, values=10, local_search=False)
    for one, other in zip(loose, pooled, strict=True):
        assert other.objective <= one.objective + larger.tolerance


def test_a_path_is_cut_short_by_its_limit(larger: LayerPruning) -> None:
    path = solve_path(larger, values=5000, time_limit=0.3)
    assert 0 < len(path) < 5000
    assert len(path.to_frame(full=False)) == len(path.values) == len(path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"over": "lambda"}, 'over must be "alpha"'),
        ({"values": 0}, "values must be at least 1"),
        ({"values": [1.0, -1.0]}, "none of them negative"),
        ({"values": []}, "at least one α"),
    ],
)
def test_bad_paths_are_refused(
    problem: LayerPruning, arguments: dict[str, object], message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        solve_path(problem, **arguments)  # type: ignore[arg-type]


def test_verify_tells_what_is_proven(problem: LayerPruning) -> None:
    result = solve(problem, "cbcd")
    checked = verify(problem, result)
    assert checked.sound
    assert checked.feasible
    assert (checked.objective, checked.bound) == (result.objective, result.bound)
    enumerated = verify(problem, solve(problem, "brute_force"))
    assert enumerated.sound
    assert any("rests on the solver's enumeration" in claim for claim in enumerated.claims)


def test_verify_finds_what_is_wrong(problem: LayerPruning) -> None:
    result = solve(problem, "cbcd")
    for broken, sentence in [
        (replace(result, objective=result.objective - 0.1), "wrong, it is"),
        (replace(result, bound=result.objective + 0.1), "a choice has objective"),
        (replace(result, choice=np.array([9, 9, 9, 9])), "not feasible"),
        (replace(result, relaxed=np.zeros(3)), "does not belong"),
    ]:
        checked = verify(problem, broken)
        assert not checked.sound
        assert sentence in str(checked)
