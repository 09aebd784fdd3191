"""What the machinery of studies must know of cells and their kind; it knows nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol


class Subject(Protocol):
    """What cells are measured on: a frozen dataclass of plain values."""

    @property
    def kind(self) -> str:
        """What it is, for people."""

    @property
    def grid(self) -> str:
        """How large it is, for people."""

    @property
    def preparation(self) -> str:
        """What is done to prepare it, for people."""

    def cut_to(self, rows: int) -> Any:
        """Return it on so many rows at most."""


class AnyCell(Protocol):
    """One measurement: a frozen dataclass of plain values."""

    @property
    def instance(self) -> Any:
        """What is measured on, a `Subject`."""

    @property
    def name(self) -> str:
        """What is run, for people."""

    @property
    def setting(self) -> str:
        """What else is set, for people; shown where it differs between cells."""

    @property
    def identity(self) -> tuple[Any, ...]:
        """What makes a later measurement take the place of an earlier one."""

    @property
    def time_limit(self) -> float:
        """Seconds."""

    @property
    def threads(self) -> int:
        """Threads that numerical libraries may use."""

    def as_dict(self) -> dict[str, Any]:
        """Return the cell as nested plain values."""


@dataclass(frozen=True)
class Kind:
    """How cells of one kind are planned, measured, read back and written.

    Attributes
    ----------
    prepare, measure
        ``"module:function"`` of what runs in processes of their own; see `run_plan`.
    read_cell, read_instance
        From plain values; they raise TypeError, ValueError or KeyError for others.
    rows
        How many rows there are for an instance; it may have more.
    data_name
        Short name of an instance's data, for a folder.
    settings
        What all cells have in common, for the configuration file. Runs that differ in any
        but ``calls`` are not mixed.
    ending
        What to print of a cell that has finished or ran into its limit.
    files
        Names of the CSV files of a run, with their lines.
    """

    prepare: str
    measure: str
    read_cell: Callable[[dict[str, Any]], Any]
    read_instance: Callable[[dict[str, Any]], Any]
    rows: Callable[[Any], int]
    data_name: Callable[[Any], str]
    settings: Callable[[Sequence[Any]], dict[str, Any]]
    ending: Callable[[Any, dict[str, Any]], str]
    files: Callable[[Any], dict[str, list[dict[str, Any]]]]


@dataclass(frozen=True)
class Plan:
    """A study spelled out: every cell in the order of running.

    Attributes
    ----------
    study, size
        Names.
    title
        What heads the tables.
    cells
        What to measure, instance by instance.
    kind
        Of which kind the cells are.
    """

    study: str
    size: str
    title: str
    cells: tuple[AnyCell, ...]
    kind: Kind

    def settings(self) -> dict[str, Any]:
        """Return the plan as plain values, for the configuration file."""
        return {
            "study": self.study,
            "size": self.size,
            "title": self.title,
            "cells": len(self.cells),
            **self.kind.settings(self.cells),
            "instances": [asdict(i) for i in dict.fromkeys(c.instance for c in self.cells)],
        }
