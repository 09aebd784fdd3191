"""The rows of a run read back, and what a study says of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from matplotlib.figure import Figure

from studies.kinds import Kind
from studies.reporting.formats import plural
from studies.reporting.published import Comparison
from studies.reporting.tables import Table
from studies.running.records import Row, latest_cells
from studies.spec import Cell, Instance

C = TypeVar("C")
J = TypeVar("J")


@dataclass(frozen=True)
class RunOf(Generic[C, J]):
    """What a run folder holds, of cells and instances of one kind.

    Attributes
    ----------
    cells
        The latest measurement of each cell, instance by instance, in the order of running.
    environment
        Of the latest start.
    preparations
        How each instance was fitted and built.
    """

    config: dict[str, Any]
    cells: tuple[tuple[C, Row], ...]
    environment: dict[str, Any]
    preparations: dict[J, Row]


# What solvers were run on.
Run = RunOf[Cell, Instance]


def collect(config: dict[str, Any], rows: list[Row], kind: Kind) -> RunOf[Any, Any]:
    """Sort the rows of a run folder; the latest of each cell counts.

    Instances are in the order of the plan, whichever of them was done first.
    """
    planned = [kind.read_instance(instance) for instance in config.get("instances", ())]
    places = {instance: place for place, instance in enumerate(planned)}
    cells = latest_cells(rows, kind.read_cell)
    cells.sort(key=lambda measured: places.get(measured[0].instance, len(places)))
    return RunOf(
        config=config,
        cells=tuple(cells),
        environment=next(
            (row for row in reversed(rows) if row["kind"] == "environment"), {"versions": {}}
        ),
        preparations={
            kind.read_instance(row["instance"]): row
            for row in rows
            if row["kind"] == "instance" and row["status"] == "ok"
        },
    )


@dataclass(frozen=True)
class Report:
    """What a study makes of a run.

    Attributes
    ----------
    tables
        All tables.
    shown
        Those for the terminal.
    notes
        What a reader of the tables must know, one sentence or so each.
    figures
        By the names of their files, without an ending.
    conclusion
        The run in one sentence.
    violations
        What must not be, one sentence each: the command ends with an error.
    published
        Figures of a paper and ours, for the page of all studies.
    """

    tables: tuple[Table, ...]
    shown: tuple[Table, ...]
    notes: tuple[str, ...]
    figures: dict[str, Figure] = field(default_factory=dict)
    conclusion: str = ""
    violations: tuple[str, ...] = ()
    published: tuple[Comparison, ...] = ()


def reasons(run: RunOf[Any, Any]) -> list[str]:
    """Return a sentence for each cell that says why it has no, or no whole, answer."""
    return [
        f"{cell.instance.kind}, {cell.instance.grid}, {cell.name}: "
        f"{row['status'].replace('_', ' ')}: {row['reason']}."
        for cell, row in run.cells
        if row.get("reason")
    ]


def machine_note(run: RunOf[Any, Any], threads_of: str = "solver") -> str:
    """Return the machine and the versions, as a sentence."""
    versions = ", ".join(f"{name} {v}" for name, v in run.environment["versions"].items())
    threads = sorted({cell.threads for cell, _ in run.cells})
    return (
        f"{run.environment.get('cpu', 'unknown processor')}, threads per {threads_of}: "
        f"{', '.join(map(str, threads))}; Python {run.environment.get('python', '?')}, {versions}."
        f"{_elsewhere(run)}"
    )


def _elsewhere(run: RunOf[Any, Any]) -> str:
    """Return on which other machines instances were measured, as a sentence."""
    others = [row["machine"] for row in run.preparations.values() if "machine" in row]
    if not others:
        return ""
    own = run.environment.get("cpu", "unknown processor")
    counts = Counter(f"{other['host']} ({other.get('cpu', own)})" for other in others)
    named = ", ".join(f"{host}: {plural(count, 'instance')}" for host, count in counts.items())
    return f" Measured on other machines, versions in rows.jsonl: {named}."
