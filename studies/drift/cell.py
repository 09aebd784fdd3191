"""One measurement of the study: a model on a stream."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from studies.streams.stream import Stream, read_stream


@dataclass(frozen=True)
class DriftCell:
    """A model on a stream.

    Attributes
    ----------
    instance
        The stream, whose seed is the model's too.
    model
        Name of a system.
    batch
        Rows of a batch, for those that work in batches.
    cold
        Rows at the beginning that are not scored.
    window, margin
        As `recoveries` takes them; the figure shows the accuracy over such windows.
    time_limit
        Seconds for the stream.
    """

    instance: Stream
    model: str
    batch: int
    cold: int
    window: int
    margin: float
    time_limit: float
    threads: int

    @property
    def name(self) -> str:
        """The model."""
        return self.model

    @property
    def setting(self) -> str:
        """The seed, for people."""
        return f"seed {self.instance.seed}  "

    @property
    def identity(self) -> tuple[Any, ...]:
        """What makes a later measurement take the place of an earlier one."""
        return self.instance, self.model, self.batch

    def as_dict(self) -> dict[str, Any]:
        """Return the cell as nested plain values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> DriftCell:
        """Return the cell that `as_dict` wrote."""
        return cls(**{**given, "instance": read_stream(given["instance"])})
