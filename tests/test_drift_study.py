"""The studies of streams: where they drift, what is measured, baselines, and tiny runs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import f1_score

from formulations import InvalidInput
from studies.cli import app
from studies.drift import measure as measuring
from studies.drift.baselines import ByBatch, Majority, NoChange, Window
from studies.drift.cell import DriftCell
from studies.drift.kind import STREAMS
from studies.drift.prequential import OutOfTime, by_batches, row_by_row
from studies.drift.study import DRIFT
from studies.drift.study import report as drift_report
from studies.drift.systems import SYSTEMS
from studies.drift.tables import entries_of
from studies.drift_pruning import measure as pruning
from studies.drift_pruning.cell import PruneCell
from studies.drift_pruning.entries import PHASES
from studies.drift_pruning.entries import entries_of as prune_entries
from studies.drift_pruning.kind import PRUNINGS
from studies.drift_pruning.study import DRIFT_PRUNING
from studies.drift_pruning.study import report as prune_report
from studies.errors import StudyError
from studies.gaps import GAPS
from studies.planning import make_plan
from studies.reporting.latex import tabular
from studies.reporting.render import markdown
from studies.reporting.report import RunOf, collect
from studies.streams import choosing, optional
from studies.streams.load import load, rows_of
from studies.streams.measures import macro_f1, recoveries, rolling
from studies.streams.prepare import prepare
from studies.streams.stream import Drift, Rows, Stream
from studies.streams.synthetic import CONCEPTS, draw_concept


def turning(rows: int, seed: int = 0) -> Rows:
    """Two features; which of them the class is from changes half way."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(rows, 2))
    concept = (np.arange(rows) >= rows // 2).astype(np.int64)
    y = (X[np.arange(rows), concept] > 0).astype(np.int64)
    return Rows(X, y, ("a", "b"), ("0", "1"), (Drift(rows // 2, rows // 2),), concept)


def test_macro_f1_is_the_mean_over_the_classes_that_occur() -> None:
    y, said = np.random.default_rng(0).integers(5, size=(2, 200))
    assert macro_f1(y, said) == pytest.approx(f1_score(y, said, average="macro"))
    # A class that is only predicted is none; a row without a prediction is wrong.
    assert macro_f1(np.array([0, 0]), np.array([0, 3])) == pytest.approx(2 / 3)
    assert macro_f1(np.array([0, 0]), np.array([0, -1])) == pytest.approx(2 / 3)


def test_recovery_counts_rows_until_the_next_ones_are_right_again() -> None:
    right = np.ones(100, dtype=np.bool_)
    right[40:55] = False
    drifts = (Drift(40, 40), Drift(80, 84))
    assert recoveries(right, drifts, 10, 0.0, 0) == [15, 0]
    assert recoveries(right, drifts, 10, 0.25, 0) == [13, 0]
    right[55:80] = False
    assert recoveries(right, drifts, 10, 0.0, 0) == [None, 0]
    # Without a whole window before a drift, or after it, nothing can be said of it.
    assert recoveries(right, drifts, 10, 0.0, 35) == [0]
    assert recoveries(right[:85], drifts, 10, 0.0, 0) == [None]
    assert recoveries(right, (), 10, 0.0, 0) == []
    assert rolling(right[:50], 40).tolist() == pytest.approx(
        [1.0, *(1 - k / 40 for k in range(1, 11))]
    )


def test_batches_are_predicted_before_they_are_learnt() -> None:
    rows = turning(100)
    trace = by_batches(ByBatch(NoChange()), rows, 10, 60.0)
    last = np.repeat(rows.y[9:99:10], 10)
    assert trace.predicted[:10].tolist() == [-1] * 10
    assert trace.predicted[10:].tolist() == last.tolist()
    single = row_by_row(NoChange(), rows, 10, 60.0)
    assert single.predicted.tolist() == [-1, *rows.y[:-1]]
    majority = row_by_row(Majority(), rows, 10, 60.0)
    counts = np.cumsum(rows.y[:-1])
    clear = 2 * counts != np.arange(1, 100)
    assert (majority.predicted[1:] == (2 * counts > np.arange(1, 100)))[clear].all()
    with pytest.raises(OutOfTime):
        by_batches(ByBatch(NoChange()), rows, 10, 0.0)


def test_a_window_holds_the_last_rows_alone() -> None:
    class Seen:
        def fit(self, X: Any, y: Any) -> None:
            self.rows = y.tolist()

    model = Seen()
    window = Window(model, 25)
    for start in range(0, 60, 10):
        window.learn(np.zeros((10, 1)), np.arange(start, start + 10))
    assert model.rows == list(range(35, 60))
    assert window.held() == 25


@pytest.mark.parametrize("source", sorted(CONCEPTS))
def test_a_synthetic_stream_is_the_same_for_the_same_seed_and_turns_where_it_says(
    source: str,
) -> None:
    pytest.importorskip("river")
    stream = Stream(source, 120, "abrupt", seed=3)
    rows, again = load(stream), load(stream)
    assert (rows.X == again.X).all()
    assert (rows.y == again.y).all()
    turns = len(CONCEPTS[source][0])
    begins = [120 * k // turns for k in range(1, turns)]
    assert [drift.begin for drift in rows.drifts] == begins
    assert np.flatnonzero(np.diff(rows.concept)).tolist() == [begin - 1 for begin in begins]
    other = load(replace(stream, seed=4))
    assert (rows.X != other.X).any()
    mixed = load(replace(stream, drift="gradual", width=20))
    assert 0 < (mixed.concept != rows.concept).sum() < 60
    # The rows of a concept are the same however the concepts take turns.
    place = min((mixed.concept == 0).sum(), (rows.concept == 0).sum())
    assert (mixed.X[mixed.concept == 0][:place] == rows.X[rows.concept == 0][:place]).all()
    before = draw_concept(stream, 0, 10)
    assert (rows.X[:10] != before.X).any()


def test_streams_that_change_all_the_time_and_real_ones() -> None:
    pytest.importorskip("river")
    moving = load(Stream("hyperplane", 100, "incremental"))
    still = load(Stream("hyperplane", 100))
    assert moving.drifts == ()
    assert (moving.y != still.y).any()
    with pytest.raises(InvalidInput, match=r"drift of 'sea' must be none, abrupt or gradual"):
        load(Stream("sea", 100, "incremental"))
    phishing = Stream("phishing", 10**9)
    assert rows_of(phishing) == 1250
    assert load(phishing.cut_to(300)).X.shape == (300, 9)
    assert rows_of(Stream("image_segments", 5)) == 2310


def written(tmp_path: Path, rows: Rows) -> Path:
    """A CSV file of a stream."""
    path = tmp_path / "own.csv"
    lines = [
        f"{a:.3f},{b:.3f},{'yes' if y else 'no'}" for (a, b), y in zip(rows.X, rows.y, strict=True)
    ]
    path.write_text("\n".join(["a,b,label", *lines]) + "\n")
    return path


def test_a_file_is_a_stream_without_known_drifts(tmp_path: Path) -> None:
    path = written(tmp_path, turning(50))
    rows = load(Stream(str(path), 20, target="label"))
    assert (rows.X.shape, rows.drifts, sorted(rows.classes)) == ((20, 2), (), ["no", "yes"])
    whole = load(Stream(str(path), 10**9, target="label"))
    whole.write(tmp_path / "rows.npz")
    again = Rows.read(tmp_path / "rows.npz")
    assert (again.X == whole.X).all()
    assert (again.classes, again.features) == (whole.classes, ("a", "b"))
    with pytest.raises(InvalidInput, match="target must name the column"):
        load(Stream(str(path), 20))


def test_without_river_a_study_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choosing, "has_river", lambda: False)
    with pytest.raises(StudyError, match=r"pip install 'forestprune\[river\]'.*--data FILE"):
        list(DRIFT.cells(DRIFT.request(size="small")))
    own = DRIFT.request(size="small", data="own.csv", target="label")
    assert {cell.model for cell in DRIFT.cells(own)} == set(SYSTEMS)
    monkeypatch.setitem(__import__("sys").modules, "river", None)
    with pytest.raises(StudyError, match="a Hoeffding tree needs river"):
        optional.river("tree", "a Hoeffding tree")


def test_what_is_asked_for_and_what_is_not_for_streams() -> None:
    pytest.importorskip("river")
    cells = list(DRIFT.cells(DRIFT.request(size="small", models=("arf", "isoup"), seed=7)))
    # No model without what needs no features, in the same form.
    asked = {"arf", "isoup", "no_change_rows", "majority_rows"}
    assert {(cell.model, cell.instance.seed) for cell in cells} == {(name, 7) for name in asked}
    assert len({cell.instance.kind for cell in cells}) == 3
    full = list(DRIFT.cells(DRIFT.request(size="full", models=("arf",), data="sea")))
    assert [cell.instance.seed for cell in full if cell.model == "arf"] == [0, 1, 2] * 2
    for wrong, said in (
        ({"models": ("af",)}, "unknown model 'af'; did you mean"),
        ({"target": "y"}, "--target goes with --data"),
    ):
        with pytest.raises(StudyError, match=said):
            list(DRIFT.cells(DRIFT.request(size="small", **wrong)))
    for study, unfit, option in (
        (DRIFT, {"alpha": 0.0}, "alpha"),
        (DRIFT, {"solvers": ("cbcd",)}, "solver"),
        (DRIFT, {"repeats": 1}, "repeats"),
        (DRIFT_PRUNING, {"data_dir": "d"}, "data-dir"),
        (GAPS, {"models": ("arf",)}, "model"),
    ):
        with pytest.raises(StudyError, match=f"--{option} is not for {study.name}"):
            study.request(size="small", **unfit)
    one = DRIFT_PRUNING.request(size="small", alpha=0.5)
    assert {(cell.alpha, cell.budget) for cell in DRIFT_PRUNING.cells(one)} == {(0.5, None)}


def ran(kind: Any, measure: Any, cells: list[Any], rows: Rows, tmp_path: Path) -> RunOf[Any, Any]:
    """The run of some cells on the same rows, in this process."""
    path = tmp_path / "rows.npz"
    rows.write(path)
    drifts = [[drift.begin, drift.end] for drift in rows.drifts]
    kept: list[dict[str, Any]] = [
        {"kind": "instance", "instance": vars(cells[0].instance), "status": "ok", "drifts": drifts}
    ]
    for cell in cells:
        found: list[dict[str, Any]] = []
        measure({"cell": cell.as_dict(), "path": str(path)}, found.append)
        kept.append(json.loads(json.dumps({"kind": "cell", "cell": cell.as_dict(), **found[-1]})))
    return collect({"title": "T"}, kept, kind)


def drift_cells(stream: Stream, *models: str, **options: Any) -> list[DriftCell]:
    common = {"batch": 20, "cold": 40, "window": 50, "margin": 0.1, "time_limit": 60.0}
    return [DriftCell(stream, model, threads=1, **{**common, **options}) for model in models]


def test_a_tiny_run_of_drift(tmp_path: Path) -> None:
    pytest.importorskip("river")
    models = ("forgetful_tree", "forgetful_forest", "hoeffding", "isoup", "no_change", "majority")
    cells = drift_cells(Stream("own.csv", 600), *models, "window_tree", "no_change_rows")
    run = ran(STREAMS, measuring.measure, cells, turning(600), tmp_path)
    found = {entry.model: entry for entry in entries_of(run)}
    assert set(found) == {cell.model for cell in cells}
    assert found["forgetful_forest"].accuracy > 0.75 > 0.6 > found["majority"].accuracy
    (row,) = found["forgetful_forest"].rows
    (back,) = row["recovery"]
    assert back is None or 0 < back <= 250
    assert row["rolling"][0][0] == 90
    assert row["rolling"][-1][0] == 600
    assert 0 < row["held_most"] <= 600
    assert row["pickle_bytes"] > 100
    (row,) = found["hoeffding"].rows
    assert (row["held"], row["held_most"]) == ([], None)
    made = drift_report(run)
    (table,) = made.tables
    assert all(system.settings in table.caption for m, system in SYSTEMS.items() if m in found)
    assert "river's HoeffdingTreeClassifier" in table.caption
    assert "Seeds of streams and models: 0" in table.caption
    (group,) = table.groups
    assert [line[1] for line in group.rows] == ["batches"] * 5 + ["rows"] * 3
    assert all(len(line) == len(table.header) for line in group.rows)
    assert made.conclusion.startswith("Mean accuracy over the stream. By batches: ")
    assert "no change" in markdown(table)
    assert "no change" in tabular(table)
    files = STREAMS.files(run)
    assert len(files["table.csv"]) == len(cells)
    assert {line["what"] for line in files["curves.csv"]} == {"rolling", "held"}
    made.figures["drift"].savefig(tmp_path / "drift.png")


def test_a_model_that_is_too_slow_is_over_its_limit(tmp_path: Path) -> None:
    cells = drift_cells(Stream("own.csv", 100), "majority", time_limit=0.0)
    run = ran(STREAMS, measuring.measure, cells, turning(100), tmp_path)
    assert [row["status"] for _, row in run.cells] == ["over_limit"]
    made = drift_report(run)
    assert made.tables == ()
    assert any("not at the end of the stream within 0 s" in note for note in made.notes)


@pytest.mark.parametrize("study", [DRIFT, DRIFT_PRUNING], ids=lambda study: study.name)
def test_cells_survive_as_plain_values_and_the_plan_says_what_they_share(study: Any) -> None:
    pytest.importorskip("river")
    for size in study.sizes:
        plan = make_plan(study, study.request(size=size), study.kind.rows)
        assert len(set(plan.cells)) == len(plan.cells)
        for cell in plan.cells:
            assert study.kind.read_cell(json.loads(json.dumps(cell.as_dict()))) == cell
            assert cell.instance.rows < 10**6
        assert plan.settings()["batch"] == 100


def test_a_tiny_run_of_drift_pruning(tmp_path: Path) -> None:
    common = {"trees": 4, "batch": 20, "every": 2, "cold": 80, "window": 50, "margin": 0.1}
    common |= {"repeats": 1, "time_limit": 60.0, "threads": 1}
    cells = [
        PruneCell(Stream("own.csv", 480), alpha, budget, **common)
        for alpha, budget in ((0.5, None), (None, 0.2))
    ]
    run = ran(PRUNINGS, pruning.measure, cells, turning(480), tmp_path)
    assert [row["status"] for _, row in run.cells] == ["ok", "ok"]
    by_alpha, by_budget = prune_entries(run)
    rows = [one["row"] for one in by_alpha.prunings]
    assert rows == list(range(80, 480, 40))
    for one in by_alpha.prunings + by_budget.prunings:
        assert 0 <= one["kept_nodes"] <= one["nodes"]
        assert one["bound"] <= one["objective"] * (1 + 1e-9)
        assert 0.0 <= one["gap"] <= 1.0
    assert all(one["kept_nodes"] <= 0.2 * one["nodes"] for one in by_budget.prunings)
    assert [one["warm_seconds"] is None for one in by_alpha.prunings] == [True] + [False] * 9
    assert all(one["warm_seconds"] is None for one in by_budget.prunings)
    assert by_alpha.accuracy("live") == by_budget.accuracy("live")
    assert by_alpha.accuracy("reference") is None
    phases = by_alpha.phases()
    # The drift begins at row 240, when a pruning just has.
    assert [phases[name][0]["row"] for name in PHASES] == [200, 240, 280, 320, 440]
    made = prune_report(run)
    for table in made.tables:
        assert all(len(line) == len(table.header) for group in table.groups for line in group.rows)
    assert made.conclusion.startswith("Pruned against whole, over 1 stream: α = 0.5: ")
    assert "Of 2 recoveries" in made.conclusion
    assert len(PRUNINGS.files(run)["prunings.csv"]) == 20
    made.figures["drift-pruning"].savefig(tmp_path / "drift-pruning.png")


def test_the_reference_has_no_drift(tmp_path: Path) -> None:
    pytest.importorskip("river")
    stream = Stream("mixed", 600, "abrupt")
    cell = PruneCell(stream, 1.0, None, 4, 50, 4, 100, 50, 0.1, 1, 60.0, 1)
    found: list[dict[str, Any]] = []
    prepare({"instance": vars(stream), "path": str(tmp_path / "rows")}, found.append)
    assert found[0]["drifts"] == [[150, 150], [300, 300], [450, 450]]
    pruning.measure({"cell": cell.as_dict(), "path": str(tmp_path / "rows")}, found.append)
    models = found[1]["models"]
    assert models["reference"]["accuracy"] > 0.8 > models["live"]["accuracy"]


def test_the_study_runs_from_the_command_line_and_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, turning(700))
    words = ["study", "drift", "--size", "small", "--data", str(path), "--target", "label"]
    words += ["--out", str(tmp_path / "out"), "--model", "majority"]
    with pytest.raises(SystemExit) as ended:
        app(words)
    assert ended.value.code in (0, None)
    with pytest.raises(SystemExit):
        app([*words, "--model", "window_tree"])
    said = capsys.readouterr().out
    assert "2 of 3 cells done in an earlier run" in said
    assert "own, 700 rows" in said
    names = {found.name for found in (tmp_path / "out").iterdir()}
    assert {"table.md", "table.tex", "table.csv", "curves.csv", "drift.png"} <= names
