"""Plan, run, report and show a study: `run`, or ``forestprune study``."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from solvers import available_solvers
from studies import options
from studies.catalogue import checked_labels, find_study, require_size
from studies.errors import StudyError, StudyInterrupted
from studies.kinds import Plan
from studies.planning import make_plan
from studies.reporting.formats import plural
from studies.reporting.progress import ProgressReporter
from studies.reporting.render import show, write
from studies.reporting.report import Report, RunOf, collect
from studies.running.records import RunFolder, cell_key, done_keys
from studies.running.runner import run_plan
from studies.spec import Request
from studies.study import Study


def run(
    name: str,
    *,
    size: str = "medium",
    solvers: Sequence[str] = (),
    models: Sequence[str] = (),
    out: Path | str | None = None,
    fresh: bool = False,
    jobs: int | None = None,
    console: Console | None = None,
    **asked: Any,
) -> Path:
    """Run a study by name and return its folder; a run that was stopped goes on where it was.

    Parameters
    ----------
    name, size
        As ``forestprune study`` lists them.
    solvers, models
        Labels of solvers, or names of models, to run; none for those of the study.
    out
        The run folder; None for one in ``results`` named after what is run.
    fresh
        Whether to measure all anew.
    jobs
        How many instances are measured at once; -1 for one per core. None for 1, or for what
        a backend takes that was chosen with `joblib.parallel_config`.
    console
        To show the run on; None for the terminal.
    **asked
        Other options of the command by the names of the fields of `Request`; None for the
        study's default.

    Raises
    ------
    StudyError, InvalidInput
        Before any work, when something asked for cannot be had; a StudyError also at the
        end, when every cell failed or the rows contradict each other.
    StudyInterrupted
        On Ctrl-C, after tables and figures of what is there have been written.
    """
    study = find_study(name)
    require_size(study, size)
    request = study.request(
        size=size,
        solvers=tuple(checked_labels(list(solvers))),
        available=tuple(available_solvers()),
        models=tuple(dict.fromkeys(models)),
        **asked,
    )
    place = None if out is None else Path(out)
    return run_study(
        console or options.console(), study, request, out=place, fresh=fresh, jobs=jobs
    )


def run_study(
    console: Console,
    study: Study,
    request: Request,
    *,
    out: Path | None,
    fresh: bool,
    jobs: int | None = None,
) -> Path:
    """Run what a run folder does not have yet, write tables and figures, and show them.

    As `run`, but of a study and with a request from `Study.request`.
    """
    plan = make_plan(study, request, study.kind.rows)
    path = out or Path("results") / folder_name(study, request, plan)
    folder = RunFolder(path, study.kind.read_cell)
    with folder.held() as unlocked:
        notice = folder.open(plan.settings(), fresh=fresh)
        told = [text for text in (unlocked, notice, *study.notices(request)) if text is not None]
        _run_in(folder, console, study, plan, told, jobs)
    return folder.path


def _run_in(
    folder: RunFolder,
    console: Console,
    study: Study,
    plan: Plan,
    told: Sequence[str],
    jobs: int | None,
) -> None:
    """Run what an open folder does not have yet; report and show it after these notices."""
    try:
        with ProgressReporter(console, plan) as reporter:
            for text in told:
                reporter.notice(text)
            run_plan(plan, folder, reporter, jobs)
        run, report = _reported(study, folder)
        console.print(f"[bold]{plan.title}[/]")
        show(report, run, console)
    except KeyboardInterrupt:
        interruption = StudyInterrupted(_kept(plan, folder))
        with contextlib.suppress(KeyboardInterrupt):  # an impatient user's second Ctrl-C
            _reported(study, folder)
        raise interruption from None
    console.print(f"tables, figure and rows are in {folder.path}", markup=False)
    if all(row["status"] == "failed" for _, row in run.cells):
        raise StudyError(f"every cell failed; the reasons are in {folder.path / 'table.md'}")
    if report.violations:
        raise StudyError(
            f"{plural(len(report.violations), 'contradiction')} in the rows, the first: "
            f"{report.violations[0]}; all are in {folder.path / 'table.md'}"
        )


def _reported(study: Study, folder: RunFolder) -> tuple[RunOf[Any, Any], Report]:
    """Read the rows of a folder and write what the study makes of them."""
    run = collect(folder.config(), folder.rows(), study.kind)
    report = study.report(run)
    write(report, run, folder.path, study.kind)
    return run, report


def _kept(plan: Plan, folder: RunFolder) -> str:
    done = done_keys(folder.rows())
    kept = sum(cell_key(cell.as_dict()) in done for cell in plan.cells)
    return (
        f"{kept} of {plural(len(plan.cells), 'cell')} kept in {folder.path}; "
        "the same command goes on from there"
    )


def folder_name(study: Study, request: Request, plan: Plan) -> str:
    """Return the folder's name; what differs from the study's defaults is in it."""
    names = ("ensemble", "data", "alpha", "protocol")
    asked = {name: getattr(request, name) for name in names}
    differ = {name: value for name, value in asked.items() if value != study.defaults.get(name)}
    if "data" in differ:
        differ["data"] = study.kind.data_name(plan.cells[0].instance)
    if "alpha" in differ:
        differ["alpha"] = f"alpha-{request.alpha}"
    return "-".join([study.name, request.size, *map(str, differ.values())])
