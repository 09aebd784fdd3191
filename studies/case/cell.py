"""What the study `case` measures: the few trees that are left of a forest."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from studies.spec import Instance


@dataclass(frozen=True)
class CaseCell:
    """A forest, and how many trees of how many nodes may be left.

    Attributes
    ----------
    trees
        How many.
    most_nodes
        How many nodes all of them may have, so that they can be read.
    alpha
        The α that the user wants, in units of the variance of y; None to choose it.
    values, span
        Number of α to choose from, and the part of the first one that the last one is.
    time_limit
        Seconds for all.
    threads
        Threads that numerical libraries may use.
    """

    instance: Instance
    trees: int
    most_nodes: int
    alpha: float | None
    values: int
    span: float
    time_limit: float
    threads: int

    @property
    def name(self) -> str:
        """What is run, for people."""
        return f"best {self.trees} trees"

    @property
    def setting(self) -> str:
        """The α, for people."""
        return f"{self.values} α  " if self.alpha is None else f"α = {self.alpha:g}  "

    @property
    def identity(self) -> tuple[Any, ...]:
        """All but limits."""
        sizes = self.trees, self.most_nodes
        return self.instance, sizes, self.alpha, self.values, self.span

    def as_dict(self) -> dict[str, Any]:
        """Return the cell as nested plain values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> CaseCell:
        """Return the cell that `as_dict` wrote."""
        return cls(**{**given, "instance": Instance(**given["instance"])})
