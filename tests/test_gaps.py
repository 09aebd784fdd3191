"""The study `gaps`: its statistics, its check of bounds, and a tiny run of it."""

from __future__ import annotations

import json
import math
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor

from formulations import PruningData
from solvers import Result, Termination, TraceEntry
from studies import catalogue
from studies.cli import app
from studies.errors import StudyError
from studies.gaps import GAPS
from studies.gaps.figures import proof_times
from studies.gaps.problems import contradictions, problems_of
from studies.gaps.statistics import (
    median,
    performance_profile,
    shifted_geometric_mean,
    time_to_gap,
)
from studies.gaps.study import Size, size_cells
from studies.gaps.tables import conclusion, solver_table, unanswered_table
from studies.planning import make_plan
from studies.reporting.latex import tabular
from studies.reporting.render import markdown
from studies.reporting.report import Run
from studies.running import cell
from studies.running.cell import TRACE_ENTRIES, trace_of
from studies.running.prepare import repeated
from studies.spec import Cell, Instance
from studies.study import Study
from studies.studying import folder_name
from studies.table1 import TABLE1

TINY = Size(("tiny.csv",), (), (Instance("", 40, 4, copies=2, name="twice"),), (), (1.0,), 1, 5.0)


def test_the_shifted_geometric_mean_forgives_small_times() -> None:
    assert shifted_geometric_mean([1.0, 100.0], 1e-12) == pytest.approx(10.0)
    assert shifted_geometric_mean([0.0, 3.0], 1.0) == pytest.approx(1.0)
    assert shifted_geometric_mean([0.5] * 4) == pytest.approx(0.5)
    assert shifted_geometric_mean([1.0, math.inf]) == math.inf
    assert shifted_geometric_mean([]) == math.inf


def test_a_median_counts_what_was_not_reached() -> None:
    assert median([3.0, math.inf, 1.0]) == 3.0
    assert median([1.0, math.inf]) == math.inf
    assert median([]) == math.inf


def test_the_time_to_a_gap_is_when_the_trace_first_has_it() -> None:
    trace = [(0.1, math.inf), (0.2, 0.05), (0.3, 0.01), (0.9, 0.0)]
    assert [time_to_gap(trace, gap) for gap in (1.0, 0.01, 0.0099)] == [0.2, 0.3, 0.9]
    assert time_to_gap(trace[:2], 0.01) == math.inf


def test_a_profile_counts_problems_within_a_factor_of_the_fastest() -> None:
    times = {"a": [1.0, 4.0, math.inf], "b": [2.0, 1.0, math.inf], "c": [math.inf] * 3}
    assert performance_profile(times) == {
        "a": [(1.0, 1 / 3), (4.0, 2 / 3)],
        "b": [(1.0, 1 / 3), (2.0, 2 / 3)],
        "c": [],
    }


INSTANCE = Instance("d", 10, 2)


def row(objective: float | None, bound: float | None, seconds: float = 1.0, **more: Any) -> Any:
    proven = objective is not None and objective == bound
    return {
        "status": "ok",
        "cold": {"wall": seconds, "build": 0.0, "solve": seconds},
        "warm": [],
        "objective": objective,
        "bound": bound,
        "bound_source": "engine",
        "guarantee": "optimal" if proven else "local",
        "trace": [[seconds, objective, bound]],
        **more,
    }


def run_of(*cells: tuple[str, float, Any]) -> Run:
    made = tuple(
        (Cell(INSTANCE, alpha, solver, "solve", 1, 5.0, 1), found) for solver, alpha, found in cells
    )
    return Run({}, made, {"versions": {}}, {})


LOST = {"status": "failed", "reason": "no pivot"}


@pytest.fixture
def run() -> Run:
    return run_of(
        ("cbcd", 1.0, row(2.0, 1.0, 0.5)),
        ("exact", 1.0, row(1.6, 1.6, 4.0)),
        ("other", 1.0, row(1.6, 1.6, 2.0)),
        ("cbcd", 0.1, row(1.0, 0.9, 0.5)),
        ("exact", 0.1, row(1.0, 0.98, 5.0, status="over_limit")),
        ("other", 0.1, LOST),
    )


def test_objectives_are_compared_with_the_best_bound_of_all(run: Run) -> None:
    first, second = problems_of(run)
    assert (first.objective, first.bound) == (1.6, 1.6)
    assert first.gap_of(first.attempts[0]) == pytest.approx(0.2)
    assert first.excess_of(first.attempts[0]) == pytest.approx(0.2)
    assert [attempt.solver for attempt in first.proofs] == ["other", "exact"]
    assert (second.objective, second.bound, second.proofs) == (1.0, 0.98, [])
    assert proof_times([first, second]) == {
        "cbcd": [math.inf, math.inf],
        "exact": [4.0, math.inf],
        "other": [2.0, math.inf],
    }


def test_the_conclusion_is_computed_from_the_rows(run: Run) -> None:
    assert conclusion(problems_of(run)) == (
        "cbcd with local search is proven within 20 % of the optimum on all 2 problems "
        "(median 11 %); 1 of 2 are proven optimal; first by other (1); the largest gap left is "
        "2.0 %."
    )
    assert conclusion(problems_of(run_of(("cbcd", 1.0, LOST)))) == "0 of 1 are proven optimal."
    assert conclusion([]) == ""


@pytest.mark.parametrize(
    ("bound", "said"),
    [(1.0, "0.0001"), (1.0 - 1e-9, "0.0001"), (0.999789, "0.022"), (0.9798, "2.1"), (0.1, "90")],
)
def test_a_claim_is_rounded_up(bound: float, said: str) -> None:
    problems = problems_of(run_of(("cbcd", 1.0, row(1.0, 0.0)), ("other", 1.0, row(2.0, bound))))
    assert f"is proven within {said} % of the optimum on all 1 problem (" in conclusion(problems)


def test_solvers_are_counted_with_what_they_did_not_reach(run: Run) -> None:
    header, (group,) = solver_table(problems_of(run)).header, solver_table(problems_of(run)).groups
    cbcd, exact, other = (dict(zip(header, line, strict=True)) for line in group.rows)
    assert (cbcd["answers"], cbcd["best"], cbcd["proven"]) == ("2 of 2", "1", "0")
    assert (exact["answers"], exact["best"], exact["proven"]) == ("2 of 2", "2", "1")
    assert (exact["s to 1 %"], exact["gap %"]) == ("– (1 of 2)", "1.0")
    assert (other["answers"], other["failed"], other["s to 0.01 %"]) == ("1 of 2", "1", "2.00")


def test_what_has_no_answer_is_a_row_with_its_reason(run: Run) -> None:
    (table,) = unanswered_table(problems_of(run))
    assert table.groups[0].rows == (
        ("other", "failed", "d, random forest, 10 × 2, α = 0.1", "no pivot"),
    )
    assert unanswered_table(problems_of(run)[:1]) == ()


def test_a_bound_above_another_solvers_objective_is_found() -> None:
    fine = [("cbcd", 1.0, row(2.0, 1.0)), ("exact", 1.0, row(1.5, 1.5 - 1e-12))]
    assert list(contradictions(problems_of(run_of(*fine)))) == []
    elsewhere = ("other", 0.1, row(9.0, 9.0))
    assert list(contradictions(problems_of(run_of(*fine, elsewhere)))) == []
    wrong = ("other", 1.0, row(None, 1.5001))
    (said,) = contradictions(problems_of(run_of(*fine, wrong)))
    assert "the bound 1.5001 of other is 0.0001 above the objective 1.5 of exact" in said
    assert GAPS.report(run_of(*fine, wrong)).violations == (said,)


def test_a_report_can_be_made_of_anything(run: Run) -> None:
    for cells in ((), run.cells[-1:], run.cells):
        report = GAPS.report(replace(run, cells=cells))
        assert set(report.figures) == {"gaps", "profile"}
        for table in report.tables:
            assert all(len(r) == len(table.header) for group in table.groups for r in group.rows)


def test_reasons_do_not_break_tables() -> None:
    lost = {"status": "failed", "reason": "x | y ^ {$} of 5 %"}
    (table,) = unanswered_table(problems_of(run_of(("cbcd", 1.0, lost))))
    assert markdown(table).endswith(r"| x \| y ^ {$} of 5 % |")
    assert r"x | y \^{} \{\$\} of 5 \%" in tabular(table)


def test_folders_are_named_after_what_differs(folder: Path) -> None:
    def name(study: Study, **asked: Any) -> str:
        request = study.request(**{"size": "small", "available": ("cbcd",), **asked})
        return folder_name(study, request, make_plan(study, request, lambda _: 50))

    assert name(GAPS) == "gaps-small"
    assert name(GAPS, ensemble="forest", alpha=0.1) == "gaps-small-forest-alpha-0.1"
    assert name(TABLE1, ensemble="forest", data="diamonds", alpha=1.0) == "table1-small"
    own = {"data": str(folder / "tiny.csv"), "target": "y"}
    assert name(TABLE1, ensemble="boosting", **own) == "table1-small-boosting-tiny"


def result(*trace: tuple[float, float, float], objective: float, bound: float) -> Result:
    fields: dict[str, Any] = dict.fromkeys(Result.__dataclass_fields__)
    entries = tuple(TraceEntry(*entry) for entry in trace)
    return Result(**{**fields, "trace": entries, "objective": objective, "bound": bound})


def test_a_trace_is_thinned_and_ends_with_what_was_judged() -> None:
    long = [(0.1 * k, 1000.0 - k, -math.inf) for k in range(900)]
    trace = trace_of(result(*long, objective=101.0, bound=50.0), 91.0)
    assert len(trace) == TRACE_ENTRIES
    assert trace[0] == [0.0, 1000.0, None]
    assert trace[-1] == [91.0, 101.0, 50.0]
    assert trace_of(result(objective=math.inf, bound=1.0), 3.0) == [[3.0, None, 1.0]]
    same = [(0.1, 2.0, 1.0), (0.2, 2.0, 1.0), (0.3, 2.0, 2.0)]
    assert trace_of(result(*same, objective=2.0, bound=2.0), 9.0) == [[0.1, 2.0, 1.0], [0.3, 2, 2]]


def sample(termination: Termination, seconds: float) -> cell.Sample:
    fields: dict[str, Any] = dict.fromkeys(Result.__dataclass_fields__)
    times = {"termination": termination, "build_seconds": 0.0, "solve_seconds": seconds}
    return cell.Sample([Result(**{**fields, **times})], seconds, 5.0)


@pytest.mark.parametrize(
    ("ends", "calls"),
    [
        ([(Termination.CONVERGED, 0.1)] * 9, 4),  # one cold and three warm
        ([(Termination.CONVERGED, 1.1)] * 9, 2),  # a third would take too long together
        ([(Termination.TIME_LIMIT, 5.0)] * 9, 1),
        ([(Termination.TIME_LIMIT, 3.0)] * 9, 2),  # the start of its engine took the time
    ],
)
def test_calls_are_repeated_where_it_is_cheap_or_fair(
    ends: list[tuple[Termination, float]],
    calls: int,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    data = PruningData.from_layers([np.eye(2)], [1.0, 2.0])
    (tmp_path / "data").write_bytes(pickle.dumps(data))
    samples = iter(sample(*end) for end in ends)
    monkeypatch.setattr(cell, "require_memory", lambda *_: None)
    monkeypatch.setattr(cell, "_call", lambda *_: next(samples))
    monkeypatch.setattr(cell, "summary", lambda made, *_: {"calls": len(made)})
    monkeypatch.setattr(cell, "first_problem", lambda *_: None)
    saved: list[Any] = []
    request = Cell(INSTANCE, 1.0, "cbcd", "solve", 3, 5.0, 1).as_dict()
    cell.measure({"cell": request, "path": str(tmp_path / "data")}, saved.append)
    assert saved[-1] == {"calls": calls}


@pytest.mark.parametrize("kind", [RandomForestRegressor, GradientBoostingRegressor])
def test_copies_of_trees_predict_the_same(kind: type) -> None:
    generator = np.random.default_rng(0)
    X = generator.normal(size=(30, 3))
    model = kind(n_estimators=3, max_depth=2, random_state=0).fit(
        X, X[:, 0] + generator.normal(size=30)
    )
    ensemble = repeated(model, 4)
    assert ensemble.n_trees == 12
    np.testing.assert_allclose(ensemble.predict(X), model.predict(X))


def planned(**asked: Any) -> list[Cell]:
    request = GAPS.request(**{"size": "medium", "available": ("cbcd", "ecos", "new"), **asked})
    return list(make_plan(GAPS, request, lambda _: 4000).cells)


def test_a_user_can_restrict_the_study() -> None:
    cells = planned()
    assert {c.solver for c in cells} >= {"cbcd", "scip", "new"}  # scip: a row says why not
    assert {c.solver for c in cells}.isdisjoint({"ecos", "brute_force"})
    assert {c.instance.data for c in cells} == {"diamonds", "abalone"}
    assert len({c.alpha for c in cells}) == 4
    few = planned(data="abalone", ensemble="boosting", alpha=0.5, solvers=("highs",))
    assert {(c.instance.data, c.instance.ensemble, c.alpha, c.solver) for c in few} == {
        ("abalone", "boosting", 0.5, "highs")
    }
    full = planned(size="full")
    assert max(c.instance.rows for c in full) == 4000
    assert min(c.time_limit for c in full) >= 60.0


def test_a_target_needs_its_data() -> None:
    with pytest.raises(StudyError, match="--target goes with --data"):
        planned(target="y")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny data set and the study run on it."""
    path = tmp_path_factory.mktemp("gaps")
    lines = [f"{k % 7},{k % 5},{(k % 7) * (k % 5) + k % 3}" for k in range(60)]
    (path / "tiny.csv").write_text("a,b,y\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return path


def study_tiny(folder: Path, monkeypatch: pytest.MonkeyPatch, *more: str) -> int:
    """Run the study on the tiny grid in a folder and return its exit code."""
    tiny = Study(
        "gaps", GAPS.title, ("tiny",), lambda request: size_cells(TINY, request), GAPS.report
    )
    monkeypatch.setitem(catalogue.STUDIES, "gaps", tiny)
    monkeypatch.chdir(folder)
    words = ["study", "gaps", "--size", "tiny", "--data", "tiny.csv", "--target", "y"]
    words += ["--ensemble", "forest", "--out", "out", *more]
    with pytest.raises(SystemExit) as ended:
        app(words)
    code = ended.value.code
    assert code is None or isinstance(code, int)
    return code or 0


def test_the_study_runs_and_a_doctored_row_makes_it_fail(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    solvers = ("--solver", "cbcd", "--solver", "branch_and_bound")
    assert study_tiny(folder, monkeypatch, *solvers) == 0
    assert "cbcd with local search is proven within" in capsys.readouterr().out
    out = folder / "out"
    assert {path.name for path in out.iterdir()} == {
        *("config.json", "rows.jsonl", "table.md", "table.tex", "table.csv"),
        *("gaps.png", "profile.png"),
    }
    rows = [json.loads(line) for line in (out / "rows.jsonl").read_text().splitlines()]
    cells = [found for found in rows if found["kind"] == "cell"]
    assert [c["cell"]["solver"] for c in cells] == ["cbcd", "branch_and_bound"]
    proven = [c for c in cells if c["cell"]["solver"] == "branch_and_bound"]
    assert {c["guarantee"] for c in proven} == {"optimal"}
    assert all(c["trace"][-1][1:] == [c["objective"], c["bound"]] for c in cells)
    page = (out / "table.md").read_text(encoding="utf-8")
    assert "tiny, random forest, twice, 40 × 8, α = 1" in page
    assert "WRONG" not in page

    cells[0]["bound"] = 1.01 * cells[0]["objective"]
    (out / "rows.jsonl").write_text("".join(f"{json.dumps(found)}\n" for found in rows))
    assert study_tiny(folder, monkeypatch, *solvers) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("error: 2 contradictions in the rows, the first: tiny")
    assert captured.err.count("\n") == 1
    assert "WRONG" in captured.out
    assert "**WRONG: tiny" in (out / "table.md").read_text(encoding="utf-8")
