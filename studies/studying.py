"""`forestprune study`: plan, run, render and show a study."""

from __future__ import annotations

import contextlib
from pathlib import Path

from rich.console import Console

from solvers import available_solvers
from studies import datasets
from studies.catalogue import checked_labels
from studies.errors import StudyError, StudyInterrupted
from studies.reporting.formats import plural
from studies.reporting.progress import ProgressReporter
from studies.reporting.render import render, show
from studies.running.records import RunFolder, cell_key, done_keys
from studies.running.runner import run_plan
from studies.spec import Instance, Plan, Study, make_plan


def run_study(
    console: Console,
    study: Study,
    size: str,
    model: Instance,
    *,
    asked: list[str],
    alpha: float,
    repeats: int | None,
    time_limit: float | None,
    threads: int,
    out: Path | None,
    fresh: bool,
) -> None:
    """Run what a run folder does not have yet, write its tables and figure, and show them.

    Parameters
    ----------
    model
        An instance with the data, kind and seed of all instances; its size does not matter.
    asked
        Solver labels to restrict the study to.
    out
        The run folder; None for one in ``results`` named after what is run.

    Raises
    ------
    StudyError, SolverError, InvalidInput
        Before any work, when something asked for cannot be had; a StudyError also when
        every cell failed.
    StudyInterrupted
        On Ctrl-C, after tables and figure of what is there have been written.
    """
    calls = study.calls(study.sizes[size], available_solvers(), checked_labels(asked))
    dataset = datasets.load(model.data, target=model.target, data_dir=model.data_dir)
    plan = make_plan(
        study,
        size,
        model,
        len(dataset.y),
        calls,
        alpha=alpha,
        repeats=repeats,
        time_limit=time_limit,
        threads=threads,
    )
    folder = RunFolder(out or Path("results") / _name(study, size, model, dataset.name))
    notice = folder.open(plan.settings(), fresh=fresh)
    try:
        with ProgressReporter(console) as reporter:
            if notice:
                reporter.notice(notice)
            run_plan(plan, folder, reporter)
        run = render(folder)
        console.print(f"[bold]{plan.title}[/]")
        show(run, console)
    except KeyboardInterrupt:
        interruption = StudyInterrupted(_kept(plan, folder))
        with contextlib.suppress(KeyboardInterrupt):  # an impatient user's second Ctrl-C
            render(folder)
        raise interruption from None
    console.print(f"tables, figure and rows are in {folder.path}", markup=False)
    if all(row["status"] == "failed" for _, row in run.cells.values()):
        raise StudyError(f"every cell failed; the reasons are in {folder.path / 'table.md'}")


def _kept(plan: Plan, folder: RunFolder) -> str:
    done = done_keys(folder.rows())
    kept = sum(cell_key(cell.as_dict()) in done for cell in plan.cells)
    return (
        f"{kept} of {plural(len(plan.cells), 'cell')} kept in {folder.path}; "
        "the same command goes on from there"
    )


def _name(study: Study, size: str, model: Instance, data: str) -> str:
    """Return the folder's name; what differs from the defaults is in it."""
    parts = [study.name, size]
    if model.ensemble != "forest":
        parts.append(model.ensemble)
    if model.data != "diamonds":
        parts.append(data)
    return "-".join(parts)
