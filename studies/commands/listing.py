"""The commands ``forestprune solvers`` and ``forestprune competitors``."""

from __future__ import annotations

from typing import Annotated

import typer

from solvers import available_solvers, capability_table
from studies.options import console


def solvers(
    markdown: Annotated[bool, typer.Option("--markdown", help="As a Markdown table.")] = False,
) -> None:
    """List the solvers with what they can do."""
    from studies.reporting import render
    from studies.reporting.tables import Group, Table

    rows = capability_table()
    body = Group("", tuple(tuple(row.values()) for row in rows))
    ready = f"{len(available_solvers())} of {len(rows)} solvers are ready"
    table = Table(ready, tuple(rows[0]), (body,))
    if markdown:
        typer.echo(render.markdown(table, numbers=False))
    else:
        console().print(render.terminal_table(table, numbers=False))
