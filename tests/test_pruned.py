"""A pruned ensemble predicts by itself, and counts what it kept."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
from sklearn.tree import DecisionTreeRegressor

from forestprune import InvalidInput, PrunedEnsemble, SolverError, prune, read_ensemble
from solvers import InvalidOption


@pytest.fixture(scope="module")
def rows() -> tuple[pd.DataFrame, Any]:
    generator = np.random.default_rng(0)
    X = pd.DataFrame(generator.normal(size=(300, 4)), columns=["north", "east", "up", "noise"])
    return X, np.sin(X["north"] * 2) + X["east"] * X["up"] + 0.1 * generator.normal(size=300)


@pytest.fixture(scope="module")
def forest(rows: tuple[Any, Any]) -> RandomForestRegressor:
    return RandomForestRegressor(30, max_depth=6, random_state=0).fit(*rows)


def test_it_predicts_what_the_problem_says(rows: tuple[Any, Any], forest: Any) -> None:
    X, y = rows
    pruned = prune(forest, X, y, alpha=0.5, polish=None)
    loss = float(((y - pruned.predict(X)) ** 2).mean())
    data = read_ensemble(forest).pruning_data(X, y)
    assert pruned.alpha == pytest.approx(0.5 * np.var(y))
    penalty = pruned.alpha * sum(
        sizes[:k].sum() for sizes, k in zip(data.layer_sizes, pruned.depths, strict=True)
    )
    total = sum(sizes.sum() for sizes in data.layer_sizes)
    assert pruned.result.objective == pytest.approx(loss + penalty / total, rel=1e-12)


@pytest.mark.parametrize(("kind", "outputs"), [("forest", 1), ("forest", 3), ("boosting", 1)])
def test_it_is_the_sum_of_what_the_sources_trees_say_at_each_depth(
    rows: tuple[Any, Any], kind: str, outputs: int
) -> None:
    X, y = rows[0].to_numpy(), np.asarray(rows[1])
    model: Any = RandomForestRegressor(8, random_state=0)
    if kind == "boosting":
        model = GradientBoostingRegressor(n_estimators=8, max_depth=4, random_state=0)
    model.fit(X, y if outputs == 1 else np.column_stack([y * o + X[:, o] for o in range(outputs)]))
    ensemble = read_ensemble(model)
    response = y if outputs == 1 else np.tile(y[:, None], outputs)
    solved = prune(ensemble, X, response, polish=None).result
    depths = [tree.depth for tree in ensemble.trees]
    choice = np.array([0, 1, 2, 3, 0, depths[5], depths[6] - 1, 1])
    beta = np.array([0.0, 1.0, 0.5, 2.0, 0.0, 0.0, -1.0, 1.0])
    result = replace(solved, choice=choice, beta=beta)
    pruned = PrunedEnsemble.cut(ensemble, result, 1.0)
    scale = model.learning_rate if kind == "boosting" else 1 / 8
    expected = model.init_.predict(X)[:, None] if kind == "boosting" else np.zeros((len(X), 1))
    for source, depth, factor in zip(np.ravel(model.estimators_), choice, beta, strict=True):
        paths = source.decision_path(X.astype(np.float32))
        nodes = [row.indices[min(depth, len(row.indices) - 1)] for row in paths]
        root = source.tree_.value[0, :, 0]  # its share of the constant is never scaled
        expected = expected + scale * (root + factor * (source.tree_.value[nodes, :, 0] - root))
    given = pruned.predict(X).reshape(len(X), outputs)
    np.testing.assert_allclose(given, expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())
    assert pruned.n_trees == 5
    np.testing.assert_array_equal(pruned.depths, np.where(beta == 0.0, 0, choice))
    np.testing.assert_array_equal(pruned.beta, beta)
    assert "weights   -1 to 2\n" in pruned.summary()


def test_counts(rows: tuple[Any, Any], forest: Any) -> None:
    pruned = prune(forest, *rows, alpha=1.0)
    assert pruned.polishing is not None
    nodes = 0
    features: set[int] = set()
    for estimator, depth in zip(forest.estimators_, pruned.depths, strict=True):
        tree = estimator.tree_
        stack = [(0, 0)]
        while stack and depth > 0:
            node, layer = stack.pop()
            nodes += 1
            if layer < depth and tree.children_left[node] >= 0:
                features.add(int(tree.feature[node]))
                children = (tree.children_left[node], tree.children_right[node])
                stack += [(child, layer + 1) for child in children]
    assert pruned.n_nodes == nodes
    assert pruned.n_trees == (pruned.depths > 0).sum()
    assert pruned.features_used == [rows[0].columns[i] for i in sorted(features)]
    assert pruned.n_features_used == len(features)
    full = sum(estimator.tree_.node_count for estimator in forest.estimators_)
    assert pruned.compactness == nodes / full
    assert f"{nodes} of {full}" in pruned.summary()


def test_a_huge_alpha_leaves_the_constant(rows: tuple[Any, Any], forest: Any) -> None:
    X, y = rows
    with pytest.warns(UserWarning, match="no tree survives at alpha=1e\\+09"):
        empty = prune(forest, X, y, alpha=1e9)
    assert empty.polishing is None
    assert "trees     0 of 30 (none: only its start is left)" in empty.summary()
    assert (empty.n_trees, empty.n_nodes, empty.features_used) == (0, 0, [])
    roots = np.mean([estimator.tree_.value[0, 0, 0] for estimator in forest.estimators_])
    np.testing.assert_allclose(empty.predict(X), roots)


def test_boosting_with_an_estimator_as_start(rows: tuple[Any, Any]) -> None:
    X, y = rows
    model = GradientBoostingRegressor(
        n_estimators=20, init=RandomForestRegressor(3, max_depth=2), random_state=0
    ).fit(X, y)
    with pytest.warns(UserWarning, match="no tree survives"):
        empty = prune(model, X, y, alpha=1e9)
    # The trees' root means stay: they are not 0, since the start was fitted on a bootstrap.
    roots = 0.1 * sum(tree.tree_.value[0, 0, 0] for tree in model.estimators_[:, 0])
    np.testing.assert_allclose(empty.predict(X), model.init_.predict(X.to_numpy()) + roots)


def test_the_unit_of_the_response_does_not_matter(rows: tuple[Any, Any]) -> None:
    X, y = rows
    depths = [
        prune(RandomForestRegressor(10, random_state=0).fit(X, c * y), X, c * y, alpha=1.0).depths
        for c in (1.0, 1024.0)
    ]
    np.testing.assert_array_equal(depths[0], depths[1])


def test_it_survives_pickling_without_its_source(rows: tuple[Any, Any], forest: Any) -> None:
    X, y = rows
    pruned = prune(forest, X, y, alpha=0.1)
    text = pickle.dumps(pruned)
    assert b"RandomForestRegressor" not in text.replace(b"\x8c\x15RandomForestRegressor", b"")
    copy: PrunedEnsemble = pickle.loads(text)
    np.testing.assert_array_equal(copy.predict(X), pruned.predict(X))
    np.testing.assert_array_equal(
        copy.predict(X[["up", "noise", "east", "north"]]), pruned.predict(X)
    )


@pytest.mark.parametrize("joint", [False, True])
def test_a_constant_response(rows: tuple[Any, Any], joint: bool) -> None:
    X, _ = rows
    y = np.full(len(X), 4.0)
    with pytest.warns(UserWarning, match="no tree survives"):
        pruned = prune(RandomForestRegressor(3).fit(X, y), X, y, alpha=1.0, joint=joint)
    assert pruned.n_nodes == 0
    np.testing.assert_array_equal(pruned.predict(X), y)


def test_a_list_of_weighted_trees_is_read_first(rows: tuple[Any, Any]) -> None:
    X, y = rows
    trees = [DecisionTreeRegressor(max_depth=k).fit(X, y) for k in (2, 4)]
    pruned = prune(read_ensemble(trees, weights=[0.9, 0.1]), X, y, alpha=0.0, polish=None)
    assert pruned.depths.tolist() == [2, 4]
    np.testing.assert_allclose(
        pruned.predict(X), 0.9 * trees[0].predict(X) + 0.1 * trees[1].predict(X), rtol=1e-12
    )


def test_a_summary_without_a_bound_says_so(rows: tuple[Any, Any], forest: Any) -> None:
    pruned = prune(forest, *rows, polish=None)
    assert "of the optimum (cbcd" in pruned.summary()
    assert "polished" not in pruned.summary()
    assert "weights" not in pruned.summary()
    unproven = replace(pruned, result=replace(pruned.result, bound=-np.inf))
    assert "without a proven bound (cbcd" in unproven.summary()


def test_another_solver_by_name(rows: tuple[Any, Any], forest: Any) -> None:
    exact = prune(forest, *rows, alpha=1.0, solver="branch_and_bound", gap=1e-5)
    assert exact.result.guarantee == "optimal"
    assert exact.result.objective <= prune(forest, *rows, alpha=1.0).result.objective + 1e-12


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": -1.0}, "alpha must be a finite number of at least 0"),
        ({"alpha": np.nan}, "alpha must be a finite number"),
        ({"solver": "cbdc"}, "did you mean 'cbcd'"),
        ({"weights": "leaves"}, "weights must be"),
        ({"solver": "clarabel[rounding=False]"}, "found no choice"),
    ],
)
def test_bad_options(
    rows: tuple[Any, Any], forest: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises((InvalidInput, SolverError), match=message):
        prune(forest, *rows, **options)


def test_a_misspelt_argument_is_told_as_one_of_prune() -> None:
    X, y = np.arange(20.0).reshape(-1, 1), np.arange(20.0)
    model = DecisionTreeRegressor(max_depth=2).fit(X, y)
    with pytest.raises(InvalidOption, match="no argument 'alpa'; did you mean 'alpha'"):
        prune(model, X, y, alpa=1.0)
    with pytest.raises(InvalidOption, match="solver 'cbcd' has no option 'swp'"):
        prune(model, X, y, swp="index")
