"""The study `shapes`: pairs of paths, sizes at which they are compared, and a tiny run of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from forestprune import pruning_data
from formulations import cut_trees
from studies import catalogue
from studies.cli import app
from studies.errors import StudyError
from studies.gaps import GAPS
from studies.planning import make_plan
from studies.reporting.curves import Curve, curves_of
from studies.reporting.report import Run
from studies.running.held_out import HeldOut
from studies.running.methods import first_problem, solve_along
from studies.running.points import points_of
from studies.running.prepare import new_model, repeated, rows_of
from studies.running.records import latest_cells
from studies.shapes import SHAPES
from studies.shapes.findings import conclusion
from studies.shapes.pairs import named, pairs_of
from studies.shapes.proofs import contradictions, own_gap, proven_gap
from studies.shapes.study import METHODS, SPAN, Size, size_cells
from studies.shapes.tables import pair_table, proof_table
from studies.spec import Cell, Instance, Method, Request
from studies.study import Study
from studies.table1 import TABLE1

LAYERS, SUBTREES, LAYERS_RIDGE, SUBTREES_RIDGE = METHODS
INSTANCE = Instance("d", 10, 2, held_out=5)
FULL = {"nodes": 1000, "trees": 20, "full": {"test_mse": 0.3, "test_r2": 0.7}}
TINY = Size(("tiny.csv",), 24, {"forest": (6, 4)}, values=4, repeats=0, time_limit=20.0)


def point(alpha: float, nodes: int, test: float, **more: Any) -> dict[str, Any]:
    return {
        "alpha": alpha,
        "objective": 1.0,
        "bound": 0.9,
        "gap": 0.1,
        "bound_source": "frank_wolfe",
        "guarantee": "local",
        "pruning_gap": 0.1,
        "joint_objective": None,
        "train_mse": 0.1,
        "trees": nodes // 10,
        "nodes": nodes,
        "seconds": 0.5,
        "validation_mse": test,
        "validation_r2": 1.0 - test,
        "test_mse": test,
        "test_r2": 1.0 - test,
        **more,
    }


LAYER_PATH = [point(9.0, 0, 1.0), point(1.0, 10, 0.8), point(0.1, 1000, 0.2)]
SUBTREE_PATH = [
    *(point(9.0, 0, 1.0), point(3.0, 5, 0.7), point(1.0, 10, 0.8, seconds=2.0)),
    point(0.1, 100, 0.5, objective=0.8, bound=0.6, seconds=1.0),
]


def run_of(*paths: tuple[Method, list[dict[str, Any]]], solver: str = "cbcd") -> Run:
    cells = tuple(
        (Cell(INSTANCE, 1.0, solver, "path", 0, 5.0, 1, method), {"status": "ok", "path": points})
        for method, points in paths
    )
    return Run({}, cells, {"versions": {}}, {INSTANCE: FULL})


def together(*runs: Run) -> Run:
    return replace(runs[0], cells=tuple(cell for run in runs for cell in run.cells))


@pytest.fixture
def run() -> Run:
    return run_of((LAYERS, LAYER_PATH), (SUBTREES, SUBTREE_PATH))


def test_a_curve_is_read_between_its_models_as_in_the_figure() -> None:
    double = [*LAYER_PATH, point(0.01, 1000, 0.3)]
    (curve,) = curves_of(run_of((LAYERS, double)))
    assert curve.error_at(10) == pytest.approx(0.8)
    assert curve.error_at(100) == pytest.approx(np.sqrt(0.8 * 0.2))
    assert curve.error_at(1000) == pytest.approx(0.2)  # the better of two of a size
    assert curve.error_at(9) is None
    assert curve.error_at(1001) is None
    (empty,) = curves_of(run_of((LAYERS, LAYER_PATH[:1])))
    assert empty.error_at(10) is None


def test_subtrees_are_compared_at_their_sizes(run: Run) -> None:
    (pair,) = pairs_of(named(curves_of(run)))
    assert [one.share for one in pair.compared] == [0.01, 0.1]
    assert [one.ratio for one in pair.compared] == pytest.approx([1.0, 0.5 / 0.4])
    assert (pair.apart, pair.no_worse, pair.worse) == (1, 1, pair.compared[1:])
    # The α = 3 that layers do not have is no part of the time.
    assert pair.time_ratio == pytest.approx((0.5 + 2.0 + 1.0) / 1.5)
    (group,) = pair_table([pair]).groups
    assert group.rows == (("as they were", "2", "1", "+12", "10", "+25", "1", "2.3×"),)


def test_the_conclusion_is_computed_from_the_rows(run: Run) -> None:
    curves = curves_of(run)
    assert conclusion(curves, pairs_of(named(curves))) == (
        "At equal numbers of nodes, subtrees have a lower or equal test error than layers at 1 of "
        "2 points with the trees' weights as they were. Of the other 1, 0 are worse by at most "
        "1 %; by more on d, random forest: at 10 % of the nodes, by at most 25 %. Their objective "
        "is at most that of layers at 3 of 3 α. An unpolished path of subtrees takes 2.3× the "
        "time of one of layers. From α = 0.1 on, unpolished subtrees are within 25 % for random "
        "forest of the optimum, proven."
    )
    assert conclusion([], []) == ""


def test_paths_of_the_same_polishing_are_paired() -> None:
    ridge = run_of((LAYERS_RIDGE, LAYER_PATH), (SUBTREES, SUBTREE_PATH), (LAYERS, LAYER_PATH))
    (pair,) = pairs_of(named(curves_of(ridge)))
    assert (pair.layers.cell.method, pair.polished) == (LAYERS, False)
    both = run_of((LAYERS_RIDGE, LAYER_PATH), (SUBTREES_RIDGE, SUBTREE_PATH))
    (pair,) = pairs_of(named(curves_of(both)))
    assert (pair.layers.name, pair.subtrees.name) == ("layers, then ridge", "subtrees, then ridge")
    assert "1 of 2 points with the trees' weights after ridge" in conclusion([], [pair])


def test_a_second_solver_only_proves(run: Run) -> None:
    better = [point(1.0, 10, 0.8, bound=0.99), point(0.1, 100, 0.5, bound=0.799, gap=0.001)]
    proofs = run_of((SUBTREES, better), solver="relaxation")
    curves = curves_of(together(run, proofs))
    assert {curve.cell.solver for curve in named(curves)} == {"cbcd"}
    subtrees = curves[1]
    assert own_gap(subtrees) == 0.1
    assert proven_gap(subtrees, curves[1:2], 0.1) == pytest.approx(0.25)
    assert proven_gap(subtrees, curves, 1.0) == pytest.approx(0.1)  # α = 3 has but its own
    assert proven_gap(subtrees, curves, 20.0) is None
    (group,) = proof_table(curves).groups
    assert [row[0] for row in group.rows] == [
        *("layers (cbcd)", "subtrees (cbcd)", "subtrees (relaxation)"),
    ]
    unproven = run_of((SUBTREES, [point(1.0, 10, 0.8, bound=None, gap=None)]))
    (curve,) = curves_of(unproven)
    assert (own_gap(curve), proven_gap(curve, [curve])) == (None, None)


def test_a_bound_of_subtrees_above_what_layers_reach_is_found(run: Run) -> None:
    assert list(contradictions(curves_of(run))) == []

    def with_bound(method: Method, bound: float) -> list[str]:
        wrong = run_of((method, [point(1.0, 10, 0.8, objective=2.0, bound=bound)]), solver="highs")
        return list(contradictions(curves_of(together(run, wrong))))

    above = with_bound(SUBTREES, 1.01)
    assert len(above) == 2  # above layers, and above subtrees
    assert "the bound 1.01 of pruned to subtrees (highs) is 0.01 above the obj" in above[0]
    assert with_bound(LAYERS, 1.01) == [above[0].replace("pruned to subtrees", "pruned")]
    # Subtrees may be below a bound of layers, and polished trees below any.
    lower = run_of((SUBTREES_RIDGE, [point(1.0, 10, 0.8, objective=0.1)]))
    assert list(contradictions(curves_of(together(run, lower)))) == []
    assert SHAPES.report(run).violations == ()


def test_a_report_can_be_made_of_anything(run: Run) -> None:
    cell, _ = run.cells[0]
    lost = (cell, {"status": "failed", "reason": "no pivot"})
    for cells in ((), (lost,), run.cells[1:], (*run.cells, lost)):
        report = SHAPES.report(replace(run, cells=cells))
        assert set(report.figures) == {"shapes"}
        assert any("no pivot" in note for note in report.notes) == (lost in cells)
        for table in report.tables:
            assert all(len(r) == len(table.header) for group in table.groups for r in group.rows)


def planned(**asked: Any) -> list[Cell]:
    request = SHAPES.request(**{"size": "medium", "available": ("cbcd",), **asked})
    return list(make_plan(SHAPES, request, lambda _: 50_000).cells)


def test_a_user_can_restrict_the_study() -> None:
    cells = planned()
    instances = {cell.instance for cell in cells}
    assert {(i.data, i.ensemble) for i in instances} == {
        *(("diamonds", "forest"), ("diamonds", "boosting")),
        *(("abalone", "forest"), ("abalone", "boosting")),
    }
    assert len(cells) == (len(METHODS) + 2) * len(instances)
    assert {cell.method for cell in cells if cell.solver != "cbcd"} == {LAYERS, SUBTREES}
    few = planned(data="pol", target="foo", ensemble="boosting", solvers=("relaxation",))
    assert [cell.method for cell in few] == list(METHODS)
    for wrong, said in (({"alpha": 1.0}, "--alpha is not for shapes"), ({"target": "y"}, "--data")):
        with pytest.raises(StudyError, match=said):
            planned(**wrong)


@pytest.mark.parametrize("study", [GAPS, TABLE1], ids=lambda study: study.name)
def test_solvers_that_need_a_licence_run_only_when_asked_for(study: Study) -> None:
    def solvers(*asked: str) -> set[str]:
        available = ("cbcd", "gurobi", "highs", "mosek")
        request = study.request(size="small", available=available, solvers=asked)
        return {cell.solver for cell in make_plan(study, request, lambda _: 50_000).cells}

    assert {"cbcd", "highs"} <= solvers()
    assert {"gurobi", "mosek"} & solvers() == set()
    assert solvers("mosek") == {"mosek"}


def test_cells_are_told_apart_by_shape_and_by_the_length_of_their_path() -> None:
    cell = planned()[0]
    others = [replace(cell, method=SUBTREES), replace(cell, span=1e-3)]
    rows = [
        {"kind": "cell", "cell": one.as_dict(), "status": "ok"}
        for one in (cell, *others, others[0])
    ]
    assert [one for one, _ in latest_cells(rows)] == [cell, *others]
    with pytest.raises(ValueError, match="joint"):
        Method("ridge", joint=True, shape="subtree")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny data set."""
    path = tmp_path_factory.mktemp("shapes")
    noise = np.random.default_rng(0).normal(size=60)
    lines = [f"{k % 7},{k % 5},{(k % 7) * (k % 5) + noise[k]}" for k in range(60)]
    (path / "tiny.csv").write_text("a,b,y\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_points_say_of_a_model_what_its_predictions_say(folder: Path, method: Method) -> None:
    instance = Instance(str(folder / "tiny.csv"), 30, 12, "boosting", 3, target="y", held_out=15)
    X, y = rows_of(instance)["train"]
    model = new_model(instance.ensemble, instance.trees, instance.depth, 0).fit(X, y)
    ensemble, data = repeated(model, 1), pruning_data(model, X, y)
    held_out = HeldOut(ensemble, {"again": (X, y)})
    cell = Cell(instance, 1.0, "cbcd", "path", 0, 20.0, 1, method, 6, SPAN)
    along = solve_along(first_problem(data, method, 1.0), cell)
    points = points_of(along, method, held_out)
    assert len(points) == 6
    assert points[0]["alpha"] == pytest.approx(points[-1]["alpha"] / SPAN)
    assert points[-1]["trees"] > 0
    for solved, found in zip(along, points, strict=True):
        pruned = held_out.left_by(solved)
        assert found["again_mse"] == pytest.approx(found["train_mse"])
        assert (found["trees"], found["nodes"]) == (pruned.n_trees, pruned.n_nodes)
        assert (found["joint_objective"] is None) == (method != LAYERS_RIDGE)
        assert found["seconds"] >= solved.cut_seconds
        assert (solved.cut_seconds > 0.0) == (solved.polished is not None)
        if method == SUBTREES_RIDGE and solved.polishing is not None:
            assert solved.result.choice is not None
            cut = cut_trees(data, solved.result.choice)
            np.testing.assert_array_equal(solved.polishing.data.codes, cut.codes)


def test_subtrees_and_layers_follow_the_same_alphas(folder: Path) -> None:
    instance = Instance(str(folder / "tiny.csv"), 30, 12, "forest", 4, target="y", held_out=15)
    X, y = rows_of(instance)["train"]
    data = pruning_data(new_model("forest", 12, 4, 0).fit(X, y), X, y)
    paths = []
    for method in (LAYERS, SUBTREES):
        cell = Cell(instance, 1.0, "relaxation", "path", 0, 20.0, 1, method, 5, SPAN)
        paths.append(solve_along(first_problem(data, method, 1.0), cell))
    layers, subtrees = paths
    assert [one.alpha for one in layers] == [one.alpha for one in subtrees]
    for one, other in zip(layers, subtrees, strict=True):
        assert other.result.bound <= one.result.objective + 1e-9
    assert layers[0].result.objective == pytest.approx(data.target_square)


def test_the_study_runs(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def cells(request: Request) -> list[Cell]:
        wanted = (LAYERS, SUBTREES_RIDGE)
        return [c for c in size_cells(TINY, request) if c.solver == "cbcd" and c.method in wanted]

    tiny = replace(SHAPES, sizes=("tiny",), cells=cells)
    monkeypatch.setitem(catalogue.STUDIES, "shapes", tiny)
    monkeypatch.chdir(folder)
    words = ["study", "shapes", "--size", "tiny", "--data", "tiny.csv", "--target", "y"]
    with pytest.raises(SystemExit) as ended:
        app([*words, "--out", "out"])
    assert not ended.value.code
    assert "subtrees, then ridge" in capsys.readouterr().out
    out = folder / "out"
    assert (out / "shapes.png").stat().st_size > 0
    rows = [json.loads(line) for line in (out / "rows.jsonl").read_text("utf-8").splitlines()]
    paths = [row["path"] for row in rows if row["kind"] == "cell"]
    assert [len(path) for path in paths] == [4, 4]
    assert paths[0][0]["alpha"] == pytest.approx(paths[0][-1]["alpha"] / SPAN)


def test_names_are_those_of_shape_and_polishing(run: Run) -> None:
    curves: list[Curve] = named(curves_of(run))
    assert [curve.name for curve in curves] == ["layers", "subtrees"]
