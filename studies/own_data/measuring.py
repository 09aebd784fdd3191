"""How well a model predicts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from forestprune import PrunedEnsemble, TreeEnsemble
from forestprune.estimators.folds import row_errors
from studies.own_data.parts import Rows


@dataclass(frozen=True)
class Scores:
    """How well a model predicts some rows.

    Attributes
    ----------
    error
        Mean squared error or, for classes, the Brier score.
    root
        Root of the mean squared error, in units of the target; NaN for classes.
    share
        R², NaN where the target is constant; for classes the share of right ones.
    """

    error: float
    root: float
    share: float


def scores(model: TreeEnsemble | PrunedEnsemble, rows: Rows) -> Scores:
    """Return how well a model predicts rows."""
    error = float(row_errors(model, rows.X, rows.y).mean())
    if model.classes is not None:
        right = np.asarray(model.predict(rows.X)) == rows.y
        return Scores(error, np.nan, float(right.mean()))
    spread = float(np.var(rows.y))
    return Scores(error, float(np.sqrt(error)), 1.0 - error / spread if spread > 0.0 else np.nan)
