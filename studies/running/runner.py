"""The runner of all studies: instance by instance, cell by cell, each row kept at once."""

from __future__ import annotations

import uuid
from contextlib import closing
from dataclasses import asdict
from functools import partial
from itertools import groupby
from threading import Lock
from typing import Any, Protocol

from studies.kinds import AnyCell, Plan, Subject
from studies.running.child import Outcome, Tell
from studies.running.dispatch import arrivals, in_this_process, slots
from studies.running.ending import end_run
from studies.running.machine import environment
from studies.running.records import Row, RunFolder, cell_key, done_keys
from studies.running.work import Step, Task, failed, measured, work


class Reporter(Protocol):
    """Whom the runner tells how it goes."""

    def notice(self, text: str) -> None:
        """Take a line for the user."""

    def begin(self, cells: int, done: int) -> None:
        """Take the number of cells, and how many of them earlier runs have done."""

    def preparing(self, instance: Subject) -> None:
        """Show that an instance is being prepared."""

    def running(self, cell: AnyCell) -> None:
        """Show that a cell has started."""

    def finished(self, cell: AnyCell, outcome: Outcome) -> None:
        """Show what came of a cell."""

    def in_flight(self, instances: int) -> None:
        """Show how many instances are being measured at once."""


def run_plan(plan: Plan, folder: RunFolder, reporter: Reporter, jobs: int | None = None) -> None:
    """Measure every cell of a plan that the folder does not have yet.

    Cells that failed or were skipped in an earlier run are tried again.

    Parameters
    ----------
    plan
        From `make_plan`.
    folder
        Where the rows go; it has been opened.
    reporter
        Is told about every step.
    jobs
        How many instances are measured at once, each with all its cells; see `slots`. The
        rows of an instance are then written when all of them are there.

    Raises
    ------
    StudyError
        When the rows cannot be read, or there cannot be so many jobs.
    KeyboardInterrupt
        On Ctrl-C; the cells in flight are ended.
    """
    available = slots(jobs)
    earlier = folder.rows()
    done = done_keys(earlier)
    todo = [cell for cell in plan.cells if cell_key(cell.as_dict()) not in done]
    reporter.begin(len(plan.cells), len(plan.cells) - len(todo))
    if not todo:
        return
    here = _record_environment(folder, earlier, reporter)
    run = uuid.uuid4().hex
    by_instance = [(i, tuple(group)) for i, group in groupby(todo, lambda cell: cell.instance)]
    at_once = min(available, len(by_instance))
    tell = _once(reporter.notice)
    tasks = [
        Task(run, plan.kind.prepare, plan.kind.measure, instance, cells, at_once, here)
        for instance, cells in by_instance
    ]
    try:
        if at_once == 1 and in_this_process():
            for task in tasks:
                with closing(measured(task, tell)) as steps:
                    for step in steps:
                        _take(step, folder, reporter)
        else:
            _run_at_once(tasks, available, folder, reporter, tell)
    finally:
        end_run(run)


def _once(tell: Tell) -> Tell:
    """Return what tells a text that many processes say at the same time only once."""
    told: set[str] = set()
    lock = Lock()

    def once(text: str) -> None:
        with lock:
            if text not in told:
                told.add(text)
                tell(text)

    return once


def _run_at_once(
    tasks: list[Task], at_once: int, folder: RunFolder, reporter: Reporter, tell: Tell
) -> None:
    """Have workers measure the tasks; take what they found as it arrives."""
    # What workers in other processes would say while they work does not come here.
    worker = partial(work, tell=tell) if in_this_process() else work
    left = len(tasks)
    reporter.in_flight(min(left, at_once))
    with closing(arrivals(worker, tasks, at_once)) as answers:
        for task, answer in answers:
            if isinstance(answer, Exception):
                answer = failed(task.cells, answer)
            for step in answer:
                _take(step, folder, reporter)
            left -= 1
            reporter.in_flight(min(left, at_once))


def _take(step: Step, folder: RunFolder, reporter: Reporter) -> None:
    """Show a step, and keep what it found."""
    subject, outcome = step.subject, step.outcome
    if outcome is None:
        (reporter.preparing if step.kind == "instance" else reporter.running)(subject)
    elif step.kind == "instance":
        folder.append({"kind": "instance", "instance": asdict(subject), **outcome})
    else:
        folder.append({"kind": "cell", "cell": subject.as_dict(), **outcome})
        reporter.finished(subject, outcome)


def _record_environment(
    folder: RunFolder, earlier: list[Row], reporter: Reporter
) -> dict[str, Any]:
    """Write and return the environment; tell when earlier rows come from another one."""
    here = environment()
    before = [row for row in earlier if row["kind"] == "environment"]
    changed = [
        name
        for name in ("python", "cpu", "versions")
        if before and before[-1].get(name) != here[name]
    ]
    if changed:
        reporter.notice(
            f"rows of an earlier run with another {' and '.join(changed)} are kept; "
            "--fresh measures all anew"
        )
    folder.append({"kind": "environment", **here})
    return here
