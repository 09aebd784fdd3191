"""What forgetful estimators take and refuse: labels, weights, odd rows, parameters."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from forgetful_streams import CLASSIFIERS, ESTIMATORS, learnt, small, stream
from sklearn.exceptions import NotFittedError

import forestprune as fp


@pytest.mark.parametrize("kind", ESTIMATORS)
@pytest.mark.parametrize("checked", [True, False])
def test_a_refused_batch_leaves_the_model_as_it_was(kind: Any, checked: bool) -> None:
    X, y = stream(200)
    hole = X[:10].copy()
    hole[3, 1] = np.nan
    huge = X[:10].copy()
    huge[0, 0] = 1e300
    bad: list[tuple[Any, Any, dict[str, Any]]] = [
        (X[:10, :3], y[:10], {}),
        (X[:0], y[:0], {}),
        (X[:10], y[:9], {}),
        (X[0], y[:1], {}),
        (X[:10], y[:10], {"sample_weight": np.full(10, 0.5)}),
        (X[:10], y[:10], {"sample_weight": np.full(10, -1)}),
        (X[:10], y[:10], {"sample_weight": np.zeros(10)}),
        (X[:10], y[:10], {"sample_weight": np.ones(9)}),
    ]
    if checked:
        bad += [
            (hole, y[:10], {}),
            (huge, y[:10], {}),
            (X[:10], np.where(np.arange(10) == 2, np.nan, 1.0), {}),
            (X[:10], None, {}),
        ]
    if kind in CLASSIFIERS:
        bad += [
            (X[:10], np.array(["a", "b"] * 5), {}),
            (X[:10], np.array([0, 1, None] * 3 + [0], dtype=object), {}),
            (X[:10], y[:10], {"classes": [0, 1, 2]}),
            (X[:10], y[:10] + 5, {}),
        ]
    announced: dict[str, Any] = {"classes": [0, 1]} if kind in CLASSIFIERS else {}
    model = small(kind, check_input=checked)
    untouched = small(kind, check_input=checked)
    for rows, labels, options in bad[1:8]:
        with pytest.raises((ValueError, TypeError)):
            model.partial_fit(rows, labels, **options)
        with pytest.raises((NotFittedError, AttributeError)):
            model.predict(X)
    for one in (model, untouched):
        one.partial_fit(X[:100], y[:100], **announced)
    before = pickle.dumps(model)
    for rows, labels, options in bad:
        with pytest.raises((ValueError, TypeError)):
            model.partial_fit(rows, labels, **options)
    assert pickle.dumps(model) == before
    np.testing.assert_array_equal(
        learnt(model, X[100:], y[100:]), learnt(untouched, X[100:], y[100:])
    )


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_classes_may_come_late_unless_all_were_announced(kind: Any) -> None:
    X, y = stream(300, classes=3)
    names = np.array(["gamma", "beta", "alpha"])  # the later, the earlier in the alphabet
    model = small(kind)
    first = X[:50]
    model.partial_fit(first, np.repeat("gamma", 50))
    assert model.classes_.tolist() == ["gamma"]
    np.testing.assert_array_equal(model.predict(first), np.repeat("gamma", 50))
    model.partial_fit(X[50:150], np.minimum(y[50:150], 1).choose(names[:2]))
    model.partial_fit(X[150:], y[150:].choose(names))
    assert model.classes_.tolist() == ["alpha", "beta", "gamma"]
    frequencies = model.predict_proba(X)
    np.testing.assert_allclose(frequencies.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.predict(X), model.classes_[frequencies.argmax(axis=1)])
    assert model.score(X[150:], y[150:].choose(names)) > 0.6
    rows, labels, _ = model.retained()
    assert set(labels) <= set(names)
    assert len(rows) == len(labels)

    strict = small(kind).partial_fit(X[:50], names[[0] * 50], classes=names[:2])
    with pytest.raises(ValueError, match="found \\['alpha'\\]"):
        strict.partial_fit(X[:50], names[[2] * 50])


@pytest.mark.parametrize(
    "labels", [[False, True], [0.0, 1.0], [-5, 7], ["no", "yes"], [np.uint8(3), np.uint8(200)]]
)
def test_labels_of_any_type(labels: list[Any]) -> None:
    X, y = stream()
    plain, other = small(fp.ForgetfulTreeClassifier), small(fp.ForgetfulTreeClassifier)
    array = np.array(labels)
    np.testing.assert_array_equal(array[np.array(learnt(plain, X, y))], learnt(other, X, array[y]))
    assert other.classes_.dtype == array.dtype
    if array.dtype.kind == "U":
        boxed = small(fp.ForgetfulTreeClassifier)
        learnt(boxed, X, array[y].astype(object))
        np.testing.assert_array_equal(boxed.predict(X), other.predict(X))


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_a_batch_larger_than_memory(kind: Any) -> None:
    X, y = stream(500)
    model = small(kind, max_rows=100).partial_fit(X, y)
    assert np.all(model.held_ == 100)
    np.testing.assert_array_equal(model.retained()[0], X[400:].astype(np.float32))
    weights = np.zeros(500)
    weights[:3] = 1000
    model.partial_fit(X, y, sample_weight=weights)
    assert np.all(model.held_ <= 100)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_a_weight_is_a_number_of_times(kind: Any) -> None:
    X, y = stream(100)
    times = np.arange(100) % 3
    weighted, repeated = small(kind), small(kind)
    weighted.partial_fit(X, y, sample_weight=times)
    repeated.partial_fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_array_equal(weighted.predict(X), repeated.predict(X))


def test_odd_rows() -> None:
    y = np.arange(60) % 2
    for X in (np.zeros((60, 2)), np.repeat([[1.0, 2.0]], 60, axis=0), np.full((60, 2), 1e36)):
        model = small(fp.ForgetfulForestClassifier).partial_fit(X, y).partial_fit(X, y)
        np.testing.assert_allclose(model.predict_proba(X), 0.5)
    extreme = np.column_stack([np.where(y == 1, 1e36, -1e36), np.zeros(60)])
    tree = small(fp.ForgetfulTreeClassifier).partial_fit(extreme, y)
    assert tree.score(extreme, y) == 1.0
    constant = small(fp.ForgetfulTreeRegressor).partial_fit(extreme, np.ones(60))
    constant.partial_fit(extreme, np.ones(60))
    np.testing.assert_array_equal(constant.predict(extreme), 1.0)


@pytest.mark.parametrize(
    ("kind", "options", "named"),
    [
        (fp.ForgetfulTreeClassifier, {"criterion": "squared_error"}, "criterion"),
        (fp.ForgetfulTreeRegressor, {"criterion": "gini"}, "criterion"),
        (fp.ForgetfulTreeClassifier, {"adaptation": "none"}, "adaptation"),
        (fp.ForgetfulTreeClassifier, {"max_rows": 0}, "max_rows"),
        (fp.ForgetfulTreeClassifier, {"i_rate": -1.0}, "i_rate"),
        (fp.ForgetfulTreeClassifier, {"min_statistic": np.inf}, "min_statistic"),
        (fp.ForgetfulTreeClassifier, {"forget": "newest"}, "forget"),
        (fp.ForgetfulForestClassifier, {"voting": "hard"}, "voting"),
        (fp.ForgetfulForestClassifier, {"n_trees": 0}, "n_trees"),
        (fp.ForgetfulForestClassifier, {"max_features": 1.5}, "max_features"),
        (fp.ForgetfulForestClassifier, {"draw": "leaf"}, "draw"),
        (fp.ForgetfulForestClassifier, {"bagging": 6}, "bagging"),
    ],
)
def test_bad_parameters_are_named(kind: Any, options: dict[str, Any], named: str) -> None:
    X, y = stream(50)
    with pytest.raises(fp.InvalidInput, match=named):
        kind(**options).partial_fit(X, y)


def test_named_columns() -> None:
    X, y = stream(100)
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    model = small(fp.ForgetfulTreeClassifier).partial_fit(frame, y)
    assert model.feature_names_in_.tolist() == list("abcdefg")
    with pytest.raises(ValueError, match="feature names"):
        model.partial_fit(frame[list("bacdefg")], y)
