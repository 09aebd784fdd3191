"""Subtrees and weights of the trees together: what is exact, what is proven, and all around it."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import SUBTREES, random_trees
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor

import forestprune as fp
from forestprune import Guarantee, InvalidInput, JointSubtreePruning, PruningData, solve, verify
from formulations import SubtreeColumns
from formulations.kernels.envelopes import C, G, Q, root_pieces
from formulations.rewritings.perspective import UnitFree
from solvers import InvalidOption, UnsupportedProblem
from solvers._choices.descent import Descent
from solvers._coefficients import listing
from solvers._coefficients.relaxing.alternation import relax
from solvers._core.base import Control
from studies import datasets


def tiny(seed: int, most_trees: int = 4, most_splits: int = 3) -> JointSubtreePruning:
    """A random problem: weights, several outputs, either ρ, α = 0 and no ridge now and then."""
    generator = np.random.default_rng(seed)
    splits = [int(s) for s in generator.integers(0, most_splits + 1, size=most_trees)]
    splits[0] = max(splits[0], 1)
    rows, outputs = int(generator.integers(3, 25)), int(generator.choice([1, 1, 2]))
    parents, values, codes, y = random_trees(seed, rows, splits, outputs)
    weight = generator.integers(1, 4, size=rows) if seed % 3 == 0 else None
    data = PruningData.from_trees(parents, values, codes, y, sample_weight=weight)
    unit = data.target_square
    alpha = 10.0 ** generator.uniform(-3, 1) * unit * (seed % 7 > 0)
    weights = "leaves" if seed % 5 == 0 else "nodes"
    if seed % 2:
        return JointSubtreePruning(data, alpha, 10.0 ** generator.uniform(-3, 1), 2, weights)
    price = 10.0 ** generator.uniform(-3, -1) * unit
    return JointSubtreePruning(data, alpha, price, 0, weights, float(generator.choice([0, 0.1])))


def listed(parent: Any) -> list[set[int]]:
    """All rooted subtrees of a tree as sets of nodes, siblings kept together; the root alone
    first."""
    children = [[c for c in range(len(parent)) if parent[c] == node] for node in range(len(parent))]

    def below(node: int) -> list[set[int]]:
        found = [{node}]
        if children[node]:
            parts = product(*(below(child) for child in children[node]))
            found += [{node}.union(*part) for part in parts]
        return found

    return below(0)


def columns_of(problem: JointSubtreePruning, i: int) -> list[tuple[Any, Any, float]]:
    """Marks, predictions (m·q,) times √ω, and price of every subtree of a tree but the empty."""
    data, found = problem.data, []
    begin = int(data.node_start[i])
    parent = data.parent[begin : data.node_start[i + 1]]
    value = data.value[begin : data.node_start[i + 1]]
    ends = data.leaf_node[data.leaf_start[i] : data.leaf_start[i + 1]]
    total = sum(fp.SubtreePruning(data, 1.0, problem.weights).rule.cost)
    assert total == pytest.approx(1.0)
    for kept in listed(parent)[1:]:
        seen = []
        for node in ends[data.codes[i]].tolist():
            while node not in kept:
                node = parent[node]
            seen.append(node)
        count = len(kept) - 1
        nodes = len(data.parent) - data.n_trees
        if problem.weights == "leaves":
            inner = {int(parent[node]) for node in kept if node > 0}
            count, nodes = len(kept - inner), len(data.leaf_node)
            nodes -= int((np.diff(data.node_start) == 1).sum())
        price = problem.alpha * count / nodes + (problem.alpha2 if problem.rho == 0 else 0.0)
        marks = np.isin(np.arange(len(parent)), list(kept)).astype(int)
        found.append((marks, (np.sqrt(data.row_weight)[:, None] * value[seen]).ravel(), price))
    return found


def optimum(problem: JointSubtreePruning) -> float:
    """The least objective, by trying everything with plain numpy."""
    data = problem.data
    target = (np.sqrt(data.row_weight)[:, None] * data.target).ravel()
    ridge = problem.alpha2 if problem.rho == 2 else problem.ridge
    best = np.inf
    for pattern in product(*([None, *columns_of(problem, i)] for i in range(data.n_trees))):
        used = [one for one in pattern if one is not None]
        A = np.array([column for _, column, _ in used]).reshape(len(used), len(target)).T
        A = np.vstack([A, np.sqrt(ridge) * np.eye(len(used))])
        b = np.append(target, np.zeros(len(used)))
        loss = float(((b - A @ np.linalg.lstsq(A, b, rcond=None)[0]) ** 2).sum())
        best = min(best, loss / data.total_weight + sum(price for _, _, price in used))
    return best


@pytest.mark.parametrize("seed", range(12))
def test_brute_force_finds_what_plain_enumeration_finds(seed: int) -> None:
    problem = tiny(seed, most_trees=3)
    rounding = 1e-9 * problem.data.target_square
    result = solve(problem, "brute_force")
    assert result.objective == pytest.approx(optimum(problem), rel=1e-9, abs=rounding)
    assert result.guarantee is Guarantee.OPTIMAL
    for _ in range(5):
        point = np.random.default_rng(seed).normal(size=int(problem.rule.point_start[-1]))
        assert problem.linear_bound(point) <= result.objective + rounding


def test_descent_is_rarely_above_the_optimum_and_never_below() -> None:
    found = 0
    for seed in range(100):
        problem = tiny(seed)
        least = solve(problem, "brute_force").objective
        result = solve(problem, "cbcd")
        rounding = 1e-9 * problem.data.target_square
        assert least - rounding <= result.objective
        assert result.bound <= least + rounding
        assert verify(problem, result).sound
        assert [entry.objective for entry in result.trace] == sorted(
            (entry.objective for entry in result.trace), reverse=True
        )
        found += result.objective <= least + rounding
    assert found >= 95


@pytest.mark.parametrize("seed", range(40))
def test_the_update_of_one_tree_is_exact(seed: int) -> None:
    problem = tiny(seed, most_trees=1, most_splits=8)
    descent = Descent(problem, problem.zero(), np.zeros(1))
    descent.run(Control())
    rounding = 1e-9 * problem.data.target_square
    least = optimum(problem)
    assert descent.objective == pytest.approx(least, rel=1e-9, abs=rounding)
    # And from elsewhere: a first move out of the whole tree with a wrong sign.
    descent = Descent(problem, problem.full(), np.full(1, -3.0))
    descent.run(Control())
    assert descent.objective == pytest.approx(least, rel=1e-9, abs=rounding)


@pytest.mark.parametrize("linear", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_the_envelope_is_the_least_over_all_subtrees(seed: int, linear: bool) -> None:
    problem = tiny(2 * seed + 1, most_trees=1, most_splits=7)
    generator = np.random.default_rng(seed)
    data = problem.data
    rule = (problem.dual_rule if linear else problem.rule).fixed
    slope = np.append(0.0, generator.normal(size=len(data.parent) - 1))
    pieces = root_pieces(rule, data.trees, 0, slope, 1.0)
    begins = pieces[:, 0]
    assert begins[0] == -np.inf
    assert np.all(np.diff(begins) > 0.0)
    if linear:
        assert len(pieces) <= 2 * len(data.splits.node) + 1
    for beta in [*generator.normal(scale=3.0, size=50), 0.0, 1e6, -1e6]:
        least = 0.0
        for kept in listed(data.parent)[1:]:
            ends = [v for v in kept if not kept & set(np.flatnonzero(data.parent == v).tolist())]
            q = rule.square[ends].sum() / data.total_weight
            cost = rule.cost[list(kept)].sum()
            least = min(least, beta * (q * beta + slope[ends].sum()) + cost)
        here = pieces[np.searchsorted(begins, beta, side="right") - 1]
        value = beta * (here[Q] * beta - 2.0 * here[G]) + here[C]
        assert value == pytest.approx(least, rel=1e-9, abs=1e-9 * max(1.0, abs(beta)))


def test_layers_are_a_special_case() -> None:
    for seed in range(12):
        problem = tiny(seed, most_trees=3)
        layers = problem.by_layers
        result = solve(layers, "brute_force")
        choice = problem.of_depths(result.choice)
        same = problem.objective(choice, result.beta)
        assert same == pytest.approx(result.objective, rel=1e-12)
        rounding = 1e-9 * problem.data.target_square
        assert solve(problem, "brute_force").objective <= result.objective + rounding
        assert solve(problem, "cbcd").objective <= solve(layers, "cbcd").objective + rounding


@pytest.mark.parametrize("name", sorted(SUBTREES))
def test_named_problems(name: str) -> None:
    data = SUBTREES[name]().data
    unit = data.target_square
    for problem in (
        JointSubtreePruning(data, 0.0, 0.1),
        JointSubtreePruning(data, 0.1 * unit, 0.1),
        JointSubtreePruning(data, 0.05 * unit, 0.01 * unit, 0),
    ):
        result = solve(problem, "cbcd")
        assert verify(problem, result).sound
        assert problem.objective(result.choice, result.beta) == result.objective
        assert result.objective <= unit + problem.tolerance
        if "brute_force" in fp.available_solvers(problem):
            least = solve(problem, "brute_force").objective
            assert least - 1e-9 * unit <= result.objective <= 1.05 * least + 1e-9 * unit


@pytest.mark.parametrize("rho", [2, 0])
def test_nothing_is_kept_at_a_high_price_and_that_is_proven(rho: int) -> None:
    data = SUBTREES["subtrees"]().data
    problem = JointSubtreePruning(data, 1e6, 0.01, rho)
    result = solve(problem, "cbcd")
    assert (result.choice.sum(), np.abs(result.beta).sum()) == (0, 0.0)
    assert result.guarantee is Guarantee.OPTIMAL
    assert problem.kept_trees(result.choice, result.beta) == 0


@pytest.mark.parametrize("seed", range(1, 25, 2))
def test_generated_columns_bound_all_subtrees(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = tiny(seed)
    least = solve(problem, "brute_force").objective
    exact = solve(problem, "branch_and_bound")
    assert exact.guarantee is Guarantee.OPTIMAL
    assert exact.objective == pytest.approx(least, rel=1e-6)
    form = UnitFree.of(SubtreeColumns.every(problem))
    monkeypatch.setattr(listing, "_MOST_SUBTREES", 0)
    result = solve(problem, "relaxation")
    rounding = 1e-9 * problem.data.target_square
    assert result.extra["form"] == "generated"
    assert result.bound - rounding <= least <= result.objective + rounding
    assert verify(problem, result).bound == pytest.approx(result.bound)
    if form is not None:
        relaxed = relax(form, 1e-5, Control()).bound * problem.data.target_square
        assert result.bound >= (1.0 - 2e-3) * min(relaxed, least) - rounding
    with pytest.raises(UnsupportedProblem, match=r"subtrees, at most 0 can be listed"):
        solve(problem, "branch_and_bound")


def test_without_a_ridge_the_generated_bound_is_that_of_the_smallest_tree(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(listing, "_MOST_SUBTREES", 0)
    data = SUBTREES["subtrees"]().data
    problem = JointSubtreePruning(data, 0.05 * data.target_square, 0.01 * data.target_square, 0)
    result = solve(problem, "relaxation")
    assert 0.0 < result.bound == problem.least_prices[0]
    assert result.bound <= solve(problem, "brute_force").objective


@pytest.mark.parametrize("seed", range(8))
def test_from_alpha_max_on_descent_stays_at_nothing(seed: int) -> None:
    problem = tiny(seed)
    top = problem.alpha_max()
    nothing = np.zeros(problem.data.n_trees)

    def moved(alpha: float) -> bool:
        descent = Descent(problem.with_alpha(alpha), problem.zero(), nothing)
        descent.run(Control())
        return bool(descent.state.choice.any())

    assert not moved(top * 1.001)
    if top > 0.0:
        assert moved(top * 0.999)


@pytest.mark.parametrize(
    ("over", "rho"), [("alpha", 2), ("alpha", 0), ("alpha2", 2), ("alpha2", 0)]
)
def test_paths(over: str, rho: int) -> None:
    data = SUBTREES["subtrees"]().data
    problem = JointSubtreePruning(data, 0.05 * data.target_square, 0.05, rho)
    path = fp.solve_path(problem, over, 8)
    objectives = [result.objective for result in path]
    assert objectives == sorted(objectives, reverse=True)
    frame = path.to_frame()
    assert frame["nodes"].iloc[-1] == len(data.parent)
    assert frame["nodes"].iloc[:-1].max() > 0
    if over == "alpha" or rho == 0:
        first = solve(path.problem_at(0), "brute_force")
        assert first.objective == pytest.approx(data.target_square, rel=1e-12)
    for k, result in enumerate(path):
        assert verify(path.problem_at(k), result).sound
    fp.plot_path(path)


@pytest.mark.parametrize("factor", [1e-6, 1e8])
@pytest.mark.parametrize("rho", [2, 0])
def test_scaling_the_response(rho: int, factor: float) -> None:
    def scaled(by: float) -> JointSubtreePruning:
        parents, values, codes, y = random_trees(3, 20, [3, 4, 2])
        data = PruningData.from_trees(parents, [by * value for value in values], codes, by * y)
        square = by * by
        price, ridge = (0.5 * square, 0.0) if rho == 2 else (0.05 * square, 0.1 * square)
        return JointSubtreePruning(data, 0.3 * square, price, rho, ridge=ridge)

    one, other = solve(scaled(1.0)), solve(scaled(factor))
    np.testing.assert_array_equal(one.choice, other.choice)
    np.testing.assert_allclose(one.beta, other.beta, rtol=1e-6)
    assert other.objective == pytest.approx(one.objective * factor**2, rel=1e-9)
    assert other.bound == pytest.approx(one.bound * factor**2, rel=1e-6)


def test_a_file_brings_it_back(tmp_path: Path) -> None:
    data = SUBTREES["subtrees"]().data
    weights = np.split(np.arange(len(data.parent)) / 7.0, data.node_start[1:-1])
    for problem in (
        JointSubtreePruning(data, 0.3, 0.2),
        JointSubtreePruning(data, 0.3, 0.2, 0, "leaves", 0.4),
        JointSubtreePruning(data, 0.3, 0.2, weights=weights),
    ):
        fp.save_problem(problem, tmp_path / "problem.npz")
        loaded: Any = fp.load_problem(tmp_path / "problem.npz")
        assert type(loaded) is JointSubtreePruning
        beta = np.linspace(-1.0, 1.0, data.n_trees)
        assert loaded.objective(problem.full(), beta) == problem.objective(problem.full(), beta)


def test_a_warm_start_is_used() -> None:
    problem = tiny(55)
    best = solve(problem, "brute_force")
    again = solve(problem, "cbcd", warm_start=best, local_search=False)
    assert again.objective <= best.objective + problem.tolerance
    plain = solve(problem.unweighted, "cbcd")  # ones for removed trees too
    assert solve(problem, "cbcd", warm_start=plain).objective <= best.objective * 1.2


def test_what_does_not_fit_is_said() -> None:
    data = SUBTREES["subtrees"]().data
    problem = JointSubtreePruning(data, 0.1)
    with pytest.raises(InvalidInput, match="beta is needed"):
        problem.objective(problem.full())
    with pytest.raises(InvalidInput, match=r"beta\[0\] must be 0"):
        problem.objective(problem.zero(), np.ones(data.n_trees))
    with pytest.raises(InvalidInput, match="rho must be 2"):
        JointSubtreePruning(data, 0.1, rho=1)
    with pytest.raises(InvalidInput, match="ridge is for rho=0"):
        JointSubtreePruning(data, 0.1, ridge=0.1)
    with pytest.raises(InvalidInput, match="alpha2 must be"):
        JointSubtreePruning(data, 0.1, alpha2=-1.0)
    with pytest.raises(InvalidInput, match='weights must be "nodes", "leaves"'):
        JointSubtreePruning(data, 0.1, weights="depth")
    with pytest.raises(InvalidOption, match="swap is for"):
        solve(problem, "cbcd", swap="index")
    with pytest.raises(UnsupportedProblem, match=r"depths and not subtrees.*cbcd"):
        solve(problem, "iht")
    (row,) = [row for row in fp.capability_table() if row["solver"] == "cbcd"]
    assert "joint subtrees" in row["problems"]


@pytest.fixture(scope="module")
def diamonds() -> tuple[Any, Any]:
    """Some rows of the diamonds data with their log price."""
    given = datasets.load("diamonds")
    rows = np.random.default_rng(0).permutation(len(given.y))[:800]
    return given.X.to_numpy()[rows], given.y[rows]


@pytest.mark.parametrize("polish", ["ridge", "best_subset"])
def test_a_model_is_pruned(diamonds: tuple[Any, Any], polish: str) -> None:
    X, y = diamonds
    model = GradientBoostingRegressor(n_estimators=30, max_depth=4, random_state=0).fit(X, y)
    options = {"alpha": 0.3, "polish": polish, "alpha2": 0.01}
    pruned = fp.prune(model, X, y, shape="subtree", joint=True, **options)
    data = fp.pruning_data(model, X, y)
    price, rho = 0.01 * data.y_variance, 2 if polish == "ridge" else 0
    problem = JointSubtreePruning(data, pruned.alpha, price, rho)
    loss = ((pruned.predict(X) - y) ** 2).mean()
    assert loss == pytest.approx(problem.loss(pruned.result.choice, pruned.result.beta), rel=1e-9)
    assert pruned.n_nodes == problem.kept_nodes(pruned.result.choice, pruned.result.beta)
    assert 0 < pruned.n_trees == np.count_nonzero(pruned.result.beta)
    layers = fp.prune(model, X, y, joint=True, **options)
    assert pruned.result.objective <= layers.result.objective * (1.0 + 1e-9)
    apart = fp.prune(model, X, y, shape="subtree", **options)
    kept = problem.keeps(apart.result.choice)
    beta = np.where(kept, apart.beta, 0.0)
    assert pruned.result.objective < problem.objective(apart.result.choice, beta)
    assert "to subtrees" in pruned.summary()


def test_a_budget_is_met(diamonds: tuple[Any, Any]) -> None:
    X, y = diamonds
    model = RandomForestRegressor(10, max_depth=5, random_state=0).fit(X, y)
    pruned = fp.prune(model, X, y, shape="subtree", joint=True, max_nodes=60, local_search=False)
    assert 30 <= pruned.n_nodes <= 60


def test_the_search_can_be_stopped() -> None:
    problem = tiny(3)
    calls: list[object] = []

    def at_once(entry: object) -> bool:
        calls.append(entry)
        return True

    result = solve(problem, "cbcd", callback=at_once)
    assert result.termination is fp.Termination.CALLBACK
    assert verify(problem, result).sound
    assert replace(problem, alpha=0.0).alpha == 0.0
