"""Streams and models that tests of forgetful estimators share."""

from __future__ import annotations

from typing import Any

import numpy as np

import forestprune as fp

CLASSIFIERS = [fp.ForgetfulTreeClassifier, fp.ForgetfulForestClassifier]
REGRESSORS = [fp.ForgetfulTreeRegressor, fp.ForgetfulForestRegressor]
ESTIMATORS = CLASSIFIERS + REGRESSORS


def small(kind: Any, **options: Any) -> Any:
    if "Forest" in kind.__name__:
        options = {"n_trees": 4, **options}
    return kind(random_state=0, **options)


def stream(rows: int = 600, seed: int = 0, classes: int = 2) -> tuple[Any, Any]:
    """Rows of 7 features and classes that change their meaning in the middle."""
    rng = np.random.default_rng(seed)
    X = rng.random((rows, 7))
    score = np.where(np.arange(rows) < rows // 2, X[:, 0] + X[:, 1], X[:, 0] - X[:, 2] + 1.0)
    y = np.minimum((score * classes / 2).astype(np.int64), classes - 1)
    noise = rng.random(rows) < 0.1
    y[noise] = rng.integers(0, classes, noise.sum())
    return X, y


def learnt(model: Any, X: Any, y: Any, batch: int = 50, **options: Any) -> list[Any]:
    """Learn by batches; return what was predicted before each but the first."""
    seen = []
    for k, begin in enumerate(range(0, len(X), batch)):
        part = slice(begin, begin + batch)
        if k:
            seen.append(model.predict(X[part]))
        model.partial_fit(X[part], y[part], **options)
    return seen
