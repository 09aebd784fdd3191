"""From a request to a plan: every cell spelled out, on the rows there are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

from studies.errors import StudyError
from studies.kinds import AnyCell, Kind
from studies.spec import Request
from studies.study import Study


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


def make_plan(study: Study, request: Request, rows_of: Callable[[Any], int]) -> Plan:
    """Spell a study out.

    Parameters
    ----------
    study, request
        What to measure.
    rows_of
        Number of rows there are for an instance; larger instances are cut to it.

    Raises
    ------
    StudyError
        When no cell is left to run.
    """
    by_instance: dict[Any, dict[AnyCell, None]] = {}
    cell: Any  # a dataclass of the study's kind
    for cell in study.cells(request):
        instance = cell.instance.cut_to(rows_of(cell.instance))
        by_instance.setdefault(instance, {})[replace(cell, instance=instance)] = None
    cells = tuple(cell for group in by_instance.values() for cell in group)
    if not cells:
        raise StudyError(f"study {study.name}: no solver is available to run")
    return Plan(study.name, request.size, study.title, cells, study.kind)
