"""What a stream is: where its rows come from, and where it drifts."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path, PurePath
from typing import Any, Literal

import numpy as np

from formulations.arrays import FloatArray, IntArray

DriftKind = Literal["none", "abrupt", "gradual", "incremental"]


@dataclass(frozen=True)
class Stream:
    """A stream by name; the same values give the same rows.

    Attributes
    ----------
    source
        Name of a synthetic or a bundled stream, or the path of a CSV file.
    rows
        Number of rows.
    drift
        Of a synthetic stream: ``"abrupt"``, from one concept to the next at equal distances;
        ``"gradual"``, the same over ``width`` rows around these points; ``"incremental"``,
        all the time; ``"none"``, its first concept only, or not known.
    width
        Rows of a gradual drift.
    seed
        Of the rows.
    target
        Of a file.
    """

    source: str
    rows: int
    drift: DriftKind = "none"
    width: int = 0
    seed: int = 0
    target: str | None = None

    @property
    def short(self) -> str:
        """Its name without its drift."""
        plain = PurePath(self.source).name.removesuffix(".gz").removesuffix(".csv")
        return _NAMES.get(self.source, plain)

    @property
    def kind(self) -> str:
        """Its name for people."""
        return self.short if self.drift == "none" else f"{self.short}, {self.drift} drift"

    @property
    def grid(self) -> str:
        """Its length."""
        return f"{self.rows:,} rows"

    @property
    def preparation(self) -> str:
        """What is done to prepare it."""
        return f"drawing {self.kind}"

    def cut_to(self, rows: int) -> Stream:
        """Return it with so many rows at most."""
        return replace(self, rows=min(self.rows, rows))


_NAMES = {
    "sea": "SEA",
    "agrawal": "Agrawal",
    "stagger": "STAGGER",
    "led": "LED",
    "hyperplane": "hyperplane",
    "rbf": "random RBF",
    "mixed": "MIXED",
    "phishing": "Phishing",
    "image_segments": "ImageSegments",
}


@dataclass(frozen=True)
class Drift:
    """From the row at which a drift begins to the one before which it has ended."""

    begin: int
    end: int


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a stream.

    Attributes
    ----------
    X
        (rows, features) numbers.
    y
        (rows,) numbers of the classes.
    features, classes
        Names.
    drifts
        Known drifts, the first first.
    concept
        (rows,) number of the concept that each row is from.
    """

    X: FloatArray
    y: IntArray
    features: tuple[str, ...]
    classes: tuple[str, ...]
    drifts: tuple[Drift, ...]
    concept: IntArray

    def write(self, path: Path) -> None:
        """Write them to a file."""
        drifts = np.array([tuple(asdict(d).values()) for d in self.drifts], dtype=np.int64)
        with path.open("wb") as file:
            np.savez(
                file,
                X=self.X,
                y=self.y,
                features=np.array(self.features, dtype=np.str_),
                classes=np.array(self.classes, dtype=np.str_),
                drifts=drifts.reshape(-1, 2),
                concept=self.concept,
            )

    @classmethod
    def read(cls, path: Path) -> Rows:
        """Return what `write` wrote."""
        with np.load(path) as found:
            return cls(
                X=found["X"],
                y=found["y"],
                features=tuple(found["features"].tolist()),
                classes=tuple(found["classes"].tolist()),
                drifts=tuple(Drift(*pair) for pair in found["drifts"].tolist()),
                concept=found["concept"],
            )


def read_stream(given: dict[str, Any]) -> Stream:
    """Return a stream from plain values."""
    return Stream(**given)
