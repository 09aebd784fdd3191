"""scikit-learn's histogram gradient boosting: float64 splits, missing values, categories."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from reading import INFINITE, SPECIAL, diamonds, hard_rows, same, sample
from scipy.sparse import csr_array
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

from forestprune import InvalidInput, prune, pruning_data, read_ensemble

OPTIONS: dict[str, Any] = {"max_iter": 8, "min_samples_leaf": 5, "random_state": 0}


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Its many small fits are fastest alone."""
    with threadpool_limits(1):
        yield


LOSSES: dict[str, dict[str, Any]] = {
    "squared": {},
    "absolute": {"loss": "absolute_error"},
    "quantile": {"loss": "quantile", "quantile": 0.3},
    "poisson": {"loss": "poisson"},
    "gamma": {"loss": "gamma"},
    "large": {"max_leaf_nodes": None, "min_samples_leaf": 1, "max_iter": 2},
    "stumps": {"max_depth": 1},
    "monotonic": {"monotonic_cst": [1, 0, 0, -1, 0]},
    "early": {"early_stopping": True, "max_iter": 40},
}


@pytest.mark.parametrize("holes", [True, False])
@pytest.mark.parametrize("name", sorted(LOSSES))
def test_the_full_model_is_the_source(name: str, holes: bool) -> None:
    X, y = sample()
    X = X if holes else np.nan_to_num(X)
    model = HistGradientBoostingRegressor(**OPTIONS | LOSSES[name]).fit(X, y)
    ensemble = read_ensemble(model)
    rows = hard_rows(ensemble, SPECIAL + INFINITE)
    same(ensemble.predict(rows), model.predict(rows))
    assert ensemble.target_is_score == (name in ("poisson", "gamma"))
    assert max(len(tree.leaves) for tree in ensemble.trees) > 64 or name != "large"
    pruned = prune(model, X, y, alpha=0.01)
    assert 0 < pruned.n_nodes <= ensemble.n_nodes


def test_a_logarithmic_link_is_pruned_against_the_scores() -> None:
    X, y = sample()
    model = HistGradientBoostingRegressor(**OPTIONS, loss="poisson").fit(X, y)
    data = pruning_data(model, X, y)
    same(data.target + data.offset, np.log(model.predict(X))[:, None])
    pruned = prune(model, X, y, alpha=0.1)
    same(pruned.predict(X), np.exp(pruned.raw_predict(X)))
    with pytest.raises(InvalidInput, match="y must be finite"):
        pruning_data(model, X, np.full(len(X), np.nan))


@pytest.mark.parametrize("classes", [2, 3])
def test_classifiers(classes: int) -> None:
    X, y = sample()
    target = np.array(["p", "q", "r"])[np.digitize(y, np.quantile(y, [0.4, 0.7])) % classes]
    model = HistGradientBoostingClassifier(**OPTIONS).fit(X, target)
    ensemble = read_ensemble(model)
    rows = hard_rows(ensemble, SPECIAL + INFINITE)
    same(ensemble.raw_predict(rows), model.decision_function(rows))
    same(ensemble.predict_proba(rows), model.predict_proba(rows))
    np.testing.assert_array_equal(ensemble.predict(rows), model.predict(rows))


def test_values_that_differ_in_double_precision_only() -> None:
    close = np.array([1.0, 1.0 + 1e-12])
    X = np.repeat(close, 50)[:, None]
    y = np.repeat([0.0, 1.0], 50)
    model = HistGradientBoostingRegressor(max_iter=1, learning_rate=1.0).fit(X, y)
    ensemble = read_ensemble(model)
    same(ensemble.predict(X), model.predict(X))
    assert np.ptp(ensemble.predict(X)) == pytest.approx(1.0)


def categorical(kind: str) -> tuple[pd.DataFrame, Any]:
    X, y = diamonds()
    frame = X.copy()
    names = ["red", "green", "blue", "white", "black", "grey", "pink", "lime"]
    place = (np.arange(len(y)) * 7) % 8
    column: Any = np.array(names, dtype=object)[place]
    if kind == "numbers":
        column = place * 1.0
    frame.insert(2, "colour", column)
    frame.loc[::9, "colour"] = np.nan if kind == "numbers" else None
    if kind == "category":
        frame["colour"] = frame["colour"].astype("category")
    return frame, y + np.where(place % 3 == 0, 1.5, 0.0)


@pytest.mark.parametrize("kind", ["category", "text", "numbers"])
@pytest.mark.parametrize("leaves", [15, 200])
def test_categorical_splits(kind: str, leaves: int) -> None:
    X, y = categorical(kind)
    chosen = "from_dtype" if kind == "category" else ["colour"]
    model = HistGradientBoostingRegressor(
        **OPTIONS | {"min_samples_leaf": 2, "max_iter": 6},
        max_leaf_nodes=leaves,
        categorical_features=chosen,
    ).fit(X, y)
    ensemble = read_ensemble(model)
    assert any(tree.categories is not None for tree in ensemble.trees)
    assert (max(len(tree.leaves) for tree in ensemble.trees) > 64) == (leaves > 64)
    same(ensemble.predict(X), model.predict(X))
    same(ensemble.predict(X[X.columns[::-1]]), model.predict(X))
    other = X.copy()
    if kind == "category":
        other["colour"] = other["colour"].cat.add_categories(["new"])
    if kind != "numbers":
        other.loc[1::5, "colour"] = "new"
    else:
        other.loc[1::5, "colour"] = 77.0
        same(ensemble.predict(other.to_numpy()), model.predict(other))
    same(ensemble.predict(other), model.predict(other))
    pruned = prune(model, X, y, alpha=0.3)
    assert 0 < pruned.n_nodes < ensemble.n_nodes
    copy = pickle.loads(pickle.dumps(pruned))
    np.testing.assert_array_equal(copy.predict(other), pruned.predict(other))
    again = ensemble.pruning_data(X, y)
    same((again.target + again.offset)[:, 0], y)
    with pytest.raises(InvalidInput, match="X has 3 features"):
        ensemble.predict(np.zeros((2, 3)))


def test_text_where_a_number_belongs() -> None:
    X, y = categorical("text")
    model = HistGradientBoostingRegressor(**OPTIONS, categorical_features=["colour"]).fit(X, y)
    ensemble = read_ensemble(model)
    wrong = X.astype(object)
    wrong.iloc[3, 0] = "heavy"
    with pytest.raises(InvalidInput, match="X, column 0: could not convert string"):
        ensemble.predict(wrong)
    with pytest.raises(InvalidInput, match="does not take sparse matrices"):
        prune(model, csr_array(np.zeros((len(y), X.shape[1]))), y)


def test_sparse_rows_are_refused_as_the_source_does() -> None:
    X, y = sample()
    model = HistGradientBoostingRegressor(**OPTIONS).fit(X, y)
    with pytest.raises(InvalidInput, match="does not take sparse matrices"):
        read_ensemble(model).predict(csr_array(np.nan_to_num(X)))
