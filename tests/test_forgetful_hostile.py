"""Forgetful estimators under interrupts, in forks, on forged state and extreme values."""

from __future__ import annotations

import multiprocessing
import pickle
import threading
from typing import Any

import numpy as np
import pandas as pd
import pytest
from forgetful_streams import CLASSIFIERS, ESTIMATORS, REGRESSORS, learnt, small, stream

import forestprune as fp
from forestprune.forgetful.engine import Engine


@pytest.mark.parametrize("kind", ESTIMATORS)
@pytest.mark.parametrize(
    ("X", "said"),
    [
        (np.empty((5, 0)), r"X must have shape \(rows, at least 1\), not \(5, 0\)"),
        ([["a", "b"]] * 5, "X must be a dense array of numbers"),
        (np.zeros((5, 2, 1)), r"X must have shape \(rows, at least 1\), not \(5, 2, 1\)"),
    ],
)
def test_what_is_no_table_is_refused_without_validation_too(kind: Any, X: Any, said: str) -> None:
    with pytest.raises(fp.InvalidInput, match=said):
        small(kind, check_input=False).partial_fit(X, np.zeros(5, dtype=np.int64))


@pytest.mark.parametrize("kind", REGRESSORS)
@pytest.mark.parametrize("checked", [True, False])
def test_targets_whose_squares_overflow_are_refused(kind: Any, checked: bool) -> None:
    X, y = stream(300)
    model = small(kind, check_input=checked)
    for scale in (1.0, 9e69, 1.0):
        learnt(model, X, (y - 0.5) * scale)
    assert np.isfinite(model.history_.loss).all()
    assert np.isfinite(model.predict(X)).all()
    before = pickle.dumps(model)
    for bad in (1e71, -1e300, np.inf, np.nan):
        with pytest.raises(ValueError, match="y"):
            model.partial_fit(X[:2], np.array([0.0, bad]))
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("name", ["max_rows", "min_samples_split", "min_samples_leaf", "n_trees"])
@pytest.mark.parametrize("given", [10**30, 2**31, 0, 2.5, True])
def test_integers_that_kernels_cannot_hold_are_refused(name: str, given: Any) -> None:
    X, y = stream(50)
    model = fp.ForgetfulForestClassifier(**{name: given})
    with pytest.raises(fp.InvalidInput, match=f"{name} must be an integer of at least .* at most"):
        model.partial_fit(X, y)


def test_labels_that_would_be_confused_are_refused() -> None:
    X, y = stream(60)
    for checked in (True, False):
        model = small(fp.ForgetfulTreeClassifier, check_input=checked)
        model.partial_fit(X, np.array([1, 2**64 - 1], dtype=np.uint64)[y])
        with pytest.raises(fp.InvalidInput, match=r"goes with uint64.*not int64"):
            model.partial_fit(X, np.array([1, -1])[y])
    mixed = np.array([1, "b"], dtype=object)[y]
    for checked in (True, False):
        with pytest.raises(ValueError, match=r"labels of one type|Unknown label type"):
            small(fp.ForgetfulTreeClassifier, check_input=checked).partial_fit(X, mixed)
        model = small(fp.ForgetfulTreeClassifier, check_input=checked)
        with pytest.raises(fp.InvalidInput, match="y must hold labels of one type"):
            model.partial_fit(X, np.array(["b", 1] * 30, dtype=object))
    many = small(fp.ForgetfulTreeClassifier, check_input=False, max_rows=10)
    with pytest.raises(fp.InvalidInput, match="at most 32767 classes, not 32768"):
        many.partial_fit(np.zeros((2**15, 1)), np.arange(2**15))


@pytest.mark.parametrize("tree", [-1, 4, 1.0])
def test_a_tree_that_is_not_there_remembers_nothing(tree: Any) -> None:
    model = small(fp.ForgetfulForestClassifier).partial_fit(*stream(50))
    with pytest.raises(
        fp.InvalidInput, match="tree must be an integer of at least 0 and at most 3"
    ):
        model.retained(tree)


def test_parameters_stay_those_of_the_first_batch() -> None:
    X, y = stream(200)
    one, other = (small(fp.ForgetfulTreeClassifier, max_rows=100) for _ in range(2))
    for model in (one, other):
        model.partial_fit(X[:50], y[:50])
    other.set_params(max_rows=5)
    for model in (one, other):
        model.partial_fit(X[50:], y[50:], sample_weight=np.ones(150))
    assert one.held_ == other.held_ == 100


def _learn_in_fork(model: Any, X: Any, y: Any, queue: Any) -> None:
    queue.put(model.partial_fit(X, y).predict_proba(X))


def test_a_model_with_threads_goes_on_in_a_fork() -> None:
    X, y = stream(200)
    model = small(fp.ForgetfulForestClassifier, n_jobs=2).partial_fit(X, y).partial_fit(X, y)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_learn_in_fork, args=(model, X, y, queue), daemon=True)
    child.start()
    try:
        found = queue.get(timeout=30)
    finally:
        child.kill()
        child.join()
    np.testing.assert_array_equal(found, model.partial_fit(X, y).predict_proba(X))


def test_models_learn_side_by_side_in_threads() -> None:
    X, y = stream(600)
    models = [small(kind, n_jobs=2) for kind in ESTIMATORS for _ in range(2)]
    threads = [threading.Thread(target=learnt, args=(model, X, y)) for model in models]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for model in models:
        alone = small(type(model))
        learnt(alone, X, y)
        np.testing.assert_array_equal(model.predict(X), alone.predict(X))


@pytest.mark.parametrize("kind", ESTIMATORS)
@pytest.mark.parametrize("where", ["learn", "hold_rows", "_on_threads"])
def test_after_an_interrupt_anywhere_there_is_room_for_what_is_held(
    kind: Any, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = stream(4000)
    model = small(kind, forget="oldest", adaptation="paper", max_rows=4000, n_jobs=2)
    model.partial_fit(X[:100], y[:100])
    engine = model._trees.engine
    target = engine._store if where == "hold_rows" else engine
    done = getattr(target, where)

    def interrupted(*given: Any) -> Any:
        done(*given)
        raise KeyboardInterrupt

    if where == "_on_threads" and engine.n_trees == 1:
        pytest.skip("a single tree has no threads")
    for begin in range(100, 1100, 100):  # more rows than there were slots for
        with monkeypatch.context() as patch:
            patch.setattr(target, where, interrupted)
            with pytest.raises(KeyboardInterrupt):
                model.partial_fit(X[begin : begin + 100], y[begin : begin + 100])
        assert engine._store.slots >= engine.held.max()
        assert engine._most >= engine.held.max()
    model.partial_fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(model.predict(X), again.predict(X))


def test_forged_state_is_refused_before_kernels_read_it() -> None:
    X, y = stream(60)
    sound = small(fp.ForgetfulTreeClassifier).partial_fit(X, y)._trees.engine.__getstate__()
    rows, labels, weight = sound["rows"][0]
    forgeries: tuple[dict[str, Any], ...] = (
        {"usable": np.zeros_like(sound["usable"])},
        {"state": sound["state"][:, :3]},
        {"n_features": 70},
        {"n_classes": 1},
        {"rows": [(rows[:, :3], labels, weight)]},
        {"rows": [(rows, labels + 70, weight)]},
        {"rows": [(rows, labels[:-1], weight)]},
        {"rows": [(rows, labels, weight * 0)]},
        {"rows": [(rows * np.nan, labels, weight)]},
        {"rows": []},
    )
    for forged in forgeries:
        with pytest.raises(fp.InvalidInput, match="state must be that of a forgetful model"):
            Engine.__new__(Engine).__setstate__(sound | forged)


def test_weights_that_sums_cannot_hold_are_refused() -> None:
    engine = Engine(1, 1, 2)
    X, y = np.arange(70000.0)[:, None], np.arange(70000) % 2
    weight = np.full((1, 70000), 32767)
    size, height = np.array([70000]), np.array([2])
    with pytest.raises(
        fp.InvalidInput, match=r"weigh more than 2147483647, but sums to 2293690000"
    ):
        engine.learn(X, y, weight, size, height)
    part = slice(0, 65000)  # 2.13e9: just below
    engine.learn(X[part], y[part], weight[:, part], size, height)
    root = engine.tree(0)
    assert root.weight[0] == 65000 * 32767
    np.testing.assert_allclose(root.value[0], 0.5)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_a_hole_changes_nothing_without_validation_either(kind: Any) -> None:
    X, y = stream(100)
    hole = np.where(X > 0.5, np.nan, X)
    model = small(kind, check_input=False)
    for first in (True, False):
        before = pickle.dumps(model)
        with pytest.raises(fp.InvalidInput, match="X must not hold NaN"):
            model.partial_fit(hole, y)
        assert pickle.dumps(model) == before
        if first:
            model.partial_fit(X, y)


@pytest.mark.parametrize("given", ["x", 0, 1.5])
def test_threads_that_cannot_be_are_named(given: Any) -> None:
    with pytest.raises(fp.InvalidInput, match="n_jobs must be None or an integer other than 0"):
        small(fp.ForgetfulForestClassifier, n_jobs=given).partial_fit(*stream(20))


def test_river_gets_labels_that_are_plain_objects() -> None:
    pytest.importorskip("river")
    from forestprune.forgetful.river import RiverClassifier

    X, y = stream(60)
    frame = pd.DataFrame(X, columns=list("abcdefg"))
    for labels in (["no", "yes"], [False, True], [3, 5]):
        model = RiverClassifier(small(fp.ForgetfulTreeClassifier))
        model.learn_many(
            frame, pd.Series(np.array(labels)[y], dtype=object if labels[0] == "no" else None)
        )
        found = model.predict_one(dict(frame.iloc[0]))
        assert found in labels


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_a_refused_first_batch_draws_nothing(kind: Any) -> None:
    X, y = stream(100)
    generator, fresh = np.random.RandomState(3), np.random.RandomState(3)
    model = kind(random_state=generator)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.partial_fit(X, y[:-1])
    assert generator.randint(10**9) == fresh.randint(10**9)
