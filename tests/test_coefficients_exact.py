"""Brute force with free coefficients against enumeration on columns made from plain arrays."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from conftest import random_layers
from scipy.optimize import nnls

from forestprune import Guarantee, JointPruning, Polishing, PruningData, available_solvers, solve
from solvers import UnsupportedProblem

GAMMA = 0.7


def made(seed: int, rows: int, depths: list[int], outputs: int = 1) -> Any:
    """Return D arrays, a response and row weights."""
    layers, y = random_layers(seed, rows, depths, outputs)
    return layers, y, np.random.default_rng(seed).uniform(0.2, 3.0, size=rows)


def duplicated() -> Any:
    """Two pairs of identical trees."""
    layers, y, weight = made(1, 12, [2, 1])
    return [layers[0], layers[1], layers[0], layers[1]], y, weight


def constant() -> Any:
    """A tree that predicts 0, and one that predicts 3 everywhere."""
    layers, y, weight = made(2, 12, [2, 1])
    return [layers[0], np.zeros((12, 2)), np.full((12, 1), 3.0), layers[1]], y, weight


def collinear() -> Any:
    """The third tree is the sum of two others, the fourth a multiple of one."""
    layers, y, weight = made(3, 12, [1, 1])
    return [*layers, layers[0] + layers[1], -2.0 * layers[0]], y, weight


INSTANCES = {
    "ordinary": lambda: made(4, 14, [2, 3, 1, 2]),
    "two_outputs": lambda: made(5, 9, [2, 2, 1], outputs=2),
    "more_trees_than_rows": lambda: made(6, 3, [1, 2, 1, 2, 1]),
    "duplicated": duplicated,
    "constant": constant,
    "collinear": collinear,
}

PROBLEMS = {
    "joint": lambda d, u: JointPruning(d, 0.2 * u, 0.3, weights="depth"),
    "joint_free_size": lambda d, u: JointPruning(d, 0.0, 0.3, weights="depth"),
    "joint_counted": lambda d, u: JointPruning(d, 0.1 * u, 0.03 * u, 0, "depth"),
    "joint_counted_ridge": lambda d, u: JointPruning(d, 0.1 * u, 0.03 * u, 0, "depth", 0.4),
    "ridge": lambda d, u: Polishing(d, d.depths, 0.3),
    "least_squares": lambda d, u: Polishing(d, d.depths, 0.0),
    "positive": lambda d, u: Polishing(d, d.depths, 0.3, nonnegative=True),
    "centred": lambda d, u: Polishing(d, d.depths, 0.3, intercept=True),
    "priced": lambda d, u: Polishing(d, d.depths, 0.04 * u, 0),
    "priced_all": lambda d, u: Polishing(
        d, d.depths, 0.02 * u, 0, nonnegative=True, intercept=True, ridge=0.3
    ),
    "one_tree": lambda d, u: Polishing(d, d.depths, rho=0, n_trees=1),
    "two_trees": lambda d, u: Polishing(d, d.depths, rho=0, n_trees=2, intercept=True),
    "two_trees_ridge": lambda d, u: Polishing(d, d.depths, rho=0, n_trees=2, ridge=2.0),
    "two_positive": lambda d, u: Polishing(d, d.depths, rho=0, n_trees=2, nonnegative=True),
}


def enumerated(layers: Any, y: Any, weight: Any, problem: Any) -> float:
    """Return the least objective: all depths of all trees, each subset, least squares."""
    depths = [layer.shape[1] for layer in layers]
    joint = isinstance(problem, JointPruning)
    total = weight.sum()
    size = len(layers) * max(depths)
    ridge = problem.alpha2 if problem.rho == 2 else problem.ridge
    price = problem.alpha2 if problem.rho == 0 and not getattr(problem, "n_trees", None) else 0.0
    most = getattr(problem, "n_trees", None) or len(layers)
    centred = getattr(problem, "intercept", False)

    def prepared(array: Any) -> Any:
        if centred:
            array = array - weight @ array / total
        return (np.sqrt(weight / total).reshape(-1, *[1] * (array.ndim - 1)) * array).ravel()

    prefixes = [
        [prepared(GAMMA * layer[:, :k].sum(axis=1)) for k in range(1, depth + 1)]
        for layer, depth in zip(layers, depths, strict=True)
    ]
    target = prepared(y)
    best = np.inf
    for choice in product(*[range(d + 1) if joint else (0, d) for d in depths]):
        used = [(i, k) for i, k in enumerate(choice) if k > 0]
        if len(used) > most:
            continue
        cost = price * len(used) + (problem.alpha * sum(choice) / size if joint else 0.0)
        chosen = [prefixes[i][k - 1] for i, k in used]
        columns = np.array(chosen).reshape(len(used), len(target)).T
        matrix = np.vstack([columns, np.sqrt(ridge / total) * np.eye(len(used))])
        goal = np.append(target, np.zeros(len(used)))
        if getattr(problem, "nonnegative", False) and used:
            b = nnls(matrix, goal)[0]
        else:
            b = np.linalg.lstsq(matrix, goal, rcond=None)[0]
        best = min(best, float(((goal - matrix @ b) ** 2).sum()) + cost)
    return best


@pytest.mark.parametrize("kind", sorted(PROBLEMS))
@pytest.mark.parametrize("name", sorted(INSTANCES))
def test_brute_force_is_enumeration(name: str, kind: str) -> None:
    layers, y, weight = INSTANCES[name]()
    data = PruningData.from_layers(layers, y, GAMMA, weight)
    unit = data.target_square
    problem = PROBLEMS[kind](data, unit)
    least = enumerated(layers, y, weight, problem)
    result = solve(problem, "brute_force")
    assert result.objective == pytest.approx(least, rel=1e-10, abs=1e-12 * unit)
    assert result.guarantee is Guarantee.OPTIMAL
    assert result.bound_source == "exhaustion"
    assert result.relaxed is None


def _unique(problem: Any) -> Any:
    return solve(problem, "brute_force").extra["unique_support"]


def test_says_whether_the_support_is_unique() -> None:
    layers, y, _ = made(4, 14, [2, 3, 1, 2])
    data = PruningData.from_layers(layers, y, GAMMA)
    small = 1e-3 * data.target_square
    assert _unique(Polishing(data, data.depths, small, 0)) is True
    assert _unique(Polishing(data, data.depths)) is True
    twice = PruningData.from_layers([*layers, layers[0]], y, GAMMA)
    # One of the twins is used: the other could be. With a ridge both are used, without, any.
    assert _unique(Polishing(twice, twice.depths, small, 0)) is False
    assert _unique(Polishing(twice, twice.depths)) is True
    assert _unique(Polishing(twice, twice.depths, 0.0)) is False
    assert _unique(JointPruning(twice, 50 * small, 0.1, weights="depth")) is False
    layers, y, _ = collinear()
    dependent = PruningData.from_layers(layers, y, GAMMA)
    assert _unique(Polishing(dependent, dependent.depths, 0.0)) is False
    assert _unique(Polishing(dependent, dependent.depths, rho=0, n_trees=2)) is False


def test_equally_good_supports_are_settled_for_the_fewest_trees() -> None:
    layers = made(4, 14, [1, 1])[0]
    data = PruningData.from_layers([layers[0], 2 * layers[0], layers[1]], layers[0][:, 0], GAMMA)
    result = solve(Polishing(data, data.depths, rho=0, n_trees=2), "brute_force")
    assert (result.beta != 0.0).sum() == 1
    assert result.extra["unique_support"] is False


def test_nothing_to_fit() -> None:
    layers, _, _ = made(4, 14, [2, 3])
    data = PruningData.from_layers(layers, np.zeros(14), GAMMA)
    result = solve(JointPruning(data, 0.1, 0.1, weights="depth"), "brute_force")
    assert result.objective == 0.0
    flat = PruningData.from_layers([np.zeros((14, 2))], np.arange(14.0), GAMMA)
    result = solve(Polishing(flat, [2], rho=0, n_trees=1), "brute_force")
    assert result.objective == pytest.approx(flat.target_square)


def test_too_many_patterns_are_refused() -> None:
    layers, y, _ = made(7, 20, [1] * 30)
    data = PruningData.from_layers(layers, y, GAMMA)
    with pytest.raises(UnsupportedProblem, match=r"1\.07e\+09 patterns.*at most 1e\+05"):
        solve(Polishing(data, data.depths, 0.1, 0), "brute_force")
    few = Polishing(data, data.depths, rho=0, n_trees=2)
    assert "brute_force" in available_solvers(few)
    assert solve(few, "brute_force").extra["patterns"] == 1 + 30 + 30 * 29 // 2
    # Ridge polishing has one pattern, whatever the number of trees.
    assert solve(Polishing(data, data.depths), "brute_force").extra["patterns"] == 1


def test_a_time_limit_leaves_no_bound() -> None:
    layers, y, _ = made(7, 20, [1] * 30)
    data = PruningData.from_layers(layers, y, GAMMA)
    problem = Polishing(data, data.depths, rho=0, n_trees=3)
    result = solve(problem, "brute_force", time_limit=0.02)
    assert result.termination == "time_limit"
    assert result.bound == -np.inf
    assert "unique_support" not in result.extra
    assert result.objective <= data.target_square
