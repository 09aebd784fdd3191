"""Studies run as users run them: from the command line, killed, interrupted and gone on with."""

from __future__ import annotations

import csv
import gc
import importlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from studies import datasets
from studies.drift.kind import STREAMS
from studies.errors import StudyError
from studies.kinds import Kind
from studies.planning import make_plan
from studies.reporting.report import Report, Run
from studies.running.child import run_in_child
from studies.running.records import RunFolder
from studies.solver_kind import SOLVERS
from studies.spec import Call, Instance, Request
from studies.streams import load as streams
from studies.streams.stream import Stream
from studies.study import Study
from studies.table1.study import Size, size_cells

PACKAGES = ("formulations", "solvers", "forestprune", "studies")

# A solver that anyone could add: it misbehaves as it is asked to.
TRIAL = """
import os
import time
from dataclasses import dataclass

from solvers._core.base import Answer, Solver
from solvers._core.result import Termination


@dataclass(frozen=True)
class TrialOptions:
    does: str = "answer"


class Trial(Solver):
    summary = "does what it is told"
    method = "heuristic"
    proof = "none"
    Options = TrialOptions
    own_process = OWN_PROCESS

    def predicted_bytes(self, problem):
        return 10**15 if self.options.does == "hoard" else None

    def run(self, problem, model, control):
        does = self.options.does
        if does == "fail":
            raise ArithmeticError("the pivot | is\\nzero")
        if does == "crash":
            os.abort()
        if does == "wait":
            with open(os.environ["TRIAL_PIDS"], "w") as file:
                file.write(f"{os.getpid()} {os.getppid()} .")
            time.sleep(60.0)
        while does == "overrun" and control.stop() is None:
            time.sleep(0.01)
        reason = Termination.TIME_LIMIT if does == "overrun" else Termination.CONVERGED
        return Answer(reason, choice=problem.zero())
"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the packages with two more files in ``solvers``, and a small table of data."""
    folder = tmp_path_factory.mktemp("lab")
    for package in PACKAGES:
        (source,) = importlib.import_module(package).__path__
        shutil.copytree(source, folder / package)
    for name, own_process in (("trial", "False"), ("trial_beside", "True")):
        code = TRIAL.replace("OWN_PROCESS", own_process)
        (folder / "solvers" / f"{name}.py").write_text(code, encoding="utf-8")
    lines = [f"{k % 7},{k % 5},{(k % 7) * (k % 5) + k % 3}" for k in range(60)]
    (folder / "tiny.csv").write_text("a,b,y\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return folder


def start(lab: Path, out: Path, *labels: str, time_limit: float = 0.5) -> subprocess.Popen[str]:
    """Start the study in a process of its own."""
    # Ctrl-C must reach it even where the tests themselves run in the background.
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler);"
        "from studies.cli import app; app()"
    )
    words = ["study", "table1", "--size", "small", "--target", "y", "--repeats", "1"]
    words += ["--data", str(lab / "tiny.csv"), "--out", str(out), "--time-limit", str(time_limit)]
    words += [word for label in labels for word in ("--solver", label)]
    return subprocess.Popen(
        [sys.executable, "-P", "-c", code, *words],
        cwd=lab,
        env={**os.environ, "PYTHONPATH": str(lab), "TRIAL_PIDS": str(out.with_suffix(".pids"))},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def rows_of(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "rows.jsonl").read_text().splitlines()]


def cells_of(out: Path) -> dict[str, dict[str, Any]]:
    return {row["cell"]["solver"]: row for row in rows_of(out) if row["kind"] == "cell"}


TRIALS = [f"trial[does={does}]" for does in ("overrun", "fail", "hoard", "crash")]


@pytest.fixture(scope="module")
def run(lab: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A study with a solver that works and some that do not: its folder and what it printed."""
    out = tmp_path_factory.mktemp("runs") / "all"
    study = start(lab, out, "cbcd[local_search=False]", "trial", *TRIALS)
    printed, errors = study.communicate()
    assert study.returncode == 0, errors
    assert errors == ""
    return out, printed


def test_a_study_leaves_rows_tables_and_a_figure(run: tuple[Path, str]) -> None:
    out, printed = run
    kinds = [row["kind"] for row in rows_of(out)]
    assert kinds == ["environment", "instance", *["cell"] * 6]
    assert {path.name for path in out.iterdir()} == {
        *("config.json", "rows.jsonl", "table.md", "table.tex", "table.csv", "figure.png"),
    }
    assert (out / "figure.png").read_bytes().startswith(b"\x89PNG")
    good = cells_of(out)["cbcd[local_search=False]"]
    assert good["status"] == "ok"
    assert len(good["warm"]) == 1
    assert 0.0 < good["bound"] <= good["objective"]
    lines = list(csv.DictReader((out / "table.csv").read_text(encoding="utf-8").splitlines()))
    assert [line["solver"] for line in lines] == list(cells_of(out))
    assert float(lines[0]["objective"]) == good["objective"]
    assert "tables, figure and rows are in" in printed


def test_a_solver_past_its_limit_reads_as_such(run: tuple[Path, str]) -> None:
    out, printed = run
    assert cells_of(out)["trial[does=overrun]"]["status"] == "over_limit"
    assert "| trial[does=overrun] | > 0.50 |" in (out / "table.md").read_text(encoding="utf-8")
    assert "> 0.50 s" in printed


@pytest.mark.parametrize(
    ("does", "status", "reason"),
    [
        ("fail", "failed", "ArithmeticError: the pivot | is zero"),
        ("hoard", "skipped", "needs about 1000000.0 GB of memory"),
        ("crash", "failed", "SIGABRT"),
    ],
)
def test_a_cell_without_an_answer_says_why(
    run: tuple[Path, str], does: str, status: str, reason: str
) -> None:
    out, printed = run
    row = cells_of(out)[f"trial[does={does}]"]
    assert row["status"] == status
    assert reason in row["reason"]
    assert "\n" not in row["reason"]
    page = (out / "table.md").read_text(encoding="utf-8")
    assert f"| trial[does={does}] | {status} |" in page
    assert reason in page
    assert reason in printed


def test_a_row_cut_short_is_measured_again_and_no_other(
    lab: Path, run: tuple[Path, str], tmp_path: Path
) -> None:
    out = tmp_path / "cut"
    shutil.copytree(run[0], out)
    whole = (out / "rows.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (out / "rows.jsonl").write_text("".join(whole[:3]) + whole[3][:50], encoding="utf-8")
    study = start(lab, out, "cbcd[local_search=False]", "trial")
    printed, errors = study.communicate()
    assert study.returncode == 0, errors
    assert "was cut short and is dropped; 1 finished cell is kept" in printed
    assert "1 of 2 cells done in an earlier run" in printed
    again = (out / "rows.jsonl").read_text(encoding="utf-8")
    assert again.startswith("".join(whole[:3]))
    kinds = [row["kind"] for row in rows_of(out)[3:]]
    assert kinds == ["environment", "instance", "cell"]
    assert rows_of(out)[-1]["cell"]["solver"] == "trial"


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_run_ended_in_mid_cell_loses_that_cell_and_leaves_no_process(
    lab: Path, tmp_path: Path, how: signal.Signals
) -> None:
    out, pids = tmp_path / "ended", tmp_path / "ended.pids"
    with start(lab, out, "trial", "trial_beside[does=wait]", time_limit=50.0) as study:
        try:
            until(lambda: study.poll() is not None or waits(pids))
            study.send_signal(how)
            _, errors = study.communicate(timeout=60.0)
        finally:
            study.kill()
    started = [int(word) for word in pids.read_text().split()[:2]]
    until(lambda: not any(map(is_running, started)))
    assert [row["kind"] for row in rows_of(out)] == ["environment", "instance", "cell"]
    if how == signal.SIGINT:
        assert study.returncode == 130
        assert errors.startswith("interrupted: 1 of 2 cells kept in ")
        assert errors.count("\n") == 1
        assert "| trial |" in (out / "table.md").read_text(encoding="utf-8")


def waits(pids: Path) -> bool:
    """Whether a solver has said in this file that it waits now."""
    return pids.exists() and pids.read_text().endswith(".")


def until(true: Any) -> None:
    """Wait for something, but not for ever."""
    end = time.monotonic() + 90.0
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


def is_running(pid: int) -> bool:
    """Whether a process is there and not just waiting to be buried."""
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except ProcessLookupError:
        return False
    except FileNotFoundError:  # no /proc, or gone since
        return not Path("/proc").exists()
    return state != "Z"


def test_a_process_past_its_deadline_is_ended(tmp_path: Path) -> None:
    begin = time.monotonic()
    outcome = run_in_child(
        "tests_sleep:sleep", {}, _with_module(tmp_path, "time.sleep(60)"), threads=1, deadline=0.5
    )
    assert outcome is None
    assert time.monotonic() - begin < 10.0


def test_the_last_outcome_saved_counts_past_the_deadline(tmp_path: Path) -> None:
    code = "save({'status': 'ok'}); time.sleep(60)"
    scratch = _with_module(tmp_path, code)
    outcome = run_in_child("tests_sleep:sleep", {}, scratch, threads=1, deadline=1.5)
    assert outcome == {"status": "ok"}


@pytest.fixture(autouse=True)
def _own_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(tmp_path)  # children get it as their import path


def _with_module(folder: Path, code: str) -> Path:
    source = f"import time\ndef sleep(request, save):\n    {code}\n"
    (folder / "tests_sleep.py").write_text(source, encoding="utf-8")
    return folder


def no_report(run: Run) -> Report:
    raise NotImplementedError(run)


def a_study(**options: Any) -> Study:
    shape = {"others": "smallest", "repeats": 1, "time_limit": 5.0} | options
    calls = (Call("cbcd"), Call("ecos", scope="smallest"))
    size = Size(((50, 10), (20, 5), (80, 10)), calls, **shape)
    defaults = {"data": "d", "ensemble": "forest", "alpha": 1.0}
    return Study("s", "S", ("only",), lambda r: size_cells(size, r), no_report, defaults)


def cells(
    study: Study, available: list[str], *asked: str, rows: int = 1000
) -> list[tuple[Any, ...]]:
    request = study.request(size="only", available=tuple(available), solvers=asked)
    plan = make_plan(study, request, lambda _: rows)
    return [(cell.instance.rows, cell.instance.trees, cell.solver) for cell in plan.cells]


def test_what_a_user_asks_for_goes_before_the_study() -> None:
    request = a_study().request(size="only", alpha=0.0, ensemble=None, time_limit=2.0)
    assert request == Request("only", data="d", ensemble="forest", alpha=0.0, time_limit=2.0)
    plan = make_plan(a_study(), replace(request, available=("cbcd",)), lambda _: 1000)
    assert {(cell.alpha, cell.repeats, cell.time_limit) for cell in plan.cells} == {(0.0, 1, 2.0)}


def test_new_solvers_are_in_a_study_by_themselves() -> None:
    found = cells(a_study(), ["brute_force", "cbcd", "ecos", "new"])
    assert found == [
        *((20, 5, "cbcd"), (20, 5, "ecos"), (20, 5, "new")),
        *((50, 10, "cbcd"), (80, 10, "cbcd")),
    ]
    everywhere = cells(a_study(others="every"), ["cbcd", "new"])
    assert [cell for cell in everywhere if cell[2] == "new"] == [
        *((20, 5, "new"), (50, 10, "new"), (80, 10, "new")),
    ]


def test_solvers_that_are_asked_for_run_everywhere() -> None:
    found = cells(a_study(), ["cbcd", "ecos"], "ecos", "brute_force")
    assert found == [
        (rows, trees, solver)
        for rows, trees in ((20, 5), (50, 10), (80, 10))
        for solver in ("ecos", "brute_force")
    ]


def test_instances_are_cut_to_the_rows_there_are() -> None:
    assert cells(a_study(), ["cbcd"], rows=30) == [(20, 5, "cbcd"), (30, 10, "cbcd")]


@pytest.mark.parametrize(
    ("module", "loader", "kind", "instance"),
    [
        (datasets, "load", SOLVERS, lambda path: Instance(path, 9, 1, target="label")),
        (streams, "_read", STREAMS, lambda path: Stream(path, 9, target="label")),
    ],
    ids=["data set", "stream"],
)
def test_of_data_the_runner_keeps_the_number_of_rows_alone(
    module: Any,
    loader: str,
    kind: Kind,
    instance: Callable[[str], Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = tmp_path / "own.csv"
    path.write_text("a,label\n" + "1,2\n" * 30)
    read, loaded = getattr(module, loader), []

    def load(*given: Any, **more: Any) -> Any:
        found = read(*given, **more)
        loaded.append(weakref.ref(found))
        return found

    monkeypatch.setattr(module, loader, load)
    one = instance(str(path))
    assert (kind.rows(one), kind.rows(replace(one, rows=5)), kind.data_name(one)) == (30, 30, "own")
    gc.collect()
    assert [one() for one in loaded] == [None]


def test_a_study_without_solvers_is_refused() -> None:
    with pytest.raises(StudyError, match="no solver is available"):
        cells(a_study(), ["brute_force"])


CONFIG = {"study": "table1", "title": "T", "alphas": [1.0], "calls": []}


def test_a_folder_goes_on_with_other_solvers_but_not_with_other_settings(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    assert folder.open(CONFIG) is None
    assert folder.open({**CONFIG, "calls": [1]}) is None
    with pytest.raises(StudyError, match=r"run with other alphas: \[1\.0\], not \[2\.0\].*--fresh"):
        folder.open({**CONFIG, "alphas": [2.0]})
    folder.append({"kind": "environment", "versions": {}})
    assert folder.open({**CONFIG, "alphas": [2.0]}, fresh=True) is None
    assert folder.rows() == []
    assert (tmp_path / "run" / "rows.jsonl.old").read_text().startswith('{"kind"')
    assert json.loads((tmp_path / "run" / "config.json.old").read_text())["alphas"] == [1.0]


@pytest.mark.parametrize("text", ["{", "[]", "{}", "\x00"])
def test_a_configuration_of_something_else_is_not_overwritten(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(StudyError, match=r"is not the configuration of a study.*--out"):
        RunFolder(tmp_path).open(CONFIG)
    assert (tmp_path / "config.json").read_text() == text


@pytest.mark.parametrize(
    "line", ["nonsense", "[]", "{}", '{"kind": "cell", "cell": {"alpha": 1}, "status": "ok"}']
)
def test_rows_that_are_none_are_named_by_line(tmp_path: Path, line: str) -> None:
    folder = RunFolder(tmp_path)
    folder.open(CONFIG)
    folder.append({"kind": "environment", "versions": {}})
    with folder.rows_path.open("a") as file:
        file.write(f"{line}\n")
    with pytest.raises(StudyError, match=r"rows\.jsonl, line 2 is not a row of results"):
        folder.open(CONFIG)
