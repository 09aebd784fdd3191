"""scikit-learn's classifiers and bagging: class frequencies, scores, labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from reading import COLUMNS, SPECIAL, hard_rows, same, sample
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeRegressor

from forestprune import (
    InvalidInput,
    LayerPruning,
    PrunedEnsemble,
    prune,
    pruning_data,
    read_ensemble,
)
from forestprune.links import Link

FOREST = {"n_estimators": 8, "max_depth": 5, "random_state": 0}
BOOSTING = {"n_estimators": 8, "random_state": 0}

CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "forest": lambda: RandomForestClassifier(**FOREST),
    "forest_weighted": lambda: RandomForestClassifier(**FOREST, class_weight="balanced"),
    "forest_pure_leaves": lambda: RandomForestClassifier(4, random_state=0),
    "extra_trees": lambda: ExtraTreesClassifier(**FOREST),
    "tree": lambda: DecisionTreeClassifier(max_depth=4),
    "bagging": lambda: BaggingClassifier(n_estimators=6, max_features=0.5, random_state=0),
    "bagging_few": lambda: BaggingClassifier(n_estimators=6, max_samples=5, random_state=0),
    "boosting": lambda: GradientBoostingClassifier(**BOOSTING),
    "boosting_zero": lambda: GradientBoostingClassifier(**BOOSTING, init="zero"),
    "boosting_forest": lambda: GradientBoostingClassifier(
        **BOOSTING, init=RandomForestClassifier(3, max_depth=2, random_state=0)
    ),
}
BOOSTED = ("boosting", "boosting_zero", "boosting_forest")


def labels(y: Any, count: int) -> Any:
    if count == 2:
        return np.where(y > np.median(y), "much", "little")
    return np.digitize(y, np.quantile(y, [0.3, 0.7])) * 10 - 5


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("name", sorted(CLASSIFIERS))
def test_the_full_model_is_the_source(name: str, count: int) -> None:
    X, y = sample()
    target = labels(y, count)
    model = CLASSIFIERS[name]()
    if name in BOOSTED:
        X = np.nan_to_num(X)
    model.fit(X, target)
    ensemble = read_ensemble(model)
    rows = hard_rows(ensemble, SPECIAL)
    if not ensemble.allow_nan:
        rows = np.nan_to_num(rows)
    share = model.predict_proba(rows)
    same(ensemble.predict_proba(rows), share)
    np.testing.assert_array_equal(ensemble.predict(rows), model.predict(rows))
    assert ensemble.predict(rows).dtype == model.classes_.dtype
    assert ensemble.n_outputs == (1 if count == 2 else count)
    wanted = share[:, 1] if count == 2 else share
    if name in BOOSTED:
        wanted = model.decision_function(rows)
    same(ensemble.raw_predict(rows), wanted)
    assert ensemble.target_is_score == (name in BOOSTED)
    assert all(tree.has_mean_values for tree in ensemble.trees)


def test_the_exponential_loss_has_half_the_log_odds() -> None:
    X, y = sample()
    X = np.nan_to_num(X)
    model = GradientBoostingClassifier(**BOOSTING, loss="exponential").fit(X, labels(y, 2))
    ensemble = read_ensemble(model)
    same(ensemble.predict_proba(X), model.predict_proba(X))
    same(ensemble.raw_predict(X), model.decision_function(X))


@pytest.mark.parametrize("loader", [load_breast_cancer, load_iris])
def test_forests_are_pruned_against_class_indicators(loader: Callable[..., Any]) -> None:
    X, y = loader(return_X_y=True)
    model = RandomForestClassifier(30, max_depth=4, random_state=0).fit(X[::2], y[::2])
    data = pruning_data(model, X[::2], y[::2])
    classes = len(model.classes_)
    indicator = np.eye(classes)[y[::2]]
    wanted = indicator[:, 1:] if classes == 2 else indicator
    same(data.target + data.offset, wanted)
    problem = LayerPruning(data, 0.0)
    assert problem.loss(problem.full()) == pytest.approx(
        ((wanted - model.predict_proba(X[::2])[:, -data.target.shape[1] :]) ** 2).sum(1).mean()
    )
    pruned = prune(model, X[::2], y[::2], alpha=0.2)
    assert pruned.n_nodes < 0.7 * read_ensemble(model).n_nodes
    share = pruned.predict_proba(X[1::2])
    assert share.shape == (len(X[1::2]), classes)
    assert share.min() >= 0.0
    same(share.sum(axis=1), np.ones(len(share)))
    assert (pruned.predict(X[1::2]) == y[1::2]).mean() > 0.9
    np.testing.assert_array_equal(pruned.classes, model.classes_)
    # What is proven is about the frequencies before they are clipped.
    raw = pruned.raw_predict(X[1::2])
    second = np.clip(raw, 0, 1) if classes == 2 else np.maximum(raw, 0.0)
    if classes == 2:
        same(share[:, 1], second)
    else:
        same(share, second / second.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("loader", [load_breast_cancer, load_iris])
def test_boosting_is_pruned_against_the_full_models_scores(loader: Callable[..., Any]) -> None:
    X, y = loader(return_X_y=True)
    model = GradientBoostingClassifier(n_estimators=30, random_state=0).fit(X[::2], y[::2])
    data = pruning_data(model, X[::2], y[::2])
    scores = model.decision_function(X[::2]).reshape(len(X[::2]), -1)
    same(data.target + data.offset, scores)
    pruned = prune(model, X[::2], y[::2], alpha=0.1, validation_data=(X[1::2], y[1::2]))
    assert pruned.n_nodes < 0.7 * read_ensemble(model).n_nodes
    assert (pruned.predict(X[1::2]) == y[1::2]).mean() > 0.9
    raw = pruned.raw_predict(X).reshape(len(X), -1)
    odds = np.exp(raw if raw.shape[1] > 1 else np.column_stack([np.zeros(len(X)), raw]))
    same(pruned.predict_proba(X), odds / odds.sum(axis=1, keepdims=True))
    assert pruned.validation is not None
    before, _ = pruned.validation
    other = model.decision_function(X[1::2]).reshape(len(X[1::2]), -1)
    plain = prune(model, X[::2], y[::2], alpha=0.1, polish=None).raw_predict(X[1::2])
    assert before == pytest.approx(((plain.reshape(other.shape) - other) ** 2).mean())


@pytest.mark.parametrize(
    "classes",
    [[False, True], [1.0, 2.0], ["a", "b"], [b"a", b"b"], [-3, 7], np.array(["x", 1], object)],
)
def test_labels_of_any_type(classes: Any) -> None:
    X, y = sample(100)
    known = np.asarray(classes)
    place = (y > np.median(y)).astype(int)
    target = known[place]
    model = DecisionTreeClassifier(max_depth=3)
    if known.dtype == object:
        with pytest.raises(TypeError):  # scikit-learn sorts its classes
            model.fit(X, target)
        return
    model.fit(X, target)
    for given in (target, target.tolist(), pd.Series(target), target[:, None]):
        data = pruning_data(model, X, given)
        np.testing.assert_array_equal((data.target + data.offset)[:, 0], place)
    pruned = prune(model, X, target, alpha=0.0, polish=None)
    np.testing.assert_array_equal(pruned.predict(X), model.predict(X))


def test_a_single_class_is_predicted_always() -> None:
    X, _ = sample()
    model = RandomForestClassifier(3, random_state=0).fit(X, ["only"] * len(X))
    with pytest.warns(UserWarning, match="no tree survives"):
        pruned = prune(model, X, ["only"] * len(X))
    assert set(pruned.predict(X)) == {"only"}
    assert pruned.predict_proba(X).tolist() == [[1.0]] * len(X)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["much"] * 399 + ["huge"], r"'little', 'much'; it does not know 'huge'$"),
        ([*map(str, range(400))], r"'0', '1', '10', '100', '101' …"),
        ([1.0] * 400, "does not know 1.0"),
        ([np.nan] * 400, "does not know nan"),
        ([None] * 400, "does not know None"),
        (["much"] * 5, r"one class label for each of the 400 rows of X, got shape \(5,\)"),
        (np.ones((400, 2)), r"got shape \(400, 2\)"),
    ],
)
def test_labels_that_do_not_fit(y: Any, message: str) -> None:
    X, response = sample()
    model = RandomForestClassifier(**FOREST).fit(X, labels(response, 2))
    with pytest.raises(InvalidInput, match=message):
        pruning_data(model, X, y)
    with pytest.raises(InvalidInput, match="validation_data: y must"):
        prune(model, X, labels(response, 2), validation_data=(X, y))


def test_probabilities_that_pruning_moved_out_of_range_are_clipped() -> None:
    raw = np.array([[1.2, -0.1, 0.3], [-0.2, -0.1, -0.3], [0.0, 0.5, 0.5]])
    share = Link().probabilities(raw, 3)
    np.testing.assert_allclose(share, [[0.8, 0.0, 0.2], [1 / 3] * 3, [0.0, 0.5, 0.5]])
    names = np.array(["a", "b", "c"])
    assert Link().labels(raw, names).tolist() == ["a", "b", "b"]
    assert Link().probabilities(np.array([[1.2], [-3.0]]), 2).tolist() == [[0.0, 1.0], [1.0, 0.0]]
    # A tie but for rounding is one, and goes to the first class.
    tie = np.array([[0.5 + 1e-15], [0.5 + 1e-9]])
    assert Link().labels(tie, names[:2]).tolist() == ["a", "b"]
    with pytest.raises(InvalidInput, match=r"kind must be one of identity, .* not 'probit'"):
        Link("probit")


def test_regressors_have_no_probabilities() -> None:
    X, y = sample()
    pruned = prune(RandomForestRegressor(3, random_state=0).fit(X, y), X, y)
    assert isinstance(pruned, PrunedEnsemble)
    assert pruned.classes is None
    np.testing.assert_array_equal(pruned.raw_predict(X), pruned.predict(X))
    with pytest.raises(InvalidInput, match="for classifiers; RandomForestRegressor is none"):
        pruned.predict_proba(X)


BAGGED: dict[str, dict[str, Any]] = {
    "plain": {},
    "subsets": {"max_features": 0.6},
    "repeated": {"max_features": 0.8, "bootstrap_features": True},
    "single": {"max_features": 1, "max_samples": 0.4, "bootstrap": False},
    "extra": {"estimator": ExtraTreeRegressor(max_depth=4)},
    "trees": {"estimator": DecisionTreeRegressor(max_depth=3), "oob_score": False},
}


@pytest.mark.parametrize("name", sorted(BAGGED))
def test_bagging_with_feature_subsets(name: str) -> None:
    X, y = sample()
    frame = pd.DataFrame(X, columns=COLUMNS)
    model = BaggingRegressor(**BAGGED[name], n_estimators=6, random_state=0).fit(frame, y)
    ensemble = read_ensemble(model)
    rows = hard_rows(ensemble, SPECIAL)
    if not ensemble.allow_nan:
        rows = np.nan_to_num(rows)
    table = pd.DataFrame(rows, columns=COLUMNS)
    same(ensemble.predict(table), model.predict(table))
    same(ensemble.predict(table[COLUMNS[::-1]]), model.predict(table))
    pruned = prune(model, frame, y, alpha=1.0)
    assert 0 < pruned.n_nodes < ensemble.n_nodes


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (RandomForestClassifier(), "this RandomForestClassifier is not"),
        (BaggingRegressor(LinearRegression(), n_estimators=2), "bags LinearRegression"),
        (BaggingClassifier(DummyClassifier(), n_estimators=2), "bags DummyClassifier"),
        (AdaBoostClassifier(n_estimators=2), "AdaBoostClassifier lets its trees vote"),
    ],
)
def test_models_that_cannot_be_read(model: Any, message: str) -> None:
    X, y = sample(60)
    X = np.nan_to_num(X)
    if not isinstance(model, RandomForestClassifier):
        model.fit(X, y > 2.0)
    with pytest.raises(InvalidInput, match=message):
        read_ensemble(model)


def test_classes_of_several_outputs_are_refused() -> None:
    X, y = sample(60)
    several = np.column_stack([y > 2.0, y > 3.0])
    for model in (RandomForestClassifier(2), DecisionTreeClassifier()):
        with pytest.raises(InvalidInput, match=r"has classes for 2, .* fit one model for each"):
            read_ensemble(model.fit(X, several))


def test_a_classifier_that_predicts_otherwise_is_refused() -> None:
    class Shifted(RandomForestClassifier):
        def predict_proba(self, X: Any) -> Any:
            return super().predict_proba(X) * 0.5

    X, y = sample(60)
    with pytest.raises(InvalidInput, match="Shifted has a predict_proba of its own"):
        read_ensemble(Shifted(2).fit(X, y > 2.0))
