"""CatBoost's models: oblivious and other trees, missing values, links."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from reading import COLUMNS, INFINITE, SPECIAL, diamonds, hard_rows, same, sample
from scipy.sparse import csr_array, csr_matrix

from forestprune import InvalidInput, LayerPruning, prune, pruning_data, read_ensemble

catboost = pytest.importorskip("catboost")

OPTIONS: dict[str, Any] = {
    "iterations": 8,
    "depth": 4,
    "verbose": False,
    "allow_writing_files": False,
    "thread_count": 1,
    "random_seed": 0,
}

MODELS: dict[str, dict[str, Any]] = {
    "squared": {},
    "missing_largest": {"nan_mode": "Max"},
    "leafwise": {"grow_policy": "Lossguide", "max_leaves": 9},
    "depthwise": {"grow_policy": "Depthwise"},
    "large": {"depth": 8, "iterations": 2},
    "ordered": {"boosting_type": "Ordered"},
    "absolute": {"loss_function": "MAE"},
    "quantile": {"loss_function": "Quantile:alpha=0.2"},
    "poisson": {"loss_function": "Poisson"},
    "no_average": {"boost_from_average": False},
    "several": {"loss_function": "MultiRMSE"},
}


@pytest.mark.parametrize("name", sorted(MODELS))
def test_the_full_model_is_the_source(name: str) -> None:
    X, y = sample()
    target = np.column_stack([y, 2.0 - y]) if name == "several" else y
    model = catboost.CatBoostRegressor(**OPTIONS | MODELS[name]).fit(X, target)
    ensemble = read_ensemble(model)
    rows = hard_rows(ensemble, SPECIAL + INFINITE)
    same(ensemble.predict(rows), model.predict(rows))
    same(ensemble.raw_predict(rows), model.predict(rows, prediction_type="RawFormulaVal"))
    assert ensemble.target_is_score == (name == "poisson")
    assert max(len(tree.leaves) for tree in ensemble.trees) > 64 or name != "large"


@pytest.mark.parametrize("loss", ["Logloss", "MultiClass", "MultiClassOneVsAll"])
def test_classifiers(loss: str) -> None:
    X, y = sample()
    target = np.array(["p", "q", "r"])[np.digitize(y, np.quantile(y, [0.4, 0.7]))]
    if loss == "Logloss":
        target = np.where(target == "p", "p", "q")
    model = catboost.CatBoostClassifier(**OPTIONS, loss_function=loss).fit(X, target)
    ensemble = read_ensemble(model)
    rows = hard_rows(ensemble, SPECIAL + INFINITE)
    same(ensemble.raw_predict(rows), model.predict(rows, prediction_type="RawFormulaVal"))
    same(ensemble.predict_proba(rows), model.predict_proba(rows))
    np.testing.assert_array_equal(ensemble.predict(rows), np.ravel(model.predict(rows)))
    pruned = prune(model, X, target, alpha=0.2)
    assert (pruned.predict(X) == np.ravel(model.predict(X))).mean() > 0.8


def test_layers_are_the_splits_in_the_order_they_were_chosen() -> None:
    X, y = sample()
    model = catboost.CatBoostRegressor(**OPTIONS).fit(X, y)
    ensemble = read_ensemble(model)
    for tree in ensemble.trees:
        for layer in range(tree.depth):
            here = tree.layer == layer
            assert len(set(tree.feature[here])) == len(set(tree.threshold[here])) == 1
    problem = LayerPruning(pruning_data(model, X, y), 0.0)
    losses = [problem.loss(np.minimum(problem.full(), k)) for k in range(5)]
    assert losses == sorted(losses, reverse=True)


def test_a_leaf_that_no_row_reached_does_not_count() -> None:
    X, y = sample()
    model = catboost.CatBoostRegressor(**OPTIONS).fit(X, y)
    trees = read_ensemble(model).trees
    empty = [tree.cover == 0.0 for tree in trees]
    assert any(none.any() for none in empty)
    for tree in trees:
        assert tree.cover[0] == len(y)
        assert tree.has_mean_values


def test_real_data_with_names_early_stopping_and_weights() -> None:
    X, y = diamonds()
    weight = 1.0 + np.arange(len(y)) % 3
    half = slice(0, 400)
    model = catboost.CatBoostRegressor(**OPTIONS | {"iterations": 80, "learning_rate": 0.9})
    model.fit(
        X[half],
        y[half],
        sample_weight=weight[half],
        eval_set=(X[400:], y[400:]),
        early_stopping_rounds=3,
    )
    ensemble = read_ensemble(model)
    assert ensemble.n_trees == model.tree_count_ < 80
    same(ensemble.predict(X), model.predict(X))
    same(ensemble.predict(X[X.columns[::-1]]), model.predict(X))
    pruned = prune(model, X[half], y[half], alpha=0.1, sample_weight=weight[half])
    assert pruned.n_nodes < ensemble.n_nodes
    assert np.mean((pruned.predict(X[400:]) - y[400:]) ** 2) < 0.15 * np.var(y)


def test_every_kind_of_matrix_gives_the_same() -> None:
    X, y = sample()
    model = catboost.CatBoostRegressor(**OPTIONS).fit(X, y)
    ensemble = read_ensemble(model)
    assert ensemble.feature_names is None
    for kind in (np.asfortranarray(X), pd.DataFrame(X, columns=COLUMNS), X.tolist()):
        same(ensemble.predict(kind), model.predict(X))
    same(ensemble.predict(csr_array(X)), model.predict(csr_matrix(X)))


def test_the_plain_class_takes_any_loss() -> None:
    X, y = sample()
    model = catboost.CatBoost(OPTIONS | {"loss_function": "Logloss"}).fit(X, (y > 2.5) * 1)
    ensemble = read_ensemble(model)
    share = model.predict(X, prediction_type="Probability")
    same(ensemble.predict_proba(X), share)
    assert ensemble.classes is not None
    assert ensemble.classes.tolist() == [0, 1]


def test_categorical_features_are_refused() -> None:
    X, y = sample()
    frame = pd.DataFrame(X, columns=COLUMNS)
    frame["a"] = np.where(np.arange(len(y)) % 2, "u", "v")
    model = catboost.CatBoostRegressor(**OPTIONS).fit(frame, y, cat_features=["a"])
    with pytest.raises(InvalidInput, match=r"features that are not numbers \(categorical"):
        read_ensemble(model)


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        ("RMSEWithUncertainty", "loss 'RMSEWithUncertainty', whose scores have no least squares"),
        ("QueryRMSE", "loss 'QueryRMSE'"),
    ],
)
def test_losses_that_are_refused(loss: str, message: str) -> None:
    X, y = sample()
    group = {"group_id": np.repeat(np.arange(40), 10)} if loss == "QueryRMSE" else {}
    model = catboost.CatBoost(OPTIONS | {"loss_function": loss})
    model.fit(catboost.Pool(X, y, **group))
    with pytest.raises(InvalidInput, match=message):
        read_ensemble(model)


def test_a_probability_threshold_of_ones_own_is_refused() -> None:
    X, y = sample()
    model = catboost.CatBoostClassifier(**OPTIONS).fit(X, y > 2.5)
    model.set_probability_threshold(0.3)
    with pytest.raises(InvalidInput, match=r"probability threshold of 0\.3"):
        read_ensemble(model)


def test_a_model_that_was_not_fitted() -> None:
    with pytest.raises(InvalidInput, match="this CatBoostRegressor is not"):
        read_ensemble(catboost.CatBoostRegressor())
