"""Forgetful trees and forests as estimators: what they learn from a stream."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from forgetful_reference import ReferenceTree
from forgetful_streams import ESTIMATORS, REGRESSORS, learnt, small, stream
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

import forestprune as fp


@parametrize_with_checks(
    [
        fp.ForgetfulTreeClassifier(),
        fp.ForgetfulTreeRegressor(),
        fp.ForgetfulForestClassifier(n_trees=5),
        fp.ForgetfulForestRegressor(n_trees=5),
    ]
)
def test_scikit_learn_accepts_the_estimator(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("seed", range(40))
def test_a_tree_is_the_one_built_from_scratch_on_what_it_remembers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    kind = ESTIMATORS[seed % 4]
    regression = kind in REGRESSORS
    options: dict[str, Any] = {
        "adaptation": rng.choice(["paper", "program", "smoothed"]).item(),
        "min_statistic": 0.0,
        "max_rows": int(rng.integers(20, 200)),
        "min_samples_leaf": int(rng.choice([1, 3])),
        "forget": rng.choice(["oldest", "random"]).item(),
    }
    criterion = "squared_error" if regression else rng.choice(["gini", "entropy"]).item()
    if "Forest" in kind.__name__:
        options |= {"n_trees": 3, "max_features": 1.0, "bagging": bool(rng.random() < 0.5)}
    model = kind(criterion=criterion, random_state=seed, **options)
    n_classes = 0 if regression else int(rng.integers(2, 4))
    X, y = stream(500, seed, max(n_classes, 2))
    X = np.round(X, 1) if rng.random() < 0.5 else X.astype(np.float32).astype(np.float64)
    y = y + X[:, 3] if regression else y
    begin = 0
    while begin < len(X):
        part = slice(begin, begin + int(rng.integers(1, 60)))
        begin = part.stop
        model.partial_fit(X[part], y[part])
        mean = 0.0
        heights = np.atleast_1d(model.max_height_)
        for t, height in enumerate(heights):
            rows, labels, weight = model.retained(t)
            assert len(rows) <= options["max_rows"]
            codes = labels if regression else np.searchsorted(model.classes_, labels)
            oracle = ReferenceTree(
                0 if regression else len(model.classes_),
                criterion,
                min_samples_leaf=options["min_samples_leaf"],
            )
            if len(rows) == 0:
                assert options["bagging"]
                return
            mean = mean + values(oracle.build(rows, codes, weight, height), X)
        pooled = model.predict(X)[:, None] if regression else model.predict_proba(X)
        np.testing.assert_allclose(pooled, mean / len(heights), rtol=0, atol=1e-12)


def values(root: Any, X: Any) -> Any:
    """Class frequencies or means of the leaves that rows reach."""
    out = []
    for x in X.astype(np.float32).astype(np.float64):
        node = root
        while node.children:
            node = node.children[0 if x[node.feature] <= node.threshold else 1]
        out.append(node.value / (node.weight if len(node.value) > 1 else 1.0))
    return np.array(out)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_same_seed_same_trace_on_any_number_of_threads(kind: Any) -> None:
    X, y = stream()
    traces = [learnt(small(kind, n_jobs=jobs), X, y) for jobs in (1, 2, 1)]
    np.testing.assert_array_equal(traces[0], traces[1])
    np.testing.assert_array_equal(traces[0], traces[2])


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_a_pickled_model_goes_on_as_if_nothing_had_been(kind: Any) -> None:
    X, y = stream()
    options = {"bagging": True} if "Forest" in kind.__name__ else {"forget": "random"}
    model = small(kind, **options)
    learnt(model, X[:300], y[:300])
    other = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(learnt(model, X[300:], y[300:]), learnt(other, X[300:], y[300:]))
    np.testing.assert_array_equal(model.r_size_, other.r_size_)
    np.testing.assert_array_equal(model.history_.r_size, other.history_.r_size)
    assert len(pickle.dumps(model)) < 200_000


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_unchecked_input_gives_the_same_model(kind: Any) -> None:
    X, y = stream()
    np.testing.assert_array_equal(
        learnt(small(kind), X, y), learnt(small(kind, check_input=False), X, y)
    )


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_predicting_needs_data(kind: Any) -> None:
    model = kind()
    with pytest.raises(NotFittedError):
        model.predict(np.zeros((1, 2)))
    with pytest.raises(NotFittedError):
        kind(check_input=False).predict(np.zeros((1, 2)))
    assert not hasattr(model, "r_size_")
    assert not hasattr(model, "history_")


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_batches_of_one_row(kind: Any) -> None:
    X, y = stream(200)
    model = small(kind)
    learnt(model, X, y, batch=1)
    assert model.rows_seen_ == 200
    assert np.all(model.held_ <= 200)
    assert model.history_.rows[-1] == 200


def test_a_long_stream_does_not_grow() -> None:
    X, y = stream(2000)
    model = fp.ForgetfulTreeClassifier(max_rows=200, check_input=False, random_state=0)
    sizes = []
    for _ in range(60):
        learnt(model, X, y, batch=200)
        sizes.append((model._trees.engine.nbytes, len(pickle.dumps(model))))
    assert model.rows_seen_ == 120_000
    assert sizes[-1][0] <= max(size for size, _ in sizes[:10])
    assert sizes[-1][1] <= 1.1 * max(size for _, size in sizes[50:55])


def test_voting() -> None:
    X, y = stream()
    soft, majority = (
        small(fp.ForgetfulForestClassifier, voting=voting) for voting in ("soft", "majority")
    )
    learnt(soft, X, y, batch=100)
    learnt(majority, X, y, batch=100)
    single = [
        np.bincount(row, minlength=2) / 4
        for row in np.array([tree_votes(majority, t, X) for t in range(4)]).T
    ]
    np.testing.assert_array_equal(majority.predict_proba(X), single)
    frequencies = soft._trees.engine.frequencies(X.astype(np.float32).astype(np.float64))
    np.testing.assert_allclose(soft.predict_proba(X), frequencies.mean(axis=0), atol=1e-15)
    assert np.any(soft.predict_proba(X) != majority.predict_proba(X))


def tree_votes(forest: Any, tree: int, X: Any) -> Any:
    rows = X.astype(np.float32).astype(np.float64)
    return forest._trees.engine.frequencies(rows)[tree].argmax(axis=1)


def test_members_of_a_forest_differ_and_keep_their_own_memory() -> None:
    X, y = stream(2000)
    forest = fp.ForgetfulForestClassifier(10, adaptation="paper", random_state=1)
    learnt(forest, X, y, batch=100)
    assert len(np.unique(forest.r_size_)) > 1
    frequencies = forest._trees.engine.frequencies(X[:50].astype(np.float32).astype(np.float64))
    assert len(np.unique(frequencies[:, :, 1], axis=0)) > 5


def test_smoothing_pays_on_a_noisy_stream_and_drift_makes_it_forget() -> None:
    X, y = stream(8000, seed=3)
    accuracy = {}
    for adaptation in ("paper", "smoothed"):
        model = fp.ForgetfulTreeClassifier(adaptation=adaptation)
        seen = np.concatenate(learnt(model, X, y, batch=50))
        accuracy[adaptation] = np.mean(seen == y[50:])
        if adaptation == "smoothed":
            r_size = model.history_.r_size[:, 0]
            assert r_size[:80].max() == 3000
            assert r_size[80:].min() < 500
    assert accuracy["smoothed"] > accuracy["paper"] + 0.02


def test_fit_starts_anew() -> None:
    X, y = stream(300)
    model = small(fp.ForgetfulForestClassifier)
    learnt(model, X[:200], y[:200])
    fresh = clone(model).fit(X[200:], y[200:])
    np.testing.assert_array_equal(
        model.fit(X[200:], y[200:]).predict_proba(X), fresh.predict_proba(X)
    )
    assert model.rows_seen_ == 100


def test_nodes_may_draw_their_features() -> None:
    X, y = stream(600)
    model = small(fp.ForgetfulForestClassifier, draw="node", max_features=1)
    learnt(model, X, y)
    used = {int(f) for t in range(4) for f in model._trees.engine.tree(t).feature}
    assert used >= set(range(7))
