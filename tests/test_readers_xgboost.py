"""XGBoost's models: single precision, splits below a value, missing values, base scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from reading import COLUMNS, INFINITE, SPECIAL, diamonds, hard_rows, same, sample
from scipy.sparse import csr_array

from forestprune import InvalidInput, prune, pruning_data, read_ensemble

xgboost = pytest.importorskip("xgboost")

# XGBoost adds in single precision.
SINGLE = 2e-6

OPTIONS: dict[str, Any] = {"n_estimators": 8, "max_depth": 4, "n_jobs": 1, "random_state": 0}

MODELS: dict[str, dict[str, Any]] = {
    "squared": {},
    "base_score": {"base_score": 0.3},
    "exact": {"tree_method": "exact"},
    "leafwise": {"grow_policy": "lossguide", "max_leaves": 9, "max_depth": 0},
    "large": {"max_depth": 12, "n_estimators": 2, "min_child_weight": 0},
    "dart": {"booster": "dart", "rate_drop": 0.5},
    "parallel": {"num_parallel_tree": 3, "subsample": 0.5},
    "missing_zero": {"missing": 0.0},
    "absolute": {"objective": "reg:absoluteerror"},
    "huber": {"objective": "reg:pseudohubererror"},
    "quantile": {"objective": "reg:quantileerror", "quantile_alpha": 0.2},
    "poisson": {"objective": "count:poisson"},
    "gamma": {"objective": "reg:gamma"},
    "tweedie": {"objective": "reg:tweedie"},
    "odds": {"objective": "reg:logistic"},
}
SCORED = ("poisson", "gamma", "tweedie", "odds")


@pytest.mark.parametrize("name", sorted(MODELS))
def test_the_full_model_is_the_source(name: str) -> None:
    X, y = sample()
    y = y / y.max() if name == "odds" else y
    model = xgboost.XGBRegressor(**OPTIONS | MODELS[name]).fit(X, y)
    ensemble = read_ensemble(model)
    rows = hard_rows(ensemble, SPECIAL + INFINITE)
    same(ensemble.predict(rows), model.predict(rows), SINGLE)
    same(ensemble.raw_predict(rows), model.predict(rows, output_margin=True), SINGLE)
    rows = hard_rows(ensemble, SPECIAL)  # its own apply, unlike predict, takes nothing infinite
    leaves = model.apply(rows)
    for code, source in zip(ensemble.apply(rows), leaves.T, strict=True):
        pairs = set(zip(code.tolist(), source.tolist(), strict=True))
        assert len(pairs) == len({leaf for _, leaf in pairs}) == len({c for c, _ in pairs})
    assert ensemble.target_is_score == (name in SCORED)


@pytest.mark.parametrize("objective", ["binary:logistic", "multi:softprob", "multi:softmax"])
def test_classifiers(objective: str) -> None:
    X, y = sample()
    target = np.digitize(y, np.quantile(y, [0.4, 0.7]))
    if objective.startswith("binary"):
        target = (target > 0) * 1
    model = xgboost.XGBClassifier(**OPTIONS, objective=objective).fit(X, target)
    ensemble = read_ensemble(model)
    rows = hard_rows(ensemble, SPECIAL + INFINITE)
    same(ensemble.raw_predict(rows), model.predict(rows, output_margin=True), SINGLE)
    same(ensemble.predict_proba(rows), model.predict_proba(rows), SINGLE)
    clear = np.sort(model.predict_proba(rows), axis=1)
    clear = clear[:, -1] - clear[:, -2] > 1e-5
    assert clear.mean() > 0.9
    np.testing.assert_array_equal(ensemble.predict(rows)[clear], model.predict(rows)[clear])
    pruned = prune(model, X, target, alpha=0.2)
    assert (pruned.predict(X) == model.predict(X)).mean() > 0.8


def test_several_outputs() -> None:
    X, y = sample()
    several = np.column_stack([y, 2.0 - y])
    model = xgboost.XGBRegressor(**OPTIONS).fit(X, several)
    ensemble = read_ensemble(model)
    same(ensemble.predict(X), model.predict(X), SINGLE)
    data = pruning_data(model, X, several)
    same(data.target + data.offset, several)


def test_random_forest() -> None:
    X, y = sample()
    model = xgboost.XGBRFRegressor(**OPTIONS).fit(X, y)
    same(read_ensemble(model).predict(X), model.predict(X), SINGLE)


@pytest.mark.parametrize("booster", ["gbtree", "dart"])
def test_real_data_with_names_early_stopping_and_weights(booster: str) -> None:
    X, y = diamonds()
    weight = 1.0 + np.arange(len(y)) % 3
    model = xgboost.XGBRegressor(
        **OPTIONS | {"n_estimators": 60, "learning_rate": 0.6, "booster": booster},
        early_stopping_rounds=2,
    )
    half = slice(0, 400)
    model.fit(
        X[half],
        y[half],
        sample_weight=weight[half],
        eval_set=[(X[400:], y[400:])],
        verbose=False,
    )
    ensemble = read_ensemble(model)
    assert ensemble.n_trees == model.best_iteration + 1 < 60
    same(ensemble.predict(X), model.predict(X), SINGLE)
    same(ensemble.predict(X[X.columns[::-1]]), model.predict(X), SINGLE)
    whole = read_ensemble(model.get_booster())
    assert whole.n_trees > ensemble.n_trees
    same(whole.predict(X), model.get_booster().predict(xgboost.DMatrix(X)), SINGLE)
    pruned = prune(model, X[half], y[half], alpha=0.1, sample_weight=weight[half])
    assert pruned.n_nodes < ensemble.n_nodes
    assert np.mean((pruned.predict(X[400:]) - y[400:]) ** 2) < 0.15 * np.var(y)


def test_every_kind_of_matrix_gives_the_same() -> None:
    X, y = sample()
    model = xgboost.XGBRegressor(**OPTIONS).fit(X, y)
    ensemble = read_ensemble(model)
    assert ensemble.feature_names is None
    expected = model.predict(X)
    for kind in (np.asfortranarray(X), pd.DataFrame(X, columns=COLUMNS), X.tolist()):
        same(ensemble.predict(kind), expected, SINGLE)
    # What a sparse matrix does not hold is missing to XGBoost, and not zero.
    sparse = csr_array(np.nan_to_num(X))
    same(ensemble.predict(sparse), model.predict(sparse), SINGLE)
    assert np.abs(ensemble.predict(sparse) - ensemble.predict(np.nan_to_num(X))).max() > 0.01


def test_covers_are_the_weights_of_the_fit() -> None:
    X, y = sample()
    weight = 1.0 + np.arange(len(y)) % 3
    trees = read_ensemble(xgboost.XGBRegressor(**OPTIONS).fit(X, y, sample_weight=weight)).trees
    assert {tree.cover[0] for tree in trees} == {weight.sum()}
    assert all(tree.has_mean_values for tree in trees)


@pytest.mark.parametrize("label", [0, 1])
@pytest.mark.filterwarnings("ignore:no tree survives")
def test_a_response_of_zeros_or_ones(label: int) -> None:
    X, _ = sample(60)
    model = xgboost.XGBRegressor(**OPTIONS, objective="reg:logistic")
    model.fit(X, np.full(len(X), label))
    same(read_ensemble(model).raw_predict(X), model.predict(X, output_margin=True), SINGLE)
    prune(model, X, np.full(len(X), label))


def hinge(y: Any, raw: Any) -> Any:
    return raw - y, np.ones_like(y)


def test_an_objective_of_ones_own_predicts_scores() -> None:
    X, y = sample()
    model = xgboost.XGBRegressor(**OPTIONS, objective=hinge).fit(X, y)
    same(read_ensemble(model).predict(X), model.predict(X), SINGLE)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"booster": "gblinear", "max_depth": None}, "must boost trees, not 'gblinear'"),
        ({"objective": "survival:cox"}, "'survival:cox', whose scores have no least squares"),
        (
            {"objective": "reg:quantileerror", "quantile_alpha": [0.2, 0.8]},
            "several quantiles of one response",
        ),
        ({"objective": "binary:hinge"}, "'binary:hinge', whose scores"),
        ({"multi_strategy": "multi_output_tree"}, "has vectors in its leaves"),
        ({"objective": "binary:logistic"}, "XGBRegressor has 'binary:logistic'"),
        ({"enable_categorical": True}, "has categorical features"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*Parameters.*")
def test_models_that_are_refused(options: dict[str, Any], message: str) -> None:
    X, y = sample()
    if "binary" in options.get("objective", ""):
        y = (y > 3.0) * 1.0
    if "multi_strategy" in options:
        y = np.column_stack([y, y])
    if "enable_categorical" in options:
        X = pd.DataFrame(X, columns=COLUMNS)
        X["a"] = pd.Categorical(["u", "v"] * (len(X) // 2))
    kept = {name: value for name, value in (OPTIONS | options).items() if value is not None}
    with pytest.raises(InvalidInput, match=message):
        read_ensemble(xgboost.XGBRegressor(**kept).fit(X, y))


def test_a_model_that_was_not_fitted() -> None:
    with pytest.raises(InvalidInput, match="this XGBClassifier is not"):
        read_ensemble(xgboost.XGBClassifier())
