"""Cross-validation of the size: sound folds, rules that do what they say, table and picture."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.ensemble import (
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import log_loss, mean_absolute_error
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, ShuffleSplit, StratifiedKFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from forestprune import (
    ForestPrunerClassifier,
    ForestPrunerCV,
    ForestPrunerRegressor,
    InvalidInput,
    Termination,
    prune,
    solve_path,
)
from forestprune.estimators.folds import row_errors, weighted_mean
from forestprune.estimators.selection import checked_selection, choose

mpl.use("Agg")

ALPHAS = [20.0, 3.0, 0.5, 0.05]


@pytest.fixture(scope="module")
def X() -> pd.DataFrame:
    rows = np.random.default_rng(0).normal(size=(150, 3))
    return pd.DataFrame(rows, columns=["north", "east", "up"])


@pytest.fixture(scope="module")
def y(X: pd.DataFrame) -> Any:
    noise = np.random.default_rng(1).normal(size=len(X))
    return (np.sin(2 * X["north"]) + X["east"] * X["up"] + 0.3 * noise).to_numpy()


@pytest.fixture(scope="module")
def labels(y: Any) -> Any:
    return np.array(["low", "middle", "high"])[np.digitize(y, [-0.5, 0.5])]


def forest(**options: Any) -> RandomForestRegressor:
    return RandomForestRegressor(**{"n_estimators": 6, "max_depth": 4, "random_state": 0} | options)


def pruner(**options: Any) -> ForestPrunerRegressor:
    # An exact solver: along a path it finds what it finds alone.
    return ForestPrunerRegressor(forest(), solver="branch_and_bound", **options)


@pytest.fixture(scope="module")
def fitted(X: Any, y: Any) -> ForestPrunerCV:
    return ForestPrunerCV(pruner(), alphas=ALPHAS, cv=KFold(3)).fit(X, y)


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [
        ForestPrunerCV(RandomForestRegressor(2, bootstrap=False), alphas=3, cv=2),
        ForestPrunerCV(RandomForestClassifier(2, bootstrap=False), alphas=3, cv=2),
    ]
)
def test_scikit_learns_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.filterwarnings("ignore:no tree survives")
def test_the_table_is_what_folds_by_hand_say(X: Any, y: Any, fitted: ForestPrunerCV) -> None:
    assert fitted.n_splits_ == 3
    table = fitted.path_
    np.testing.assert_allclose(table["alpha"], ALPHAS)
    error, full = np.empty((3, 4)), np.empty(3)
    for k, (train, test) in enumerate(KFold(3).split(X)):
        model = forest().fit(X.iloc[train], y[train])
        full[k] = np.mean((model.predict(X.iloc[test]) - y[test]) ** 2)
        for a, alpha in enumerate(ALPHAS):
            left = prune(model, X.iloc[train], y[train], alpha=alpha, solver="branch_and_bound")
            error[k, a] = np.mean((left.predict(X.iloc[test]) - y[test]) ** 2)
            assert table[f"fold{k}_nodes"][a] == left.n_nodes
        np.testing.assert_allclose(table[f"fold{k}_error"], error[k], rtol=1e-9)
    np.testing.assert_allclose(table["error"], error.mean(axis=0), rtol=1e-9)
    np.testing.assert_allclose(table["standard_error"], error.std(axis=0, ddof=1) / np.sqrt(3))
    assert fitted.full_error_ == pytest.approx(full.mean())
    assert (table["gap"] <= 1e-6).all()


def test_the_chosen_model_is_that_of_all_rows(X: Any, y: Any, fitted: ForestPrunerCV) -> None:
    best = int(fitted.path_["error"].to_numpy().argmin())
    assert (fitted.best_index_, fitted.alpha_) == (best, ALPHAS[best])
    alone = pruner(alpha=ALPHAS[best]).fit(X, y)
    np.testing.assert_allclose(fitted.predict(X), alone.predict(X), rtol=1e-9)
    assert fitted.score(X, y) == pytest.approx(alone.score(X, y))
    assert fitted.path_["nodes"][best] == fitted.n_nodes_ == alone.n_nodes_
    assert fitted.path_["trees"][best] == fitted.n_trees_ == alone.n_trees_
    nodes = sum(tree.tree_.node_count for tree in fitted.estimator_.estimators_)
    assert fitted.full_nodes_ == nodes
    assert isinstance(fitted.pruner_, ForestPrunerRegressor)
    assert fitted.pruner_.get_params(deep=False)["alpha"] == ALPHAS[best]
    assert list(fitted.feature_names_in_) == list(X.columns)
    assert fitted.pruner_.alpha is not fitted.estimator.alpha  # what was given stays as it was
    copy = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copy.predict(X[["up", "north", "east"]]), fitted.predict(X))


#      index        0     1     2    3     4
ERROR = np.array([9.0, 5.0, 4.4, 4.0, 4.2])
SPREAD = np.array([1.0, 0.9, 0.8, 0.5, 0.1])
NODES = np.array([0, 10, 30, 90, 200])
TREES = np.array([0, 5, 7, 6, 9])


@pytest.mark.parametrize(
    ("selection", "index"),
    [
        ("best", 3),
        ("one_standard_error", 2),  # 4.4 ≤ 4.0 + 0.5 < 5.0
        (("within", 0.0), 3),  # only 4.0 ≤ 4.1
        (("within", 0.1), 2),  # 4.4 ≤ 4.51 < 5.0
        (("within", 0.25), 1),  # 5.0 ≤ 5.125
        (["within", 10], 0),
        (("nodes", 89), 2),
        (("nodes", 9), 0),
        (("nodes", 10**6), 3),
        (("trees", 6), 3),
        (("trees", 5), 1),
    ],
)
def test_rules(selection: Any, index: int) -> None:
    rule, number = checked_selection(selection)
    assert choose(rule, number, ERROR, SPREAD, 4.1, NODES, TREES) == index


def test_rules_on_ties_and_negative_errors() -> None:
    same = np.ones(3)
    assert choose("best", 0, same, same, 1.0, np.array([5, 3, 4]), np.ones(3)) == 1
    # Errors that are negative scores: within 10 % of −4.1 means at most −3.69.
    assert choose("within", 0.1, -ERROR[::-1], SPREAD, -4.1, NODES, TREES) == 0
    assert choose("within", 0.1, np.array([-3.6, -3.7]), same[:2], -4.1, NODES, TREES) == 1
    assert choose("within", 0.0, ERROR, SPREAD, 3.9, NODES, TREES) is None
    assert choose("nodes", 5, ERROR, SPREAD, 3.9, NODES + 6, TREES) is None


def test_a_budget_holds_for_the_model_that_is_kept(X: Any, y: Any, fitted: Any) -> None:
    limit = int(fitted.path_["nodes"][1])
    small = clone(fitted).set_params(selection=("nodes", limit)).fit(X, y)
    assert small.n_nodes_ <= limit < fitted.path_["nodes"][2]
    with pytest.raises(InvalidInput, match=r"is met by no model of the path: the smallest one"):
        clone(small).set_params(alphas=[0.05], selection=("trees", 1)).fit(X, y)


def test_out_of_reach_of_the_whole_ensemble_the_best_is_taken(X: Any, y: Any) -> None:
    cv = ForestPrunerCV(pruner(), alphas=[20.0, 10.0], cv=3, selection=("within", 0.0))
    with pytest.warns(UserWarning, match="met by no model of the path: the whole ensemble has"):
        cv.fit(X, y)
    assert cv.best_index_ == cv.path_["error"].to_numpy().argmin()


def test_one_split_has_the_spread_of_its_rows(X: Any, y: Any) -> None:
    split = ShuffleSplit(1, test_size=0.3, random_state=5)
    cv = ForestPrunerCV(pruner(polish=None), alphas=ALPHAS, cv=0.3, random_state=5)
    cv.set_params(selection="one_standard_error").fit(X, y)
    ((train, test),) = split.split(X)
    seed = ForestPrunerRegressor(forest(), random_state=5)._unfitted().random_state
    model = forest(random_state=seed).fit(X.iloc[train], y[train])
    left = prune(model, X.iloc[train], y[train], alpha=0.5, solver="branch_and_bound", polish=None)
    square = (left.predict(X.iloc[test]) - y[test]) ** 2
    row = cv.path_.iloc[2]
    assert row["error"] == pytest.approx(square.mean())
    assert row["standard_error"] == pytest.approx(square.std(ddof=1) / np.sqrt(len(test)))
    with pytest.raises(InvalidInput, match="needs at least two folds, or scoring=None"):
        cv.set_params(scoring="r2").fit(X, y)


def test_weighted_means() -> None:
    values, weight = np.array([1.0, 2.0, 4.0, 9.0]), np.array([1.0, 0.0, 3.0, 3.0])
    kept = weight > 0.0
    assert weighted_mean(values, weight) == pytest.approx(weighted_mean(values[kept], weight[kept]))
    assert weighted_mean(values, weight)[0] == pytest.approx(40.0 / 7.0)
    assert weighted_mean(values, np.ones(4)) == pytest.approx(weighted_mean(values, None))
    assert weighted_mean(values, None)[1] == pytest.approx(values.std(ddof=1) / 2.0)
    assert np.isnan(weighted_mean(values[:1], None)[1])
    with pytest.raises(InvalidInput, match="positive for a validation row of every fold"):
        weighted_mean(values, np.zeros(4))


def test_classes_by_the_brier_score(X: Any, labels: Any) -> None:
    cv = ForestPrunerCV(RandomForestClassifier(6, max_depth=4, random_state=0), alphas=4, cv=3)
    cv.fit(X, labels)
    assert isinstance(cv.pruner_, ForestPrunerClassifier)
    assert list(cv.classes_) == ["high", "low", "middle"]
    full = []
    for train, test in StratifiedKFold(3).split(X, labels):
        model = clone(cv.estimator).fit(X.iloc[train], labels[train])
        wanted = labels[test][:, None] == model.classes_
        full.append(((model.predict_proba(X.iloc[test]) - wanted) ** 2).sum(axis=1).mean())
    assert cv.full_error_ == pytest.approx(np.mean(full))
    assert (cv.predict(X) == labels).mean() == cv.score(X, labels) > 0.7
    assert cv.predict_proba(X).shape == (len(X), 3)


def test_a_class_that_a_fold_does_not_know_has_probability_zero(X: Any, labels: Any) -> None:
    known = labels != "low"
    model = RandomForestClassifier(4, random_state=0).fit(X[known], labels[known])
    left = prune(model, X[known], labels[known], alpha=0.1)
    error = row_errors(left, X, labels)
    probability = left.predict_proba(X)
    np.testing.assert_allclose(error[~known], (probability[~known] ** 2).sum(axis=1) + 1.0)
    wanted = labels[known][:, None] == model.classes_
    np.testing.assert_allclose(error[known], ((probability[known] - wanted) ** 2).sum(axis=1))


def test_other_scores(X: Any, y: Any, labels: Any) -> None:
    cv = ForestPrunerCV(pruner(), alphas=[0.5], cv=3, scoring="neg_mean_absolute_error").fit(X, y)
    full = [
        mean_absolute_error(y[test], forest().fit(X.iloc[train], y[train]).predict(X.iloc[test]))
        for train, test in KFold(3).split(X)
    ]
    assert cv.full_error_ == pytest.approx(np.mean(full))
    model = ForestPrunerClassifier(RandomForestClassifier(6, max_depth=4, random_state=0))
    cv = ForestPrunerCV(model, alphas=[0.05], cv=2, scoring="neg_log_loss").fit(X, labels)
    ((train, test), _) = StratifiedKFold(2).split(X, labels)
    fold = clone(model).set_params(alpha=0.05).fit(X.iloc[train], labels[train])
    expected = log_loss(labels[test], fold.predict_proba(X.iloc[test]))
    assert cv.path_["fold0_error"][0] == pytest.approx(expected)
    assert np.isfinite(cv.path_["standard_error"]).all()


def test_weights_and_groups_reach_the_folds(X: Any, y: Any) -> None:
    groups = np.arange(len(y)) % 5
    weight = (groups != 0).astype(float)
    cv = ForestPrunerCV(pruner(), alphas=ALPHAS, cv=GroupKFold(4))
    kept = weight > 0.0
    short = clone(cv).fit(X[kept], y[kept], sample_weight=weight[kept], groups=groups[kept])
    splits = [
        (np.flatnonzero(kept)[train], np.r_[np.flatnonzero(kept)[test], np.flatnonzero(~kept)])
        for train, test in GroupKFold(4).split(X[kept], groups=groups[kept])
    ]
    cv.set_params(cv=splits).fit(X, y, sample_weight=weight)
    pd.testing.assert_frame_equal(cv.path_, short.path_)
    np.testing.assert_array_equal(cv.predict(X), short.predict(X))


def test_folds_do_not_depend_on_the_order_they_are_worked_on(X: Any, y: Any) -> None:
    def table(jobs: int | None) -> pd.DataFrame:
        state = np.random.RandomState(3)
        one = ForestPrunerRegressor(forest(random_state=None), random_state=state)
        with parallel_config(backend="threading"):
            return ForestPrunerCV(one, alphas=4, cv=3, n_jobs=jobs).fit(X, y).path_

    pd.testing.assert_frame_equal(table(None), table(2))


def test_by_default_the_path_begins_with_nothing(X: Any, y: Any) -> None:
    cv = ForestPrunerCV(forest(), alphas=7, cv=2).fit(X, y)
    table = cv.path_
    assert len(table) == 7
    assert table["nodes"][0] == 0
    assert table["alpha"][6] == pytest.approx(1e-4 * table["alpha"][0])
    np.testing.assert_allclose(np.diff(np.log(table["alpha"])), np.log(1e-4) / 6)


@pytest.mark.parametrize(
    "options",
    [
        {"shape": "subtree"},
        {"joint": True, "alpha2": 0.1},
        {"polish": "best_subset", "n_trees": 2},
    ],
)
def test_other_problems_along_the_path(X: Any, y: Any, options: dict[str, Any]) -> None:
    one = ForestPrunerRegressor(forest(), **options)
    cv = ForestPrunerCV(one, alphas=4, cv=2).fit(X, y)
    assert len(cv.path_) == 4
    assert cv.path_["trees"].max() <= options.get("n_trees", 6)
    assert cv.path_["error"].min() < cv.path_["error"][0]


def test_a_constant_response_of_a_fold(X: Any) -> None:
    y = np.r_[np.ones(75), np.linspace(-1.0, 1.0, 75)]
    cv = ForestPrunerCV(forest(), alphas=[1.0, 0.1, 0.01], cv=KFold(2)).fit(X, y)
    np.testing.assert_array_equal(cv.path_["fold1_nodes"], 0)
    assert cv.path_["fold1_error"].nunique() == 1
    all_same = ForestPrunerCV(forest(), cv=2).fit(X, np.ones(150))
    assert list(all_same.path_["alpha"]) == [0.0]


def test_a_frozen_model_stays_as_it_is(X: Any, y: Any) -> None:
    model = forest().fit(X[:75], y[:75])
    cv = ForestPrunerCV(FrozenEstimator(model), alphas=4, cv=2).fit(X[75:], y[75:])
    assert cv.estimator_.estimator is model
    error = [
        np.mean((model.predict(X[75:].iloc[test]) - y[75:][test]) ** 2)
        for _, test in KFold(2).split(X[75:])
    ]
    assert cv.full_error_ == pytest.approx(np.mean(error))


def test_a_time_limit_is_told(X: Any, y: Any) -> None:
    one = ForestPrunerRegressor(forest(), solver_options={"time_limit": 1e-9})
    with pytest.warns(UserWarning, match="has ended a path after 1 of 4 values"):
        cv = ForestPrunerCV(one, alphas=ALPHAS, cv=2).fit(X, y)
    assert list(cv.path_["alpha"]) == ALPHAS[:1]


def test_ctrl_c_ends_the_fit(X: Any, y: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*args: Any, **options: Any) -> Any:
        path = solve_path(*args, **options)
        last = replace(path.results[-1], termination=Termination.INTERRUPTED)
        return replace(path, results=(*path.results[:-1], last))

    monkeypatch.setattr("forestprune.estimators.path.solve_path", interrupted)
    with pytest.raises(KeyboardInterrupt):
        ForestPrunerCV(pruner(), alphas=ALPHAS, cv=3).fit(X, y)


def test_the_kind_follows_from_the_estimator(X: Any, y: Any) -> None:
    assert is_regressor(ForestPrunerCV())
    assert not hasattr(ForestPrunerCV(), "predict_proba")
    assert is_classifier(ForestPrunerCV(RandomForestClassifier()))
    assert is_classifier(ForestPrunerCV(ForestPrunerClassifier()))
    assert hasattr(ForestPrunerCV(ForestPrunerClassifier()), "predict_proba")
    assert is_regressor(ForestPrunerCV(GradientBoostingRegressor()))
    inner = ForestPrunerCV(pruner(), alphas=3, cv=2)
    outer = GridSearchCV(inner, {"estimator__estimator__max_depth": [1, 3]}, cv=2).fit(X, y)
    assert outer.best_params_ == {"estimator__estimator__max_depth": 3}


def test_the_picture(fitted: ForestPrunerCV) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots()
    assert fitted.plot(axes) is axes
    order = np.argsort(fitted.path_["nodes"])
    (whole, curve, mark) = axes.get_lines()
    np.testing.assert_array_equal(curve.get_xdata(), fitted.path_["nodes"][order])
    np.testing.assert_array_equal(curve.get_ydata(), fitted.path_["error"][order])
    assert whole.get_ydata()[0] == fitted.full_error_
    row = fitted.path_.iloc[fitted.best_index_]
    assert (mark.get_xdata()[0], mark.get_ydata()[0]) == (row["nodes"], row["error"])
    assert "mean squared error" in axes.get_ylabel()
    assert f"{fitted.n_nodes_:,} nodes" in axes.get_legend().get_texts()[1].get_text()
    plt.close(figure)
    plt.close(fitted.plot().figure)
    with pytest.raises(NotFittedError):
        ForestPrunerCV().plot()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"selection": "worst"}, "selection must be"),
        ({"selection": ("nodes", 1.5)}, r"selection\[1\] must be an integer of at least 0"),
        ({"selection": ("nodes", -1)}, r"selection\[1\] must be an integer of at least 0"),
        ({"selection": ("within", -0.1)}, r"selection\[1\] must be a finite number"),
        ({"selection": ("within",)}, "selection must be"),
        ({"alphas": 0}, "alphas must be at least 1, got 0"),
        ({"alphas": []}, "at least one α"),
        ({"alphas": [1.0, -1.0]}, "none of them negative"),
        ({"alphas": True}, "alphas must be a count or"),
        ({"cv": 1.5}, "cv as a fraction must lie between 0 and 1, got 1.5"),
        ({"cv": 1}, "n_splits=1"),
        ({"cv": 200}, "n_splits=200"),
        ({"scoring": "mse"}, "scoring"),
        ({"estimator": pruner(alpha=1.0)}, "estimator.alpha must be None"),
        ({"estimator": pruner(max_nodes=9)}, "estimator.max_nodes must be None"),
        ({"estimator": pruner(polish="lasso")}, "polish must be"),
    ],
)
def test_bad_parameters(X: Any, y: Any, options: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        ForestPrunerCV(**{"estimator": pruner()} | options).fit(X, y)
