"""The studies `weights`, `warmstart` and `case`: what is chosen, compared and proven."""

from __future__ import annotations

import csv
import importlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from forestprune import LayerPruning, PrunedEnsemble, pruning_data, solve
from studies import catalogue
from studies.case import CASE
from studies.case.cell import CaseCell
from studies.case.figures import model_of
from studies.case.measure import measure as measure_case
from studies.case.prepare import prepare as prepare_case
from studies.case.study import Size as CaseSize
from studies.case.study import size_cells as case_cells
from studies.case.tables import case_table
from studies.cli import app
from studies.errors import StudyError
from studies.planning import make_plan
from studies.reporting.curves import Curve, curves_of
from studies.reporting.report import Run, RunOf
from studies.running import work
from studies.running.methods import first_problem, solve_along
from studies.running.prepare import new_model, parts_of, rows_of
from studies.spec import PRUNED, Cell, Instance, Method
from studies.study import Study
from studies.warmstart import WARMSTART
from studies.warmstart.cell import COMPARED, STARTS, StartCell
from studies.warmstart.measure import follow
from studies.warmstart.notes import conclusion as start_conclusion
from studies.warmstart.paths import contradictions, paths_of
from studies.warmstart.study import Size as StartSize
from studies.warmstart.study import size_cells as start_cells
from studies.warmstart.tables import start_table
from studies.weights import WEIGHTS
from studies.weights.chosen import chosen, families
from studies.weights.notes import conclusion as weights_conclusion
from studies.weights.study import Size, size_cells
from studies.weights.tables import ratio_table, size_table

DEPTH = Method(weights="depth")
INSTANCE = Instance("d", 10, 20, held_out=5)
FULL = {
    "nodes": 1000,
    "trees": 20,
    "mean_depth": 9.0,
    "full": {"validation_mse": 0.3, "test_mse": 0.4},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny data set in which values are missing."""
    path = tmp_path_factory.mktemp("paper")
    noise = np.random.default_rng(0).normal(size=90)
    lines = [
        f"{k % 7},{'' if k % 4 == 0 else k % 5},{(k % 7) * (k % 5) + noise[k]}" for k in range(90)
    ]
    (path / "tiny.csv").write_text("a,b,y\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return path


def tiny(folder: Path, **more: Any) -> Instance:
    return Instance(str(folder / "tiny.csv"), 45, 12, depth=4, target="y", held_out=22, **more)


# weights


def point(nodes: int, validation: float, test: float, trees: int = 10) -> dict[str, Any]:
    return {
        "alpha": 1.0,
        "nodes": nodes,
        "trees": trees,
        "mean_depth": nodes / trees / 2,
        "validation_mse": validation,
        "test_mse": test,
    }


def curve(weights: Method, points: list[dict[str, Any]], seed: int = 0) -> Curve:
    cell = Cell(replace(INSTANCE, seed=seed), 1.0, "cbcd", "path", 0, 5.0, 1, weights)
    return Curve(cell, FULL, tuple(points), weights.name)


def test_the_smallest_model_near_the_full_one_on_validation_rows_is_chosen() -> None:
    points = [point(0, 1.0, 1.0), point(10, 0.4, 0.1), point(50, 0.309, 0.9), point(80, 0.2, 0.2)]
    one = curve(PRUNED, points)
    assert chosen(one, 0.01) == points[2]  # its test error has no say
    assert chosen(one, 0.1) == points[1]
    assert chosen(curve(PRUNED, points[:2]), 0.01) is None
    # The empty model is none, however good.
    assert chosen(curve(PRUNED, [point(0, 0.0, 0.0)]), 0.01) is None


def test_depth_weights_are_compared_seed_by_seed() -> None:
    curves = [
        curve(method, [point(nodes, 0.3, 0.5, trees)], seed)
        for seed, sizes in enumerate([(100, 300), (10, 50), (40, 40)])
        for method, nodes, trees in zip((PRUNED, DEPTH), sizes, (10, 5), strict=True)
    ]
    (family,) = families(curves)
    assert family.seeds == 3
    ratios = family.ratios(0.01)
    assert ratios is not None
    assert (ratios.nodes, ratios.trees) == (3.0, 0.5)
    model = family.model("nodes", 0.01)
    assert model is not None
    assert model.nodes == 40
    assert model.rise == pytest.approx(0.25)
    (own, published) = size_table([family]).groups
    assert own.rows[-1][:3] == ("full model", "–", "20")
    assert [row[2:4] for row in published.rows] == [("95", "7,247"), ("62", "21,588")]
    assert ratio_table([family]).groups[-1].rows[0][1:3] == ("3.0×", "0.65×")
    assert "3.0× the nodes in 0.50× the trees on d" in weights_conclusion([family])
    # Without a model for one seed there is no median.
    short = [*curves[:-1], curve(DEPTH, [point(40, 0.9, 0.5)], 2)]
    (family,) = families(short)
    assert family.ratios(0.01) is None
    assert weights_conclusion([family]) == ""


def test_depth_weights_are_what_is_solved(folder: Path) -> None:
    instance = tiny(folder)
    X, y = rows_of(instance)["train"]
    data = pruning_data(new_model("forest", 12, 4, 0).fit(X, y), X, y)
    cell = Cell(instance, 1.0, "cbcd", "path", 0, 20.0, 1, DEPTH, 5, 1e-3)
    along = solve_along(first_problem(data, DEPTH, 1.0), cell)
    assert along[0].alpha == pytest.approx(LayerPruning(data, 1.0, "depth").alpha_max_certified())
    for one in along:
        problem = LayerPruning(data, one.alpha, "depth")
        assert one.result.choice is not None
        assert one.result.objective == pytest.approx(problem.objective(one.result.choice))
    for wrong in ({"shape": "subtree"}, {"joint": True, "polish": "ridge"}):
        with pytest.raises(ValueError, match="depth weights"):
            Method(weights="depth", **wrong)


def test_a_report_can_be_made_of_anything() -> None:
    start = StartCell(INSTANCE, "zero", 3, 1e-2, 0, 5.0, 1)
    case = CaseCell(INSTANCE, 10, 150, None, 3, 1e-2, 5.0, 1)
    lost = {"status": "failed", "reason": "no pivot"}
    for study, cell in (
        (WEIGHTS, Cell(INSTANCE, 1.0, "cbcd", "path", 0, 5.0, 1)),
        (WARMSTART, start),
        (CASE, case),
    ):
        for rows in ((), ((cell, lost),)):
            run: Run = RunOf({"title": ""}, rows, {"versions": {}}, {INSTANCE: FULL})  # type: ignore[arg-type]
            report = study.report(run)
            assert any("no pivot" in note for note in report.notes) == bool(rows)
            assert report.conclusion == ""
            assert study.kind.files(run)["table.csv"] is not None
            for table in report.tables:
                assert all(len(r) == len(table.header) for g in table.groups for r in g.rows)


# warmstart


def start_run(**paths: list[tuple[float, float, int]]) -> Any:
    """A run with paths of (objective, bound, sweeps) for α = 4, 2, 1."""
    cells = tuple(
        (
            StartCell(INSTANCE, start, 3, 0.25, 0, 5.0, 1),
            {
                "status": "ok",
                "seconds": 2.0 if start == "search" else 1.0,
                "followed": 1,
                "path": [
                    {
                        "alpha": alpha,
                        "objective": objective,
                        "bound": bound,
                        "sweeps": sweeps,
                        "nodes": 5,
                        "trees": 2,
                        "seconds": 0.1,
                    }
                    for alpha, (objective, bound, sweeps) in zip(
                        (4.0, 2.0, 1.0), points, strict=False
                    )
                ],
            },
        )
        for start, points in paths.items()
    )
    return RunOf({"title": ""}, cells, {"versions": {}}, {INSTANCE: FULL})


def test_ways_to_start_are_compared_with_the_best_and_the_best_bound() -> None:
    run = start_run(
        zero=[(1.0, 0.5, 1), (0.9, 0.1, 9), (0.5, 0.3, 20)],
        warm=[(1.0, 0.4, 1), (0.8, 0.1, 4), (0.55, 0.2, 5)],
        search=[(1.0, 0.4, 1), (0.8, 0.1, 14), (0.4, 0.2, 35)],
        proof=[(1.0, 0.9, 0), (0.8, 0.7, 0)],
    )
    (paths,) = paths_of(run)
    assert paths.length == 3  # the path that only proves may end before
    assert paths.best == [1.0, 0.8, 0.4]
    assert paths.bounds == [0.9, 0.7, 0.3]
    assert paths.above("zero") == pytest.approx([0.0, 0.125, 0.25])
    assert paths.gaps("search") == pytest.approx([0.1, 0.125, 0.25])
    (group,) = start_table([paths]).groups
    assert group.rows[0][:5] == ("zero start", "1 of 3", "25", "9", "20")
    assert group.rows[2][-2:] == ("2.00", "2.0×")
    said = start_conclusion([paths])
    assert "warm start, local search: 3 of 3 α" in said
    assert "proven within 25 %" in said
    assert list(contradictions([paths])) == []


def test_a_bound_of_a_smaller_alpha_holds_before_it() -> None:
    run = start_run(zero=[(1.0, 0.5, 1), (0.9, 0.1, 9), (0.7, 0.65, 3)])
    (paths,) = paths_of(run)
    assert paths.bounds == [0.65, 0.65, 0.65]
    wrong = paths_of(start_run(zero=[(1.0, 0.5, 1), (0.6, 0.1, 9), (0.7, 0.65, 3)]))
    (said,) = contradictions(wrong)
    assert "α = 2: the bound 0.65 is 0.05 above the objective 0.6" in said
    assert WARMSTART.report(start_run(zero=[(0.5, 0.6, 1)])).violations


def test_every_point_is_what_its_own_start_leads_to(folder: Path) -> None:
    instance = tiny(folder)
    X, y = rows_of(instance)["train"]
    data = pruning_data(new_model("forest", 12, 4, 0).fit(X, y), X, y)
    found = {}
    for start in STARTS:
        points, whole = follow(data, StartCell(instance, start, 6, 1e-3, 0, 20.0, 1))
        assert whole
        assert len(points) == 6
        found[start] = points
    for one in found["zero"]:
        alone = solve(LayerPruning(data, one["alpha"] * data.y_variance), STARTS["zero"].solver)
        assert one["objective"] == pytest.approx(alone.objective)
        assert one["sweeps"] == alone.extra["sweeps"] >= 1
    # A search begins at the fixed point of the first warm start, and cannot end above it.
    assert found["search"][1]["objective"] <= found["warm"][1]["objective"] + 1e-12
    assert sum(p["sweeps"] for p in found["search"]) > sum(p["sweeps"] for p in found["warm"])
    points, whole = follow(data, StartCell(instance, "zero", 6, 1e-3, 0, 1e-9, 1))
    assert not whole


def test_a_start_that_nobody_knows_is_refused() -> None:
    with pytest.raises(StudyError, match="unknown start 'cold'; known: zero"):
        StartCell(INSTANCE, "cold", 3, 0.25, 0, 5.0, 1)


# case


@pytest.fixture(scope="module")
def case(folder: Path) -> tuple[CaseCell, dict[str, Any]]:
    """A case on the tiny data, as its processes measure it."""
    cell = CaseCell(tiny(folder), 3, 30, None, 8, 1e-3, 30.0, 1)
    path = str(folder / "data.pickle")
    saved: dict[str, Any] = {}
    prepare_case({"instance": cell.as_dict()["instance"], "path": path}, saved.update)
    assert saved["columns_with_missing"] == 1
    assert saved["features"] == 2
    measure_case({"cell": cell.as_dict(), "path": path}, saved.update)
    return cell, json.loads(json.dumps(saved))


def test_alpha_is_chosen_on_validation_rows_among_readable_models(
    case: tuple[CaseCell, dict[str, Any]],
) -> None:
    cell, row = case
    readable = [p for p in row["points"] if p["nodes"] <= cell.most_nodes]
    assert 0 < len(readable) < len(row["points"])
    best = row["points"][row["chosen"]]
    assert best["validation_rmse"] == min(p["validation_rmse"] for p in readable)
    assert best in readable
    assert row["alpha"] == best["alpha"]


def test_an_alpha_that_leaves_no_tree_is_said_to(
    case: tuple[CaseCell, dict[str, Any]], folder: Path
) -> None:
    saved: dict[str, Any] = {}
    cell = replace(case[0], alpha=1e6)
    path = str(folder / "data.pickle")
    measure_case({"cell": cell.as_dict(), "path": path}, saved.update)
    assert saved["status"] == "failed"
    assert "no tree is left at any α" in saved["reason"]
    measure_case({"cell": replace(cell, alpha=0.01).as_dict(), "path": path}, saved.update)
    assert saved["status"] == "ok"
    assert saved["alpha"] == pytest.approx(0.01)


def test_the_model_of_a_row_is_the_one_that_was_measured(
    case: tuple[CaseCell, dict[str, Any]],
) -> None:
    cell, row = case
    model = model_of(row)
    assert isinstance(model, PrunedEnsemble)
    parts, names = parts_of(cell.instance)
    few = row["models"]["few"]
    assert (model.n_trees, model.n_nodes) == (few["trees"], few["nodes"])
    assert 0 < model.n_trees <= cell.trees
    assert row["features"] == [str(name) for name in model.features_used]
    assert set(row["features"]) <= set(names)
    for part, (X, y) in parts.items():
        error = float(np.sqrt(np.mean((y - model.predict(X)) ** 2)))
        assert few[f"{part}_rmse"] == pytest.approx(error)
    full = new_model("forest", 12, 4, 0).fit(*parts["train"])
    X, y = parts["test"]
    expected = float(np.sqrt(np.mean((y - full.predict(X)) ** 2)))
    assert row["models"]["full"]["test_rmse"] == pytest.approx(expected)


def test_single_trees_are_single_and_as_large_as_they_say(
    case: tuple[CaseCell, dict[str, Any]],
) -> None:
    cell, row = case
    models = row["models"]
    assert models["cart_nodes"]["nodes"] <= models["few"]["nodes"] + 1
    assert models["cart"]["nodes"] <= 2 ** (cell.instance.depth + 1) - 1
    assert {models[name]["trees"] for name in ("one", "cart", "cart_nodes")} == {1}
    # The weight of the best tree is free, so on its own rows it explains what there is.
    _, y = parts_of(cell.instance)[0]["train"]
    assert models["one"]["train_rmse"] < float(y.std())


def test_published_errors_are_shown_as_those_of_another_data_set(
    case: tuple[CaseCell, dict[str, Any]],
) -> None:
    cell, row = case
    made = {"missing": 0.125, "columns_with_missing": 1, "features": 2}
    run: Any = RunOf({"title": ""}, ((cell, row),), {"versions": {}}, {cell.instance: made})
    published = case_table(run).groups[-1]
    assert "another data set" in published.title
    assert [entries[-1] for entries in published.rows] == ["0", "+12", "+41"]
    report = CASE.report(run)
    assert set(report.figures) == {"choice", "trees-tiny"}
    models = row["models"]
    better = min(models[key]["test_rmse"] for key in ("one", "cart", "cart_nodes"))
    said = "a single tree of that size is the better one" in report.conclusion
    assert said == (better < models["few"]["test_rmse"])
    assert "12 % of the values are missing, in 1 feature" in report.notes[0].replace("13 %", "12 %")


# all


SMALL: list[tuple[Study, Any]] = [
    (
        WEIGHTS,
        lambda r: size_cells(Size((), 40, {"forest": (8, 4)}, 5, 1, 30.0), r),
    ),
    (WARMSTART, lambda r: start_cells(StartSize((), {"forest": (40, 8, 4)}, 5, 1, 30.0), r)),
    (CASE, lambda r: case_cells(CaseSize(40, 20, 4, 30.0), r)),
]


def run_here(function: str, request: dict[str, Any], *_args: Any, **_more: Any) -> dict[str, Any]:
    """Run what a process of its own would, which takes longer to start than to run."""
    module, _, name = function.partition(":")
    outcome: dict[str, Any] = {}
    getattr(importlib.import_module(module), name)(request, outcome.update)
    found: dict[str, Any] = json.loads(json.dumps(outcome, allow_nan=False))
    return found


@pytest.mark.parametrize(("study", "cells"), SMALL, ids=[study.name for study, _ in SMALL])
def test_the_study_runs(
    study: Study,
    cells: Any,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(catalogue.STUDIES, study.name, replace(study, sizes=("tiny",), cells=cells))
    monkeypatch.setattr(work, "run_in_child", run_here)
    monkeypatch.chdir(folder)
    words = ["study", study.name, "--size", "tiny", "--data", "tiny.csv", "--target", "y"]
    with pytest.raises(SystemExit) as ended:
        app([*words, "--out", study.name])
    assert not ended.value.code, capsys.readouterr().err
    out = folder / study.name
    figures = {path.stem for path in out.glob("*.png")}
    wanted = {"weights": {"weights"}, "warmstart": {"warmstart"}}
    assert figures == wanted.get(study.name, {"choice", "trees-tiny"})
    assert r"\begin{tabular}" in (out / "table.tex").read_text("utf-8")
    with (out / "points.csv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert len({line["alpha"] for line in lines}) >= 5
    rows = [json.loads(line) for line in (out / "rows.jsonl").read_text("utf-8").splitlines()]
    assert {row["status"] for row in rows if row["kind"] == "cell"} == {"ok"}


@pytest.mark.parametrize("study", [WEIGHTS, WARMSTART, CASE], ids=lambda study: study.name)
def test_what_a_study_has_no_use_for_is_refused(study: Study) -> None:
    def planned(**asked: Any) -> list[Any]:
        request = study.request(**{"size": "medium", "available": ("cbcd",), **asked})
        return list(make_plan(study, request, lambda _: 50_000).cells)

    assert {cell.instance.data for cell in planned()} == {"diamonds", "abalone"}
    assert {cell.instance.seed % 7 for cell in planned(seed=7)} <= {0, 1, 2, 3, 4}
    assert {cell.instance.data for cell in planned(data="pol", target="foo")} == {"pol"}
    with pytest.raises(StudyError, match="--target goes with --data"):
        planned(target="y")
    with pytest.raises(StudyError, match="--model is not for"):
        planned(models=("x",))
    if study is CASE:
        assert {cell.alpha for cell in planned(alpha=15.0)} == {15.0}
    else:
        with pytest.raises(StudyError, match="--alpha is not for"):
            planned(alpha=1.0)


def test_all_ways_to_start_run_on_all_instances() -> None:
    request = WARMSTART.request(size="medium", available=("cbcd",))
    cells = make_plan(WARMSTART, request, lambda _: 50_000).cells
    assert len(cells) == len(STARTS) * 4
    assert {cell.start for cell in cells} == set(STARTS)  # type: ignore[attr-defined]
    assert set(COMPARED) < set(STARTS)
    assert {cell.identity for cell in cells} == {
        StartCell.from_dict(json.loads(json.dumps(cell.as_dict()))).identity for cell in cells
    }


def test_curves_of_both_weights_are_told_apart() -> None:
    rows = tuple(
        (one.cell, {"status": "ok", "path": [point(10, 0.3, 0.3)]})
        for one in (curve(PRUNED, []), curve(DEPTH, []))
    )
    run = RunOf({"title": ""}, rows, {"versions": {}}, {INSTANCE: FULL})
    assert [one.name for one in curves_of(run)] == ["pruned", "pruned by depth weights"]
