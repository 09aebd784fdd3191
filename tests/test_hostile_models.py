"""Odd models, data and files: what is refused says why, what is taken predicts the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor

from forestprune import (
    ForestPrunerCV,
    ForestPrunerRegressor,
    InvalidInput,
    PrunedEnsemble,
    prune,
    read_ensemble,
)

GENERATOR = np.random.default_rng(0)
X = GENERATOR.normal(size=(80, 3))
Y = X[:, 0] + X[:, 1] ** 2
FOREST = RandomForestRegressor(3, max_depth=2, random_state=0).fit(X, Y)


@pytest.mark.parametrize("dtype", ["bool", "boolean"])
def test_categories_that_are_truth_values(dtype: str) -> None:
    frame = pd.DataFrame({"a": X[:, 0], "b": pd.Series(Y > 0.8, dtype=dtype).astype("category")})
    model = HistGradientBoostingRegressor(max_iter=4).fit(frame, Y)
    turned = frame.assign(b=frame["b"].to_numpy()[::-1]).astype({"b": frame["b"].dtype})
    for rows in (frame, turned):
        np.testing.assert_allclose(read_ensemble(model).predict(rows), model.predict(rows))
    assert np.ptp(model.predict(frame.assign(a=0.0))) > 0.1  # they do split


def test_categories_of_several_types() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    labels = np.array([1, "a", 2.5], dtype=object)[np.digitize(Y, [0.3, 1.2])]
    frame = pd.DataFrame({"a": X[:, 0], "b": pd.Series(labels).astype("category")})
    model = lightgbm.LGBMRegressor(
        n_estimators=4, verbose=-1, n_jobs=1, min_child_samples=3, min_data_per_group=1
    ).fit(frame, Y)
    np.testing.assert_allclose(read_ensemble(model).predict(frame), model.predict(frame))


def test_raw_scores_as_probabilities_are_refused() -> None:
    xgboost = pytest.importorskip("xgboost")
    model = xgboost.XGBClassifier(n_estimators=2, objective="binary:logitraw", n_jobs=1)
    with pytest.raises(InvalidInput, match="objective 'binary:logitraw'"):
        read_ensemble(model.fit(X, Y > 0.8))


def test_a_sum_of_models_does_not_tell_its_loss() -> None:
    catboost = pytest.importorskip("catboost")
    parts = [
        catboost.CatBoostRegressor(
            iterations=2, depth=2, verbose=False, allow_writing_files=False, thread_count=1
        ).fit(X, sign * Y)
        for sign in (1, -1)
    ]
    with pytest.raises(InvalidInput, match="sums of models"):
        read_ensemble(catboost.sum_models(parts, weights=[0.5, 1.0]))


@pytest.mark.parametrize("size", [1e300, 1e-300, 5e-324])
def test_sizes_whose_squares_are_no_numbers(size: float) -> None:
    with pytest.raises(InvalidInput, match="sample_weight must have a largest size"):
        prune(FOREST, X, Y, sample_weight=np.full(80, size))
    with pytest.raises(InvalidInput, match="y must have a largest size"):
        prune(FOREST, X, np.full(80, size))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"cv": []}, "cv must give at least one split"),
        ({"scoring": ["r2"]}, "scoring must be one scorer"),
        ({"scoring": lambda model, X, y: np.nan}, "scoring must give a number"),
        ({"selection": np.array([1, 2])}, "selection must be"),
        ({"estimator": [FOREST]}, "estimator must be an ensemble"),
    ],
)
def test_what_cross_validation_refuses(changed: dict[str, Any], message: str) -> None:
    given = {"estimator": RandomForestRegressor(2, max_depth=2), "alphas": 2, "cv": 2} | changed
    with pytest.raises(InvalidInput, match=message):
        ForestPrunerCV(**given).fit(X, Y)


def test_a_list_is_no_estimator() -> None:
    with pytest.raises(InvalidInput, match="a list of trees goes into prune"):
        ForestPrunerRegressor([FOREST]).fit(X, Y)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"version":1', '"version":9,"version":1', "a name occurs twice"),
        ('"missing":null', '"missing":1e308', "must be a number of type float32"),
        ("SCALE", "1e308", "scale is too large"),
    ],
)
def test_files_that_would_be_misread(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = tmp_path / "model.json"
    prune(FOREST, X, Y * 10, alpha=0.01).save(path)
    text = path.read_text(encoding="utf-8")
    if old == "SCALE":
        old = str(json.loads(text)["arrays"]["scale"]["values"][0])
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InvalidInput, match=message):
        PrunedEnsemble.load(path)


def test_a_folder_that_is_not_there_is_named_alone(tmp_path: Path) -> None:
    path = tmp_path / "none" / "model.npz"
    with pytest.raises(FileNotFoundError) as caught:
        prune(FOREST, X, Y).save(path)
    assert str(caught.value).endswith(f"'{path}'")
