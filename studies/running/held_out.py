"""Rows that an ensemble was not fitted on, and the errors there of what is left of it."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from forestprune import PrunedEnsemble, TreeEnsemble
from studies.running.methods import Solved

# Rows (m, features) and their response (m,).
Part = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]


class Predictor(Protocol):
    """What is asked of a model."""

    @property
    def predict(self) -> Callable[[Any], Any]:
        """From rows (m, features) to predictions (m,)."""


def mean_squared_error(model: Predictor, part: Part) -> float:
    """Return the mean squared error of a model on a part."""
    X, y = part
    return float(np.mean((y - model.predict(X)) ** 2))


@dataclass(frozen=True)
class HeldOut:
    """An ensemble with validation and test rows.

    Attributes
    ----------
    ensemble
        As it was fitted.
    parts
        By name, rows and response, in the units of the training rows.
    """

    ensemble: TreeEnsemble
    parts: dict[str, Part]

    def left_by(self, solved: Solved) -> PrunedEnsemble:
        """Return the ensemble that a solver has left; there must be a choice."""
        pruned = PrunedEnsemble.cut(self.ensemble, solved.result, solved.alpha)
        if solved.polishing is None or solved.polished is None:
            return pruned
        return pruned.polished(solved.polishing, solved.polished)

    def errors(self, model: TreeEnsemble | PrunedEnsemble) -> dict[str, float]:
        """Return the mean squared error ``…_mse`` and ``…_r2`` of a model on each part.

        R² is 1 − MSE / variance of the response on the part, and 0 where that is constant.
        """
        found = {}
        for name, part in self.parts.items():
            error = mean_squared_error(model, part)
            variance = float(part[1].var())
            found[f"{name}_mse"] = error
            found[f"{name}_r2"] = 1.0 - error / variance if variance > 0.0 else 0.0
        return found

    def write(self, data_path: Path) -> None:
        """Write it beside the file with the pruning data of the training rows."""
        with _beside(data_path).open("wb") as file:
            pickle.dump(self, file, pickle.HIGHEST_PROTOCOL)

    @classmethod
    def read(cls, data_path: Path) -> HeldOut:
        """Return what `write` wrote."""
        with _beside(data_path).open("rb") as file:
            found: Any = pickle.load(file)
        assert isinstance(found, cls)
        return found


def _beside(data_path: Path) -> Path:
    return data_path.with_name(f"{data_path.stem}-held-out{data_path.suffix}")
