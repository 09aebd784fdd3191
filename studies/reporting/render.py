"""Tables in Markdown, LaTeX, CSV and on the terminal, written from a report."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any, Literal

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from studies.errors import StudyError
from studies.kinds import Kind
from studies.reporting import latex
from studies.reporting.formats import plural
from studies.reporting.report import Report, RunOf
from studies.reporting.tables import Table


def write(report: Report, run: RunOf[Any, Any], folder: Path, kind: Kind) -> None:
    """Write ``table.md``, ``table.tex``, the CSV files of the kind and a ``.png`` per figure.

    Raises
    ------
    StudyError
        When the files cannot be written.
    """
    texts = {
        "table.md": markdown_page(run.config["title"], report),
        "table.tex": "\n".join(latex.tabular(table) for table in report.tables),
        **{name: _csv(lines) for name, lines in kind.files(run).items()},
    }
    try:
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
        for name, figure in report.figures.items():
            figure.savefig(folder / f"{name}.png")
    except OSError as error:
        raise StudyError(f"cannot write to {folder}: {error.strerror or error}") from None


def show(report: Report, run: RunOf[Any, Any], console: Console) -> None:
    """Print the tables and the conclusion on the terminal."""
    for table in report.shown:
        console.print(terminal_table(table))
    failed = sum(row["status"] == "failed" for _, row in run.cells)
    if failed:
        console.print(f"[red]{plural(failed, 'cell')} failed[/]: the reasons are in table.md")
    if report.conclusion:
        console.print(Text(report.conclusion, style="bold"), soft_wrap=True)
    for violation in report.violations:
        console.print(Text(f"WRONG: {violation}", style="bold red"), soft_wrap=True)


def terminal_table(table: Table, *, numbers: bool = True) -> RichTable:
    """Return a table for the terminal, its groups as sections; numbers stand to the right."""
    shown = RichTable(title=table.caption, title_justify="left", title_style="bold")
    for place, name in enumerate(table.header):
        justify: Literal["left", "right"] = "right" if place and numbers else "left"
        shown.add_column(Text(name), justify=justify, no_wrap=not place)
    for group in table.groups:
        shown.add_section()
        if group.title:
            shown.add_row(Text(group.title, style="bold cyan"))
        for row in group.rows:
            shown.add_row(*map(Text, row))
    return shown


def markdown_page(title: str, report: Report) -> str:
    """Return a report as a Markdown page."""
    parts = [f"# {title}", report.conclusion]
    parts += [f"**WRONG: {violation}**" for violation in report.violations]
    parts += [f"**{table.caption}**\n\n{markdown(table)}" for table in report.tables]
    parts.append("\n".join(f"- {note}" for note in report.notes))
    return "\n\n".join(filter(None, parts)) + "\n"


def markdown(table: Table, *, numbers: bool = True) -> str:
    """Return a table in Markdown; titles of groups stand in a column of their own.

    Numbers stand to the right.
    """
    titled = any(group.title for group in table.groups)
    header = ("", *table.header) if titled else table.header
    lines = [
        header,
        tuple(":--" if k <= titled or not numbers else "--:" for k in range(len(header))),
    ]
    for group in table.groups:
        for place, row in enumerate(group.rows):
            title = f"**{group.title}**" if place == 0 else ""
            lines.append((title, *row) if titled else row)
    escaped = ([entry.replace("|", r"\|") for entry in line] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in escaped)


def _csv(lines: list[dict[str, Any]]) -> str:
    """Return lines with all digits, for other programs; nothing where there are none."""
    text = io.StringIO()
    if lines:
        names = dict.fromkeys(name for line in lines for name in line)
        writer = csv.DictWriter(text, fieldnames=list(names), lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
    return text.getvalue()
