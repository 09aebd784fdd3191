"""Competing methods against brute force, optimality conditions and scikit-learn itself."""

from __future__ import annotations

import itertools
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import (
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import Lasso, LinearRegression

import forestprune as fp
from forestprune import InvalidInput, PrunedEnsemble, available_competitors, compete, compete_path
from forestprune.competitors._core.base import Task
from forestprune.competitors._core.registry import competitor_class
from forestprune.competitors._search import fixed, free
from forestprune.competitors._search.subsets import Products
from forestprune.competitors._search.swaps import fitted, searched
from solvers import SolverError

generator = np.random.default_rng(3)
X = generator.normal(size=(150, 4)).round(1)
Y = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.2 * generator.normal(size=150)
WEIGHT = generator.integers(0, 4, size=150).astype(float)
FOREST = RandomForestRegressor(9, max_depth=6, random_state=0).fit(X, Y)
BOOSTING = GradientBoostingRegressor(
    n_estimators=9, max_depth=3, subsample=0.5, random_state=0
).fit(X, Y)
MODELS = {"forest": FOREST, "boosting": BOOSTING}

LABELS = (
    *available_competitors(),
    "lasso[nonnegative=True,refit=True]",
    "lasso[columns=source,intercept=False]",
    "rule_lasso[columns=step]",
    "bsts[weights=fixed]",
    "forestprune[weights=depth,polish=None]",
    "forestprune[shape=subtree]",
    "forestprune[joint=True]",
    "forestprune[polish=best_subset,n_trees=2]",
)


def trees_of(model: Any) -> list[Any]:
    return list(np.ravel(model.estimators_))


def predictions(model: Any) -> np.ndarray:
    """What each tree predicts, unweighted, (m, n)."""
    return np.column_stack([tree.predict(X) for tree in trees_of(model)])


def sizes(model: Any) -> np.ndarray:
    return np.array([tree.tree_.node_count for tree in trees_of(model)])


# --- all of them ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("label", LABELS)
def test_no_limit_is_exceeded_and_the_model_lasts(label: str, kind: str, tmp_path: Path) -> None:
    model = MODELS[kind]
    for limits in ({"max_nodes": 150}, {"max_trees": 3}, {"max_nodes": 90, "max_trees": 2}):
        if "depth_cap" in label or kind == "boosting":
            limits = {"max_nodes": limits.get("max_nodes", 200) // 3} | limits
        try:
            pruned = compete(label, model, X, Y, **limits)
        except UserWarning:
            assert "depth_cap" in label  # all trees or none
            continue
        assert 0 < pruned.n_nodes <= limits.get("max_nodes", np.inf)
        assert pruned.n_trees <= limits.get("max_trees", np.inf)
        assert pruned.n_nodes == sum(tree.n_nodes for tree in pruned.model.trees)
        assert pruned.max_nodes == limits.get("max_nodes")
        assert label.split("[")[0] in pruned.result.solver or "forestprune" in label
        pruned.save(tmp_path / "model.npz")
        again = fp.PrunedEnsemble.load(tmp_path / "model.npz")
        np.testing.assert_array_equal(again.predict(X), pruned.predict(X))
        assert again.alpha == pruned.alpha
        assert pruned.summary()
        if "forestprune" not in label:  # there it is the objective with its penalty
            loss = np.mean((Y - pruned.predict(X)) ** 2)
            assert pruned.result.objective == pytest.approx(loss)


@pytest.mark.parametrize("label", LABELS)
def test_paths_lead_from_small_to_large(label: str) -> None:
    points = list(compete_path(label, FOREST, X, Y, values=6, time_limit=5.0))
    assert 1 <= len(points) <= 6
    nodes = [point.pruned.n_nodes for point in points]
    if "n_trees" not in label:
        assert nodes[-1] == max(nodes) > nodes[0] or len(points) == 1
    again = list(compete_path(label, FOREST, X, Y, values=[point.value for point in points]))
    assert [point.value for point in again] == pytest.approx([point.value for point in points])
    # Paths of heuristics start from the solution before, and may lead elsewhere.
    if "forestprune" not in label:
        for one, other in zip(points, again, strict=True):
            np.testing.assert_allclose(one.pruned.predict(X), other.pruned.predict(X), atol=0.02)


@pytest.mark.parametrize("label", LABELS)
def test_a_row_without_weight_is_a_removed_row(label: str) -> None:
    kept = WEIGHT > 0.0
    weighted = compete(label, FOREST, X, Y, max_nodes=200, sample_weight=WEIGHT)
    fewer = compete(label, FOREST, X[kept], Y[kept], max_nodes=200, sample_weight=WEIGHT[kept])
    np.testing.assert_allclose(weighted.predict(X), fewer.predict(X), atol=1e-8)
    rows = np.repeat(np.arange(len(Y)), WEIGHT.astype(int))
    repeated = compete(label, FOREST, X[rows], Y[rows], max_nodes=200)
    assert repeated.result.objective == pytest.approx(weighted.result.objective, rel=2e-2)


@pytest.mark.parametrize("label", LABELS)
def test_what_is_too_large_leaves_nothing_and_says_so(label: str) -> None:
    with pytest.warns(UserWarning, match="no tree.*smallest tree"):
        pruned = compete(label, FOREST, X, Y, max_nodes=2)
    assert pruned.n_trees == pruned.n_nodes == 0
    assert np.ptp(pruned.predict(X)) == 0.0


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("classes", [2, 3])
def test_classifiers_are_made_smaller_too(label: str, classes: int) -> None:
    labels = np.array(["a", "b", "c"])[np.digitize(Y, [0.0, 0.8][: classes - 1])]
    model = RandomForestClassifier(9, max_depth=5, random_state=0).fit(X, labels)
    if "rule_lasso" in label and classes > 2:
        with pytest.raises(InvalidInput, match="one output"):
            compete(label, model, X, labels, max_nodes=150)
        return
    pruned = compete(label, model, X, labels, max_nodes=150)
    assert 0 < pruned.n_nodes <= 150
    assert np.mean(pruned.predict(X) == labels) > 0.5


def test_ensembles_of_single_leaves_leave_nothing() -> None:
    model = RandomForestRegressor(3, random_state=0).fit(X, np.full(150, 2.0))
    for label in LABELS:
        with pytest.warns(UserWarning, match="no tree"):
            pruned = compete(label, model, X, np.full(150, 2.0), max_nodes=100)
        np.testing.assert_allclose(pruned.predict(X), 2.0)


# --- by name ----------------------------------------------------------------------------------


def test_names_and_labels() -> None:
    assert available_competitors() == [
        "bsts",
        "ccp",
        "depth_cap",
        "first_k",
        "forestprune",
        "lasso",
        "rule_lasso",
    ]
    table = fp.competitor_table()
    assert [row["competitor"] for row in table] == available_competitors()
    assert all(row["summary"] and row["exact"] and row["path over"] for row in table)
    pruned = compete("lasso[refit=True]", FOREST, X, Y, max_nodes=200, nonnegative=True)
    assert pruned.result.solver == "lasso[nonnegative=True,refit=True]"


def listed() -> list[tuple[str, str, list[str]]]:
    """Competitors, their options and what these take, as the table has it."""
    return [
        (row["competitor"], option, [default, *others.split(", ")])
        for row in fp.competitor_table()
        for option, default, others in re.findall(r"(\w+)=(\w+) \(or ([^)]*)\)", row["options"])
    ]


def test_the_table_has_all_options_with_their_defaults() -> None:
    found = {(name, option): taken for name, option, taken in listed()}
    assert found.keys() == {
        (name, item.name)
        for name in available_competitors()
        for item in fields(competitor_class(name).Options)
    }
    assert found["forestprune", "polish"] == ["ridge", "best_subset", "None"]
    assert found["forestprune", "n_trees"] == ["None", "a whole number"]
    assert found["first_k", "average"] == ["None", "True", "False"]


@pytest.mark.parametrize(("name", "option", "taken"), listed())
def test_the_table_has_what_options_take(name: str, option: str, taken: list[str]) -> None:
    for value in (one for one in taken if " " not in one and one != "arrays"):
        compete(f"{name}[{option}={value}]", FOREST, X, Y, max_nodes=400)
    with pytest.raises((InvalidInput, SolverError)):
        compete(f"{name}[{option}=other]", FOREST, X, Y, max_nodes=400)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("laso", {}, "did you mean 'lasso'"),
        ("lasso[", {}, "name\\[option=value"),
        ("lasso", {"refitted": True}, "no option 'refitted'; did you mean 'refit'"),
        ("ccp", {"refit": True}, "it has none"),
        ("lasso", {"refit": 1}, "refit must be True or False"),
        ("bsts", {"weights": "both"}, "weights must be one of free, fixed"),
        ("first_k", {"average": "yes"}, "average must be"),
    ],
)
def test_wrong_names_and_options(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        compete(name, FOREST, X, Y, max_nodes=100, **options)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({}, "give max_nodes or max_trees"),
        ({"max_nodes": -1}, "max_nodes must be an integer of at least 0"),
        ({"max_trees": 1.5}, "max_trees must be an integer"),
        ({"max_nodes": True}, "max_nodes must be an integer"),
        ({"max_nodes": 10, "time_limit": 0.0}, "time_limit must be above 0"),
    ],
)
def test_wrong_limits(limits: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        compete("ccp", FOREST, X, Y, **limits)


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("ccp", 0, "values must be at least 1"),
        ("ccp", True, "values must be a count"),
        ("ccp", [-1.0], "none of them negative"),
        ("ccp", [], "at least one number"),
        ("depth_cap", [1.5], "integers"),
        ("first_k", [10], "not be above the number of trees 9"),
    ],
)
def test_wrong_values(name: str, values: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        list(compete_path(name, FOREST, X, Y, values=values))


# --- first_k and depth_cap --------------------------------------------------------------------


@pytest.mark.parametrize("k", range(1, 10))
def test_the_first_k_trees_are_what_fewer_estimators_would_be(k: int) -> None:
    (forest,) = compete_path("first_k", FOREST, X, Y, values=[k])
    np.testing.assert_allclose(forest.pruned.predict(X), predictions(FOREST)[:, :k].mean(axis=1))
    (boosting,) = compete_path("first_k", BOOSTING, X, Y, values=[k])
    staged = list(BOOSTING.staged_predict(X))[k - 1]
    np.testing.assert_allclose(boosting.pruned.predict(X), staged)
    assert boosting.pruned.n_nodes == sizes(BOOSTING)[:k].sum()


def test_as_many_first_trees_as_fit() -> None:
    nodes = np.cumsum(sizes(FOREST))
    for limit in (nodes[3], nodes[4] - 1):
        assert compete("first_k", FOREST, X, Y, max_nodes=int(limit)).n_trees == 4
    assert compete("first_k", FOREST, X, Y, max_trees=2).n_trees == 2
    summed = compete("first_k", FOREST, X, Y, max_trees=3, average=False)
    total = predictions(FOREST)[:, :3].sum(axis=1) / 9
    np.testing.assert_allclose(summed.predict(X), total)


def truncated(tree: Any, depth: int) -> np.ndarray:
    """What a fitted tree predicts when rows stop at a depth."""
    arrays = tree.tree_
    node = np.zeros(len(X), dtype=int)
    for _ in range(depth):
        inner = arrays.children_left[node] >= 0
        row = np.arange(len(X))
        left = X[row, arrays.feature[node]].astype(np.float32) <= arrays.threshold[node]
        child = np.where(left, arrays.children_left[node], arrays.children_right[node])
        node = np.where(inner, child, node)
    return arrays.value[node, 0, 0]


def test_a_cap_of_depth_stops_all_trees_there() -> None:
    points = list(compete_path("depth_cap", FOREST, X, Y, values=[0, 1, 3, 99]))
    for depth, pruned in points:
        mean = np.mean([truncated(tree, int(depth)) for tree in trees_of(FOREST)], axis=0)
        np.testing.assert_allclose(pruned.predict(X), mean)
    assert points[0].pruned.n_nodes == 0
    np.testing.assert_allclose(points[-1].pruned.predict(X), FOREST.predict(X))
    three = points[2].pruned.n_nodes
    assert compete("depth_cap", FOREST, X, Y, max_nodes=three).n_nodes == three
    assert compete("depth_cap", FOREST, X, Y, max_nodes=three - 1).depths.max() == 2


# --- ccp --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["regression", "two classes", "three classes", "outputs"])
def test_cost_complexity_is_that_of_a_forest_fitted_with_it(kind: str) -> None:
    y: Any = Y
    model: Any = RandomForestRegressor(8, random_state=1)
    if kind == "outputs":
        y = np.column_stack([Y, X[:, 0] ** 2])
    elif kind != "regression":
        y = np.digitize(Y, [0.0] if kind == "two classes" else [-0.3, 0.5])
        model = RandomForestClassifier(8, random_state=1)
    model.fit(X, y, sample_weight=WEIGHT + 1.0)
    points = list(compete_path("ccp", model, X, y, values=12))
    between = [0.5 * (a.value + b.value) for a, b in itertools.pairwise(points)]
    assert len(between) > 5
    for alpha, pruned in compete_path("ccp", model, X, y, values=between):
        fitted = model.__class__(8, random_state=1, ccp_alpha=alpha)
        fitted.fit(X, y, sample_weight=WEIGHT + 1.0)
        np.testing.assert_allclose(pruned.predict(X), fitted.predict(X), atol=1e-12)
        counts = sizes(fitted)
        assert pruned.n_nodes == counts[counts > 1].sum()


def test_cost_complexity_takes_the_smallest_alpha_that_fits() -> None:
    full = next(iter(compete_path("ccp", FOREST, X, Y, values=[0.0]))).pruned
    assert full.n_nodes == sizes(FOREST).sum()
    for limit in (30, 101, 200):
        pruned = compete("ccp", FOREST, X, Y, max_nodes=limit)
        assert pruned.alpha is not None
        below = np.nextafter(pruned.alpha, 0.0)
        (larger,) = compete_path("ccp", FOREST, X, Y, values=[below])
        assert pruned.n_nodes <= limit < larger.pruned.n_nodes


# --- lasso ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("nonnegative", [False, True])
def test_lasso_is_scikit_learns_on_the_trees_own_predictions(kind: str, nonnegative: bool) -> None:
    model, T = MODELS[kind], predictions(MODELS[kind])
    weight = WEIGHT + 1.0
    path = compete_path(
        "lasso", model, X, Y, values=8, nonnegative=nonnegative, sample_weight=weight
    )
    for penalty, pruned in path:
        lasso = Lasso(penalty, positive=nonnegative, tol=1e-10, max_iter=10**6)
        lasso.fit(T, Y, sample_weight=weight)
        np.testing.assert_allclose(pruned.predict(X), lasso.predict(T), atol=2e-3)
        # The conditions of the optimum: slopes are at most λ, and λ where there is a weight.
        rest = weight * (Y - pruned.predict(X))
        assert abs(rest.sum()) < 1e-8
        slopes = (T - weight @ T / weight.sum()).T @ rest / weight.sum()
        assert (slopes if nonnegative else np.abs(slopes)).max() <= penalty * 1.02 + 1e-4
        kept = pruned.beta != 0.0
        np.testing.assert_allclose(
            slopes[kept], penalty * np.sign(pruned.beta[kept]), atol=0.02 * penalty + 1e-3
        )


def test_lasso_in_the_sources_scale_is_that_at_another_price() -> None:
    (own,) = compete_path("lasso", FOREST, X, Y, values=[0.36])
    (scaled,) = compete_path("lasso[columns=source]", FOREST, X, Y, values=[0.04])
    np.testing.assert_allclose(own.pruned.predict(X), scaled.pruned.predict(X), atol=1e-3)
    assert own.pruned.n_trees == scaled.pruned.n_trees < 9


def test_lasso_refits_by_least_squares_or_does_not() -> None:
    T = predictions(FOREST)
    for label in ("lasso[refit=True]", "lasso[refit=True,nonnegative=True]"):
        pruned = compete(label, FOREST, X, Y, max_trees=4)
        kept = pruned.beta != 0.0
        assert kept.sum() == pruned.n_trees <= 4
        line = LinearRegression(positive="nonnegative" in label).fit(T[:, kept], Y)
        np.testing.assert_allclose(pruned.predict(X), line.predict(T[:, kept]), atol=1e-8)
        plain = compete(label.replace("refit=True", "refit=False"), FOREST, X, Y, max_trees=4)
        assert plain.result.objective > pruned.result.objective


# --- rule_lasso -------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", ["indicator", "step"])
@pytest.mark.parametrize("kind", MODELS)
def test_rule_lasso_meets_the_conditions_at_all_nodes(kind: str, columns: str) -> None:
    model = MODELS[kind]
    scale = 1 / 9 if kind == "forest" else 0.1
    for penalty, pruned in compete_path("rule_lasso", model, X, Y, values=6, columns=columns):
        rest = Y - pruned.predict(X)
        assert abs(rest.mean()) < 1e-8
        for tree in trees_of(model):
            inside = tree.decision_path(X.astype(np.float32)).toarray()[:, 1:]
            value = tree.tree_.value[:, 0, 0]
            parent = np.zeros(len(value), dtype=int)
            for side in (tree.tree_.children_left, tree.tree_.children_right):
                parent[side[side >= 0]] = np.flatnonzero(side >= 0)
            size = scale * (value - value[parent])[1:] if columns == "step" else 1.0
            slopes = size * (rest @ inside) / len(Y)
            assert np.abs(slopes).max() <= 1.01 * penalty + 1e-6


def test_rule_lasso_is_scikit_learns_on_one_tree() -> None:
    model = RandomForestRegressor(1, max_depth=4, random_state=0).fit(X, Y)
    inside = model.estimators_[0].decision_path(X.astype(np.float32)).toarray()[:, 1:]
    for penalty, pruned in compete_path("rule_lasso", model, X, Y, values=5):
        lasso = Lasso(penalty, tol=1e-10, max_iter=10**6).fit(inside, Y)
        np.testing.assert_allclose(pruned.predict(X), lasso.predict(inside), atol=5e-3)


def test_rule_lasso_counts_what_leads_to_a_node() -> None:
    pruned = compete("rule_lasso", FOREST, X, Y, max_nodes=60)
    source = fp.read_ensemble(FOREST)
    marks = np.split(
        np.asarray(pruned.result.choice), np.cumsum([tree.n_nodes for tree in source.trees])[:-1]
    )
    kept = iter(pruned.model.trees)
    for tree, mark, depth in zip(source.trees, marks, pruned.depths, strict=True):
        inner = np.flatnonzero(mark[1:]) + 1
        assert (mark[tree.parent[inner]] == 1).all()
        assert depth == tree.layer[mark > 0].max(initial=0)
        if depth > 0:
            own = next(kept)
            assert own.n_nodes == mark.sum()
            # A pair of deepest leaves is only there because one of them changes what is predicted.
            last = own.value[own.layer == own.depth][:, 0]
            assert (np.diff(last.reshape(-1, 2)) != 0.0).all()


# --- bsts -------------------------------------------------------------------------------------


def enumerated(
    T: np.ndarray, nodes: np.ndarray, y: np.ndarray, most_nodes: float, most: float, refit: bool
) -> float:
    """The least loss over all subsets of columns within the limits."""
    best = np.mean((y - y.mean()) ** 2) if refit else np.mean(y**2)
    for count in range(1, len(nodes) + 1):
        if count > most:
            break
        for subset in itertools.combinations(range(len(nodes)), count):
            chosen = list(subset)
            if nodes[chosen].sum() <= most_nodes:
                rest = y - T[:, chosen].sum(axis=1)
                if refit:
                    columns = np.column_stack([np.ones(len(y)), T[:, chosen]])
                    rest = y - columns @ np.linalg.lstsq(columns, y, rcond=None)[0]
                best = min(best, np.mean(rest**2))
    return float(best)


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("weights", ["free", "fixed"])
@pytest.mark.parametrize("limits", [(100, None), (250, None), (10_000, 4), (200, 3), (10_000, 9)])
def test_the_best_subset_is_that_of_all_subsets(
    kind: str, weights: str, limits: tuple[int, int | None]
) -> None:
    model = MODELS[kind]
    max_nodes = limits[0] if kind == "forest" else limits[0] // 4
    source = fp.read_ensemble(model)
    offset = source.offset(X)[:, 0]
    roots = np.array([tree.value[0, 0] for tree in source.trees])
    T = source.scale * (predictions(model) - roots)
    most = np.inf if limits[1] is None else limits[1]
    wanted = enumerated(T, sizes(model), Y - offset, max_nodes, most, weights == "free")
    pruned = compete("bsts", model, X, Y, max_nodes=max_nodes, max_trees=limits[1], weights=weights)
    assert pruned.result.objective == pytest.approx(wanted, rel=1e-6)
    assert pruned.result.guarantee == "optimal"
    assert wanted * (1 - 1e-5) <= pruned.result.bound <= wanted * (1 + 1e-9)
    if weights == "fixed":
        np.testing.assert_array_equal(pruned.beta[pruned.depths > 0], 1.0)


def test_correlated_columns_are_searched_exactly() -> None:
    rng = np.random.default_rng(0)
    for trial in range(15):
        shared = rng.normal(size=(40, 2))
        T = shared @ rng.normal(size=(2, 9)) + 0.3 * rng.normal(size=(40, 9))
        T[:, 8] = T[:, 0]  # the same column twice
        T -= T.mean(axis=0)
        y = T @ rng.normal(size=9) * (rng.random() < 0.5) + rng.normal(size=40)
        y -= y.mean()
        cost = rng.integers(1, 9, size=9).astype(float)
        budget, most = float(rng.integers(3, 30)), [np.inf, 3, 4][trial % 3]
        problem = Products(T.T @ T / 40, T.T @ y / 40, float(y @ y) / 40, cost, budget, most)
        for search, refit in ((free.best_free, True), (fixed.best_fixed, False)):
            wanted = enumerated(T, cost, y, budget, most, refit)
            found = search(problem, 30.0)
            assert found.loss == pytest.approx(wanted, rel=1e-5)
            assert found.bound == pytest.approx(wanted, rel=1e-5)
            assert found.bound <= wanted + 1e-12
            assert problem.fits(np.isin(np.arange(9), found.chosen))


@pytest.mark.parametrize("weights", ["free", "fixed"])
def test_a_search_that_is_cut_short_has_a_bound_below_the_optimum(weights: str) -> None:
    model = GradientBoostingRegressor(n_estimators=60, max_depth=3, random_state=0).fit(X, Y)
    exact = "bsts[weights=fixed]" if weights == "fixed" else "bsts"
    short = compete(exact, model, X, Y, max_nodes=300, time_limit=0.05)
    assert short.n_nodes <= 300
    assert 0.0 < short.result.bound <= short.result.objective
    longer = compete(exact, model, X, Y, max_nodes=300, time_limit=2.0)
    assert short.result.bound <= longer.result.objective * (1 + 1e-9)
    assert longer.result.objective <= short.result.objective * (1 + 1e-9)
    assert longer.result.bound >= short.result.bound * (1 - 1e-9)


# --- forestprune ------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"polish": None, "weights": "depth"}, {"joint": True}])
def test_forestprune_is_prune(options: dict[str, Any]) -> None:
    one = compete("forestprune", FOREST, X, Y, max_nodes=150, **options)
    other = fp.prune(FOREST, X, Y, max_nodes=150, **options)
    np.testing.assert_allclose(one.predict(X), other.predict(X))
    assert one.n_nodes == other.n_nodes
    (point,) = compete_path("forestprune", FOREST, X, Y, values=[0.5], **options)
    at = fp.prune(FOREST, X, Y, alpha=0.5, **options)
    np.testing.assert_allclose(point.pruned.predict(X), at.predict(X))
    assert point.value == pytest.approx(0.5)


def test_a_task_knows_its_trees() -> None:
    source = fp.read_ensemble(FOREST)
    task = Task(source, source.pruning_data(X, Y), "ccp", 1.0)
    assert task.smallest_tree == sizes(FOREST).min()
    assert isinstance(compete("ccp", source, X, Y, max_nodes=50), PrunedEnsemble)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_local_search_adds_no_trees_for_rounding(seed: int) -> None:
    # With a tree for every row the loss is down to rounding; one more tree for it is too much.
    rng = np.random.default_rng(seed)
    X = np.sort(rng.uniform(size=(40, 1)), axis=0)
    y = X[:, 0] + rng.normal(0.0, 0.3, 40)
    model = GradientBoostingRegressor(
        n_estimators=150, max_depth=5, subsample=0.25, random_state=0
    ).fit(X, y)
    T = np.column_stack([tree.predict(X) for tree in model.estimators_[:, 0]])
    T -= T.mean(axis=0)
    rest = y - y.mean()
    cost = np.ones(T.shape[1])
    problem = Products(T.T @ T / 40, T.T @ rest / 40, rest @ rest / 40, cost, np.inf, np.inf)
    chosen = searched(problem, np.inf)
    coefficients, loss = fitted(problem, chosen)
    assert chosen.sum() <= 40
    assert loss <= 1e-3 * problem.square
    assert np.abs(coefficients).max() < 20.0


def test_trees_that_nearly_depend_on_each_other_have_a_best_subset() -> None:
    # Each one alone differs enough from those before; all together do not.
    rng = np.random.default_rng(0)
    X = np.round(rng.uniform(size=(60, 1)), 2)
    y = np.sin(6.0 * X[:, 0]) + rng.normal(0.0, 0.3, 60)
    model = GradientBoostingRegressor(
        n_estimators=100, max_depth=2, subsample=0.25, random_state=0
    ).fit(X, y)
    found = fp.compete("bsts", model, X, y, max_nodes=3000, time_limit=2.0)
    loss = float(np.mean((found.predict(X) - y) ** 2))
    assert found.result.objective == pytest.approx(loss, rel=1e-9)
    assert found.result.bound <= loss
    assert loss < np.mean((model.predict(X) - y) ** 2)
