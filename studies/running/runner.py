"""The runner of all studies: instance by instance, cell by cell, each row kept at once."""

from __future__ import annotations

import tempfile
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import Any, Protocol

from studies.kinds import AnyCell, Kind, Subject
from studies.planning import Plan
from studies.running.child import Outcome, run_in_child
from studies.running.machine import environment
from studies.running.records import Row, RunFolder, cell_key, done_keys

# What a cell may take beside the time limit of its solver: start, import, kernels compiled
# for the first time on a slow machine, and the tenth by which engines overrun.
SPARE_SECONDS = 120.0
SPARE_SHARE = 0.1

DATA = "data.pickle"


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


def run_plan(plan: Plan, folder: RunFolder, reporter: Reporter) -> None:
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

    Raises
    ------
    StudyError
        When the rows cannot be read.
    KeyboardInterrupt
        On Ctrl-C; the cell in flight is ended.
    """
    earlier = folder.rows()
    done = done_keys(earlier)
    todo = [cell for cell in plan.cells if cell_key(cell.as_dict()) not in done]
    reporter.begin(len(plan.cells), len(plan.cells) - len(todo))
    if not todo:
        return
    _record_environment(folder, earlier, reporter)
    with tempfile.TemporaryDirectory(prefix="forestprune-") as name:
        scratch = Path(name)
        for instance, cells in groupby(todo, key=lambda cell: cell.instance):
            prepared = _prepare(instance, plan.kind, scratch, folder, reporter)
            for cell in cells:
                reporter.running(cell)
                ready = prepared["status"] == "ok"
                outcome = _measure(cell, plan.kind, scratch) if ready else prepared
                folder.append({"kind": "cell", "cell": cell.as_dict(), **outcome})
                reporter.finished(cell, outcome)


def _record_environment(folder: RunFolder, earlier: list[Row], reporter: Reporter) -> None:
    """Write the environment; tell when earlier rows come from another one."""
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


def _prepare(
    instance: Any, kind: Kind, scratch: Path, folder: RunFolder, reporter: Reporter
) -> Outcome:
    """Prepare an instance and write its data; return and record how that went."""
    reporter.preparing(instance)
    request = {"instance": asdict(instance), "path": str(scratch / DATA)}
    outcome = run_in_child(kind.prepare, request, scratch, threads=None, deadline=None)
    if outcome is None:
        raise RuntimeError("a process without a deadline ended without an outcome")
    folder.append({"kind": "instance", "instance": asdict(instance), **outcome})
    if outcome["status"] != "ok":
        return {**outcome, "reason": f"the instance failed: {outcome['reason']}"}
    return outcome


def _measure(cell: AnyCell, kind: Kind, scratch: Path) -> Outcome:
    """Measure a cell in a process that is ended well after its time limit."""
    deadline = cell.time_limit * (1.0 + SPARE_SHARE) + SPARE_SECONDS
    outcome = run_in_child(
        kind.measure,
        {"cell": cell.as_dict(), "path": str(scratch / DATA)},
        scratch,
        threads=cell.threads,
        deadline=deadline,
    )
    if outcome is None:
        return {"status": "over_limit", "reason": f"ended by force after {deadline:.0f} s"}
    return outcome
