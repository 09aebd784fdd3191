"""The ways to start side by side: the best objective and the best bound at every α."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from studies.reporting.curves import ROUNDING
from studies.running.records import Row
from studies.spec import Instance
from studies.warmstart.cell import COMPARED
from studies.warmstart.kind import StartRun

Point = dict[str, Any]


@dataclass(frozen=True)
class Paths:
    """All paths of an instance, α by α; those cut short end the others, too.

    Attributes
    ----------
    rows
        What was measured, by the key of the start.
    """

    instance: Instance
    rows: dict[str, Row]

    @property
    def compared(self) -> list[str]:
        """Which of the compared ways have a path."""
        return [start for start in COMPARED if start in self.rows]

    @property
    def length(self) -> int:
        """Number of α that all compared ways have reached."""
        return min((len(self.rows[start]["path"]) for start in self.compared), default=0)

    @property
    def alphas(self) -> list[float]:
        """Those α, the largest first, in units of the variance of y."""
        return [] if not self.length else self._of(self.compared[0], "alpha")

    @property
    def best(self) -> list[float]:
        """The least objective of the compared ways at each α."""
        found = [self._of(start, "objective") for start in self.compared]
        return [min(values) for values in zip(*found, strict=True)]

    @property
    def bounds(self) -> list[float | None]:
        """The best bound of all paths at each α.

        The optimum falls with α: a bound of a later, smaller one holds for all before it.
        """
        own: list[float] = []
        for k in range(self.length):
            known = (row["path"][k]["bound"] for row in self.rows.values() if k < len(row["path"]))
            own.append(max((bound for bound in known if bound is not None), default=-1.0))
        later = list(accumulate(reversed(own), max))
        # The objective is a sum of squares and prices, so a bound below 0 says nothing.
        return [bound if bound >= 0.0 else None for bound in reversed(later)]

    def above(self, start: str) -> list[float]:
        """Return by what part an objective is above the best one, at each α."""
        return [
            value / best - 1.0 if best > 0.0 else 0.0
            for value, best in zip(self._of(start, "objective"), self.best, strict=True)
        ]

    def gaps(self, start: str) -> list[float | None]:
        """Return what is proven of a path: its gap to the best bound, at each α."""
        return [
            None if bound is None else max(value - bound, 0.0) / value if value > 0.0 else 0.0
            for value, bound in zip(self._of(start, "objective"), self.bounds, strict=True)
        ]

    def sweeps(self, start: str) -> list[int]:
        """Return the sweeps at each α."""
        return self._of(start, "sweeps")

    def _of(self, start: str, what: str) -> list[Any]:
        return [point[what] for point in self.rows[start]["path"][: self.length]]


def paths_of(run: StartRun) -> list[Paths]:
    """Return the paths of a run, instance by instance; those without points are left out."""
    rows: dict[Instance, dict[str, Row]] = {}
    for cell, row in run.cells:
        if row.get("path"):
            rows.setdefault(cell.instance, {})[cell.start] = row
    found = [Paths(instance, own) for instance, own in rows.items()]
    return [paths for paths in found if paths.compared]


def contradictions(found: list[Paths]) -> Iterator[str]:
    """Yield each α at which a bound is above an objective."""
    for paths in found:
        for alpha, best, bound in zip(paths.alphas, paths.best, paths.bounds, strict=True):
            if bound is not None and bound > best + ROUNDING:
                yield (
                    f"{paths.instance.kind}, {paths.instance.grid}, α = {alpha:.3g}: the bound "
                    f"{bound!r} is {bound - best:.2g} above the objective {best!r}"
                )
