"""Paths over α₂ and the number of trees, and over α of the joint problem."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest

from forestprune import (
    InvalidInput,
    JointPruning,
    LayerPruning,
    Polishing,
    plot_path,
    solve,
    solve_path,
    verify,
)
from solvers._core.pooling import pooled, with_later_bounds

mpl.use("agg")


def subset(problem: LayerPruning, **options: Any) -> Polishing:
    return Polishing(problem.data, problem.full(), rho=0, **options)


def columns(problem: Polishing) -> Any:
    """Predictions (m q, n) of the whole trees; the target is (m q,)."""
    ones = np.eye(problem.data.n_trees)
    return np.column_stack(
        [
            (problem.data.target - problem.residual(problem.leaf_values(problem.full(), b))).ravel()
            for b in ones
        ]
    )


def test_a_best_subset_path_is_that_of_enumeration(problem: LayerPruning) -> None:
    path = solve_path(subset(problem), over="n_trees", values=4)
    np.testing.assert_array_equal(path.values, [1, 2, 3, 4])
    T, target = columns(subset(problem)), problem.data.target.ravel()
    for k, result in zip(path.values, path, strict=True):
        residues = [
            ((target - T[:, s] @ np.linalg.lstsq(T[:, s], target, rcond=None)[0]) ** 2).mean()
            for s in combinations(range(4), k)
        ]
        assert result.objective == pytest.approx(min(residues), rel=1e-9)
        assert np.count_nonzero(result.beta) <= k


@pytest.mark.parametrize("ridge", [0.0, 1.0])
@pytest.mark.parametrize("pool", [True, False])
def test_a_best_subset_path_never_rises(larger: LayerPruning, pool: bool, ridge: float) -> None:
    path = solve_path(subset(larger, ridge=ridge), over="n_trees", values=12, pool=pool)
    objectives = [result.objective for result in path]
    bounds = [result.bound for result in path]
    assert objectives == sorted(objectives, reverse=True)
    assert bounds == sorted(bounds, reverse=True)
    for index, result in enumerate(path):
        assert np.count_nonzero(result.beta) <= path.values[index]
        assert np.isfinite(result.gap)
        assert verify(path.problem_at(index), result).sound


@pytest.mark.parametrize("seed", [1, 2, 6, 9])
def test_bounds_of_a_path_are_below_the_optima(
    make_random: Callable[[int], LayerPruning], seed: int
) -> None:
    problem = subset(make_random(seed), ridge=0.5)
    path = solve_path(problem, over="n_trees")
    for index, result in enumerate(path):
        best = solve(path.problem_at(index), "brute_force").objective
        assert result.bound <= best + problem.tolerance
        assert result.objective >= best - problem.tolerance


def test_bounds_hold_for_the_values_before(problem: LayerPruning) -> None:
    free = subset(problem)
    path = solve_path(free, over="n_trees", values=3, pool=False)
    bounds = [0.1, 0.0, 0.4, 0.3]
    known = [
        replace(result, bound=bound * result.objective)
        for result, bound in zip([*path, path[2]], bounds, strict=True)
    ]
    better = with_later_bounds(free, known, 1e-6)
    third = 0.4 * path[2].objective
    assert [result.bound for result in better] == [third, third, third, known[3].bound]
    closed = [replace(path[0], bound=0.0), replace(path[0], bound=path[0].objective)]
    assert [result.guarantee for result in with_later_bounds(free, closed, 1e-6)] == ["optimal"] * 2


def test_pooling_keeps_to_the_number_of_trees(problem: LayerPruning) -> None:
    free = subset(problem)
    path = solve_path(free, over="n_trees", values=4, pool=False)
    nothing = replace(path[2], beta=np.zeros(4), objective=free.objective(free.full(), np.zeros(4)))
    worse = [path[0], path[1], nothing, path[3]]
    better = pooled(free, "n_trees", path.values, worse, 1e-6)
    assert better[2].objective == path[1].objective
    np.testing.assert_array_equal(better[2].beta, path[1].beta)
    assert better[2].extra["pooled"]
    assert better[0] is path[0]


@pytest.mark.parametrize("over", ["alpha", "alpha2"])
@pytest.mark.parametrize("rho", [0, 2])
def test_pooling_compares_at_every_value(problem: LayerPruning, over: str, rho: int) -> None:
    joint = JointPruning(problem.data, 0.2, 0.05, rho, "depth")
    values = np.array([0.5, 0.1, 0.02])
    path = solve_path(joint, over, values, pool=False)
    assert not np.array_equal(path[0].beta, path[2].beta)
    swapped = [
        replace(path[i], objective=path.problem_at(k).objective(path[i].choice, path[i].beta))
        for k, i in enumerate([1, 2, 0])
    ]
    for k, result in enumerate(pooled(joint, over, values, swapped, 1e-6)):
        assert result.objective == pytest.approx(path[k].objective, rel=1e-12)


def test_a_price_path_starts_where_nothing_is_worth_it(problem: LayerPruning) -> None:
    weight = np.random.default_rng(0).integers(1, 4, size=problem.data.n_rows).astype(float)
    data = replace(problem.data, row_weight=weight)
    for options in ({}, {"intercept": True}, {"nonnegative": True}, {"ridge": 2.0}):
        free = Polishing(data, problem.full(), rho=0, **options)
        path = solve_path(free, "alpha2", 30)
        assert path.values[-1] == pytest.approx(1e-4 * path.values[0])
        assert not np.any(path[0].beta)
        exact = solve(path.problem_at(0), "brute_force")
        assert exact.objective == pytest.approx(path[0].objective)
        assert np.any(path[-1].beta)
        objectives = [result.objective for result in path]
        assert objectives == sorted(objectives, reverse=True)


@pytest.mark.parametrize("seed", [1, 2, 7])
def test_one_tree_is_worth_its_gain(make_random: Callable[[int], LayerPruning], seed: int) -> None:
    """A path over prices starts at the best tree's gain, or where two share the whole loss."""
    problem = make_random(seed)
    leaves = problem.leaf_values(problem.full())
    target = -problem.residual(leaves) + problem.data.target
    for sign, options in ((1, {}), (1, {"intercept": True}), (-1, {"nonnegative": True})):
        data = replace(problem.data, target=sign * target)
        free = Polishing(data, problem.full(), rho=0, **options)
        top = float(solve_path(free, "alpha2", 1).values[0])
        alone = solve(replace(free, n_trees=1), "brute_force")
        nothing = free.with_value("alpha2", 0.0).objective(free.full(), np.zeros(data.n_trees))
        shared = nothing / 2 if free.n_columns > 1 else 0.0
        assert top == pytest.approx(max(nothing - alone.objective, shared), rel=1e-9)


def test_a_ridge_path_goes_from_nothing_to_least_squares(larger: LayerPruning) -> None:
    free = Polishing(larger.data, larger.full())
    path = solve_path(free, "alpha2")
    assert len(path) == 50
    target = larger.data.target
    first = target - free.residual(free.leaf_values(free.full(), path[0].beta))
    assert np.linalg.norm(first) <= np.linalg.norm(target) / 101
    assert path.values[-1] == pytest.approx(1e-8 * path.values[0])
    least = solve(free.with_value("alpha2", 0.0)).objective
    assert path[-1].objective == pytest.approx(least, rel=1e-4)
    assert all(result.guarantee == "optimal" for result in path)


@pytest.mark.parametrize("over", ["alpha", "alpha2"])
@pytest.mark.parametrize("rho", [0, 2])
def test_joint_paths(problem: LayerPruning, over: str, rho: int) -> None:
    path = solve_path(JointPruning(problem.data, 0.2, 0.05, rho, "depth"), over, 8)
    objectives = [result.objective for result in path]
    assert objectives == sorted(objectives, reverse=True)
    if over == "alpha" or rho == 0:
        assert not np.any(path[0].beta)
        exact = solve(path.problem_at(0), "brute_force")
        assert exact.objective == pytest.approx(path[0].objective)
    assert np.any(path[-1].beta)
    for index, result in enumerate(path):
        assert verify(path.problem_at(index), result).sound


def test_the_table_of_a_subset_path(problem: LayerPruning) -> None:
    limited = subset(problem, n_trees=1)
    path = solve_path(limited, "n_trees", [3, 1])
    frame = path.to_frame()
    assert frame["n_trees"].tolist()[:2] == [1, 3]
    assert frame["trees"].tolist() == [1, 3, 4]
    assert frame["solver"].iloc[-1] == "unpolished"
    assert frame["loss"].iloc[-1] == pytest.approx(problem.loss(problem.full()))
    assert frame["objective"].iloc[0] == pytest.approx(frame["loss"].iloc[0])
    assert repr(path).startswith("Path(2 values of n_trees from 1 to 3")


def test_the_full_model_of_a_joint_path_has_weights_of_one(problem: LayerPruning) -> None:
    path = solve_path(JointPruning(problem.data, 0.2, weights="depth"), values=3)
    last = path.to_frame().iloc[-1]
    assert (last["solver"], last["trees"]) == ("full", 4)
    assert last["loss"] == pytest.approx(problem.loss(problem.full()))


def test_more_trees_than_there_are(problem: LayerPruning) -> None:
    with pytest.warns(UserWarning, match="n_trees=6 is above .* the path ends at 4"):
        path = solve_path(subset(problem), "n_trees", 6)
    np.testing.assert_array_equal(path.values, [1, 2, 3, 4])
    assert len(solve_path(subset(problem), "n_trees")) == 4  # no warning where none was asked for


@pytest.mark.parametrize(
    ("make", "arguments", "message"),
    [
        (subset, {}, 'over must be "n_trees" or "alpha2" for Polishing.*, not \'alpha\''),
        (lambda p: subset(p, n_trees=2), {"over": "alpha2"}, 'over must be "n_trees" for'),
        (
            lambda p: Polishing(p.data, p.full()),
            {"over": "n_trees"},
            'over must be "alpha2" for Polishing',
        ),
        (
            lambda p: JointPruning(p.data, 1.0, weights="depth"),
            {"over": "n_trees"},
            'over must be "alpha" or "alpha2" for JointPruning',
        ),
        (lambda p: p, {"over": "n_trees"}, 'over must be "alpha" for LayerPruning'),
        (subset, {"over": "n_trees", "values": [0, 1]}, "integers of at least 1"),
        (subset, {"over": "n_trees", "values": [1.5]}, "integers of at least 1"),
        (subset, {"over": "n_trees", "values": []}, "integers of at least 1"),
        (subset, {"over": "n_trees", "values": 0}, "values must be at least 1"),
        (subset, {"over": "alpha2", "values": [-1.0]}, "at least one α₂, none of them negative"),
        (subset, {"over": "alpha2", "values": True}, "a count or an array"),
    ],
)
def test_paths_that_make_no_sense(
    problem: LayerPruning,
    make: Callable[[LayerPruning], Any],
    arguments: dict[str, Any],
    message: str,
) -> None:
    with pytest.raises(InvalidInput, match=message):
        solve_path(make(problem), **arguments)


def test_pictures_of_paths(problem: LayerPruning) -> None:
    for free, over, label, scale in [
        (problem, "alpha", "α (units of y²)", "log"),
        (subset(problem), "n_trees", "trees that may be used", "linear"),
        (subset(problem), "alpha2", "α₂ (units of y²)", "log"),
        (Polishing(problem.data, problem.full()), "alpha2", "α₂ of the ridge", "log"),
    ]:
        path = solve_path(free, over, 3)
        path = replace(path, results=(replace(path[0], bound=-np.inf), *path.results[1:]))
        axes = plot_path(path)
        assert (axes.get_xlabel(), axes.get_xscale()) == (label, scale)
        np.testing.assert_array_equal(axes.lines[0].get_xdata(), path.values)
        np.testing.assert_array_equal(
            axes.lines[0].get_ydata(), [result.objective for result in path]
        )
        mpl.pyplot.close(axes.figure)
