"""What a worker does: prepare an instance and measure its cells, wherever it runs."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import joblib

from studies.running.child import Outcome, Tell, run_in_child
from studies.running.ending import RunEnded, scratch_folder
from studies.running.machine import environment

if TYPE_CHECKING:
    from studies.kinds import AnyCell

# What a cell may take beside the time limit of its solver: start, import, kernels compiled
# for the first time on a slow machine, and the tenth by which engines overrun.
SPARE_SECONDS = 120.0
SPARE_SHARE = 0.1

DATA = "data.pickle"


@dataclass(frozen=True)
class Task:
    """An instance with those of its cells that are to be measured: what a worker is given.

    Attributes
    ----------
    run
        By which `end_run` knows it.
    prepare, measure
        ``"module:function"``.
    at_once
        How many tasks there may be on a machine at the same time.
    machine
        The runner's, as `environment` gives it.
    """

    run: str
    prepare: str
    measure: str
    instance: Any
    cells: tuple[AnyCell, ...]
    at_once: int
    machine: dict[str, Any]


class Step(NamedTuple):
    """An instance or a cell that has begun, or has ended with an outcome."""

    kind: Literal["instance", "cell"]
    subject: Any
    outcome: Outcome | None = None


def work(task: Task, tell: Tell | None = None) -> list[Step]:
    """Measure a task on the machine where this is called, and return what happened."""
    steps: list[Step] = []
    with suppress(RunEnded):
        steps.extend(measured(task, tell))
    return steps


def measured(task: Task, tell: Tell | None = None) -> Generator[Step, None, None]:
    """Prepare an instance and measure its cells; an error is what came of those that are left.

    All files are in a folder of the machine on which this runs. What processes have to say while
    they run goes to ``tell``.
    """
    left = list(task.cells)
    try:
        with scratch_folder(task.run) as scratch:
            for step in _measured_in(scratch, task, tell):
                yield step
                if step.kind == "cell" and step.outcome is not None:
                    left.remove(step.subject)
    except RunEnded:
        raise
    except Exception as error:
        yield from failed(left, error)


def failed(cells: Iterable[AnyCell], error: Exception) -> list[Step]:
    """Return the steps of cells whose worker failed."""
    said = str(error).partition("\n")[0]
    reason = f"the worker failed: {type(error).__name__}: {said}"
    return [Step("cell", cell, {"status": "failed", "reason": reason}) for cell in cells]


def _measured_in(scratch: Path, task: Task, tell: Tell | None) -> Iterator[Step]:
    yield Step("instance", task.instance)
    prepared = _prepare(task, scratch, tell)
    yield Step("instance", task.instance, {**prepared, **_elsewhere(task.machine)})
    failure = None
    if prepared["status"] != "ok":
        failure = {**prepared, "reason": f"the instance failed: {prepared['reason']}"}
    for cell in task.cells:
        yield Step("cell", cell)
        yield Step("cell", cell, failure or _measure(task, cell, scratch, tell))


def _elsewhere(machine: dict[str, Any]) -> dict[str, Any]:
    """Return what is not as on the runner's machine, where this is another one."""
    here = environment()
    if here["host"] == machine["host"]:
        return {}
    names = [name for name in here if name != "started" and here[name] != machine[name]]
    return {"machine": {name: here[name] for name in names}}


def _prepare(task: Task, scratch: Path, tell: Tell | None) -> Outcome:
    """Prepare an instance and write its data; return how that went."""
    # One at a time may use the whole machine.
    threads = max(joblib.cpu_count() // task.at_once, 1) if task.at_once > 1 else None
    request = {"instance": asdict(task.instance), "path": str(scratch / DATA)}
    outcome = run_in_child(
        task.prepare, request, scratch, threads=threads, deadline=None, run=task.run, tell=tell
    )
    if outcome is None:
        raise RuntimeError("a process without a deadline ended without an outcome")
    return outcome


def _measure(task: Task, cell: AnyCell, scratch: Path, tell: Tell | None) -> Outcome:
    """Measure a cell in a process that is ended well after its time limit."""
    deadline = cell.time_limit * (1.0 + SPARE_SHARE) + SPARE_SECONDS
    outcome = run_in_child(
        task.measure,
        {"cell": cell.as_dict(), "path": str(scratch / DATA)},
        scratch,
        threads=cell.threads,
        deadline=deadline,
        run=task.run,
        tell=tell,
    )
    if outcome is None:
        return {"status": "over_limit", "reason": f"ended by force after {deadline:.0f} s"}
    return outcome
