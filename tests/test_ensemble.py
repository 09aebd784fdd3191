"""Trees in plain arrays, and the way of rows through them."""

from __future__ import annotations

import pickle
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array
from sklearn.ensemble import RandomForestRegressor
from sklearn.tree import DecisionTreeRegressor

import forestprune.rows
from forestprune import TreeEnsemble, read_ensemble
from forestprune.kernels.masks import rounded_down
from forestprune.rows import RowRules
from forestprune.trees import Tree

FLOAT32 = st.floats(width=32, allow_infinity=False)


def make_tree(left: list[int], right: list[int], cover: list[float], value: list[float]) -> Tree:
    nodes = len(left)
    return Tree.from_children(
        left=np.array(left),
        right=np.array(right),
        feature=np.arange(nodes),
        threshold=np.linspace(1.0, 2.0, nodes),
        missing_left=np.arange(nodes) % 2 == 0,
        value=np.array(value)[:, None],
        cover=np.array(cover),
    )


def arrays_of(tree: Tree) -> list[Any]:
    """All arrays of a tree; one without categories has none of them."""
    assert tree.categories is None
    return [getattr(tree, field.name) for field in fields(tree) if field.name != "categories"]


def by_hand() -> Tree:
    """Depth first: 0 → (1 → (2, 3), 4 → (5, 6 → (7, 8)))."""
    left = [1, 2, -1, -1, 5, -1, 7, -1, -1]
    right = [4, 3, -1, -1, 6, -1, 8, -1, -1]
    cover = [8.0, 4.0, 1.0, 3.0, 4.0, 2.0, 2.0, 1.0, 1.0]
    return make_tree(left, right, cover, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])


def test_nodes_are_brought_into_level_order() -> None:
    tree = by_hand()
    old = [0, 1, 4, 2, 3, 5, 6, 7, 8]
    assert tree.value[:, 0].tolist() == old
    assert tree.left.tolist() == [1, 3, 5, -1, -1, -1, 7, -1, -1]
    assert tree.parent.tolist() == [-1, 0, 0, 1, 1, 2, 2, 6, 6]
    assert tree.layer.tolist() == [0, 1, 1, 2, 2, 2, 2, 3, 3]
    assert tree.leaves.tolist() == [3, 4, 5, 7, 8]
    assert tree.feature.tolist() == [0, 1, 4, -1, -1, -1, 6, -1, -1]
    assert tree.features == {0, 1, 4, 6}
    assert (tree.depth, tree.n_nodes) == (3, 9)
    for array in arrays_of(tree):
        assert not array.flags.writeable


@pytest.mark.parametrize("depth", range(5))
def test_a_cut_tree_keeps_what_is_above(depth: int) -> None:
    tree = by_hand()
    cut = tree.cut(depth)
    kept = tree.layer <= depth
    assert cut.depth == min(depth, 3)
    np.testing.assert_array_equal(cut.value, tree.value[kept])
    np.testing.assert_array_equal(cut.parent, tree.parent[kept])
    inner = (tree.layer < depth) & (tree.left >= 0)
    np.testing.assert_array_equal(cut.left, np.where(inner, tree.left, -1)[kept])
    np.testing.assert_array_equal(cut.feature, np.where(inner, tree.feature, -1)[kept])
    assert (cut is tree) == (depth >= 3)
    for own, source in zip(arrays_of(cut), arrays_of(tree), strict=True):
        assert cut is tree or not np.shares_memory(own, source)
        assert not own.flags.writeable


def test_means_of_the_leaves() -> None:
    tree = by_hand()
    assert not tree.has_mean_values
    changed = tree.with_mean_values()
    # (1·2 + 3·3)/4, (1·7 + 1·8)/2, (2·5 + 2·7.5)/4, (4·2.75 + 4·6.25)/8
    expected = [4.5, 2.75, 6.25, 2.0, 3.0, 5.0, 7.5, 7.0, 8.0]
    np.testing.assert_allclose(changed.value[:, 0], expected)
    assert changed.has_mean_values
    assert not changed.value.flags.writeable
    assert tree.value[0, 0] == 0.0


@pytest.mark.parametrize("move", [1e-6, -1e-6])
def test_a_small_deviation_from_the_mean_is_seen(move: float) -> None:
    given_values = by_hand().with_mean_values().value[:, 0]
    for node in (0, 1, 2, 6):
        value = given_values.copy()
        value[node] += move
        tree = by_hand()
        moved = Tree(
            **{f.name: getattr(tree, f.name) for f in fields(tree) if f.name != "value"},
            value=value[:, None],
        )
        assert not moved.has_mean_values


@pytest.mark.parametrize("shift", [0.0, 1e9])
def test_rounding_is_no_deviation_from_the_mean(shift: float) -> None:
    generator = np.random.default_rng(0)
    X = generator.normal(size=(2000, 3))
    weight = 10.0 ** generator.uniform(-6, 6, size=2000)
    model = RandomForestRegressor(5, random_state=0).fit(X, X[:, 0] + shift, weight)
    assert all(tree.has_mean_values for tree in read_ensemble(model).trees)


def test_a_node_that_no_row_reached_keeps_its_value() -> None:
    tree = make_tree([1, -1, -1], [2, -1, -1], [0.0, 0.0, 0.0], [1.0, 2.0, 5.0])
    assert tree.has_mean_values
    assert tree.with_mean_values().value[:, 0].tolist() == [1.0, 2.0, 5.0]


def test_a_long_chain_of_splits() -> None:
    """Row x leaves the chain to the left at the first threshold k with x ≤ k."""
    inner = 5000
    left = np.full(2 * inner + 1, -1)
    left[:-1:2] = np.arange(1, 2 * inner, 2)
    tree = Tree.from_children(
        left=left,
        right=np.where(left < 0, -1, left + 1),
        feature=np.zeros(len(left), dtype=np.int64),
        threshold=np.arange(len(left)) / 2.0,
        missing_left=np.ones(len(left), dtype=np.bool_),
        value=np.arange(len(left))[:, None] + 0.0,
        cover=np.ones(len(left)),
    )
    assert tree.depth == inner
    ensemble = TreeEnsemble(
        trees=(tree,),
        scale=np.ones(1),
        constant=np.zeros(1),
        init=None,
        n_features=1,
        feature_names=None,
        source="chain",
        allow_nan=True,
    )
    X = np.array([[-1.0], [0.0], [0.5], [7.0], [4998.5], [5000.0], [1e9], [np.nan]])
    assert ensemble.predict(X).tolist() == [1.0, 1.0, 3.0, 15.0, 9999.0, 10000.0, 10000.0, 1.0]


def leaf_nodes(model: Any) -> list[Any]:
    """Per tree, scikit-learn's leaves in level order, found one layer after the other."""
    found = []
    for tree in (estimator.tree_ for estimator in model.estimators_):
        layer, leaves = [0], []
        while layer:
            leaves += [node for node in layer if tree.children_left[node] < 0]
            inner = [node for node in layer if tree.children_left[node] >= 0]
            layer = [c for n in inner for c in (tree.children_left[n], tree.children_right[n])]
        found.append(np.array(leaves))
    return found


def grid_forest(missing: bool) -> Any:
    """A forest whose thresholds are such that float32 and float64 rows may differ."""
    generator = np.random.default_rng(1)
    X = generator.integers(-4, 5, size=(300, 3)) * np.float32(0.1)
    if missing:
        X[generator.random(X.shape) < 0.2] = np.nan
    y = np.nan_to_num(X[:, 0] * X[:, 1], nan=0.3) + generator.normal(size=300)
    return RandomForestRegressor(5, random_state=0).fit(X, y)


@pytest.mark.parametrize("missing", [False, True])
def test_leaves_are_scikit_learns_and_counted_in_level_order(missing: bool) -> None:
    model = grid_forest(missing)
    ensemble, leaves = read_ensemble(model), leaf_nodes(model)
    thresholds = np.unique(np.concatenate([e.tree_.threshold for e in model.estimators_]))
    # A split of missing from present rows has an infinite one.
    assert np.isinf(thresholds).any() == missing
    thresholds = thresholds[np.isfinite(thresholds)]

    @settings(max_examples=60, deadline=None)
    @given(
        arrays(np.float32, (4, 3), elements=FLOAT32),
        arrays(np.float64, (40, 3), elements=st.sampled_from(thresholds)),
        st.sampled_from([0.0, np.inf, -np.inf]),
        st.booleans(),
    )
    def check(anything: Any, on: Any, towards: float, sparse: bool) -> None:
        on = np.nextafter(on, towards) if towards else on
        X = np.vstack([on, on.astype(np.float32), anything])
        rows = csr_array(np.nan_to_num(X)) if sparse else X
        codes = ensemble.apply(rows)
        expected = model.apply(rows)
        for i in range(len(leaves)):
            np.testing.assert_array_equal(leaves[i][codes[i]], expected[:, i])

    check()


def test_sparse_rows_go_down_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forestprune.rows, "_SPARSE_CHUNK_BYTES", 4 * 3 * 7)
    model = grid_forest(missing=False)
    X = np.random.default_rng(2).normal(size=(50, 3))
    X[np.abs(X) < 0.7] = 0.0
    ensemble = read_ensemble(model)
    np.testing.assert_array_equal(ensemble.apply(csr_array(X)), ensemble.apply(X))
    np.testing.assert_array_equal(ensemble.predict(csr_array(X)), ensemble.predict(X))


@pytest.mark.parametrize(("leaves", "kind"), [(256, np.uint8), (257, np.uint16)])
def test_codes_take_as_few_bytes_as_the_leaves_allow(leaves: int, kind: type) -> None:
    X = np.arange(300.0)[:, None]
    model = DecisionTreeRegressor(max_leaf_nodes=leaves).fit(X, X[:, 0])
    codes = read_ensemble(model).apply(X)
    assert codes.dtype == kind
    assert np.unique(codes).tolist() == list(range(leaves))


def test_the_offset_is_what_is_predicted_without_trees() -> None:
    model = grid_forest(missing=False)
    ensemble = read_ensemble(model)
    roots = np.mean([e.tree_.value[0, 0, 0] for e in model.estimators_])
    np.testing.assert_allclose(ensemble.offset(np.zeros((4, 3))), np.full((4, 1), roots))


def test_a_pickle_holds_no_caches_and_is_read_only_again() -> None:
    ensemble = read_ensemble(grid_forest(missing=True))
    before = len(pickle.dumps(ensemble))
    X = np.random.default_rng(0).normal(size=(20, 3))
    expected = ensemble.predict(X)
    text = pickle.dumps(ensemble)
    assert len(text) == before
    copy = pickle.loads(text)
    np.testing.assert_array_equal(copy.predict(X), expected)
    for array in (copy.scale, copy.constant, copy.trees[0].value, copy.trees[0].left):
        assert not array.flags.writeable


def regular(leaves: int, seed: int, by_category: bool = False) -> Tree:
    """A tree of random shape with so many leaves, on four features."""
    generator = np.random.default_rng(seed)
    left, open_ends = [-1], [0]
    while len(open_ends) < leaves:
        node = open_ends.pop(generator.integers(len(open_ends)))
        left[node] = len(left)
        open_ends += [len(left), len(left) + 1]
        left += [-1, -1]
    count, inner = len(left), np.array(left) >= 0
    threshold = np.round(generator.normal(size=count), 1)
    if by_category:
        threshold[::2] = np.nan
    return Tree.from_children(
        left=np.array(left),
        right=np.where(inner, np.array(left) + 1, -1),
        feature=generator.integers(0, 4, count),
        threshold=threshold,
        missing_left=generator.random(count) < 0.5,
        value=generator.normal(size=(count, 1)),
        cover=np.ones(count),
        categories=generator.integers(0, 2**63, (count, 2), dtype=np.uint64)
        if by_category
        else None,
    )


def leaf_of(tree: Tree, row: Any) -> int:
    """Walk one row down a tree, as its definition says."""
    node = 0
    while tree.left[node] >= 0:
        x, threshold = row[tree.feature[node]], tree.threshold[node]
        if np.isnan(x):
            goes_left = bool(tree.missing_left[node])
        elif np.isnan(threshold):
            assert tree.categories is not None
            code = int(x) if -1.0 < x < 128.0 else -1
            goes_left = code >= 0 and bool(int(tree.categories[node, code // 64]) >> code % 64 & 1)
        else:
            goes_left = x <= threshold
        node = tree.left[node] + (not goes_left)
    return int(np.flatnonzero(tree.left < 0).tolist().index(node))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("by_category", [False, True])
def test_small_and_large_trees_pass_rows_as_defined(by_category: bool, dtype: str) -> None:
    sizes = [1, 2, 3, 33, 63, 64, 65, 150]
    trees = tuple(regular(size, seed, by_category) for seed, size in enumerate(sizes))
    ensemble = TreeEnsemble(
        trees=trees,
        scale=np.linspace(0.5, 2.0, len(trees)),
        constant=np.ones(1),
        init=None,
        n_features=4,
        feature_names=None,
        source="trees",
        allow_nan=True,
        rules=RowRules(dtype, allow_infinite=True),
    )
    generator = np.random.default_rng(0)
    values = [np.nan, np.inf, -np.inf, -0.5, 63.9, 64.0, 127.0, 128.0, 1e12, *range(12)]
    X = np.where(
        generator.random((1100, 4)) < 0.5,
        np.round(generator.normal(size=(1100, 4)), 1),
        generator.choice(values, (1100, 4)),
    )
    rows = X.astype(dtype)
    expected = np.array([[leaf_of(tree, row) for row in rows] for tree in trees])
    np.testing.assert_array_equal(ensemble.apply(X), expected)
    total = np.ones(len(X))
    for tree, scale, code in zip(trees, ensemble.scale, expected, strict=True):
        total += scale * (tree.value[tree.leaves[code], 0] - tree.value[0, 0])
    np.testing.assert_allclose(ensemble.predict(X), total, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(ensemble.predict(X[:7]), ensemble.predict(X)[:7])


def test_a_tree_cut_above_its_categories_has_none() -> None:
    tree = regular(20, 3, by_category=True)
    assert tree.cut(0).categories is None
    cut = tree.cut(3)
    assert cut.categories is not None
    assert tree.categories is not None
    np.testing.assert_array_equal(cut.categories, tree.categories[tree.layer <= 3])


def test_features_that_no_split_uses_are_not_looked_at() -> None:
    generator = np.random.default_rng(0)
    X = generator.normal(size=(3000, 900))
    model = RandomForestRegressor(30, max_depth=5, max_features=3, random_state=0)
    model.fit(X[:300], X[:300, 0])
    ensemble = read_ensemble(model)
    assert len(set().union(*(tree.features for tree in ensemble.trees))) > 256
    np.testing.assert_allclose(ensemble.predict(X), model.predict(X), rtol=1e-12, atol=1e-12)


def test_single_precision_compares_as_double_does() -> None:
    limit = np.array([0.1, -0.1, 1.0, 1e300, -1e300, np.inf, 1e-60, -1e-60, 3.4e38])
    low = rounded_down(limit, "float32")
    assert low.dtype == np.float32
    with np.errstate(over="ignore"):
        steps = [np.nextafter(low, np.float32(towards)) for towards in (np.inf, -np.inf)]
        around = np.concatenate([low, limit.astype(np.float32), *steps])
    for x in around:
        np.testing.assert_array_equal(x <= low, np.float64(x) <= limit)


def test_values_of_leaves_alone_give_all_others() -> None:
    tree = Tree.from_leaves(
        np.array([1, 3, -1, -1, -1]),
        right=np.array([2, 4, -1, -1, -1]),
        feature=np.zeros(5, dtype=np.int64),
        threshold=np.zeros(5),
        missing_left=np.ones(5, dtype=np.bool_),
        value=np.array([[np.nan], [np.nan], [5.0], [1.0], [3.0]]),
        cover=np.array([np.nan, np.nan, 4.0, 0.0, 0.0]),
    )
    assert tree.value[:, 0].tolist() == [5.0, 2.0, 5.0, 1.0, 3.0]
    assert tree.cover.tolist() == [4.0, 0.0, 4.0, 0.0, 0.0]
    assert tree.has_mean_values
