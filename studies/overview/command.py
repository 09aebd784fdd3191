"""`forestprune study report`: read all runs of a folder, write the page and the tables."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.text import Text

from studies.errors import StudyError
from studies.overview.page import TITLE, page
from studies.overview.runs import Found, read_runs
from studies.reporting import latex
from studies.reporting.formats import plural
from studies.reporting.published import published_table

PAGE, TABLES = "report.html", "report.tex"


def write_overview(console: Console, folder: Path) -> None:
    """Write ``report.html`` and ``report.tex`` of the runs in a folder into it.

    Raises
    ------
    StudyError
        When the folder has no run, or cannot be read or written.
    """
    found, unread = read_runs(folder)
    texts = {
        PAGE: page(found, unread, datetime.now(UTC).date().isoformat()),
        TABLES: tables(found),
    }
    try:
        for name, text in texts.items():
            # Rows may quote what is no character, such as a file's name that is not in UTF-8.
            (folder / name).write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise StudyError(f"cannot write to {folder}: {error.strerror or error}") from None
    for run in found:
        facts = ", ".join(filter(None, (run.extent, run.date, run.shortfall)))
        console.print(Text(f"{run.name}: {facts}"), soft_wrap=True)
    for one in unread:
        told = Text(f"{one.name} could not be read: {one.reason}", style="red")
        console.print(told, soft_wrap=True)
    console.print(
        f"{plural(len(found), 'run')} in {folder / PAGE}, the tables also in {folder / TABLES}",
        markup=False,
        soft_wrap=True,
    )


def tables(found: list[Found]) -> str:
    """Return the tables of runs as a LaTeX document."""
    parts = []
    shown, notes = published_table(comparison for run in found for comparison in run.published)
    if shown.groups:
        parts.append(latex.floating(shown, "tab:published", notes))
    for run in found:
        facts = ", ".join(filter(None, (run.study.title, run.extent, run.date, run.shortfall)))
        parts.append(latex.comment(f"{run.name}: {facts}"))
        parts += map(latex.comment, run.report.notes)
        parts += [
            latex.floating(table, f"tab:{run.slug}-{number}")
            for number, table in enumerate(run.report.tables, 1)
        ]
        parts.append("\\clearpage\n")  # LaTeX keeps but so many tables waiting for a place
    return latex.document(TITLE, parts)
