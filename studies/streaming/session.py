"""A model on a stream: predict a batch, score it, learn what labels have come."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from time import process_time
from typing import Any

import numpy as np

from formulations import InvalidInput
from formulations.arrays import FloatArray
from studies.streaming.late import Lateness, Waiting
from studies.streaming.scores import ClassScore, Naive, NumberScore, Score
from studies.streams.columns import MISSING, Codes, Columns, finite, is_missing
from studies.streams.csv_rows import Cells
from studies.streams.forgetful import classifier, held_rows, regressor

MOST_CLASSES = 1000


@dataclass(frozen=True)
class Settings:
    """How a stream is learnt; a session that goes on keeps them.

    Attributes
    ----------
    kind
        ``"tree"`` or ``"forest"``.
    regression
        Whether the target is a number; else a class, by its text.
    batch
        Rows that are predicted together, before their labels can be learnt.
    options
        Of the model.
    lateness
        When labels come.
    skip_incomplete
        Whether rows without a value in a feature are left out; else they are an error.
    """

    kind: str
    regression: bool
    batch: int
    options: dict[str, Any]
    lateness: Lateness
    skip_incomplete: bool = False

    def model(self) -> Any:
        """Return a model that has seen nothing."""
        return (regressor if self.regression else classifier)(self.kind, **self.options)

    def as_dict(self) -> dict[str, Any]:
        """Return nested plain values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> Settings:
        """Return what `as_dict` wrote."""
        return cls(**{**given, "lateness": Lateness(**given["lateness"])})


class Session:
    """A model with all that goes on when a stream does.

    Attributes
    ----------
    rows, left_out, learnt
        Rows predicted or left out, those left out for cells without a value, labels learnt.
    source_rows
        Rows predicted or left out of what the rows come from now.
    scores
        Of the model, and of what can be predicted without features.
    predict_seconds, learn_seconds, timed_rows
        CPU time of this process since the session began or was loaded, and rows since then.
    """

    def __init__(self, settings: Settings, columns: Columns) -> None:
        self.settings = settings
        self.columns = columns
        self.labels = Codes()
        self.model = settings.model()
        self.waiting = Waiting(settings.lateness, len(columns.features))
        self.naive = Naive(settings.regression)
        kind: Any = NumberScore if settings.regression else ClassScore
        names = ("model", "no change", "mean" if settings.regression else "majority")
        self.scores: dict[str, Score] = {name: kind() for name in names}
        self.rows = self.left_out = self.learnt = self.source_rows = 0
        self.predict_seconds = self.learn_seconds = 0.0
        self.timed_rows = 0

    def step(self, cells: Cells) -> None:
        """Predict and score rows, then learn all rows whose labels have come.

        Raises
        ------
        InvalidInput
            When a cell does not fit; the session is as it was before.
        """
        numbered = list(enumerate(cells, self.source_rows + 1))
        if self.settings.skip_incomplete:
            numbered = [pair for pair in numbered if not self.columns.incomplete(pair[1])]
        numbers, kept = [k for k, _ in numbered], [row for _, row in numbered]
        y = self._targets(kept, numbers)
        self._require_few_classes(kept)
        X = self.columns.encode(kept, numbers)
        if not self.settings.regression:
            y = self._coded(kept)
        predictions = self._predictions(X)
        places = np.array(numbers, dtype=np.int64) - 1 + self.rows - self.source_rows
        self.waiting.add(places, X, y)
        self.rows += len(cells)
        self.source_rows += len(cells)
        self.timed_rows += len(cells)
        self.left_out += len(cells) - len(kept)
        for name, predicted in predictions.items():
            self.scores[name].add(y, predicted)
        self._learn(*self.waiting.come(self.rows))

    @property
    def held(self) -> int:
        """Rows that the model remembers, the mean over its trees."""
        return held_rows(self.model) if self.learnt else 0

    def _targets(self, cells: Cells, numbers: list[int]) -> FloatArray:
        place = self.columns.target
        if not self.settings.regression:
            return np.empty(0)
        return finite([row[place] for row in cells], self.columns.header[place], numbers)

    def _require_few_classes(self, cells: Cells) -> None:
        if self.settings.regression:
            return
        words = {row[self.columns.target].strip() for row in cells}
        if len(self.labels.words.keys() | words) > MOST_CLASSES + len(MISSING):
            raise InvalidInput(
                f"target {self.columns.header[self.columns.target]!r} has more than "
                f"{MOST_CLASSES:,} classes, which trees count in every node; give --regression "
                "where it is a number"
            )

    def _coded(self, cells: Cells) -> FloatArray:
        """Return the numbers of the classes, NaN where there is none."""
        words = [row[self.columns.target] for row in cells]
        known = np.array([not is_missing(word) for word in words], dtype=np.bool_)
        y = np.full(len(words), np.nan)
        y[known] = self.labels.of(w for w, there in zip(words, known, strict=True) if there)
        return y

    def _predictions(self, X: FloatArray) -> dict[str, FloatArray]:
        if not self.learnt or not len(X):
            return {}
        clock = process_time()
        predicted = np.asarray(self.model.predict(X), dtype=np.float64)
        self.predict_seconds += process_time() - clock
        return {"model": predicted, **self.naive.predict(len(X))}

    def _learn(self, X: FloatArray, y: FloatArray) -> None:
        if not len(y):
            return
        clock = process_time()
        self.model.partial_fit(X, y if self.settings.regression else y.astype(np.int64))
        self.learn_seconds += process_time() - clock
        self.naive.learn(y)
        self.learnt += len(y)
