"""The forgetful models as streams use them: in batches, with classes as numbers."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from formulations.arrays import FloatArray, IntArray

CLASSIFIERS = {"tree": "ForgetfulTreeClassifier", "forest": "ForgetfulForestClassifier"}
REGRESSORS = {"tree": "ForgetfulTreeRegressor", "forest": "ForgetfulForestRegressor"}


def classifier(kind: str, **options: Any) -> Any:
    """Return an unfitted classifier, ``"tree"`` or ``"forest"``."""
    return _class(CLASSIFIERS[kind])(**options)


def regressor(kind: str, **options: Any) -> Any:
    """Return an unfitted regressor, ``"tree"`` or ``"forest"``."""
    return _class(REGRESSORS[kind])(**options)


def _class(name: str) -> Any:
    # Imported here: a process that measures another model is spared the time.
    return getattr(importlib.import_module("forestprune"), name)


class Forgetful:
    """A forgetful classifier with all its classes known from the beginning."""

    def __init__(self, model: Any, classes: int) -> None:
        self.model = model
        self._classes = np.arange(classes)

    def learn(self, X: FloatArray, y: IntArray) -> None:
        """Learn rows (b, features) of classes (b,)."""
        self.model.partial_fit(X, y, classes=self._classes)

    def predict(self, X: FloatArray) -> IntArray:
        """Return the classes (b,) of rows."""
        return np.asarray(self.model.predict(X), dtype=np.int64)

    def held(self) -> int | None:
        """Return how many rows the trees remember, the mean over trees."""
        return held_rows(self.model)


def held_rows(model: Any) -> int:
    """Return how many rows a fitted model remembers, the mean over its trees."""
    return round(float(np.mean(model.held_)))
