"""Forgetful models in river."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest

import forestprune as fp

river = pytest.importorskip("river")


def rows(n: int = 300) -> list[tuple[dict[str, float], bool]]:
    rng = np.random.default_rng(0)
    X = rng.random((n, 3))
    return [
        ({"a": float(x[0]), "b": float(x[1]), "c": float(x[2])}, bool(x[0] + x[1] > 1)) for x in X
    ]


def test_a_classifier_in_progressive_validation() -> None:
    from river import compose, evaluate, metrics, preprocessing

    model = fp.RiverClassifier(fp.ForgetfulTreeClassifier(random_state=0))
    score = evaluate.progressive_val_score(rows(600), model, metrics.Accuracy())
    assert score.get() > 0.8
    again = model.clone()
    assert again.predict_one({"a": 0.0}) is None
    pipeline = compose.Pipeline(preprocessing.StandardScaler(), again)
    losses = evaluate.progressive_val_score(rows(), pipeline, metrics.LogLoss())
    assert np.isfinite(losses.get())


def test_a_regressor_in_progressive_validation() -> None:
    from river import evaluate, metrics

    data = [(x, x["a"] * 10) for x, _ in rows(500)]
    model = fp.RiverRegressor(fp.ForgetfulForestRegressor(5, random_state=0))
    score = evaluate.progressive_val_score(data, model, metrics.MAE())
    assert score.get() < 1.0
    frame = pd.DataFrame([x for x, _ in data], index=range(10, 510))
    np.testing.assert_allclose(model.predict_many(frame)[10], model.predict_one(data[0][0]))


def test_rows_and_batches_give_what_the_estimator_gives() -> None:
    data = rows()
    frame = pd.DataFrame([x for x, _ in data])
    y = pd.Series([label for _, label in data])
    wrapped = fp.RiverClassifier(fp.ForgetfulForestClassifier(3, random_state=0))
    plain = fp.ForgetfulForestClassifier(3, random_state=0)
    assert wrapped.predict_proba_one(data[0][0]) == {}
    assert wrapped.predict_proba_many(frame).empty
    for begin in range(0, 300, 100):
        part = slice(begin, begin + 100)
        wrapped.learn_many(frame[part], y[part])
        plain.partial_fit(frame[part].to_numpy(), y[part].to_numpy())
    wrapped.learn_one(*data[0])
    plain.partial_fit(frame[:1].to_numpy(), y[:1].to_numpy())
    wanted = plain.predict_proba(frame.to_numpy())
    np.testing.assert_array_equal(wrapped.predict_proba_many(frame), wanted)
    turned = dict(reversed(data[5][0].items()))  # features in another order
    assert list(wrapped.predict_proba_one(turned).values()) == wanted[5].tolist()
    np.testing.assert_array_equal(wrapped.predict_proba_many(frame[["c", "a", "b"]]), wanted)
    assert wrapped.predict_many(frame).tolist() == plain.predict(frame.to_numpy()).tolist()
    same = wrapped.clone(include_attributes=True)
    assert same.predict_proba_one(turned) == wrapped.predict_proba_one(turned)


@pytest.mark.parametrize(
    ("x", "told"),
    [
        ({"a": 1.0, "b": 2.0}, "missing \\['c'\\]"),
        ({"a": 1.0, "b": 2.0, "d": 3.0}, "not seen before \\['d'\\]"),
        ({"a": 1.0, "b": 2.0, "c": 3.0, "d": 3.0}, "not seen before \\['d'\\]"),
        ({"a": 1.0, "b": 2.0, "c": "red"}, "numbers"),
    ],
)
def test_other_features_are_refused(x: dict[str, Any], told: str) -> None:
    model = fp.RiverClassifier(fp.ForgetfulTreeClassifier())
    model.learn_one({"a": 1.0, "b": 2.0, "c": 3.0}, True)
    for call in (lambda: model.learn_one(x, True), lambda: model.predict_one(x)):
        with pytest.raises(fp.InvalidInput, match=told):
            call()


def test_the_kind_of_model_must_fit() -> None:
    with pytest.raises(fp.InvalidInput, match="ForgetfulTreeRegressor"):
        fp.RiverClassifier(fp.ForgetfulTreeRegressor())
    with pytest.raises(fp.InvalidInput, match="ForgetfulTreeClassifier"):
        fp.RiverRegressor(fp.ForgetfulTreeClassifier())


def test_neither_river_nor_the_kernels_are_imported_before_they_are_needed() -> None:
    code = (
        "import sys, forestprune; "
        "assert 'river' not in sys.modules; "
        "assert 'forestprune.forgetful.engine' not in sys.modules; "
        "forestprune.ForgetfulTreeClassifier; "
        "assert 'forestprune.forgetful.engine' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="ForgetfulShrub"):
        fp.ForgetfulShrub  # noqa: B018
