"""What a study is: the cells it measures, and the report it makes of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from studies.reporting.report import Report, Run
from studies.spec import Cell, Request


@dataclass(frozen=True)
class Study:
    """An experiment by name.

    Attributes
    ----------
    name, title
        What a user types, and what heads the tables.
    sizes
        Names of its sizes.
    cells
        What to measure for a request; instances may have more rows than there are.
    report
        What to say of the rows of a run.
    defaults
        What the request has where the user says nothing, by field of `Request`.
    """

    name: str
    title: str
    sizes: tuple[str, ...]
    cells: Callable[[Request], Iterable[Cell]]
    report: Callable[[Run], Report]
    defaults: Mapping[str, Any] = field(default_factory=dict)

    def request(self, **asked: Any) -> Request:
        """Return a request with the study's defaults for what is None."""
        given = {name: value for name, value in asked.items() if value is not None}
        return Request(**{**self.defaults, **given})
