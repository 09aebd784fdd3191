"""The engine of the forgetful trees: incremental updates against building from scratch."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from forgetful_reference import ReferenceTree, listed

from forestprune.forgetful.engine import Engine
from formulations.errors import InvalidInput


def stream(seed: int) -> dict[str, Any]:
    """Settings of an engine and of the stream that it is to learn, drawn by a seed."""
    rng = np.random.default_rng(seed)
    n_trees, F = int(rng.integers(1, 4)), int(rng.integers(1, 6))
    classes = int(rng.choice([0, 2, 2, 3, 5]))
    features = rng.random((n_trees, F)) < 0.7
    features[np.arange(n_trees), rng.integers(0, F, n_trees)] = True
    settings = {
        "criterion": str(rng.choice(["gini", "entropy"])) if classes else "squared_error",
        "features": features if rng.random() < 0.5 else None,
        "min_samples_split": int(rng.choice([2, 2, 5])),
        "min_samples_leaf": int(rng.choice([1, 1, 3])),
        "min_impurity_decrease": float(rng.choice([0.0, 0.0, 0.01])),
        "min_statistic": float(rng.choice([0.0, 0.0, 3.0])),
        "forget": str(rng.choice(["oldest", "random"])),
        "seed": seed,
    }
    return {
        "rng": rng,
        "shape": (n_trees, F, classes),
        "settings": settings,
        "levels": rng.choice([2, 3, 10, 1000, 0], F),
        "weighted": rng.random() < 0.5,
        "largest": int(rng.choice([1, 5, 50])),
        "scale": float(rng.choice([1.0, 1e12, 1e-9])),
    }


def batch(given: dict[str, Any]) -> tuple[Any, Any, Any, Any, Any]:
    """Draw a batch: X, y, weight, r_size, max_height."""
    rng, (n_trees, F, classes) = given["rng"], given["shape"]
    b = int(rng.integers(1, given["largest"] + 1))
    X = rng.random((b, F))
    for f, levels in enumerate(given["levels"]):
        if levels < 1000:
            X[:, f] = np.floor(X[:, f] * levels)
    if rng.random() < 0.3:
        X[b // 2 :] = X[: b - b // 2]
    X *= given["scale"]
    signal = X[:, 0] / given["scale"] + X[:, -1] / given["scale"] + 0.5 * rng.random(b)
    y = np.minimum(signal.astype(np.int64), classes - 1) if classes else np.round(signal, 3)
    weight = rng.poisson(1.0, (n_trees, b)) if given["weighted"] else None
    r_size = rng.integers(0, 120, n_trees) if rng.random() < 0.7 else np.full(n_trees, 60)
    return X, y, weight, r_size, rng.integers(-1, 8, n_trees)


def assert_same_trees(one: Engine, other: Engine) -> None:
    for t in range(one.n_trees):
        for name, mine, theirs in zip(one.tree(t)._fields, one.tree(t), other.tree(t), strict=True):
            np.testing.assert_array_equal(mine, theirs, err_msg=name)


@pytest.mark.parametrize("group", range(10))
def test_an_updated_tree_is_the_tree_built_from_scratch(group: int) -> None:
    for seed in range(25 * group, 25 * group + 25):
        given = stream(seed)
        n_trees, F, classes = given["shape"]
        engine = Engine(n_trees, F, classes, **given["settings"])
        for number in range(12):
            X, y, weight, r_size, height = batch(given)
            if number == 6 and classes:
                engine.add_classes(1)
                classes += 1
                y[0] = classes - 1
            before = [engine.retained(t) for t in range(n_trees)]
            engine.learn(X, y, weight, r_size, height)
            for t in range(n_trees):
                kept_X, kept_y, kept_weight = engine.retained(t)
                seen = np.ones(len(y), np.int64) if weight is None else weight[t]
                assert_remembered(
                    before[t], (X, y, seen), (kept_X, kept_y, kept_weight), r_size[t], given
                )
                assert engine.held[t] == len(kept_y)
                settings = given["settings"]
                features = settings["features"]
                reference = ReferenceTree(
                    classes,
                    settings["criterion"],
                    None if features is None else np.flatnonzero(features[t]).tolist(),
                    settings["min_samples_split"],
                    settings["min_samples_leaf"],
                    settings["min_impurity_decrease"],
                    settings["min_statistic"],
                )
                if not len(kept_y):
                    continue
                root = reference.build(kept_X, kept_y, kept_weight, max(0, int(height[t])))
                expected = listed(root)
                tree = engine.tree(t)
                np.testing.assert_array_equal(tree.feature, expected[0])
                np.testing.assert_array_equal(tree.threshold, expected[1])
                np.testing.assert_array_equal(tree.weight, expected[3])
                value = expected[2] / expected[3][:, None] if classes else expected[2]
                np.testing.assert_array_equal(tree.value, value)


def assert_remembered(before: Any, new: Any, kept: Any, r_size: int, given: Any) -> None:
    """Check what a tree remembers: as many old rows as allowed, then the whole batch."""
    seen = new[2] > 0
    n_old = min(len(before[1]), max(0, r_size - int(seen.sum())))
    assert len(kept[1]) == n_old + seen.sum()
    for old, arrived, held in zip(before, new, kept, strict=True):
        np.testing.assert_array_equal(held[n_old:], arrived[seen])
        if given["settings"]["forget"] == "oldest":
            np.testing.assert_array_equal(held[:n_old], old[len(old) - n_old :])


@pytest.mark.parametrize("seed", range(1000, 1030))
def test_threads_pickles_and_fresh_engines_agree(seed: int) -> None:
    given = stream(seed)
    given["settings"]["max_features"] = int(given["rng"].integers(1, given["shape"][1] + 1))
    one = Engine(*given["shape"], **given["settings"])
    two = Engine(*given["shape"], **given["settings"], threads=2)
    three = Engine(*given["shape"], **given["settings"])
    for _ in range(8):
        X, y, weight, r_size, height = batch(given)
        for engine in (one, two, three):
            engine.learn(X, y, weight, r_size, height)
        assert_same_trees(one, two)
        assert_same_trees(one, three)
        three = pickle.loads(pickle.dumps(three))
        assert_same_trees(one, three)
        queries = batch(given)[0]
        np.testing.assert_array_equal(one.frequencies(queries), three.frequencies(queries))
        for t in range(one.n_trees):
            fresh = Engine(*given["shape"], **given["settings"])
            kept_X, kept_y, kept_weight = one.retained(t)
            repeated = np.repeat(kept_weight[None], one.n_trees, axis=0)
            fresh.learn(kept_X, kept_y, repeated, np.full(one.n_trees, 10**6), height)
            for mine, theirs in zip(one.tree(t), fresh.tree(t), strict=True):
                np.testing.assert_array_equal(mine, theirs)


def rows(b: int, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = np.floor(rng.random((b, 3)) * [4, 50, 1e6])
    return X, (X[:, 0] + X[:, 1] / 20 + rng.random(b) > 3).astype(np.int64)


def full(n_trees: int, number: int) -> Any:
    return np.full(n_trees, number, dtype=np.int64)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_large_batches_and_deep_trees_are_those_of_the_reference(criterion: str) -> None:
    engine = Engine(1, 3, 2, criterion=criterion, seed=3, forget="random")
    for number in range(6):
        X, y = rows(700, number)
        weight = np.random.default_rng(number).poisson(6, (1, 700))
        engine.learn(X, y, weight, full(1, 2000 if number < 4 else 300), full(1, 40))
        root = ReferenceTree(2, criterion).build(*engine.retained(0), 40)
        for mine, expected in zip(
            (engine.tree(0).feature, engine.tree(0).threshold), listed(root)[:2], strict=True
        ):
            np.testing.assert_array_equal(mine, expected)


def test_frequencies_are_those_of_the_leaves_reached() -> None:
    engine = Engine(2, 3, 2)
    X, y = rows(150)
    np.testing.assert_array_equal(engine.frequencies(X), np.full((2, 150, 2), 0.5))
    engine.learn(X, y, None, full(2, 1000), np.array([2, 30]))
    stump = engine.tree(0)
    node = np.zeros(150, dtype=np.int64)
    for _ in range(2):
        inner = stump.left[node] >= 0
        goes_left = X[np.arange(150), stump.feature[node]] <= stump.threshold[node]
        node = np.where(inner, np.where(goes_left, stump.left[node], stump.right[node]), node)
    np.testing.assert_array_equal(engine.frequencies(X)[0], stump.value[node])
    np.testing.assert_array_equal(engine.frequencies(X)[1].argmax(1), y)
    np.testing.assert_array_equal(engine.roots[0], np.bincount(y) / 150)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": np.zeros((4, 2))}, "X, y, weight"),
        ({"X": np.full((4, 3), np.nan)}, "X must not hold NaN"),
        ({"y": np.zeros(3, np.int64)}, "X, y, weight"),
        ({"y": np.array([0, 1, 2, 0])}, "y must lie between 0 and 1"),
        ({"y": np.array([0, -1, 1, 0])}, "y must lie between 0 and 1"),
        ({"weight": np.ones((1, 4), np.int64)}, "X, y, weight"),
        ({"weight": np.full((2, 4), -1)}, "weight must lie between 0 and 32767"),
        ({"r_size": full(1, 9)}, "X, y, weight"),
    ],
)
@pytest.mark.parametrize("threads", [1, 2])
def test_a_rejected_batch_changes_nothing(change: Any, message: str, threads: int) -> None:
    engine = Engine(2, 3, 2, threads=threads)
    X, y = rows(50)
    engine.learn(X, y, None, full(2, 40), full(2, 5))
    before = pickle.dumps(engine)
    given = {"X": X[:4], "y": y[:4], "weight": None, "r_size": full(2, 40)} | change
    with pytest.raises(InvalidInput, match=message):
        engine.learn(**given, max_height=full(2, 5))
    assert pickle.dumps(engine) == before


def test_the_criterion_must_fit_the_task() -> None:
    with pytest.raises(InvalidInput, match="'squared_error' for regression, not 'gini'"):
        Engine(1, 3, 0)


def test_a_replaced_tree_keeps_its_rows_and_uses_other_features() -> None:
    engine = Engine(2, 3, 2, features=np.array([[True, False, False], [True, True, False]]))
    X, y = rows(80)
    engine.learn(X, y, None, full(2, 60), full(2, 6))
    held = engine.retained(0)
    engine.replace(0, np.array([False, False, True]), seed=5)
    assert set(engine.tree(0).feature) == {-1, 2}
    assert set(engine.tree(1).feature) == {-1, 0, 1}
    for before, after in zip(held, engine.retained(0), strict=True):
        np.testing.assert_array_equal(before, after)
    engine.learn(*rows(10, 1), None, full(2, 60), full(2, 6))
    assert set(engine.tree(0).feature) == {-1, 2}


def test_memory_follows_what_is_remembered() -> None:
    engine = Engine(2, 3, 2)
    X, y = rows(500)
    for _ in range(20):
        engine.learn(X, y, None, full(2, 1000), full(2, 9))
    steady = engine.nbytes
    for _ in range(300):
        engine.learn(X, y, None, full(2, 1000), full(2, 9))
    assert engine.nbytes == steady
    copy = pickle.loads(pickle.dumps(engine))
    for _ in range(3):
        for model in (engine, copy):
            model.learn(X[:20], y[:20], None, full(2, 30), full(2, 4))
    assert engine.nbytes < steady / 4
    # Memory is given back with the very batch that needs more of it than the rows held.
    small = Engine(1, 3, 2)
    small.learn(*rows(8000), None, full(1, 8000), full(1, 4))
    small.learn(X[:100], y[:100], None, full(1, 100), full(1, 4))
    fresh = Engine(1, 3, 2)
    fresh.learn(X[:300], y[:300], None, full(1, 300), full(1, 4))
    small.learn(X[:300], y[:300], None, full(1, 300), full(1, 4))
    assert_same_trees(small, fresh)
    assert len(pickle.dumps(engine)) < 10_000
    assert_same_trees(engine, copy)
