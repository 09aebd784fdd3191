"""Studies with several instances at once: threads, processes, a cluster; ended and resumed."""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import joblib
import pytest
from joblib.parallel import ThreadingBackend
from rich.console import Console

from studies import catalogue
from studies.cli import app
from studies.errors import StudyError
from studies.kinds import Plan
from studies.reporting.progress import ProgressReporter
from studies.reporting.report import Report, collect, machine_note
from studies.running import cluster, dispatch, work
from studies.running.child import THREAD_VARIABLES
from studies.running.records import RunFolder
from studies.running.runner import run_plan
from studies.solver_kind import SOLVERS
from studies.spec import Cell, Instance
from studies.study import Study
from studies.studying import run as run_named

# What runs in the processes of instances and cells: what they are called says what it does.
WORK = f"""
import os, time

def die_at_three(task):
    if task == 3:
        os._exit(1)
    time.sleep(0.2)
    return 10 * task

def prepare(request, save):
    if request["instance"]["name"] == "bad":
        raise ArithmeticError("no such | data")
    with open(request["path"], "w") as file:
        file.write(request["instance"]["name"])
    threads = {{name: os.environ.get(name) for name in {THREAD_VARIABLES!r}}}
    save({{"status": "ok", "threads": threads}})

def measure(request, save):
    begin = time.time()
    with open(request["path"]) as file:
        name = file.read()
    does = request["cell"]["solver"]
    if does == "fail":
        raise ArithmeticError("the pivot is zero")
    if does == "crash":
        os.abort()
    if name == "slow" and "TRIAL_PIDS" in os.environ:
        with open(os.path.join(os.environ["TRIAL_PIDS"], str(os.getpid())), "w") as file:
            file.write(str(os.getpid()))
        time.sleep(60.0)
    time.sleep(0.2)
    times = {{"wall": 0.2, "build": 0.0, "solve": 0.2}}
    found = sum(map(ord, name + does))
    save({{"status": "ok", "cold": times, "warm": [], "objective": found,
          "gap": 0.0, "begin": begin, "end": time.time()}})
"""

KIND = replace(
    SOLVERS,
    prepare="trial_work:prepare",
    measure="trial_work:measure",
    rows=lambda _: 1000,
    data_name=lambda _: "trial",
    files=lambda _: {},
)


def cells_of(names: str, *solvers: str) -> tuple[Cell, ...]:
    """Return cells on instances of these names."""
    return tuple(
        Cell(
            instance=Instance("trial", 10 + place, 5, name=name),
            alpha=1.0,
            solver=solver,
            task="solve",
            repeats=0,
            time_limit=5.0,
            threads=1,
        )
        for place, name in enumerate(names.split())
        for solver in solvers or ("a", "b")
    )


def study_of(names: str) -> Study:
    """Return a study that reports nothing."""
    report = Report((), (), ())
    return Study(
        "trial", "A trial", ("only",), lambda _: cells_of(names), lambda _: report, {}, KIND
    )


class Told:
    """A reporter that keeps what it is told."""

    def __init__(self) -> None:
        self.in_flights: list[int] = []
        self.told: list[tuple[str, str]] = []

    def notice(self, text: str) -> None:
        self.told.append(("notice", text))

    def begin(self, cells: int, done: int) -> None:
        self.told.append(("begin", f"{cells} {done}"))

    def preparing(self, instance: Any) -> None:
        self.told.append(("preparing", instance.name))

    def running(self, cell: Any) -> None:
        self.told.append(("running", cell.solver))

    def finished(self, cell: Any, outcome: dict[str, Any]) -> None:
        self.told.append(("finished", cell.solver))

    def in_flight(self, instances: int) -> None:
        self.in_flights.append(instances)


@pytest.fixture(autouse=True)
def _work(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delitem(sys.modules, "trial_work", raising=False)
    (tmp_path / "trial_work.py").write_text(WORK, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)  # children get it as their import path


def ran(
    out: Path, cells: tuple[Cell, ...], jobs: int | None = None, told: Told | None = None
) -> list[dict[str, Any]]:
    """Run cells and return the rows of the run."""
    folder = RunFolder(out)
    plan = Plan("trial", "only", "A trial", cells, KIND)
    folder.open(plan.settings())
    run_plan(plan, folder, told or Told(), jobs)
    return rows_of(out)


def rows_of(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "rows.jsonl").read_text("utf-8").splitlines()]


def outcomes(rows: list[dict[str, Any]]) -> dict[tuple[str, str], tuple[Any, ...]]:
    """Return of each cell what does not depend on the clock."""
    return {
        (row["cell"]["instance"]["name"], row["cell"]["solver"]): (
            *(row["status"], row.get("objective"), row.get("reason")),
        )
        for row in rows
        if row["kind"] == "cell"
    }


NAMES = "good bad fair"
DOES = ("a", "fail", "crash", "b")


@pytest.fixture(scope="module")
def one_by_one(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], tuple[Any, ...]]:
    """What one job finds."""
    folder = tmp_path_factory.mktemp("one")
    (folder / "trial_work.py").write_text(WORK, encoding="utf-8")
    sys.path.insert(0, str(folder))
    try:
        told = Told()
        rows = ran(folder / "out", cells_of(NAMES, *DOES), 1, told)
    finally:
        sys.path.remove(str(folder))
    kinds = [row["kind"] for row in rows]
    assert kinds == ["environment", *["instance", *["cell"] * 4] * 3]
    assert told.in_flights == []  # one job tells what it is at
    assert told.told[:4] == [
        *(("begin", "12 0"), ("preparing", "good"), ("running", "a"), ("finished", "a")),
    ]
    return outcomes(rows)


def test_failures_are_rows(one_by_one: dict[tuple[str, str], tuple[Any, ...]]) -> None:
    assert len(one_by_one) == 12
    for name in ("good", "fair"):
        assert one_by_one[name, "a"][0] == one_by_one[name, "b"][0] == "ok"
        assert one_by_one[name, "fail"][::2] == ("failed", "ArithmeticError: the pivot is zero")
        assert one_by_one[name, "crash"][0] == "failed"
        assert "SIGABRT" in one_by_one[name, "crash"][2]
    for does in DOES:
        status, _, reason = one_by_one["bad", does]
        assert (status, reason) == (
            "failed",
            "the instance failed: ArithmeticError: no such | data",
        )


@pytest.fixture
def loky() -> Iterator[None]:
    """Leave no worker behind."""
    with joblib.parallel_config(backend="loky", n_jobs=2):
        yield
    joblib.externals.loky.get_reusable_executor().shutdown(wait=True)


def test_threads_find_the_same(
    one_by_one: dict[tuple[str, str], tuple[Any, ...]], tmp_path: Path
) -> None:
    told = Told()
    rows = ran(tmp_path / "out", cells_of(NAMES, *DOES), 2, told)
    assert outcomes(rows) == one_by_one
    assert told.in_flights == [2, 2, 1, 0]
    # The rows of an instance stand together, after its own.
    kinds = [row["kind"] for row in rows]
    assert kinds == ["environment", *["instance", *["cell"] * 4] * 3]
    assert not any("machine" in row for row in rows if row["kind"] == "instance")


def test_processes_find_the_same(
    one_by_one: dict[tuple[str, str], tuple[Any, ...]], tmp_path: Path, loky: None
) -> None:
    assert outcomes(ran(tmp_path / "out", cells_of(NAMES, *DOES))) == one_by_one


class AtTheEnd(ThreadingBackend):
    """A backend that gives all answers at once, as ray's."""

    supports_return_generator = False


def test_a_backend_that_answers_at_the_end_gets_rounds(tmp_path: Path) -> None:
    told = Told()
    with joblib.parallel_config(backend=AtTheEnd(), n_jobs=2):
        found = outcomes(ran(tmp_path / "out", cells_of("x y z", "a"), told=told))
    assert [outcome[0] for outcome in found.values()] == ["ok"] * 3
    assert told.in_flights == [2, 2, 1, 0]


def test_a_worker_that_dies_costs_one_task(loky: None) -> None:
    assert_one_is_lost("TerminatedWorkerError")


def assert_one_is_lost(name: str) -> None:
    """Check what comes of tasks of which one ends its worker."""
    work_of = importlib.import_module("trial_work")
    found = dict(dispatch.arrivals(work_of.die_at_three, range(1, 6), 2))
    assert type(found.pop(3)).__name__ == name
    assert found == {1: 10, 2: 20, 4: 40, 5: 50}


def test_what_cannot_be_handed_out_is_an_error_of_its_own(loky: None) -> None:
    lock = threading.Lock()  # cannot be pickled
    found = dict(dispatch.arrivals(repr, [lock, "x"], 2))
    assert found["x"] == "'x'"
    assert isinstance(found[lock], Exception)


def test_instances_are_measured_at_once(tmp_path: Path) -> None:
    def spans(jobs: int) -> list[tuple[float, float]]:
        rows = ran(tmp_path / f"out-{jobs}", cells_of("x y", "a"), jobs)
        return sorted((row["begin"], row["end"]) for row in rows if row["kind"] == "cell")

    (_, end), (begin, _) = spans(1)
    assert begin >= end
    (_, end), (begin, _) = spans(2)
    assert begin < end


def test_instances_share_the_cores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work.joblib, "cpu_count", lambda: 7)
    for name in THREAD_VARIABLES:
        monkeypatch.delenv(name, raising=False)

    def threads(out: str, names: str, jobs: int) -> list[set[str | None]]:
        rows = ran(tmp_path / out, cells_of(names, "a"), jobs)
        return [set(row["threads"].values()) for row in rows if row["kind"] == "instance"]

    assert threads("one", "x", 1) == [{None}]
    assert threads("two", "x y", 2) == [{"3"}] * 2
    assert threads("nine", "x y z", 9) == [{"2"}] * 3  # no more than there are instances
    assert threads("last", "x", 2) == [{None}]


def test_forests_are_fitted_on_the_cores_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    from studies.running.prepare import new_model

    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")
    assert new_model("forest", 3, 2, 0).n_jobs == 1


def test_an_error_of_a_worker_is_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_in_child = work.run_in_child

    def full(function: str, request: dict[str, Any], *args: Any, **more: Any) -> Any:
        if request.get("cell", {}).get("solver") == "b":
            raise OSError("no space\nleft")
        return run_in_child(function, request, *args, **more)

    monkeypatch.setattr(work, "run_in_child", full)
    for jobs in (1, 2):
        found = outcomes(ran(tmp_path / str(jobs), cells_of("x y", "a", "b", "c"), jobs))
        for name in "xy":
            assert found[name, "a"][0] == "ok"
            for does in "bc":
                assert found[name, does][::2] == ("failed", "the worker failed: OSError: no space")


def test_an_error_of_the_runner_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(Told, "finished", full)
    with pytest.raises(OSError, match="no space left"):
        ran(tmp_path / "out", cells_of("x y z"), 2)


def test_rows_say_on_which_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = work.environment()

    def environment() -> dict[str, Any]:
        if threading.current_thread() is threading.main_thread():
            return here
        return {**here, "host": "elsewhere", "cpu": "Z80", "started": "later"}

    monkeypatch.setattr(work, "environment", environment)
    rows = ran(tmp_path / "out", cells_of("x y", "a"), 2)
    machines = [row["machine"] for row in rows if row["kind"] == "instance"]
    assert machines == [{"host": "elsewhere", "cpu": "Z80"}] * 2
    run = collect({"title": "T"}, rows, KIND)
    said = " Measured on other machines, versions in rows.jsonl: elsewhere (Z80): 2 instances."
    assert machine_note(run).endswith(said)


def test_a_report_is_in_the_order_of_the_plan(tmp_path: Path) -> None:
    cells = cells_of("x y z", "a")
    rows = ran(tmp_path / "out", cells, 1)
    config = RunFolder(tmp_path / "out").config()
    run = collect(config, [rows[0], *rows[5:], *rows[3:5], *rows[1:3]], KIND)
    assert [cell for cell, _ in run.cells] == list(cells)


def test_the_bar_says_how_many_are_in_flight() -> None:
    plan = Plan("trial", "only", "A trial", cells_of("x y"), KIND)
    text = StringIO()
    with ProgressReporter(Console(file=text, force_terminal=True, width=120), plan) as reporter:
        reporter.begin(4, 0)
        reporter.in_flight(2)
    assert "2 instances in flight" in text.getvalue()


ENDED = "first slow slow last"
MAIN = """
import signal, sys
sys.path[:0] = [{tests!r}, {here!r}]
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background
from test_jobs import study_of
from studies import catalogue
from studies.cli import app
catalogue.STUDIES["trial"] = study_of({names!r})
app(["study", "trial", "--size", "only", "--out", "out", "--jobs", "2"])
"""


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_was_ended_goes_on(
    tmp_path: Path, how: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    pids, scratch = tmp_path / "pids", tmp_path / "scratch"
    for folder in (pids, scratch):
        folder.mkdir()
    code = MAIN.format(tests=str(Path(__file__).parent), here=str(tmp_path), names=ENDED)
    with subprocess.Popen(
        [sys.executable, "-P", "-c", code],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(scratch), "TRIAL_PIDS": str(pids)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as study:
        try:
            until(lambda: study.poll() is not None or len(list(pids.iterdir())) == 2)
            study.send_signal(how)
            sent = time.monotonic()
            _, errors = study.communicate(timeout=60.0)
        finally:
            study.kill()
    if how == signal.SIGINT:
        assert time.monotonic() - sent < 10.0  # tables are written still
        assert study.returncode == 130, errors
        assert errors.startswith("interrupted: 2 of 8 cells kept in out; ")
        assert errors.count("\n") == 1
    until(lambda: not any(Path(f"/proc/{path.name}").exists() for path in pids.iterdir()))
    if how == signal.SIGKILL:
        until(lambda: not list(scratch.iterdir()))  # by the processes that it leaves
    assert not list(scratch.iterdir())
    before = rows_of(tmp_path / "out")
    assert {key: outcome[0] for key, outcome in outcomes(before).items()} == {
        ("first", "a"): "ok",
        ("first", "b"): "ok",
    }
    text = StringIO()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(catalogue.STUDIES, "trial", study_of(ENDED))
    run_named("trial", size="only", out="out", jobs=3, console=Console(file=text))
    assert "2 of 8 cells done in an earlier run" in text.getvalue()
    after = rows_of(tmp_path / "out")
    assert after[: len(before)] == before
    assert sum(row["kind"] == "cell" and row["status"] == "ok" for row in after) == 8


def until(true: Callable[[], bool]) -> None:
    """Wait for something, but not for ever."""
    end = time.monotonic() + 60.0
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.fixture(scope="module")
def dask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A client of a local cluster of two processes."""
    config = pytest.importorskip("dask.config")
    distributed = pytest.importorskip("distributed")
    folder = tmp_path_factory.mktemp("workers")
    (folder / "trial_work.py").write_text(WORK, encoding="utf-8")
    given = {"distributed.scheduler.allowed-failures": 0, "temporary-directory": str(folder)}
    sys.path.insert(0, str(folder))  # processes get it as their import path
    try:
        with (
            config.set(given),
            distributed.LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                processes=True,
                dashboard_address=":0",
                silence_logs="CRITICAL",
            ) as workers,
            distributed.Client(workers) as client,
        ):
            yield client
    finally:
        sys.path.remove(str(folder))


def test_a_cluster_finds_the_same(
    one_by_one: dict[tuple[str, str], tuple[Any, ...]], tmp_path: Path, dask: Any
) -> None:
    with joblib.parallel_config(backend="dask", client=dask):
        rows = ran(tmp_path / "out", cells_of(NAMES, *DOES))
    assert outcomes(rows) == one_by_one


def test_a_worker_of_a_cluster_that_dies_costs_one_task(dask: Any) -> None:
    with joblib.parallel_config(backend="dask", client=dask):
        assert_one_is_lost("KilledWorker")
    dask.wait_for_workers(2, timeout=60.0)


@pytest.fixture
def trial(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A study that the command line knows."""
    monkeypatch.setitem(catalogue.STUDIES, "trial", study_of("x y"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def called(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        app(["study", "trial", "--size", "only", "--out", "out", *words])
    return int(ended.value.code or 0)


def test_a_cluster_by_its_address(
    trial: Path, dask: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    address = dask.scheduler_info()["address"]
    assert called("--dask", address) == 0, capsys.readouterr().err
    assert {outcome[0] for outcome in outcomes(rows_of(trial / "out")).values()} == {"ok"}
    assert "tables, figure and rows are in out" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--jobs", "0"), "'--jobs': must be a number above 0, or -1 for one per core, not 0"),
        (("--jobs", "-2"), "'--jobs': must be a number above 0, or -1 for one per core, not -2"),
        (("--dask", ""), "'--dask': must not be empty"),
        (("--dask", "tcp://x:1", "--jobs", "2"), "leave out --jobs"),
        (("--dask", "tcp://127.0.0.1:9"), "no dask scheduler answers at 'tcp://127.0.0.1:9': "),
        (("--dask", "nowhere"), "no dask scheduler answers at 'nowhere': missing port number"),
    ],
)
def test_what_cannot_be_had_is_one_line(
    trial: Path,
    words: tuple[str, ...],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if words[0] == "--dask":
        pytest.importorskip("distributed")
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 0.5)
    assert called(*words) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    assert not (trial / "out").exists()


def test_a_cluster_needs_dask(
    trial: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert called("--dask", "tcp://127.0.0.1:9") == 2
    assert "pip install 'forestprune[dask]'" in capsys.readouterr().err


def test_a_cluster_must_have_workers(trial: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(_: object) -> int:
        raise TimeoutError

    monkeypatch.setattr(dispatch.joblib, "effective_n_jobs", none)
    with pytest.raises(StudyError, match="the cluster has no workers"):
        run_named("trial", size="only", out="out")


def test_a_study_by_name(trial: Path) -> None:
    for jobs in (0, -3):
        with pytest.raises(StudyError, match=f"jobs must be .* not {jobs}"):
            run_named("trial", size="only", jobs=jobs)
    text = StringIO()
    found = run_named("trial", size="only", out="here", jobs=-1, console=Console(file=text))
    assert found == Path("here")
    assert len(outcomes(rows_of(found))) == 4
    assert "tables, figure and rows are in here" in text.getvalue()
