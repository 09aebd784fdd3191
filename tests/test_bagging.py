"""The study `bagging`: which model is taken, what others lose, and the whole of it on a file."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from bagged import as_published, cell_of, entry, lost, made_row, own_entry, run
from contests import (
    column,
    fold_of,
    prepared,
    run_here,
    run_of,
    saved_by,
    terminal,
    write_table,
)

from forestprune import compete
from studies import studying
from studies.bagging.measure import measure
from studies.bagging.outcomes import outcomes
from studies.bagging.selection import Choice
from studies.bagging.study import BAGGING
from studies.bagging.tables import data_set_table, methods_table, sizes_table
from studies.contests.candidates import RIDGES, alphas_of, candidates, weighed
from studies.contests.cell import Contest
from studies.contests.methods import POLISHED, SUBTREES, TUNED
from studies.contests.points import error, point_of, point_without_trees
from studies.overview.command import write_overview
from studies.running import work
from studies.running.prepared import Prepared

__all__ = ["as_published", "run"]  # fixtures

# Which model is taken


class Model(NamedTuple):
    """A model by its size and error."""

    name: str
    nodes: int
    validation: float


ALONG = [
    Model("empty", 0, 1.0),
    Model("first", 30, 0.30),
    Model("smaller", 20, 0.35),
    Model("as small", 20, 0.32),
    Model("least", 90, 0.10),
    Model("full", 99, 0.25),
]


def chosen(models: list[Model], most: float, how: Any) -> Model:
    choice = Choice[Model](most, how)
    for model in models:
        choice.offer(model)
    return choice.taken


def test_the_smallest_model_that_is_allowed_is_taken() -> None:
    assert chosen(ALONG, 0.36, "sound").name == "as small"  # of equal ones the better
    assert chosen(ALONG, 0.35, "sound").name == "as small"
    assert chosen(ALONG, 0.31, "sound").name == "first"
    assert chosen(ALONG, 0.30, "sound").name == "first"  # the limit itself is allowed
    assert chosen(ALONG, 1.0, "sound").name == "empty"


def test_the_first_model_that_is_allowed_is_taken_as_published() -> None:
    assert chosen(ALONG, 0.36, "published").name == "first"
    assert chosen(ALONG, 0.25, "published").name == "least"
    assert chosen(ALONG[2:], 0.36, "published").name == "smaller"


@pytest.mark.parametrize("how", ["sound", "published"])
def test_the_best_model_is_taken_where_none_is_allowed(how: Any) -> None:
    assert chosen(ALONG, 0.05, how).name == "least"
    # Of equal errors the first one, which is the smaller one along a path.
    equal = [Model("one", 5, 0.2), Model("two", 9, 0.2)]
    assert chosen(equal, 0.1, how).name == "one"


# What is measured


MODELS = ("first_k", "lasso", "ccp")


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Contest, Prepared, Any]:
    """A cell, the fold it is on, and what is saved of it after each method."""
    folder = tmp_path_factory.mktemp("bagging")
    write_table(folder / "tiny.csv")
    cell = Contest(fold_of(folder / "tiny.csv"), MODELS, (0.0, 0.1, 5.0), 30.0, 0.01, 8, 1.0, 1)
    found, _ = prepared(cell.instance, folder / "data.pickle")
    request = {"cell": cell.as_dict(), "path": str(folder / "data.pickle")}
    return cell, found, saved_by(measure, request)


def by_name(row: dict[str, Any]) -> dict[tuple[str, float], dict[str, Any]]:
    return {(entry["name"], entry["phi"]): entry for entry in row["entries"]}


def test_no_smaller_model_of_the_path_is_allowed(
    measured: tuple[Contest, Prepared, Any],
) -> None:
    cell, found, saved = measured
    row = saved[-1]
    assert row["full"] == pytest.approx(point_of(found, found.ensemble))
    along = list(candidates(found, alphas_of(cell.top, cell.end, cell.values), RIDGES))
    errors = [error(found, one.model, "validation") for one in along]
    on_path = 0
    for name, ridges in ((TUNED, {None, 0.01, 0.1, 1.0}), (POLISHED, {0.01})):
        for phi in cell.marks:
            taken = by_name(row)[name, phi]
            most = row["full"]["validation"] + phi
            assert taken["validation"] <= most
            assert taken["alpha2"] in ridges
            allowed = {
                (one.alpha, one.alpha2): one.model
                for one, e in zip(along, errors, strict=True)
                if one.alpha2 in ridges and e <= most
            }
            smallest = min(model.n_nodes for model in allowed.values())
            # Between the α of the path there may be smaller ones.
            assert taken["nodes"] <= smallest <= row["full"]["nodes"]
            same = allowed.get((taken["alpha"], taken["alpha2"]))
            if same is None:
                assert taken["nodes"] < smallest
            else:
                on_path += 1
                expected = point_of(found, same)
                assert {key: taken[key] for key in expected} == pytest.approx(expected)
                assert taken["gap"] == pytest.approx(same.result.gap)
    assert on_path > 0
    # φ of 5 allows the model without trees.
    assert by_name(row)[TUNED, 5.0]["nodes"] == 0
    sizes = [by_name(row)[TUNED, phi]["nodes"] for phi in cell.marks]
    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes)) == 3


def test_all_models_along_the_path_are_kept(measured: tuple[Contest, Prepared, Any]) -> None:
    cell, found, saved = measured
    row = saved[-1]
    path = row["path"]
    alphas = alphas_of(cell.top, cell.end, cell.values)
    values = [point["value"] for point in path]
    assert values == sorted(values, reverse=True)
    on_grid = [point for point in path if point["value"] in alphas]
    assert len(on_grid) == cell.values * len(RIDGES)
    for point, one in zip(on_grid, candidates(found, alphas, RIDGES), strict=True):
        assert point == {
            "value": one.alpha,
            "alpha2": one.alpha2,
            "nodes": one.model.n_nodes,
            "validation": pytest.approx(error(found, one.model, "validation")),
            "test": pytest.approx(error(found, one.model, "test")),
        }
    # There are those of the finer looks: the chosen models are on the path, or the full one.
    assert len(path) > len(on_grid)
    keys = ("nodes", "validation", "test")
    kept = {(p["value"], p["alpha2"], *(p[key] for key in keys)) for p in path}
    kept.add((0.0, None, *(row["full"][key] for key in keys)))
    for name in (TUNED, POLISHED):
        for phi in cell.marks:
            taken = by_name(row)[name, phi]
            assert (taken["alpha"], taken["alpha2"], *(taken[key] for key in keys)) in kept
    assert row["empty"] == pytest.approx(point_without_trees(found))
    assert row["empty"]["nodes"] == 0


def test_others_have_the_nodes_of_the_tuned_model_as_their_limit(
    measured: tuple[Contest, Prepared, Any],
) -> None:
    cell, found, saved = measured
    entries = by_name(saved[-1])
    assert set(entries) == {
        (name, phi) for name in (TUNED, POLISHED, *MODELS) for phi in cell.marks
    }
    first, second = (tree.n_nodes for tree in found.ensemble.trees[:2])
    for phi in cell.marks:
        budget = entries[TUNED, phi]["nodes"]
        for name in MODELS:
            assert entries[name, phi]["nodes"] <= budget
            assert {"guarantee", "termination", "seconds"} <= set(entries[name, phi])
        assert entries["first_k", phi]["trees"] == (first <= budget) + (first + second <= budget)
    assert entries["first_k", 0.0]["nodes"] == first
    # All are measured on the same rows: without a tree they are the same model.
    assert entries["first_k", 5.0]["test"] == pytest.approx(entries[TUNED, 5.0]["test"])


def test_the_limit_is_the_tuned_model_and_not_the_one_with_the_published_ridge(
    tmp_path: Path,
) -> None:
    write_table(tmp_path / "tiny.csv")
    fold = fold_of(tmp_path / "tiny.csv", fold=3)
    cell = Contest(fold, ("ccp",), (-0.1,), 30.0, 0.01, 8, 1.0, 1)
    prepared(fold, tmp_path / "data.pickle")
    row = saved_by(measure, {"cell": cell.as_dict(), "path": str(tmp_path / "data.pickle")})[-1]
    nodes = {name: entry["nodes"] for (name, _), entry in by_name(row).items()}
    assert nodes[POLISHED] < nodes["ccp"] <= nodes[TUNED]


@pytest.mark.filterwarnings("ignore:.*leaves no tree")
def test_subtrees_have_the_ridge_that_validation_rows_choose(
    measured: tuple[Contest, Prepared, Any], tmp_path: Path
) -> None:
    cell, found, saved = measured
    request = {**cell.as_dict(), "models": (SUBTREES,)}
    found.write(tmp_path / "data.pickle")
    row = saved_by(measure, {"cell": request, "path": str(tmp_path / "data.pickle")})[-1]
    entries = by_name(row)
    for phi in cell.marks:
        entry = entries[SUBTREES, phi]
        budget = by_name(saved[-1])[TUNED, phi]["nodes"]
        plain = compete(
            SUBTREES, found.ensemble, *found.parts["train"], max_nodes=budget, polish=None
        )
        models = [weighed(found, plain, ridge) for ridge in RIDGES]
        errors = [error(found, model, "validation") for model in models]
        assert entry["nodes"] == plain.n_nodes
        assert entry["validation"] == pytest.approx(min(errors))
        assert entry["test"] == pytest.approx(
            error(found, models[errors.index(min(errors))], "test")
        )


def test_what_is_there_is_saved_after_every_method(
    measured: tuple[Contest, Prepared, Any],
) -> None:
    _, _, saved = measured
    names = [{entry["name"] for entry in row["entries"]} for row in saved]
    own = {TUNED, POLISHED}
    assert names == [own, *(own | set(MODELS[: k + 1]) for k in range(len(MODELS)))]
    # A process that is killed before the last method has failed, and is tried again.
    assert [row["status"] for row in saved] == ["failed"] * (len(saved) - 1) + ["ok"]


def test_a_method_that_fails_is_an_entry_with_its_reason(
    measured: tuple[Contest, Prepared, Any], tmp_path: Path
) -> None:
    cell, found, _ = measured
    found.write(tmp_path / "data.pickle")
    # There is no competitor of this name, as in the rows of another version.
    odd = replace(cell, models=("gone", "ccp"))
    saved = saved_by(measure, {"cell": odd.as_dict(), "path": str(tmp_path / "data.pickle")})[-1]
    entries = by_name(saved)
    for phi in cell.marks:
        entry = entries["gone", phi]
        assert set(entry) == {"phi", "name", "reason"}
        assert entry["reason"].startswith("InvalidInput: unknown competitor 'gone'")
        assert "test" in entries["ccp", phi]
    report = BAGGING.report(run_of([(odd, saved)]))
    assert any(note.startswith("gone failed 3 times: InvalidInput: ") for note in report.notes)
    assert column(report.tables[1], "φ = 0.1")["gone"] == "–"
    assert column(report.tables[1], "φ = 0.1")["CCP"] != "–"


def test_only_the_published_ridge_is_used_as_published(
    measured: tuple[Contest, Prepared, Any], tmp_path: Path
) -> None:
    cell, found, _ = measured
    found.write(tmp_path / "data.pickle")
    published = replace(cell, models=(), instance=replace(cell.instance, protocol="published"))
    row = saved_by(measure, {"cell": published.as_dict(), "path": str(tmp_path / "data.pickle")})[
        -1
    ]
    entries = by_name(row)
    assert {name for name, _ in entries} == {POLISHED}
    assert {entry["alpha2"] for entry in entries.values()} <= {0.01, None}
    along = [
        one
        for one in candidates(found, alphas_of(cell.top, cell.end, cell.values), RIDGES)
        if one.alpha2 == 0.01
    ]
    for phi in cell.marks:
        most = row["full"]["validation"] + phi
        first = next(one for one in along if error(found, one.model, "validation") <= most)
        assert entries[POLISHED, phi]["alpha"] == first.alpha
        assert entries[POLISHED, phi]["nodes"] == first.model.n_nodes
    assert [(point["value"], point["alpha2"]) for point in row["path"]] == [
        (one.alpha, 0.01) for one in along
    ]


# What a run has found


def test_rises_are_over_folds_in_which_both_have_a_model(run: Any) -> None:
    found = outcomes(run)
    assert found.methods == (TUNED, "ccp", "bsts")
    assert (found.own, found.variants, found.rivals) == (TUNED, [TUNED], ["ccp", "bsts"])
    assert found.phis == (0.05, 0.1)
    assert found.data == ["autoMpg", "stock"]
    # The fold in which ccp failed counts for neither: 0.8 / 0.5.
    assert found.rises("ccp", 0.1).to_dict() == pytest.approx({"autoMpg": 0.6, "stock": -0.5})
    # Means of errors and not of ratios: (0.6 + 0.3) / (0.5 + 0.1).
    assert found.rises("bsts", 0.1).to_dict() == pytest.approx({"autoMpg": 0.5, "stock": -0.2})
    assert found.rises("ccp", 0.05).to_dict() == pytest.approx({"autoMpg": 0.4, "stock": 0.0})
    assert len(found.rises("bsts", 0.05)) == 0


def test_tables_have_medians_over_folds_and_data_sets(run: Any) -> None:
    found = outcomes(run)
    (group,) = sizes_table(found).groups
    # Nodes 0 are as 1; the ratios are 10, 4 and 1000 of which the test errors are 1.25, 0.25, 1.25.
    assert group.rows[1] == ("φ = 0.1", "10", "100", "5", "3.0", "+25", "2")
    assert group.rows[0][1:3] == ("5", "200")
    table = methods_table(found)
    assert column(table, "φ = 0.1") == {"CCP": "+5.0", "BSTS": "+15"}
    assert column(table, "φ = 0.05") == {"CCP": "+20", "BSTS": "–"}
    assert column(table, "lower on") == {"CCP": "1 of 4", "BSTS": "1 of 2"}
    # Of autoMpg and stock: 0.2504 / 0.2202 and 0.0778 / 0.0668; of CCP the paper's text.
    assert column(table, "published, 0.05") == {"CCP": "+110", "BSTS": "+15"}
    assert column(table, "published, 0.1") == {"CCP": "–", "BSTS": "–"}
    assert column(table, "no tree %") == {"CCP": "0", "BSTS": "0"}
    assert column(table, "cut short %") == {"CCP": "0", "BSTS": "33"}
    assert "the limit of 2 s cut short" in table.caption
    _, largest = data_set_table(found).groups
    assert largest.rows == (
        ("autoMpg", "0.4000", "1,100", "200", "0.3000", "–", "0.4500"),  # ccp failed on a fold
        ("stock", "0.4000", "1,000", "0", "0.5000", "0.2500", "0.4000"),
    )


@pytest.mark.usefixtures("as_published")
def test_what_came_out_is_said(run: Any) -> None:
    report = BAGGING.report(run)
    # Of 5, 3 and 100 times, and of 0.4, 0.1 and 0.5 beside 0.4.
    assert report.conclusion == (
        "At φ = 0.05 the median forest becomes 5 times smaller for 0 % of test error. "
        "No other method has a lower median error within as many nodes."
    )
    assert "CCP failed 1 time: ValueError: no" in report.notes
    (told,) = (note for note in report.notes if note.startswith("As good as published"))
    assert told.startswith(
        "As good as published: 1 of 2 test errors; 2 of 2 sizes, at most the published ones. "
        "An error is"
    )
    (how,) = (note for note in report.notes if note.startswith("φ is an absolute rise"))
    assert "the smallest is taken" in how
    assert "α: 5 from 10 to 1." in how
    assert "a search of another method has 2 s" in how
    assert "Of subtrees, too, validation rows choose the ridge." in how


def test_methods_that_do_better_are_named() -> None:
    row = made_row(
        own_entry(0.05, 9, 0.5), own_entry(0.1, 9, 0.5), entry("ccp", 0.05, 9, 0.6),
        entry("ccp", 0.1, 9, 0.4), entry("bsts", 0.05, 9, 0.5), entry("bsts", 0.1, 9, 0.5),
    )  # fmt: skip
    report = BAGGING.report(run_of([(cell_of("stock", 0), row)]))
    assert report.conclusion.endswith("the median error is lower by CCP (φ = 0.1).")


@pytest.mark.usefixtures("as_published")
def test_a_published_run_is_told_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("studies.comparing.published.FOLDS", 1)
    cell = cell_of("stock", 0, "published")
    row = made_row(own_entry(0.05, 9, 0.05, POLISHED), entry("ccp", 0.05, 9, 0.6))
    report = BAGGING.report(run_of([(cell, row)]))
    assert report.tables[0].groups[0].title == "ForestPrune, α₂ = 0.01"
    assert any("the first model along the falling α" in note for note in report.notes)
    assert report.published[0].rows[0].within is True


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [(cell_of("stock", 0), {"status": "failed", "reason": "no data"})],
        [(cell_of("stock", 0), {"status": "over_limit", "reason": "no data"})],
        [(cell_of("stock", 0), made_row())],
    ],
    ids=["none", "failed", "over limit", "nothing yet"],
)
def test_without_a_model_the_report_is_empty(rows: Any) -> None:
    run = run_of(rows)
    report = BAGGING.report(run)
    assert report.conclusion == ""
    assert report.notes[0] == "No fold has finished yet."
    assert any("no data" in note for note in report.notes) == (rows != [] and len(rows[0][1]) == 2)
    assert not any(group.rows for table in report.tables for group in table.groups)
    assert all(comparison.rows == () for comparison in report.published)
    lines = BAGGING.kind.files(run)["table.csv"]
    assert len(lines) == sum("full" in row for _, row in rows)


def test_a_method_that_failed_everywhere_leaves_the_others(tmp_path: Path) -> None:
    rows = [
        (
            cell_of("stock", fold),
            made_row(own_entry(0.1, 9, 0.5), lost("ccp", 0.1), entry("bsts", 0.1, 9, 0.6)),
        )
        for fold in (0, 1)
    ]
    report = BAGGING.report(run_of(rows))
    assert column(report.tables[1], "φ = 0.1") == {"CCP": "–", "BSTS": "+20"}
    assert column(report.tables[1], "lower on") == {"CCP": "0 of 0", "BSTS": "0 of 1"}
    assert report.tables[2].groups[0].rows[0][-2:] == ("–", "0.6000")
    assert "CCP failed 2 times: ValueError: no" in report.notes
    report.figures["bagging"].savefig(tmp_path / "bagging.png")
    assert "No other method has a lower median error" in report.conclusion


def test_before_other_methods_have_finished_there_is_a_report(tmp_path: Path) -> None:
    report = BAGGING.report(run_of([(cell_of("stock", 0), made_row(own_entry(0.1, 9, 0.5)))]))
    assert report.tables[0].groups[0].rows[0][0] == "φ = 0.1"
    assert report.tables[1].groups[0].rows == ()
    report.figures["bagging"].savefig(tmp_path / "bagging.png")


def test_what_is_chosen_anyway_is_no_other_method() -> None:
    def models(protocol: str) -> tuple[str, ...]:
        request = BAGGING.request(
            size="small", data="stock", models=(TUNED, POLISHED, "ccp"), protocol=protocol
        )
        (cell, *_) = BAGGING.cells(request)
        assert isinstance(cell, Contest)
        return cell.models

    assert models("sound") == ("ccp",)
    # With the published protocol α₂ has one value, so that choosing it is another method.
    assert models("published") == (TUNED, "ccp")


def test_lines_of_a_file_have_the_model_and_the_forest(run: Any) -> None:
    lines = BAGGING.kind.files(run)["table.csv"]
    assert [line["model"] for line in lines[:3]] == ["full", TUNED, TUNED]
    assert len(lines) == 3 + 15
    (failed,) = (line for line in lines if line.get("reason"))
    assert (failed["model"], failed["fold"], failed["phi"]) == ("ccp", 1, 0.1)
    # The trees of the forest that was fitted are told apart from those of the model.
    assert failed.get("trees") is None
    assert {line["full_trees"] for line in lines} == {8}


# The whole study


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny table by the name of a published data set."""
    path = tmp_path_factory.mktemp("bagging-study")
    write_table(path / "autoMpg.csv", 90, empty=(7,))
    return path


PICKED = {"sound": ("first_k", "depth_cap"), "published": ("lasso[columns=source]",)}


@pytest.fixture(scope="module", params=["sound", "published"])
def study(request: pytest.FixtureRequest, folder: Path) -> tuple[Path, str, str]:
    """The folder of a run under a protocol, which protocol, and what was printed."""
    console, text = terminal()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(work, "run_in_child", run_here)
        out = studying.run(
            "bagging",
            size="small",
            models=PICKED[request.param],
            out=folder / "runs" / request.param,
            console=console,
            data=str(folder / "autoMpg.csv"),
            target="class",
            protocol=request.param,
            time_limit=1.0,
        )
    return out, request.param, text.getvalue()


def rows_of(out: Path) -> list[dict[str, Any]]:
    lines = (out / "rows.jsonl").read_text("utf-8").splitlines()
    return [row for row in map(json.loads, lines) if row["kind"] == "cell"]


def test_the_study_runs(study: tuple[Path, str, str]) -> None:
    out, protocol, told = study
    rows = rows_of(out)
    assert [row["status"] for row in rows] == ["ok", "ok"]
    own = {"sound": {TUNED, POLISHED}, "published": {POLISHED}}[protocol]
    for row in rows:
        assert {name for name, _ in by_name(row)} == own | set(PICKED[protocol])
        assert not [entry for entry in row["entries"] if "reason" in entry]
    assert {path.name for path in out.glob("*.png")} == {"bagging.png"}
    page = (out / "table.md").read_text("utf-8")
    assert "autoMpg: 1 row without a response left out." in page
    assert r"\begin{tabular}" in (out / "table.tex").read_text("utf-8")
    with (out / "table.csv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == sum(1 + len(row["entries"]) for row in rows)
    config = json.loads((out / "config.json").read_text("utf-8"))
    assert (config["protocol"], config["marks"]) == (protocol, [0.01, 0.025, 0.05])
    assert "At φ = 0.01 the median forest becomes" in told
    assert "fold 2  full model: test MSE" in told
    assert "published, 0.01" not in told  # for want of room; it is in the files
    assert "published, 0.01" in page
    assert "**Published test MSE and ours" in page
    # Both have the size of a row's models and of the finer looks.
    least = {"sound": 64 * 4, "published": 50}[protocol]
    assert all(len(row["path"]) >= least for row in rows)


def test_a_second_run_has_nothing_to_do(
    study: tuple[Path, str, str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, protocol, _ = study

    def never(*_args: Any, **_more: Any) -> Any:
        raise AssertionError("nothing is to be measured")

    monkeypatch.setattr(work, "run_in_child", never)
    before = (out / "rows.jsonl").read_bytes()
    console, text = terminal()
    (out / "bagging.png").unlink()
    studying.run(
        "bagging",
        size="small",
        models=PICKED[protocol],
        out=out,
        console=console,
        data=str(folder / "autoMpg.csv"),
        target="class",
        protocol=protocol,
        time_limit=1.0,
    )
    assert (out / "rows.jsonl").read_bytes() == before
    assert "2 of 2 cells done in an earlier run" in text.getvalue()
    assert (out / "bagging.png").exists()


@pytest.mark.parametrize("study", ["published"], indirect=True)
def test_published_figures_are_on_the_page_of_all_runs(study: tuple[Path, str, str]) -> None:
    out, protocol, _ = study
    console, _ = terminal()
    write_overview(console, out.parent)
    page = (out.parent / "report.html").read_text("utf-8")
    assert f"bagging, {protocol} protocol, φ = 0.05: test MSE of ForestPrune ({protocol})" in page
    assert "0.2202" in page
