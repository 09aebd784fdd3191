"""The pruners are estimators of scikit-learn."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn import config_context
from sklearn.base import clone
from sklearn.ensemble import (
    AdaBoostRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import (
    check_sample_weight_equivalence_on_dense_data,
    parametrize_with_checks,
)

from forestprune import (
    ForestPrunerClassifier,
    ForestPrunerRegressor,
    InvalidInput,
    SolverError,
    prune,
    read_ensemble,
)

NAMES = ["north", "east", "up", "noise"]


@pytest.fixture(scope="module")
def X() -> pd.DataFrame:
    return pd.DataFrame(np.random.default_rng(0).normal(size=(240, 4)), columns=NAMES)


@pytest.fixture(scope="module")
def y(X: pd.DataFrame) -> Any:
    noise = np.random.default_rng(1).normal(size=len(X))
    return (np.sin(2 * X["north"]) + X["east"] * X["up"] + 0.1 * noise).to_numpy()


@pytest.fixture(scope="module")
def labels(y: Any) -> Any:
    return np.array(["low", "middle", "high"], dtype=object)[np.digitize(y, [-0.5, 0.5])]


def forest(**options: Any) -> RandomForestRegressor:
    return RandomForestRegressor(
        **{"n_estimators": 10, "max_depth": 5, "random_state": 0} | options
    )


def classifier(**options: Any) -> RandomForestClassifier:
    given = {"n_estimators": 10, "max_depth": 5, "random_state": 0} | options
    return RandomForestClassifier(**given)


# Warnings, such as that no tree survives on noise, are none of these checks' business. Without
# bootstrap, as the default forests are: with it, weights are no repeated rows in a forest's fit.
@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [
        ForestPrunerRegressor(RandomForestRegressor(3, bootstrap=False)),
        ForestPrunerClassifier(RandomForestClassifier(3, bootstrap=False)),
    ]
)
def test_scikit_learns_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.filterwarnings("ignore:no tree survives")
@pytest.mark.parametrize(
    "pruner",
    [
        ForestPrunerRegressor(),
        # Of equal trees rounding decides which one local search takes up.
        ForestPrunerClassifier(solver="cbcd[local_search=False]"),
    ],
)
def test_weights_are_repeated_rows_by_default(pruner: Any) -> None:
    check_sample_weight_equivalence_on_dense_data(type(pruner).__name__, pruner)


@pytest.mark.parametrize(
    "options",
    [
        {"alpha": 0.3},
        {"alpha": 0.3, "shape": "subtree", "weights": "leaves", "polish": None},
        {"alpha": 0.1, "joint": True, "alpha2": 0.1},
        {"alpha": 0.1, "polish": "best_subset", "n_trees": 3},
        {"max_nodes": 60, "solver": "relaxation"},
        {"alpha": 0.3, "solver": "cbcd[local_search=False]", "solver_options": {"gap": 1e-3}},
    ],
)
def test_it_prunes_as_prune_does(X: Any, y: Any, options: dict[str, Any]) -> None:
    pruner = ForestPrunerRegressor(forest(), **options).fit(X, y)
    more = dict(options)
    pruned = prune(forest().fit(X, y), X, y, **more.pop("solver_options", {}), **more)
    assert 0 < pruned.n_nodes < pruned.source_nodes
    np.testing.assert_array_equal(pruner.predict(X), pruned.predict(X))
    np.testing.assert_array_equal(pruner.depths_, pruned.depths)
    assert (pruner.n_nodes_, pruner.n_trees_) == (pruned.n_nodes, pruned.n_trees)
    assert pruner.features_used_ == pruned.features_used


@pytest.mark.parametrize("kind", ["text", "integers", "booleans", "two", "one"])
def test_labels_of_any_type(X: Any, y: Any, labels: Any, kind: str) -> None:
    given = {
        "text": labels,
        "integers": np.digitize(y, [-0.5, 0.5]) * 10 - 5,
        "booleans": y > 0.0,
        "two": labels == "low",
        "one": np.full(len(y), "all"),
    }[kind]
    pruner = ForestPrunerClassifier(classifier(), alpha=0.01)
    if kind == "one":
        with pytest.warns(UserWarning, match="no tree survives"):
            pruner.fit(X, given)
    else:
        pruner.fit(X, given)
    np.testing.assert_array_equal(pruner.classes_, np.unique(given))
    probability = pruner.predict_proba(X)
    assert probability.shape == (len(X), len(pruner.classes_))
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    np.testing.assert_array_equal(pruner.predict(X), pruner.classes_[probability.argmax(axis=1)])
    assert pruner.score(X, given) == (pruner.predict(X) == given).mean() > 0.8


def test_boosted_classifiers_keep_their_link(X: Any, labels: Any) -> None:
    model = GradientBoostingClassifier(n_estimators=10, random_state=0)
    pruner = ForestPrunerClassifier(model, alpha=0.0, polish=None).fit(X, labels)
    np.testing.assert_allclose(
        pruner.predict_proba(X), pruner.estimator_.predict_proba(X), rtol=1e-9
    )


def test_a_grid_over_alpha(X: Any, y: Any) -> None:
    grid = GridSearchCV(ForestPrunerRegressor(forest()), {"alpha": [1e-3, 1e3]}, cv=3)
    with pytest.warns(UserWarning, match="no tree survives at alpha=1000"):
        grid.fit(X, y)
    assert grid.best_params_ == {"alpha": 1e-3}
    scores = cross_val_score(ForestPrunerRegressor(forest(), alpha=1e-3), X, y, cv=3)
    assert grid.best_score_ == pytest.approx(scores.mean())


def test_in_a_pipeline_and_around_it(X: Any, y: Any) -> None:
    pipeline = make_pipeline(StandardScaler(), ForestPrunerRegressor(forest(), alpha=0.1))
    pipeline.set_params(forestprunerregressor__estimator__max_depth=3).fit(X, y)
    rows = StandardScaler().fit_transform(X)
    alone = ForestPrunerRegressor(forest(max_depth=3), alpha=0.1).fit(rows, y)
    np.testing.assert_array_equal(pipeline.predict(X), alone.predict(rows))
    assert alone.depths_.max() <= 3
    with pytest.raises(InvalidInput, match="must not be a Pipeline"):
        ForestPrunerRegressor(make_pipeline(StandardScaler(), _Unfittable())).fit(X, y)


def test_weights_pass_by_metadata_routing(X: Any, y: Any) -> None:
    weight = np.random.default_rng(2).uniform(size=len(y))
    plain = ForestPrunerRegressor(forest(), alpha=0.1)
    with config_context(enable_metadata_routing=True):
        asking = clone(plain).set_fit_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        routed = make_pipeline(scaler, asking).fit(X, y, sample_weight=weight)[-1]
    rows = StandardScaler().fit_transform(X)
    weighted = plain.fit(rows, y, sample_weight=weight).predict(rows)
    np.testing.assert_array_equal(routed.predict(rows), weighted)
    assert (clone(plain).fit(rows, y).predict(rows) != weighted).any()


def test_pickles_and_does_not_need_its_source(X: Any, labels: Any) -> None:
    pruner = ForestPrunerClassifier(classifier(n_estimators=50), alpha=3.0).fit(X, labels)
    size = len(pickle.dumps(pruner))
    expected = pruner.predict_proba(X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(pruner)).predict_proba(X), expected)
    del pruner.estimator_
    small = pickle.dumps(pruner)
    assert len(small) < size / 2
    copy = pickle.loads(small)
    np.testing.assert_array_equal(copy.predict_proba(X[NAMES[::-1]]), expected)
    assert list(copy.feature_names_in_) == NAMES


def test_names_of_columns(X: Any, y: Any) -> None:
    pruner = ForestPrunerRegressor(forest(), alpha=0.1).fit(X, y)
    assert list(pruner.feature_names_in_) == NAMES
    assert set(pruner.features_used_) <= set(NAMES)
    expected = pruner.predict(X)
    np.testing.assert_array_equal(pruner.predict(X[["noise", "up", "north", "east"]]), expected)
    with pytest.warns(UserWarning, match="X does not have valid feature names, but ForestPruner"):
        np.testing.assert_array_equal(pruner.predict(X.to_numpy()), expected)
    for wrong in (X.rename(columns={"up": "down"}), X[NAMES[:3]], X.assign(more=1.0)):
        with pytest.raises(ValueError, match="The feature names should match those that were"):
            pruner.predict(wrong)
    pruner.fit(X.to_numpy(), y)
    assert not hasattr(pruner, "feature_names_in_")
    with pytest.raises(ValueError, match="X has 3 features, but ForestPrunerRegressor is expect"):
        pruner.predict(X.to_numpy()[:, :3])


@pytest.mark.parametrize("bootstrap", [False, True])
@pytest.mark.parametrize("kind", ["regressor", "classifier"])
def test_a_row_of_weight_zero_is_removed(
    X: Any, y: Any, labels: Any, kind: str, bootstrap: bool
) -> None:
    weight = np.random.default_rng(3).integers(0, 3, size=len(y)).astype(float)
    kept = weight > 0.0
    pruner: Any = ForestPrunerRegressor(forest(bootstrap=bootstrap), alpha=0.1)
    if kind == "classifier":
        pruner, y = ForestPrunerClassifier(classifier(bootstrap=bootstrap), alpha=0.1), labels
    short = clone(pruner).fit(X[kept], y[kept], sample_weight=weight[kept])
    pruner.fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(pruner.predict(X), short.predict(X))
    np.testing.assert_array_equal(pruner.depths_, short.depths_)


def test_a_class_without_weight_is_unknown(X: Any, labels: Any) -> None:
    pruner = ForestPrunerClassifier(classifier(), alpha=0.1)
    pruner.fit(X, labels, sample_weight=(labels != "low").astype(float))
    assert list(pruner.classes_) == ["high", "middle"]


def test_prefit_models_stay_as_they_are(X: Any, y: Any) -> None:
    model = forest().fit(X, y)
    weight = np.random.default_rng(4).uniform(0.5, 2.0, size=len(y))
    pruner = ForestPrunerRegressor(FrozenEstimator(model), alpha=0.1, random_state=3)
    pruner.fit(X[::2], y[::2], sample_weight=weight[::2])
    assert pruner.estimator_.estimator is model
    assert model.random_state == 0
    expected = prune(model, X[::2], y[::2], alpha=0.1, sample_weight=weight[::2])
    np.testing.assert_array_equal(pruner.predict(X), expected.predict(X))
    with pytest.raises(NotFittedError):
        ForestPrunerRegressor(FrozenEstimator(forest())).fit(X, y)


def test_missing_values_where_the_source_takes_them(X: Any, y: Any) -> None:
    holes = X.mask(np.random.default_rng(5).uniform(size=X.shape) < 0.1)
    pruner = ForestPrunerRegressor(forest(), alpha=0.0, polish=None).fit(holes, y)
    np.testing.assert_allclose(pruner.predict(holes), pruner.estimator_.predict(holes))
    boosting = ForestPrunerRegressor(GradientBoostingRegressor(n_estimators=5), alpha=0.01)
    with pytest.raises(ValueError, match="Input X contains NaN"):
        boosting.fit(holes, y)
    boosting.fit(X, y)
    with pytest.raises(ValueError, match="Input X contains NaN"):
        boosting.predict(holes)


def test_several_outputs_and_sparse_rows(X: Any, y: Any) -> None:
    both = np.column_stack([y, X["noise"]])
    rows = csr_array(X.to_numpy())
    pruner = ForestPrunerRegressor(forest(), alpha=0.1).fit(rows, both)
    assert pruner.n_outputs_ == 2
    assert pruner.predict(rows).shape == both.shape
    # Ties between splits are broken otherwise in sparse rows, so the forest is the same one.
    same = ForestPrunerRegressor(FrozenEstimator(pruner.estimator_), alpha=0.1)
    same.fit(X.to_numpy(), both)
    np.testing.assert_array_equal(same.predict(X.to_numpy()), pruner.predict(rows))


@pytest.mark.parametrize("outputs", [1, 2])
def test_importances_are_those_of_scikit_learn_for_one_tree(X: Any, y: Any, outputs: int) -> None:
    response = y if outputs == 1 else np.column_stack([y, X["noise"]])
    model = forest(n_estimators=1, max_features=2)
    pruner = ForestPrunerRegressor(model, alpha=0.0, polish=None).fit(X, response)
    np.testing.assert_allclose(
        pruner.feature_importances_, pruner.estimator_.feature_importances_, rtol=1e-9
    )
    half = ForestPrunerRegressor(forest(n_estimators=2), alpha=0.1).fit(X, y)
    scale, trees = half.pruned_.model.scale, half.pruned_.model.trees
    total = np.zeros(4)
    for gamma, tree in zip(scale, trees, strict=True):
        for node in np.flatnonzero(tree.left >= 0):
            for child in (tree.left[node], tree.left[node] + 1):
                step = gamma * (tree.value[child, 0] - tree.value[node, 0])
                total[tree.feature[node]] += tree.cover[child] / tree.cover[0] * step**2
    np.testing.assert_allclose(half.feature_importances_, total / total.sum())


def test_nothing_is_known_before_the_fit(X: Any) -> None:
    pruner = ForestPrunerClassifier()
    for name in ("n_nodes_", "n_trees_", "depths_", "feature_importances_", "classes_"):
        assert not hasattr(pruner, name)
    with pytest.raises(NotFittedError):
        pruner.predict_proba(X)


def test_random_states(X: Any, y: Any) -> None:
    def nodes(state: Any) -> list[int]:
        pruner = ForestPrunerRegressor(forest(), random_state=state, alpha=0.01).fit(X, y)
        return [tree.tree_.node_count for tree in pruner.estimator_.estimators_]

    assert nodes(1) == nodes(1) == nodes(np.random.RandomState(1))
    assert nodes(1) != nodes(2)
    own = [tree.tree_.node_count for tree in forest().fit(X, y).estimators_]
    assert nodes(None) == own != nodes(1)


class _Unfittable(RandomForestRegressor):  # type: ignore[misc]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        raise AssertionError("fitted before the arguments were checked")


class _Unweighted(RandomForestRegressor):  # type: ignore[misc]
    def fit(self, X: Any, y: Any) -> Any:
        return super().fit(X, y)


@pytest.mark.parametrize(
    ("options", "error", "told"),
    [
        ({"alpha": -1.0}, InvalidInput, "alpha must be a finite number of at least 0, not -1.0"),
        ({"alpha": 1.0, "max_nodes": 5}, InvalidInput, "not both"),
        ({"max_nodes": 1.5}, InvalidInput, "max_nodes must be an integer"),
        ({"shape": "leaf"}, InvalidInput, "shape must be"),
        ({"polish": "lasso"}, InvalidInput, "polish must be"),
        ({"alpha2": -1.0}, InvalidInput, "alpha2 must be"),
        ({"n_trees": 3}, InvalidInput, "n_trees is for polish"),
        ({"joint": 1}, InvalidInput, "joint must be"),
        ({"solver": "cbdc"}, SolverError, "cbcd"),
        ({"polish_solver": "none"}, SolverError, "none"),
        ({"solver_options": [1]}, InvalidInput, "solver_options must be a dict"),
        ({"solver_options": {"alpha": 1.0}}, InvalidInput, "arguments of solve only, got alpha"),
        ({"solver_options": {"warm_start": None}}, InvalidInput, "got warm_start"),
    ],
)
def test_wrong_parameters_are_refused_before_the_fit(
    X: Any, y: Any, options: dict[str, Any], error: type[Exception], told: str
) -> None:
    with pytest.raises(error, match=told):
        ForestPrunerRegressor(_Unfittable(), **options).fit(X, y)


def test_wrong_estimators(X: Any, y: Any, labels: Any) -> None:
    with pytest.raises(InvalidInput, match="RandomForestClassifier is not: a classifier goes in"):
        ForestPrunerRegressor(classifier()).fit(X, y)
    with pytest.raises(InvalidInput, match="RandomForestRegressor is not: a regressor goes into"):
        ForestPrunerClassifier(forest()).fit(X, labels)
    with pytest.raises(TypeError, match="Cannot clone object ''rf''"):
        ForestPrunerRegressor("rf").fit(X, y)
    with pytest.raises(InvalidInput, match="weighted median"):
        ForestPrunerRegressor(AdaBoostRegressor(n_estimators=2)).fit(X, y)
    with pytest.raises(InvalidInput, match="KNeighborsRegressor is not supported"):
        ForestPrunerRegressor(KNeighborsRegressor()).fit(X, y)
    with pytest.raises(InvalidInput, match="estimator _Unweighted does not take sample weights"):
        ForestPrunerRegressor(_Unweighted()).fit(X, y, sample_weight=np.ones(len(y)))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda X, y, w: (X, None, None), "requires y to be passed, but the target y is None"),
        (lambda X, y, w: (X, y[:-1], None), "inconsistent numbers of samples"),
        (lambda X, y, w: (X, y[:-1], w), "inconsistent numbers of samples"),
        (lambda X, y, w: (X, np.where(y > 0, np.nan, y), None), "Input y contains NaN"),
        (lambda X, y, w: (X[["up"]].replace(X["up"][0], np.inf), y, None), "contains infinity"),
        (lambda X, y, w: (X["up"], y, None), "Expected 2D array, got 1D|Expected a 2-dim"),
        (lambda X, y, w: (X * 1j, y, None), "Complex data not supported"),
        (lambda X, y, w: (X[:0], y[:0], None), r"0 sample\(s\)"),
        (lambda X, y, w: (X, y, w[:-1]), "sample_weight.shape"),
        (lambda X, y, w: (X, y, -w), "Negative values in data passed to `sample_weight`"),
        (lambda X, y, w: (X, y, 0 * w), "at least one non-zero number"),
        (lambda X, y, w: (X, y, w * np.nan), "Input sample_weight contains NaN"),
    ],
)
def test_bad_rows_in_scikit_learns_words(X: Any, y: Any, change: Any, told: str) -> None:
    rows, response, weight = change(X, y, np.ones(len(y)))
    with pytest.raises(ValueError, match=told):
        ForestPrunerRegressor(forest()).fit(rows, response, sample_weight=weight)


def test_bad_labels_in_scikit_learns_words(X: Any, y: Any, labels: Any) -> None:
    pruner = ForestPrunerClassifier(classifier())
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        pruner.fit(X, y)
    with pytest.raises(ValueError, match="y should be a 1d array"):
        pruner.fit(X, np.column_stack([labels, labels]))
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed"):
        pruner.fit(X, labels[:, None])
    assert pruner.predict(X).shape == (len(X),)


def test_importances_of_nothing(X: Any, y: Any) -> None:
    with pytest.warns(UserWarning, match="no tree survives"):
        pruner = ForestPrunerRegressor(forest(), alpha=1e9).fit(X, y)
    np.testing.assert_array_equal(pruner.feature_importances_, np.zeros(4))
    assert (pruner.n_nodes_, pruner.n_trees_, pruner.features_used_) == (0, 0, [])
    constant = read_ensemble(pruner.estimator_).constant
    np.testing.assert_array_equal(pruner.predict(X), np.full(len(X), constant[0]))
