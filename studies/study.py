"""What a study is: the cells it measures, and the report it makes of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from studies.errors import StudyError
from studies.kinds import AnyCell, Kind
from studies.reporting.report import Report
from studies.solver_kind import SOLVERS
from studies.spec import Request

# Fields that collect an option which may be given several times.
_REPEATED = {"solvers": "solver", "models": "model"}


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
    kind
        Of which kind the cells are.
    without
        Fields of a request that the study has no use for.
    notices
        Sentences for the user before a request is run.
    """

    name: str
    title: str
    sizes: tuple[str, ...]
    cells: Callable[[Request], Iterable[AnyCell]]
    report: Callable[[Any], Report]
    defaults: Mapping[str, Any] = field(default_factory=dict)
    kind: Kind = SOLVERS
    without: tuple[str, ...] = ("models", "protocol")
    notices: Callable[[Request], list[str]] = lambda _: []

    def request(self, **asked: Any) -> Request:
        """Return a request with the study's defaults for what is None.

        Raises
        ------
        StudyError
            When something is asked for that the study has no use for.
        """
        given = {name: value for name, value in asked.items() if value is not None}
        for name in self.without:
            if given.get(name, ()) != ():
                option = _REPEATED.get(name, name).replace("_", "-")
                raise StudyError(f"--{option} is not for {self.name}")
        return Request(**{**self.defaults, **given})
