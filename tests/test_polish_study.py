"""The study `polish`: its choice at budgets, its findings, its points, and a tiny run of it."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from forestprune import pruning_data
from studies import catalogue
from studies.cli import app
from studies.errors import StudyError
from studies.planning import make_plan
from studies.polish import POLISH
from studies.polish.findings import conclusion, contradictions
from studies.polish.study import METHODS, Size, size_cells
from studies.reporting.curves import Curve, budget_table, curves_of, point_table
from studies.reporting.report import Run
from studies.running.held_out import HeldOut
from studies.running.methods import first_problem, solve_along, solve_one
from studies.running.points import points_of
from studies.running.prepare import new_model, repeated, rows_of
from studies.spec import Cell, Instance, Method, Request

TINY = Size(("tiny.csv",), 24, 12, values=4, repeats=0, time_limit=20.0)
INSTANCE = Instance("d", 10, 2, held_out=5)
FULL = {"nodes": 1000, "trees": 20, "full": {"test_mse": 0.3, "test_r2": 0.7}}
RIDGE, SUBSET, JOINT = METHODS[1:4]


def point(alpha: float, nodes: int, validation: float, test: float, **more: Any) -> dict[str, Any]:
    return {
        "alpha": alpha,
        "objective": 1.0,
        "bound": 0.5,
        "gap": 0.5,
        "bound_source": "dual",
        "guarantee": "local",
        "pruning_gap": None,
        "joint_objective": 1.0,
        "train_mse": 0.1,
        "trees": nodes // 10,
        "nodes": nodes,
        "seconds": 0.5,
        "validation_mse": validation,
        "validation_r2": 1.0 - validation,
        "test_mse": test,
        "test_r2": 1.0 - test,
        **more,
    }


def run_of(*paths: tuple[Method, list[dict[str, Any]]], instance: Instance = INSTANCE) -> Run:
    cells = tuple(
        (
            Cell(instance, 1.0, "cbcd", "path", 0, 5.0, 1, method, len(points)),
            {"status": "ok", "path": points},
        )
        for method, points in paths
    )
    return Run({}, cells, {"versions": {}}, {instance: FULL})


PRUNED_PATH = [point(4.0, 0, 1.0, 1.0), point(1.0, 40, 0.6, 0.5), point(0.1, 900, 0.2, 0.25)]
RIDGE_PATH = [point(4.0, 0, 1.0, 1.0), point(1.0, 40, 0.5, 0.4), point(0.1, 900, 0.3, 0.28)]


@pytest.fixture
def run() -> Run:
    subset = [point(4.0, 0, 1.0, 1.0), point(1.0, 20, 0.7, 0.6), point(0.1, 50, 0.4, 0.3)]
    joint = [point(4.0000000001, 0, 1.0, 1.0, joint_objective=0.9), point(1.0, 10, 0.8, 0.7)]
    return run_of((METHODS[0], PRUNED_PATH), (RIDGE, RIDGE_PATH), (SUBSET, subset), (JOINT, joint))


def test_a_budget_is_met_by_the_least_validation_error_not_the_least_test_error() -> None:
    points = [
        point(1.0, 10, 0.5, 0.1),
        point(0.5, 20, 0.4, 0.9),
        point(0.3, 30, 0.4, 0.8),
        point(0.1, 31, 0.1, 0.05),
    ]
    (curve,) = curves_of(run_of((RIDGE, points)))
    assert curve.best_within(0.03) == points[1]  # of equals the smaller
    assert curve.best_within(0.031) == points[3]
    assert curve.best_within(0.0) is None


def test_the_table_shows_test_errors_at_budgets(run: Run) -> None:
    table = budget_table(curves_of(run), (0.03, 1.0))
    (group,) = table.groups
    found = {row[0]: dict(zip(table.header, row, strict=True)) for row in group.rows}
    subset = found["pruned, then best 10 trees"]
    assert (subset["≤ 3 %"], subset["trees ≤ 3 %"], subset["nodes ≤ 3 %"]) == ("0.6000", "2", "20")
    assert (subset["≤ 100 %"], subset["path s"]) == ("0.3000", "1.50")
    assert found["pruned"]["≤ 3 %"] == "1.000"
    assert found["full model"]["≤ 3 %"] == "–"
    assert (found["full model"]["≤ 100 %"], found["full model"]["nodes ≤ 100 %"]) == (
        *("0.3000", "1,000"),
    )


def test_the_conclusion_is_computed_from_the_rows(run: Run) -> None:
    assert conclusion(curves_of(run), (0.03, 1.0)) == (
        "Ridge polishing lowers the test error of 1 of 2 pruned models (1 of 1 with at most 5 %, "
        "0 of 1 with more than 20 % of the nodes). At node budgets, polishing to a "
        "few trees beats pruning alone at 1 of 2. Least test error at 2 budgets: pruned, then "
        "best 10 trees (1); pruned (1). The joint problem's objective is at most that of "
        "pruning, then ridge, at 2 of 2 α."
    )


def test_methods_are_paired_on_the_same_instance_only() -> None:
    other = run_of((RIDGE, RIDGE_PATH), instance=replace(INSTANCE, seed=1))
    here = run_of((METHODS[0], PRUNED_PATH))
    both = replace(
        here, cells=here.cells + other.cells, preparations=here.preparations | other.preparations
    )
    assert conclusion(curves_of(both), (1.0,)) == ""
    assert conclusion([], (1.0,)) == ""


def test_several_solvers_are_told_apart_and_not_mixed() -> None:
    run = run_of((METHODS[0], PRUNED_PATH), (RIDGE, RIDGE_PATH))
    (pruned, row), ridge = run.cells
    curves = curves_of(replace(run, cells=((replace(pruned, solver="highs"), row), ridge)))
    assert [curve.name for curve in curves] == ["pruned (highs)", "pruned, then ridge (cbcd)"]
    assert "Ridge polishing" not in conclusion(curves, (1.0,))


def test_a_bound_above_what_two_steps_reach_is_found(run: Run) -> None:
    assert list(contradictions(curves_of(run))) == []
    wrong = run_of(
        (RIDGE, RIDGE_PATH), (JOINT, [point(1.0, 10, 0.8, 0.7, bound=1.01, joint_objective=1.02)])
    )
    (said,) = contradictions(curves_of(wrong))
    assert "the bound 1.01 of joint, ρ = 2 is 0.01 above the objective 1.0 of pruned, then" in said
    assert POLISH.report(wrong).violations == (said,)
    unproven = run_of((RIDGE, RIDGE_PATH), (JOINT, [point(1.0, 10, 0.8, 0.7, bound=None)]))
    assert list(contradictions(curves_of(unproven))) == []


def test_a_report_can_be_made_of_anything(run: Run) -> None:
    cell, _ = run.cells[0]
    lost = (cell, {"status": "failed", "reason": "no pivot"})
    for cells in ((), (lost,), run.cells[1:2], (*run.cells, lost)):
        report = POLISH.report(replace(run, cells=cells))
        assert set(report.figures) == {"polish"}
        assert any("no pivot" in note for note in report.notes) == (lost in cells)
        for table in report.tables:
            assert all(len(r) == len(table.header) for group in table.groups for r in group.rows)


def planned(rows: int = 50_000, **asked: Any) -> list[Cell]:
    request = POLISH.request(**{"size": "medium", "available": ("cbcd",), **asked})
    return list(make_plan(POLISH, request, lambda _: rows).cells)


def test_a_user_can_restrict_the_study() -> None:
    assert {(c.solver, c.task) for c in planned()} == {("cbcd", "path")}
    assert len(planned()) == len(METHODS) * len({c.instance for c in planned()})
    few = planned(data="abalone", ensemble="boosting", solvers=("highs", "cbcd"))
    assert len(few) == 2 * len(METHODS)
    assert {(c.instance.data, c.instance.ensemble) for c in few} == {("abalone", "boosting")}
    for wrong, said in (({"alpha": 1.0}, "--alpha is not for polish"), ({"target": "y"}, "--data")):
        with pytest.raises(StudyError, match=said):
            planned(**wrong)


def test_parts_shrink_together_with_the_data() -> None:
    wanted = Instance("d", 2000, 5, held_out=1000)
    assert (wanted.cut_to(4000), wanted.cut_to(9999)) == (wanted, wanted)
    small = wanted.cut_to(401)
    assert (small.rows, small.held_out) == (201, 100)
    assert replace(wanted, held_out=0).cut_to(401).rows == 401
    with pytest.raises(StudyError, match="d has 3 rows, too few"):
        wanted.cut_to(3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny data set."""
    path = tmp_path_factory.mktemp("polish")
    noise = np.random.default_rng(0).normal(size=60)
    lines = [f"{k % 7},{k % 5},{(k % 7) * (k % 5) + noise[k]}" for k in range(60)]
    (path / "tiny.csv").write_text("a,b,y\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def instance(folder: Path) -> Instance:
    return Instance(str(folder / "tiny.csv"), 30, 12, "boosting", 3, target="y", held_out=15)


def test_parts_share_no_row_and_know_only_the_training_rows_scale(instance: Instance) -> None:
    parts = rows_of(instance)
    assert {name: len(y) for name, (_, y) in parts.items()} == {
        "train": 30,
        "validation": 15,
        "test": 15,
    }
    y = parts["train"][1]
    assert (y.mean(), y.var()) == (pytest.approx(0.0), pytest.approx(1.0))
    values = np.concatenate([part for _, part in parts.values()])
    assert len(set(values)) == 60
    plain = rows_of(replace(instance, held_out=0))
    assert set(plain) == {"train"}
    np.testing.assert_array_equal(plain["train"][1], y)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_points_say_of_a_model_what_its_predictions_say(instance: Instance, method: Method) -> None:
    X, y = rows_of(instance)["train"]
    model = new_model(instance.ensemble, instance.trees, instance.depth, 0).fit(X, y)
    ensemble, data = repeated(model, 1), pruning_data(model, X, y)
    held_out = HeldOut(ensemble, {"again": (X, y)})
    cell = Cell(instance, 1.0, "cbcd", "path", 0, 20.0, 1, method, 5)
    along = solve_along(first_problem(data, method, 1.0), cell)
    points = points_of(along, method, held_out)
    assert len(points) == 5
    assert points[-1]["trees"] > 0
    for solved, found in zip(along, points, strict=True):
        pruned = held_out.left_by(solved)
        assert found["again_mse"] == pytest.approx(found["train_mse"])
        assert found["again_r2"] == pytest.approx(1.0 - found["train_mse"] / y.var())
        assert (found["trees"], found["nodes"]) == (pruned.n_trees, pruned.n_nodes)
        assert found["alpha"] == pytest.approx(solved.alpha)
        assert found["trees"] <= (method.n_trees or 12)
        if method == JOINT:
            assert found["joint_objective"] == pytest.approx(found["objective"])
    assert points[0]["alpha"] == pytest.approx(1e4 * points[-1]["alpha"])
    (single,) = solve_one(first_problem(data, method, points[-1]["alpha"]), cell)
    assert (single.polished is None) == (method.joint or method.polish is None)


def test_a_path_without_time_ends_before_its_last_point(instance: Instance) -> None:
    X, y = rows_of(instance)["train"]
    data = pruning_data(new_model("boosting", 12, 3, 0).fit(X, y), X, y)
    cell = Cell(instance, 1.0, "cbcd", "path", 0, 1e-9, 1, RIDGE, 5)
    assert len(solve_along(first_problem(data, RIDGE, 1.0), cell)) < 5


def test_measuring_a_cell_waits_for_no_import_it_does_not_need() -> None:
    heavy = {"forestprune", "sklearn", "pandas", "matplotlib"}
    show = f"import sys, studies.running.cell; print(*{heavy!r} & {{*sys.modules}})"
    done = subprocess.run([sys.executable, "-P", "-c", show], capture_output=True, text=True)
    assert (done.returncode, done.stdout.split()) == (0, []), done.stderr


def study_tiny(folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Run two methods of the study on the tiny grid in a folder and return its exit code."""

    def cells(request: Request) -> list[Cell]:
        return [cell for cell in size_cells(TINY, request) if cell.method in (RIDGE, JOINT)]

    tiny = replace(POLISH, sizes=("tiny",), cells=cells)
    monkeypatch.setitem(catalogue.STUDIES, "polish", tiny)
    monkeypatch.chdir(folder)
    words = ["study", "polish", "--size", "tiny", "--data", "tiny.csv", "--target", "y"]
    with pytest.raises(SystemExit) as ended:
        app([*words, "--ensemble", "forest", "--out", "out"])
    code = ended.value.code
    assert code is None or isinstance(code, int)
    return code or 0


def test_the_study_runs_and_goes_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert study_tiny(folder, monkeypatch) == 0
    printed = capsys.readouterr().out
    assert "The joint problem's objective is at most that of pruning" in printed
    out = folder / "out"
    assert {path.name for path in out.iterdir()} == {
        *("config.json", "rows.jsonl", "table.md", "table.tex", "table.csv", "points.csv"),
        "polish.png",
    }
    rows = [json.loads(line) for line in (out / "rows.jsonl").read_text("utf-8").splitlines()]
    paths = [row["path"] for row in rows if row["kind"] == "cell"]
    assert [len(path) for path in paths] == [4, 4]
    assert len({tuple(f"{p['alpha']:.9g}" for p in path) for path in paths}) == 1
    (prepared,) = (row for row in rows if row["kind"] == "instance")
    assert set(prepared["full"]) == {
        *("validation_mse", "validation_r2", "test_mse", "test_r2"),
    }
    lines = list(csv.DictReader((out / "points.csv").read_text("utf-8").splitlines()))
    assert len(lines) == 8
    assert float(lines[-1]["test_mse"]) == paths[-1][-1]["test_mse"]
    assert lines[-1]["method"] == JOINT.name
    assert study_tiny(folder, monkeypatch) == 0
    assert "2 of 2 cells done in an earlier run" in " ".join(capsys.readouterr().out.split())


def test_the_points_of_a_path_are_all_in_the_details(run: Run) -> None:
    table = point_table(curves_of(run))
    assert [len(group.rows) for group in table.groups] == [3, 3, 3, 2]
    curve: Curve = curves_of(run)[0]
    assert table.groups[0].rows[2][-2] == "90"
    assert curve.share(curve.points[2]) == 0.9
