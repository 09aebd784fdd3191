"""What is measured on a fold: ForestPrune's variants, and other methods at the same sizes."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from studies.contests.fold import Fold

# A cell makes some ten paths and as many searches; they may take this much beside their limits.
_SPARE_SECONDS = 1800.0
_SEARCHES = 30


@dataclass(frozen=True)
class Contest:
    """A fold and what is compared on it.

    Attributes
    ----------
    models
        Labels of competitors, as `forestprune.compete` takes them.
    marks
        Allowed rises φ of the validation error, or budgets of nodes.
    top, end, values
        The first and the last α of the path, of a standardised response, and their number.
    search_limit
        Seconds for each search of a competitor that may take long.
    threads
        Threads that numerical libraries may use.
    """

    instance: Fold
    models: tuple[str, ...]
    marks: tuple[float, ...]
    top: float
    end: float
    values: int
    search_limit: float
    threads: int

    @property
    def name(self) -> str:
        """What is run, for people."""
        return f"{self.instance.name}, fold {self.instance.fold + 1}"

    @property
    def setting(self) -> str:
        """Nothing that differs between cells."""
        return ""

    @property
    def time_limit(self) -> float:
        """Seconds for all."""
        return _SPARE_SECONDS + _SEARCHES * self.search_limit

    @property
    def identity(self) -> tuple[Any, ...]:
        """All but limits."""
        return self.instance, self.models, self.marks, self.top, self.end, self.values

    def as_dict(self) -> dict[str, Any]:
        """Return the cell as nested plain values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> Contest:
        """Return the cell that `as_dict` wrote."""
        lists = {name: tuple(given[name]) for name in ("models", "marks")}
        return cls(**{**given, **lists, "instance": Fold(**given["instance"])})
