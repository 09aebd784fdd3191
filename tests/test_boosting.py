"""The study `boosting`: paths of all methods, models within budgets, and the whole of it."""

from __future__ import annotations

import csv
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from contests import (
    EMPTY,
    FULL,
    column,
    fold_of,
    prepared,
    run_here,
    run_of,
    saved_by,
    terminal,
    write_table,
)

from forestprune import compete_path
from studies import studying
from studies.boosting.figures import _errors, draw_paths
from studies.boosting.measure import measure
from studies.boosting.outcomes import outcomes
from studies.boosting.study import BOOSTING
from studies.boosting.tables import best_table, budget_table, data_set_tables
from studies.contests.cell import Contest
from studies.contests.methods import PLAIN, POLISHED
from studies.contests.points import point_of
from studies.overview.command import write_overview
from studies.running import work
from studies.running.prepared import Prepared

OWN = "forestprune"

# What is measured

MODELS = ("first_k", "bsts", "forestprune[shape=subtree]")


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Contest, Prepared, Any]:
    """A cell, the fold it is on, and what is saved of it after each method."""
    folder = tmp_path_factory.mktemp("boosting")
    write_table(folder / "tiny.csv")
    fold = fold_of(folder / "tiny.csv", ensemble="boosting", trees=12, depth=3)
    cell = Contest(fold, MODELS, (10.0, 40.0), 100.0, 1e-3, 8, 1.0, 1)
    found, _ = prepared(fold, folder / "data.pickle")
    request = {"cell": cell.as_dict(), "path": str(folder / "data.pickle")}
    return cell, found, saved_by(measure, request)


def test_every_method_has_a_path_from_small_to_large(
    measured: tuple[Contest, Prepared, Any],
) -> None:
    cell, found, saved = measured
    row = saved[-1]
    assert list(row["paths"]) == [OWN, *MODELS]
    for path in row["paths"].values():
        assert path["seconds"] > 0.0
        sizes = [point["nodes"] for point in path["points"]]
        assert sizes[0] < sizes[-1]
    own = row["paths"][OWN]["points"]
    assert [point["alpha2"] for point in own[:4]] == [None, 0.01, 0.1, 1.0]
    assert len(own) == 4 * cell.values
    # Subtrees take long: a path of them has half as many α.
    assert len(row["paths"]["forestprune[shape=subtree]"]["points"]) == 2 * cell.values
    assert row["full"] == pytest.approx(point_of(found, found.ensemble))
    assert (row["empty"]["nodes"], row["empty"]["trees"]) == (0, 0)
    X, y = found.parts["test"]
    start = found.ensemble.offset(X)[:, 0]
    assert row["empty"]["test"] == pytest.approx(float(np.mean((y - start) ** 2)))


def test_a_path_is_that_of_its_competitor(measured: tuple[Contest, Prepared, Any]) -> None:
    _, found, saved = measured
    points = saved[-1]["paths"]["first_k"]["points"]
    every = found.ensemble.n_trees
    along = compete_path("first_k", found.ensemble, *found.parts["train"], values=every)
    for point, (value, model) in zip(points, along, strict=True):
        assert point == {"value": value, **pytest.approx(point_of(found, model)).expected}
    within = saved[-1]["paths"]["bsts"]["points"]
    assert [point["value"] for point in within] == [10.0, 40.0]
    assert all(point["nodes"] <= point["value"] for point in within)


def test_what_is_there_is_saved_after_every_method(
    measured: tuple[Contest, Prepared, Any],
) -> None:
    _, _, saved = measured
    assert [len(row["paths"]) for row in saved] == [1, 2, 3, 4]
    # A process that is killed before the last method has failed, and is tried again.
    assert [row["status"] for row in saved] == ["failed"] * (len(saved) - 1) + ["ok"]
    assert saved[1]["reason"] == f"the process ended before {MODELS[1]} was measured"
    assert "reason" not in saved[-1]


def test_a_method_that_fails_leaves_the_others(
    measured: tuple[Contest, Prepared, Any], tmp_path: Path
) -> None:
    cell, found, _ = measured
    found.write(tmp_path / "data.pickle")
    # There is no competitor of this name, as in the rows of another version.
    odd = replace(cell, models=("gone", "first_k"))
    saved = saved_by(measure, {"cell": odd.as_dict(), "path": str(tmp_path / "data.pickle")})[-1]
    assert list(saved["paths"]["gone"]) == ["reason"]
    assert saved["paths"]["gone"]["reason"].startswith("InvalidInput: unknown competitor 'gone'")
    assert saved["paths"]["first_k"]["points"]
    report = BOOSTING.report(run_of([(odd, saved)]))
    assert any(note.startswith("gone failed 1 time: InvalidInput") for note in report.notes)
    assert set(column(report.tables[0], "nodes")) == {
        "ForestPrune",
        "ForestPrune, α₂ = 0.01",
        "ForestPrune, not polished",
        "first k trees",
    }


# What a run has found


def point(nodes: int, validation: float, test: float, **more: Any) -> dict[str, Any]:
    own = {"nodes": nodes, "trees": nodes // 10, "mean_depth": 2.0}
    return {"value": 1.0, **own, "validation": validation, "test": test, **more}


def own_path(*points: tuple[int, float, float, float | None]) -> dict[str, Any]:
    return {"points": [point(n, v, t, alpha2=ridge) for n, v, t, ridge in points], "seconds": 1.0}


def path(*points: tuple[int, float, float]) -> dict[str, Any]:
    return {"points": [point(*one) for one in points], "seconds": 1.0}


LOST = {"reason": "ValueError: no"}


def cell_of(data: str, fold: int, protocol: Any = "sound") -> Contest:
    own: Any = {"ensemble": "boosting", "fold": fold, "protocol": protocol, "target": None}
    instance = fold_of(f"{data}.csv", **own)
    return Contest(instance, ("ccp", "lasso"), (50.0, 100.0), 10.0, 1.0, 5, 2.0, 1)


def made_row(**paths: dict[str, Any]) -> dict[str, Any]:
    return {"status": "ok", "full": FULL, "empty": EMPTY, "paths": paths}


def made_run(protocol: str) -> Any:
    """Two folds of one data set and one of another; one method fails on a fold."""
    return run_of(
        [
            (
                cell_of("autoMpg", 0, protocol),
                made_row(
                    forestprune=own_path(
                        (40, 0.6, 0.50, None),
                        (30, 0.5, 0.60, 0.01),
                        (90, 0.4, 0.35, None),
                        (80, 0.3, 0.40, 0.01),
                        (95, 0.2, 0.45, 0.1),
                        (500, 0.1, 0.3, None),
                        (400, 0.35, 0.2, 0.01),
                    ),
                    ccp=path((60, 0.4, 0.9), (70, 0.5, 0.8), (45, 0.6, 0.7), (200, 0.7, 0.1)),
                    lasso=path((20, 0.5, 0.6), (98, 0.5, 0.55)),
                ),
            ),
            (
                cell_of("autoMpg", 1, protocol),
                made_row(
                    forestprune=own_path(
                        (45, 0.5, 0.1, None), (45, 0.4, 0.2, 0.01), (99, 0.2, 0.15, 0.1)
                    ),
                    ccp=LOST,
                    lasso=path((200, 0.5, 0.5)),
                ),
            ),
            (
                cell_of("stock", 0, protocol),
                made_row(
                    forestprune=own_path((60, 0.5, 0.4, None), (60, 0.4, 0.5, 0.01)),
                    ccp=path((10, 0.4, 0.25)),
                    lasso=path((200, 0.5, 0.25)),
                ),
            ),
        ]
    )


def taken(lines: pd.DataFrame) -> dict[tuple[str, int, str], tuple[int, float]]:
    """Return nodes and test errors by data set, fold and method."""
    found: list[dict[Any, Any]] = lines.to_dict("records")
    return {
        (line["data"], line["fold"], line["method"]): (line["nodes"], line["test"])
        for line in found
    }


def test_the_best_model_is_that_of_least_validation_error() -> None:
    found = outcomes(made_run("sound"))
    assert found.methods == (OWN, POLISHED, PLAIN, "ccp", "lasso")
    assert found.budgets == (50.0, 100.0)
    assert taken(found.best) == {
        ("autoMpg", 0, OWN): (500, 0.3),
        ("autoMpg", 0, POLISHED): (80, 0.4),
        ("autoMpg", 0, PLAIN): (500, 0.3),
        ("autoMpg", 0, "ccp"): (60, 0.9),
        ("autoMpg", 0, "lasso"): (20, 0.6),  # of equal errors the smaller model
        ("autoMpg", 1, OWN): (99, 0.15),
        ("autoMpg", 1, POLISHED): (45, 0.2),
        ("autoMpg", 1, PLAIN): (45, 0.1),
        ("autoMpg", 1, "lasso"): (200, 0.5),
        ("stock", 0, OWN): (60, 0.5),
        ("stock", 0, POLISHED): (60, 0.5),
        ("stock", 0, PLAIN): (60, 0.4),
        ("stock", 0, "ccp"): (10, 0.25),
        ("stock", 0, "lasso"): (200, 0.25),
    }


def test_the_best_model_is_that_of_least_test_error_as_published() -> None:
    found = outcomes(made_run("published"))
    # What is polished with other ridges is not known there.
    assert found.methods == (POLISHED, PLAIN, "ccp", "lasso")
    best = taken(found.best)
    assert best["autoMpg", 0, POLISHED] == (400, 0.2)
    assert best["autoMpg", 0, PLAIN] == (500, 0.3)
    assert best["autoMpg", 0, "ccp"] == (200, 0.1)
    assert best["autoMpg", 1, PLAIN] == (45, 0.1)


def test_within_a_budget_the_model_of_least_validation_error_is_taken() -> None:
    found = outcomes(made_run("sound"))
    small, large = taken(found.within[50.0]), taken(found.within[100.0])
    assert small["autoMpg", 0, OWN] == (30, 0.6)
    assert large["autoMpg", 0, OWN] == (95, 0.45)
    assert large["autoMpg", 0, PLAIN] == (90, 0.35)
    assert small["autoMpg", 0, "ccp"] == (45, 0.7)
    assert large["autoMpg", 0, "ccp"] == (60, 0.9)
    # Where nothing fits, the model without trees counts.
    assert small["autoMpg", 1, "lasso"] == large["autoMpg", 1, "lasso"] == (0, 1.0)
    assert small["stock", 0, OWN] == (0, 1.0)
    assert large["stock", 0, OWN] == (60, 0.5)
    assert ("autoMpg", 1, "ccp") not in small


def test_within_a_budget_the_model_of_the_smallest_penalty_is_taken_as_published() -> None:
    found = outcomes(made_run("published"))
    small, large = taken(found.within[50.0]), taken(found.within[100.0])
    # The last one of the path that fits, whatever its errors and its size.
    assert large["autoMpg", 0, "ccp"] == (45, 0.7)
    assert small["autoMpg", 0, "ccp"] == (45, 0.7)
    assert large["autoMpg", 0, POLISHED] == (80, 0.4)
    assert large["autoMpg", 0, "lasso"] == (98, 0.55)
    assert small["autoMpg", 1, "lasso"] == (0, 1.0)
    assert small["stock", 0, PLAIN] == (0, 1.0)


def test_rises_are_over_folds_in_which_both_have_a_path() -> None:
    found = outcomes(made_run("sound"))
    assert found.rises(found.best, "ccp").to_dict() == pytest.approx(
        {"autoMpg": 2.0, "stock": -0.5}
    )
    # Means of errors: (0.6 + 0.5) / (0.3 + 0.15).
    rises = found.rises(found.best, "lasso").to_dict()
    assert rises == pytest.approx({"autoMpg": 1.1 / 0.45 - 1.0, "stock": -0.5})
    rises = found.rises(found.within[50.0], "lasso").to_dict()
    assert rises == pytest.approx({"autoMpg": 1.6 / 0.8 - 1.0, "stock": 0.0})
    assert len(found.rises(found.best, "bsts")) == 0


def test_tables_have_medians_over_folds_and_data_sets() -> None:
    found = outcomes(made_run("sound"))
    best = best_table(found)
    assert column(best, "nodes")["ForestPrune"] == "99"
    # 0.3, 0.15 and 0.5 beside 0.4.
    assert column(best, "test MSE over full %")["ForestPrune"] == "−25"
    assert column(best, "over ForestPrune %")["CCP"] == "+75"
    assert column(best, "over ForestPrune %")["ForestPrune"] == "–"
    assert column(best, "lower on")["CCP"] == "1 of 2"
    budgets = budget_table(found)
    assert column(budgets, "50 nodes")["lasso"] == "+50"
    assert column(budgets, "50 nodes")["CCP"] == "−29"  # of 0.7 / 0.6 and 0.25 / 1
    # Medians of 0.7685 / 0.2826 and 1 / 0.1999; nothing is published of CCP.
    told = 100.0 * ((0.7685 / 0.2826 + 1.0 / 0.1999) / 2.0 - 1.0)
    assert column(budgets, "published, 50")["lasso"] == f"+{told:.0f}"
    assert column(budgets, "published, 50")["CCP"] == "–"
    assert column(budgets, "lower on")["lasso"] == "0 of 4"
    assert column(budgets, "lower on")["CCP"] == "2 of 4"
    means, within = data_set_tables(found)
    assert dict(zip(means.header, means.groups[0].rows[0], strict=True)) == {
        "": "autoMpg",
        "full": "0.4000",
        "ForestPrune": "0.2250",
        "ForestPrune, α₂ = 0.01": "0.3000",
        "ForestPrune, not polished": "0.2000",
        "CCP": "–",  # it failed on a fold
        "lasso": "0.5500",
    }
    assert [group.title for group in within.groups] == ["50 nodes", "100 nodes"]
    assert within.groups[0].rows[1][2] == "1.0000"


def test_published_figures_are_beside_ours() -> None:
    comparisons = {
        one.title.removeprefix("boosting, sound protocol, "): one.rows
        for one in BOOSTING.report(made_run("sound")).published
    }
    best = comparisons["best on the path: test MSE of ForestPrune"]
    assert [(row.name, row.published, row.spread) for row in best] == [
        ("autoMpg", 0.1141, 0.0175),
        ("stock", 0.0618, 0.0363),
    ]
    assert [row.ours for row in best] == pytest.approx([0.225, 0.5])
    assert best[0].ours_spread == pytest.approx(0.075)
    plain = comparisons["best on the path: test MSE of ForestPrune, not polished"]
    assert [row.published for row in plain] == [0.1139, 0.0602]
    nodes = comparisons["best on the path: nodes of ForestPrune, not polished"]
    assert [row.published for row in nodes] == [4671.4, 5559.2]
    assert [row.within for row in nodes] == [None, None]
    budget = comparisons["100 nodes: test MSE of ForestPrune"]
    assert [row.published for row in budget] == [0.1989, 0.182]
    assert [row.ours for row in budget] == pytest.approx([0.3, 0.5])
    (others,) = comparisons["100 nodes: test MSE of others over ForestPrune"]
    assert others.name == "lasso"
    assert others.published == pytest.approx(
        100.0 * ((0.4241 / 0.1989 + 0.2226 / 0.182) / 2.0 - 1.0)
    )


def test_a_data_set_without_published_figures_has_none() -> None:
    row = made_row(forestprune=own_path((60, 0.4, 0.5, 0.01)), lasso=path((9, 0.4, 0.5)))
    report = BOOSTING.report(run_of([(cell_of("mine", 0), row)]))
    assert report.published == ()
    assert column(report.tables[1], "published, 50") == {
        "ForestPrune, α₂ = 0.01": "–",
        "ForestPrune, not polished": "–",
        "lasso": "–",
    }


def test_what_came_out_is_said() -> None:
    report = BOOSTING.report(made_run("sound"))
    assert report.conclusion.startswith(
        "The median best pruned model has 99 nodes and −25 % of test error over the full one. "
        "Within 50 nodes the median error is lower by "
    )
    assert "CCP (−29 %)" in report.conclusion
    assert "CCP failed 1 time: ValueError: no" in report.notes
    (how,) = (note for note in report.notes if "α: 5 from 10 to 1" in note)
    assert "least validation error" in how
    published = BOOSTING.report(made_run("published"))
    assert any("on the very rows that are reported" in note for note in published.notes)
    assert "−25" not in published.conclusion


def test_where_forestprune_failed_there_is_nothing_to_compare(tmp_path: Path) -> None:
    # The fold on which it failed comes first, and another method has a path there.
    cells = made_run("sound").cells
    lost = (cell_of("pol", 0), made_row(forestprune=LOST, ccp=path((10, 0.4, 0.25))))
    report = BOOSTING.report(run_of([lost, *cells]))
    assert outcomes(run_of([lost, *cells])).own == OWN
    assert report.conclusion == BOOSTING.report(run_of(cells)).conclusion
    assert "ForestPrune failed 1 time: ValueError: no" in report.notes
    alone = BOOSTING.report(run_of([lost]))
    assert alone.conclusion == ""


@pytest.mark.parametrize("protocol", ["sound", "published"])
@pytest.mark.parametrize(
    "rows",
    [
        [],
        [{"status": "failed", "reason": "no data"}],
        [{"status": "over_limit", "reason": "no data"}],
        [made_row()],
    ],
    ids=["none", "failed", "over limit", "nothing yet"],
)
def test_without_a_model_the_report_is_empty(
    rows: list[Any], protocol: str, tmp_path: Path
) -> None:
    run = run_of([(cell_of("stock", 0, protocol), row) for row in rows])
    report = BOOSTING.report(run)
    assert report.conclusion == ""
    assert report.notes[0] == "No fold has finished yet."
    assert any("no data" in note for note in report.notes) == any("reason" in row for row in rows)
    assert not any(group.rows for table in report.tables for group in table.groups)
    assert all(comparison.rows == () for comparison in report.published)
    for name, figure in report.figures.items():
        figure.savefig(tmp_path / f"{name}.png")
    lines = BOOSTING.kind.files(run)["table.csv"]
    assert len(lines) == sum("full" in row for row in rows)


@pytest.mark.parametrize("protocol", ["sound", "published"])
def test_a_report_can_be_made_before_other_methods_have_finished(
    protocol: str, tmp_path: Path
) -> None:
    row = made_row(forestprune=own_path((60, 0.5, 0.4, None), (60, 0.4, 0.5, 0.01)))
    report = BOOSTING.report(run_of([(cell_of("stock", 0, protocol), row)]))
    assert report.conclusion.startswith("The median best pruned model has 60 nodes")
    for name, figure in report.figures.items():
        figure.savefig(tmp_path / f"{name}.png")


@pytest.mark.parametrize("protocol", ["sound", "published"])
def test_a_method_that_failed_everywhere_leaves_the_others(protocol: str, tmp_path: Path) -> None:
    rows = [
        (cell, {**row, "paths": {**row["paths"], "ccp": LOST}})
        for cell, row in made_run(protocol).cells
    ]
    report = BOOSTING.report(run_of(rows))
    assert "CCP" not in column(report.tables[0], "nodes")
    assert "lasso" in column(report.tables[0], "nodes")
    assert "CCP failed 3 times: ValueError: no" in report.notes
    for name, figure in report.figures.items():
        figure.savefig(tmp_path / f"{name}.png")


def test_a_point_of_a_file_has_its_method_and_its_ridge() -> None:
    lines = BOOSTING.kind.files(made_run("sound"))["table.csv"]
    assert len(lines) == 3 + (7 + 4 + 2) + (3 + 1) + (2 + 1 + 1)
    assert [line["model"] for line in lines[:3]] == ["full", OWN, OWN]
    assert [line["alpha2"] for line in lines[1:4]] == [None, 0.01, None]
    assert {line["full_trees"] for line in lines} == {8}


# Figures


@pytest.mark.parametrize("by_validation", [True, False], ids=["sound", "published"])
@pytest.mark.parametrize("seed", range(4))
def test_lines_are_of_the_models_within_so_many_nodes(seed: int, by_validation: bool) -> None:
    generator = np.random.default_rng(seed)
    count = 60
    points = pd.DataFrame(
        {
            "fold": generator.integers(3, size=count),
            "nodes": generator.integers(1, 100, size=count),
            "validation": generator.integers(1, 9, size=count) / 10.0,  # with ties
            "test": generator.random(count),
        }
    )
    empty = pd.DataFrame({"fold": range(3), "nodes": 0, "validation": 1.0, "test": 1.0})
    points = pd.concat([empty, points], ignore_index=True)
    sizes = np.array([0.0, 1.0, 5.5, 20.0, 50.0, 99.0, 1000.0])
    expected = []
    for most in sizes:
        errors = []
        for fold in range(3):
            best, error = math.inf, math.nan
            for line in points[points["fold"] == fold].to_dict("records"):
                one: dict[Any, Any] = line
                if one["nodes"] > most:
                    continue
                if not by_validation:
                    error = one["test"]
                elif one["validation"] < best:
                    best, error = one["validation"], one["test"]
            errors.append(error)
        expected.append(sum(errors) / 3.0)
    np.testing.assert_allclose(_errors(points, sizes, by_validation), expected)


@pytest.mark.parametrize("protocol", ["sound", "published"])
def test_lines_and_tables_agree(protocol: str) -> None:
    found = outcomes(made_run(protocol))
    for budget in found.budgets:
        within = found.within[budget]
        for (data, method), lines in within.groupby(["data", "method"]):
            own = found.points[(found.points["data"] == data) & (found.points["method"] == method)]
            (error,) = _errors(own, np.array([budget]), protocol == "sound")
            assert error == pytest.approx(lines["test"].mean())


def test_every_method_is_in_the_legend_even_if_it_failed_at_first() -> None:
    cells = made_run("sound").cells
    first, row = cells[0]
    lost = (first, {**row, "paths": {**row["paths"], "lasso": LOST}})
    figure = draw_paths(outcomes(run_of([lost, cells[2]])))
    (legend,) = figure.legends
    names = [text.get_text() for text in legend.get_texts()]
    assert "lasso" in names
    assert names.count("full model") == 1
    # A part of the first line is none of its own, unless it is the published one.
    assert "ForestPrune, α₂ = 0.01" not in names
    (legend,) = draw_paths(outcomes(made_run("published"))).legends
    assert "ForestPrune, α₂ = 0.01" in [text.get_text() for text in legend.get_texts()]


# The whole study


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny table by the name of a published data set."""
    path = tmp_path_factory.mktemp("boosting-study")
    write_table(path / "autoMpg.csv", 90, empty=(7,))
    return path


PICKED = {"sound": ("first_k", "ccp"), "published": ("lasso",)}


def whole(folder: Path, protocol: str, out: Path) -> str:
    """Run the study; return what was printed."""
    console, text = terminal()
    studying.run(
        "boosting",
        size="small",
        models=PICKED[protocol],
        out=out,
        console=console,
        data="autoMpg",
        data_dir=str(folder),
        protocol=protocol,
        time_limit=1.0,
    )
    return text.getvalue()


@pytest.fixture(scope="module", params=["sound", "published"])
def study(request: pytest.FixtureRequest, folder: Path) -> tuple[Path, str, str]:
    """The folder of a run under a protocol, which protocol, and what was printed."""
    out = folder / "runs" / request.param
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(work, "run_in_child", run_here)
        return out, request.param, whole(folder, request.param, out)


def test_the_study_runs(study: tuple[Path, str, str]) -> None:
    out, protocol, told = study
    lines = (out / "rows.jsonl").read_text("utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if row["kind"] == "cell"]
    assert [row["status"] for row in rows] == ["ok", "ok"]
    for row in rows:
        assert list(row["paths"]) == [OWN, *PICKED[protocol]]
        assert not [path for path in row["paths"].values() if "reason" in path]
    assert {path.stem for path in out.glob("*.png")} == {"paths", "budgets"}
    page = (out / "table.md").read_text("utf-8")
    assert "autoMpg: 1 row without a response left out." in page
    assert r"\begin{tabular}" in (out / "table.tex").read_text("utf-8")
    with (out / "table.csv").open(encoding="utf-8") as file:
        points = list(csv.DictReader(file))
    assert len(points) == sum(
        1 + sum(len(path["points"]) for path in row["paths"].values()) for row in rows
    )
    config = json.loads((out / "config.json").read_text("utf-8"))
    assert (config["protocol"], config["marks"]) == (protocol, [50.0, 100.0, 1000.0, 5000.0])
    assert "The median best pruned model has" in told
    assert "published, 50" not in told  # for want of room; it is in the files
    assert "published, 50" in page


def test_a_second_run_has_nothing_to_do(
    study: tuple[Path, str, str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_args: Any, **_more: Any) -> Any:
        raise AssertionError("nothing is to be measured")

    monkeypatch.setattr(work, "run_in_child", never)
    out, protocol, _ = study
    before = (out / "rows.jsonl").read_bytes()
    (out / "paths.png").unlink()
    assert "2 of 2 cells done in an earlier run" in whole(folder, protocol, out)
    assert (out / "rows.jsonl").read_bytes() == before
    assert (out / "paths.png").exists()


@pytest.mark.parametrize("study", ["published"], indirect=True)
def test_published_figures_are_on_the_page_of_all_runs(study: tuple[Path, str, str]) -> None:
    out, protocol, _ = study
    console, _ = terminal()
    write_overview(console, out.parent)
    page = (out.parent / "report.html").read_text("utf-8")
    assert "boosting, published protocol, best on the path: test MSE" in page
    assert f"boosting, {protocol} protocol, 50 nodes: test MSE of ForestPrune ({protocol})" in page
    assert "0.1141" in page
