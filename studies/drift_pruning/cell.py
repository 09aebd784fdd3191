"""One measurement of the study: a forest that is pruned again and again along a stream."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from studies.streams.stream import Stream, read_stream

# Rows of its concept that a forest of the no-drift reference has learnt before it counts.
REFERENCE_ROWS = 2000


@dataclass(frozen=True)
class PruneCell:
    """A forgetful forest on a stream, pruned every few batches.

    Attributes
    ----------
    instance
        The stream, whose seed is the forest's too.
    alpha
        Of Problem (1), in units of the variance of the response; None for a budget.
    budget
        Largest share of the forest's nodes that may be left; None for an α.
    trees
        Of the forest.
    batch
        Rows that are predicted, then learnt.
    every
        Batches between two prunings.
    cold
        Rows before the first pruning; they are not scored.
    window, margin
        As `recoveries` takes them; the figure shows the accuracy over such windows.
    repeats
        How often each solve is timed; the median counts.
    time_limit
        Seconds for the stream.
    """

    instance: Stream
    alpha: float | None
    budget: float | None
    trees: int
    batch: int
    every: int
    cold: int
    window: int
    margin: float
    repeats: int
    time_limit: float
    threads: int

    @property
    def name(self) -> str:
        """How much is pruned."""
        return size_name(self.alpha, self.budget)

    @property
    def setting(self) -> str:
        """The seed, for people."""
        return f"seed {self.instance.seed}  "

    @property
    def identity(self) -> tuple[Any, ...]:
        """What makes a later measurement take the place of an earlier one."""
        return self.instance, self.alpha, self.budget, self.trees, self.batch, self.every

    def as_dict(self) -> dict[str, Any]:
        """Return the cell as nested plain values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> PruneCell:
        """Return the cell that `as_dict` wrote."""
        return cls(**{**given, "instance": read_stream(given["instance"])})


def size_name(alpha: float | None, budget: float | None) -> str:
    """Return how much is pruned, for people."""
    return f"α = {alpha:g}" if budget is None else f"≤ {100 * budget:g} % of nodes"
