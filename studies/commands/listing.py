"""The commands ``forestprune solvers`` and ``forestprune competitors``."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from solvers import available_solvers, capability_table
from studies.options import MarkdownOption, console


def solvers(markdown: MarkdownOption = False) -> None:
    """List the solvers with what they can do."""
    rows = capability_table()
    _list(f"{len(available_solvers())} of {len(rows)} solvers are ready", rows, markdown)


def competitors(markdown: MarkdownOption = False) -> None:
    """List the methods to compare with, their options and names in tables."""
    from forestprune import competitor_table
    from studies.contests.methods import method_name, named_labels

    rows = [
        {"competitor": row["competitor"], "in tables": method_name(row["competitor"]), **row}
        for row in competitor_table()
    ]
    _list(f"{len(rows)} competitors, for --model and fp.compete", rows, markdown)
    if markdown:
        typer.echo()
    named = [{"label": label, "in tables": method_name(label)} for label in named_labels()]
    _list("Labels with options that have a name in tables", named, markdown)


def _list(caption: str, rows: Sequence[dict[str, str]], markdown: bool) -> None:
    """Print rows with the same keys as a table."""
    from studies.reporting import render
    from studies.reporting.tables import Group, Table

    header, *_ = rows
    table = Table(caption, tuple(header), (Group("", tuple(tuple(row.values()) for row in rows)),))
    if markdown:
        typer.echo(render.markdown(table, numbers=False))
    else:
        console().print(render.terminal_table(table, numbers=False))
