"""Iterative hard thresholding: its steps, where it ends, and what it says of the end."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from conftest import TINY, random_layers
from free_problems import DATA, VARIANTS, make_free

from forestprune import (
    Guarantee,
    JointPruning,
    LayerPruning,
    Polishing,
    PruningData,
    solve,
)
from solvers import InvalidOption
from solvers._coefficients import iht_columns as _iht_columns
from solvers._coefficients.iht import _CoefficientSteps
from solvers._coefficients.iht_columns import GramColumns, RowColumns
from solvers._coefficients.thresholding import descend
from solvers._core.base import Control
from solvers.iht import _ChoiceSteps

CASES = [(data, variant) for data in DATA for variant in sorted(VARIANTS)]


@pytest.fixture(params=CASES, ids=["-".join(case) for case in CASES])
def free(request: pytest.FixtureRequest) -> Any:
    """Every variant on the data of several tiny problems."""
    return make_free(*request.param)


def random_choice(problem: LayerPruning, seed: int) -> Any:
    return np.random.default_rng(seed).integers(0, problem.data.depths + 1)


def test_a_step_of_the_longest_curvature_never_rises(tiny: LayerPruning) -> None:
    steps = _ChoiceSteps(tiny)
    for seed in range(20):
        at = steps.at(random_choice(tiny, seed))
        moved = steps.step(at, float(steps.blocks))
        if moved is not None:
            assert moved.objective <= at.objective + tiny.tolerance
            assert moved.objective == pytest.approx(tiny.objective(moved.choice), rel=1e-12)


def test_a_step_minimises_its_model(tiny: LayerPruning) -> None:
    """At any κ, block by block, against the model written out on prefixes and rows."""
    data = tiny.data
    for seed, curvature in [(0, 1.0), (1, 1.7), (2, 5.0)]:
        at = _ChoiceSteps(tiny).at(random_choice(tiny, seed))
        moved = _ChoiceSteps(tiny).step(at, curvature)
        reached = at.choice if moved is None else moved.choice

        def columns(i: int) -> Any:
            values = []
            for k in range(data.depths[i] + 1):
                choice = tiny.zero()
                choice[i] = k
                leaves = tiny.leaf_values(choice)[data.leaf_start[i] : data.leaf_start[i + 1]]
                values.append(leaves[data.codes[i]])
            return values

        for i in range(data.n_trees):
            prefixes = columns(i)
            cost = tiny.rule.cost[data.prefix_start[i] : data.prefix_start[i + 1]]
            model = []
            for prefix, price in zip(prefixes, cost, strict=True):
                step = prefix - prefixes[at.choice[i]]
                square = data.row_weight @ (step**2).sum(axis=1)
                along = (at.residual * step).sum()  # the residual holds the row weights
                model.append((curvature * square - 2 * along) / data.total_weight + price)
            assert model[reached[i]] <= min(model) + 1e-10 * data.target_square


def test_one_tree_takes_one_step() -> None:
    problem = TINY["one_tree"]()
    assert solve(problem, "iht").objective == solve(problem, "brute_force").objective


def test_descent_is_monotone_and_ends_at_rest(larger: LayerPruning) -> None:
    steps = _ChoiceSteps(larger)
    start = steps.at(larger.full())
    end = descend(steps, start, Control())
    assert end.objective < start.objective
    again = descend(steps, end, Control())
    np.testing.assert_array_equal(again.choice, end.choice)


def test_local_means_that_no_tree_improves_alone(tiny: LayerPruning) -> None:
    result = solve(tiny, "iht", restarts=0)
    if result.guarantee is not Guarantee.LOCAL:
        return
    for i, depth in enumerate(tiny.data.depths.tolist()):
        for k in range(depth + 1):
            other = result.choice.copy()
            other[i] = k
            assert tiny.objective(other) >= result.objective - 2 * tiny.tolerance


def test_local_means_that_no_tree_and_weight_improves_alone(free: Any) -> None:
    result = solve(free, "iht", restarts=0)
    if result.guarantee is not Guarantee.LOCAL:
        return
    most = free.most_trees or free.data.n_trees
    for i in range(free.data.n_trees):
        others = result.beta.copy()
        others[i] = 0.0
        if (others != 0.0).sum() == most:
            continue
        columns = np.arange(free.rule.point_start[i], free.rule.point_start[i + 1])
        base = free.point(result.choice, others)
        assert free.objective(result.choice, others) >= result.objective - 2 * free.tolerance
        for c in columns[free.rule.square[columns] > 0.0]:
            # The objective is a parabola in the coefficient, apart from the price.
            values = []
            for weight in (0.5, 1.0, 2.0):
                point = base.copy()
                point[c] = weight
                values.append(free.objective(*free.solution(point)))
            curve, slope, _ = np.polyfit([0.5, 1.0, 2.0], values, 2)
            best = -slope / (2 * curve)
            if not free.rule.nonnegative or best > 0.0:
                point[c] = best
                value = free.objective(*free.solution(point))
                assert value >= result.objective - 1e-9 * free.data.target_square


def test_local_is_not_claimed_where_a_tree_improves() -> None:
    """Stopped at once, the empty model is feasible, and no more."""
    layers, y = random_layers(3, 40, [2] * 5, signal=2.0)
    cheap = LayerPruning(PruningData.from_layers(layers, y), 0.01, "depth")
    result = solve(cheap, "iht", time_limit=1e-9)
    np.testing.assert_array_equal(result.choice, cheap.zero())
    assert result.guarantee is Guarantee.FEASIBLE
    assert result.termination == "time_limit"
    joint = JointPruning(cheap.data, 0.01, weights="depth")
    assert solve(joint, "iht", time_limit=1e-9).guarantee is Guarantee.FEASIBLE


def test_both_views_of_the_columns_agree(free: Any) -> None:
    """The same loss, products and penalty from all products and from the rows."""
    gram, rows = GramColumns(free), RowColumns(free)
    if free.centred or gram.form.merged:
        return  # these are always solved on products
    generator = np.random.default_rng(0)
    b = generator.normal(size=gram.n_columns)
    ours, theirs = gram.image(b), rows.image(b)
    scale = free.data.target_square
    assert gram.loss(b, ours) == pytest.approx(rows.loss(b, theirs), rel=1e-9)
    np.testing.assert_allclose(gram.products(ours), rows.products(theirs), atol=1e-9 * scale)
    np.testing.assert_allclose(gram.own.toarray(), rows.own.toarray(), atol=1e-9 * scale)
    assert gram.penalty(b) == pytest.approx(rows.penalty(b))
    support = gram.start[:-1]
    fits = [columns.point(columns.refit(support)) for columns in (gram, rows)]
    residuals = [free.residual(free.relaxed_leaf_values(fit)) for fit in fits]
    np.testing.assert_allclose(*residuals, atol=1e-7 * np.sqrt(scale))


@pytest.mark.parametrize("variant", [name for name in sorted(VARIANTS) if "joint" in name])
@pytest.mark.parametrize("few", [0, 200])
def test_descent_on_the_rows(variant: str, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = make_free("random", variant)
    usual = solve(problem, "iht", restarts=20)
    monkeypatch.setattr(_iht_columns, "_MOST_GRAM_COLUMNS", 0)
    monkeypatch.setattr(RowColumns, "few", few)
    assert isinstance(_iht_columns.columns_of(problem), RowColumns)
    result = solve(problem, "iht", restarts=20)
    best = solve(problem, "brute_force").objective
    assert result.objective <= 1.1 * best
    assert result.guarantee in (Guarantee.LOCAL, Guarantee.OPTIMAL)
    assert usual.objective <= 1.1 * best


def test_finds_the_trees_a_response_is_made_of() -> None:
    layers, _ = random_layers(1, 300, [1] * 40)
    generator = np.random.default_rng(0)
    true = generator.choice(40, 5, replace=False)
    y = sum(layers[i][:, 0] * (1 + number) for number, i in enumerate(true))
    data = PruningData.from_layers(layers, y + 0.1 * generator.normal(size=300))
    for problem in (
        Polishing(data, data.depths, rho=0, n_trees=5),
        Polishing(data, data.depths, 0.05, rho=0),
        JointPruning(data, 0.01 * data.target_square, 0.01, weights="depth"),
    ):
        result = solve(problem, "iht")
        np.testing.assert_array_equal(np.flatnonzero(result.beta), np.sort(true))


@pytest.mark.parametrize("ridge", [0.0, 5.0])
def test_the_largest_gains_are_kept_with_copies_too(ridge: float) -> None:
    """Hard thresholding of several groups of identical trees, against all numbers of copies."""
    layers, y = random_layers(2, 15, [1, 1, 1])
    data = PruningData.from_layers([layers[i] for i in (0, 1, 2, 1, 0, 1)], y)
    for most in range(1, 6):
        columns = GramColumns(Polishing(data, data.depths, rho=0, n_trees=most, ridge=ridge))
        steps = _CoefficientSteps(columns)
        gain = steps.at(np.zeros(columns.n_columns)).gains(1.0)[1]
        kept = steps._best(gain)
        assert columns.count[kept].sum() <= most
        best = max(
            gain[list(used)].sum()
            for size in range(4)
            for used in combinations(range(columns.n_columns), size)
            if len(set(columns.groups[list(used)])) == size
            and columns.count[list(used)].sum() <= most
        )
        assert gain[kept].sum() == pytest.approx(best, rel=1e-9)


@pytest.fixture
def alike() -> Polishing:
    """A best subset among trees that predict much the same: there are many local optima."""
    layers, _ = random_layers(3, 40, [1] * 25)
    shared = np.random.default_rng(0).normal(size=(40, 1))
    layers = [shared + 0.3 * layer for layer in layers]
    y = shared[:, 0] + 0.3 * np.random.default_rng(1).normal(size=40)
    data = PruningData.from_layers(layers, y)
    return Polishing(data, data.depths, rho=0, n_trees=6)


def test_more_restarts_are_never_worse(alike: Polishing) -> None:
    values = [solve(alike, "iht", restarts=number).objective for number in (0, 3, 10, 30)]
    assert values == sorted(values, reverse=True)
    assert values[-1] < values[0]


def test_other_seeds_start_elsewhere(alike: Polishing) -> None:
    assert len({solve(alike, "iht", restarts=1, seed=seed).objective for seed in range(8)}) > 1


def test_ridge_polishing_is_solved_at_once(problem: LayerPruning) -> None:
    polishing = Polishing(problem.data, problem.data.depths, 0.1)
    result = solve(polishing, "iht")
    assert result.guarantee is Guarantee.OPTIMAL
    assert result.bound_source == "dual"
    assert result.objective == pytest.approx(solve(polishing, "brute_force").objective, rel=1e-12)


@pytest.mark.parametrize("restarts", [-1, 1.5, True, "many"])
def test_a_wrong_number_of_restarts_is_refused(restarts: object, problem: LayerPruning) -> None:
    with pytest.raises(InvalidOption, match=r"restarts must be an integer of at least 0, not"):
        solve(problem, "iht", restarts=restarts)
