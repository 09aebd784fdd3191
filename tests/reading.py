"""Rows on which readers go wrong, and models that learn from them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from forestprune import TreeEnsemble
from studies.datasets import load

COLUMNS = ["a", "b", "c", "d", "e"]
SPECIAL = [np.nan, 0.0, -0.0, 1e-36, -1e-36, 2e-35, 5e-324, 1.0]
INFINITE = [np.inf, -np.inf, 1e300, -1e300, 3.5e38]


def sample(rows: int = 400) -> tuple[Any, Any]:
    """Rows with many equal values, zeros and holes, and a response above 1."""
    generator = np.random.default_rng(0)
    X = np.round(generator.normal(size=(rows, 5)), 1)
    y = X[:, 0] * X[:, 1] + np.abs(X[:, 2]) + 0.1 * generator.normal(size=rows)
    X[generator.random(X.shape) < 0.1] = np.nan
    X[generator.random(rows) < 0.4, 3] = 0.0
    return X, y - y.min() + 1.0


def hard_rows(ensemble: TreeEnsemble, special: list[float], rows: int = 1500) -> Any:
    """Rows of an ensemble's own thresholds and their neighbours, and special values."""
    generator = np.random.default_rng(1)
    X = np.empty((rows, ensemble.n_features))
    for f in range(ensemble.n_features):
        own = np.concatenate([tree.threshold[tree.feature == f] for tree in ensemble.trees])
        own = np.unique(own[np.isfinite(own) & (np.abs(own) < 1e30)])
        near = own.astype(np.float32)
        steps = [own, near]
        for towards in (np.inf, -np.inf):
            steps += [np.nextafter(own, towards), np.nextafter(near, np.float32(towards))]
        X[:, f] = generator.choice(np.concatenate([*steps, special]), rows)
    return X


def same(given: Any, expected: Any, tolerance: float = 1e-12) -> None:
    """Assert equality up to rounding, relative to the largest value."""
    wanted = np.asarray(expected, dtype=np.float64).reshape(np.shape(given))
    np.testing.assert_allclose(given, wanted, rtol=tolerance, atol=tolerance * np.abs(wanted).max())


def diamonds(rows: int = 600) -> tuple[pd.DataFrame, Any]:
    """Some rows of a real data set, with column names."""
    data = load("diamonds")
    picked = np.random.default_rng(0).permutation(len(data.y))[:rows]
    return data.X.iloc[picked].reset_index(drop=True), data.y[picked]
