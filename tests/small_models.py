"""Pruned models of all kinds that are small and quick to make."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

from forestprune import PrunedEnsemble, prune

generator = np.random.default_rng(0)
X = generator.normal(size=(200, 3)).round(2)
Y = X[:, 0] ** 2 + X[:, 1] + 0.1 * generator.normal(size=200)
LABELS = np.array(["low", "middle", "high"])[np.digitize(Y, [0.0, 1.5])]


@cache
def pruned(name: str) -> PrunedEnsemble:
    """One of the models of `NAMES`; they are never changed."""
    forest = RandomForestRegressor(8, max_depth=4, random_state=0)
    boosting = GradientBoostingRegressor(n_estimators=12, random_state=0)
    if name == "empty":
        with pytest.warns(UserWarning, match="no tree survives"):
            return prune(boosting.fit(X, Y), X, Y, alpha=1e9)
    match name:
        case "forest":
            return prune(forest.fit(X, Y), X, Y, alpha=0.1)
        case "subtrees":
            return prune(forest.fit(X, Y), X, Y, alpha=0.1, shape="subtree", polish="best_subset")
        case "boosting":  # starts from a mean
            return prune(boosting.fit(X, Y), X, Y, max_nodes=20, polish=None)
        case "outputs":
            both = np.column_stack([Y, X[:, 2]])
            return prune(forest.fit(X, both), X, both, alpha=0.1)
        case "validated":
            return prune(boosting.fit(X, Y), X, Y, alpha=1.0, validation_data=(X, Y))
        case "missing":
            holes = np.where(X > 1.5, np.nan, X)
            return prune(forest.fit(holes, Y), holes, Y, alpha=0.01)
        case "infinite":  # a threshold of +inf: only missing values go the other way
            holes = np.column_stack([np.where(X[:, 0] > 0.0, np.nan, 1.0), X[:, 1]])
            model = RandomForestRegressor(2, max_depth=2, random_state=0).fit(holes, X[:, 0])
            return prune(model, holes, X[:, 0], alpha=0.0, polish=None)
        case "classes":
            model = RandomForestClassifier(6, max_depth=4, random_state=0)
            return prune(model.fit(X, LABELS), X, LABELS, alpha=0.1)
        case "objects":
            words = LABELS.astype(object)
            model = GradientBoostingClassifier(n_estimators=3, random_state=0).fit(X, words)
            return prune(model, X, words, alpha=0.1)
        case "categories":  # of one feature, compared in double precision
            coded = np.column_stack([np.floor(4.0 * X[:, 0]) % 9, X[:, 1]])
            model = HistGradientBoostingRegressor(max_iter=5, categorical_features=[0])
            y = Y + 3.0 * np.isin(coded[:, 0], [1, 4, 5])
            return prune(model.fit(coded, y), coded, y, alpha=0.01)
    raise KeyError(name)


def rows_of(model: PrunedEnsemble) -> Any:
    """Rows that such a model takes: ordinary ones, large ones and, where it can, missing ones."""
    width = model.model.n_features
    rows = np.vstack([X, 1e9 * X, np.full((1, 3), np.nan)])[:, :width]
    if any(tree.categories is not None for tree in model.model.trees):
        rows[:, 0] = np.arange(len(rows)) % 12
    return rows if model.model.allow_nan else rows[:-1]


NAMES = (
    "forest",
    "subtrees",
    "boosting",
    "outputs",
    "validated",
    "missing",
    "infinite",
    "classes",
    "objects",
    "categories",
    "empty",
)
