"""What the study `warmstart` measures: one way to start, along a path of α."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from studies.errors import StudyError
from studies.spec import Instance


@dataclass(frozen=True)
class Start:
    """A way to follow a path.

    Attributes
    ----------
    solver
        A label, as `solvers.solve` takes it.
    warm
        Whether each α starts from the solution before; from the empty model otherwise.
    name
        For people.
    """

    solver: str
    warm: bool
    name: str


# Those compared, and one whose bounds are better than those of a descent.
STARTS = {
    "zero": Start("cbcd[local_search=False]", False, "zero start"),
    "warm": Start("cbcd[local_search=False]", True, "warm start"),
    "search": Start("cbcd", True, "warm start, local search"),
    "proof": Start("relaxation", True, "relaxation, for its bounds"),
}
COMPARED = ("zero", "warm", "search")


@dataclass(frozen=True)
class StartCell:
    """A way to start, by its key in `STARTS`, on a path.

    Attributes
    ----------
    values, span
        Number of α, and the part of the first one that the last one is.
    repeats
        How often the path is followed after the first time; the time is the median.
    time_limit
        Seconds for one path.
    threads
        Threads the solver may use.
    """

    instance: Instance
    start: str
    values: int
    span: float
    repeats: int
    time_limit: float
    threads: int

    def __post_init__(self) -> None:
        if self.start not in STARTS:
            raise StudyError(f"unknown start {self.start!r}; known: {', '.join(STARTS)}")

    @property
    def name(self) -> str:
        """What is run, for people."""
        return STARTS[self.start].name

    @property
    def setting(self) -> str:
        """The path, for people."""
        return f"{self.values} α  "

    @property
    def identity(self) -> tuple[Any, ...]:
        """All but repeats and limits."""
        return self.instance, self.start, self.values, self.span

    def as_dict(self) -> dict[str, Any]:
        """Return the cell as nested plain values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> StartCell:
        """Return the cell that `as_dict` wrote."""
        return cls(**{**given, "instance": Instance(**given["instance"])})
