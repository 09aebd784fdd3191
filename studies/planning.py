"""From a request to a plan: every cell spelled out, on the rows there are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from studies.errors import StudyError
from studies.kinds import AnyCell, Plan
from studies.spec import Request
from studies.study import Study


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
