"""Engines on problems with free coefficients: right on small ones, and never overtrusted."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from conftest import random_layers
from free_problems import dense, optimum

from forestprune import (
    Guarantee,
    JointPruning,
    LayerPruning,
    Polishing,
    PruningData,
    solve,
    verify,
)
from formulations import Regression
from formulations.rewritings.dual_prices import DualPrices
from formulations.rewritings.perspective import UnitFree
from formulations.rewritings.ranges import Ranges
from formulations.rewritings.semicontinuous import SemicontinuousForm
from solvers import BoundSource, InvalidOption, UnsupportedProblem
from solvers._coefficients.relaxing.alternation import relax
from solvers._core.base import Control
from solvers._engines.pyomo import Limits
from solvers._engines.pyomo_coefficients import Cuts, solve_outer, tighten

EXACT = ["highs", *(["scip"] if find_spec("pyscipopt") is not None else [])]
CONIC = [name for name in ("clarabel", "ecos") if find_spec(name) is not None]


def data_of(seed: int, trees: int = 4) -> PruningData:
    """Random layers, with a copy of a tree now and then."""
    generator = np.random.default_rng(seed)
    depths = [int(d) for d in generator.integers(1, 4, size=trees)]
    layers, y = random_layers(seed, int(generator.integers(15, 30)), depths)
    if seed % 3 == 0:
        layers.append(layers[0])
    return PruningData.from_layers(layers, y, generator.uniform(0.3, 1.2))


def variants(data: PruningData) -> Iterator[Any]:
    """Problems on some data that every engine takes."""
    unit, depths = data.target_square, data.depths
    yield JointPruning(data, 0.3 * unit, 0.5, weights="depth")
    yield JointPruning(data, 0.2 * unit, 0.01, weights="depth")
    yield JointPruning(data, 0.2 * unit, 0.05 * unit, rho=0, ridge=0.1, weights="depth")
    yield Polishing(data, depths, 0.05 * unit, rho=0)
    yield Polishing(data, depths, 0.05 * unit, rho=0, ridge=0.1, nonnegative=True)
    yield Polishing(data, depths, rho=0, n_trees=2)
    yield Polishing(data, depths, rho=0, n_trees=3, ridge=0.2, intercept=True)


@pytest.fixture
def dozen() -> PruningData:
    """Twelve trees whose columns overlap, so that an engine has something to do."""
    layers, y = random_layers(13, 60, [2] * 12, signal=0.3)
    return PruningData.from_layers(layers, y, 0.2)


def without_units(problem: Any) -> UnitFree:
    """The unit-free form of a problem that has one."""
    form = UnitFree.of(Regression.of(problem))
    assert form is not None
    return form


def random_solution(form: UnitFree, generator: np.random.Generator) -> Any:
    """Coefficients w that use at most one column a group, and no more than may be used."""
    w = np.zeros(form.n_columns)
    for begin, end in zip(form.start[:-1], form.start[1:], strict=True):
        if generator.random() < 0.6:
            w[generator.integers(begin, end)] = abs(generator.normal())
    while form.most is not None and form.count[w != 0.0].sum() > form.most:
        w[np.flatnonzero(w)[0]] = 0.0
    return w


def test_the_forms_have_the_objective() -> None:
    generator = np.random.default_rng(0)
    for seed in (0, 1, 2):
        for problem in variants(data_of(seed)):
            form = without_units(problem)
            prices = relax(form.shifted(), 1e-3, Control())
            matrix, target = form.rows()
            nothing = problem.objective(
                *form.regression.solution(np.zeros(form.regression.n_columns))
            )
            everything = np.full(form.n_columns, 5.0)
            ranges = Ranges(-everything, everything, np.inf * everything, np.inf)
            centred = SemicontinuousForm.at(prices, 2.0 * nothing, ranges, presolve=False)
            for _ in range(5):
                w = random_solution(form, generator)
                b = form.coefficients(w)
                objective = problem.objective(*form.regression.solution(b))
                loss = ((matrix @ w - target) ** 2).sum() + form.ridge @ w**2
                value = (loss + form.cost[w != 0.0].sum()) * form.regression.constant
                assert value == pytest.approx(objective, rel=1e-9)
                assert centred.value(*centred.at_coefficients(b)) == pytest.approx(
                    objective, rel=1e-9
                )
                assert prices.bound * form.regression.constant <= objective


def test_dual_prices_are_the_formulations_bound() -> None:
    for seed in (0, 1):
        for problem in variants(data_of(seed)):
            form = without_units(problem)
            prices = relax(form, 1e-8, Control())
            bound = prices.bound * form.regression.constant
            if problem.rule.ridge > 0.0:
                point = form.regression.point(form.coefficients(prices.w))
                assert problem.linear_bound(point) == pytest.approx(bound, rel=1e-6)
            columns, target = dense(problem)
            b, *_ = np.linalg.lstsq(columns, target, rcond=None)
            free = ((columns @ b - target) ** 2).sum() / problem.data.total_weight
            assert bound >= free * (1.0 - 1e-9) - problem.tolerance
            shifted = relax(form.shifted(), 1e-8, Control()).bound * form.regression.constant
            assert shifted <= optimum(problem) + problem.tolerance
            if form.count.max() == 1:
                assert shifted >= bound - 1e-6 * problem.data.target_square


def test_ranges_hold_every_better_solution() -> None:
    """All patterns: whatever is better than a value lies within the ranges of that value."""
    for seed in range(2):
        for problem in variants(data_of(seed, trees=3)):
            form = without_units(problem)
            value = 1.2 * optimum(problem)
            scale = form.regression.constant
            ranges = Ranges.of(relax(form, 1e-3, Control()), value / scale, None)
            generator = np.random.default_rng(seed)
            inside = 0
            for _ in range(300):
                support = np.flatnonzero(random_solution(form, generator))
                best = form.of_coefficients(form.regression.refit(form.place[support]))
                w = best * (1.0 + 0.3 * generator.normal(size=len(best)))
                for point in (best, np.maximum(w, 0.0) if form.nonnegative else w):
                    if form.regression.value(form.coefficients(point)) < value:
                        used = point != 0.0
                        assert (ranges.low[used] <= point[used]).all()
                        assert (point[used] <= ranges.high[used]).all()
                        inside += 1
            assert inside > 0


@pytest.mark.parametrize("label", [*EXACT, "highs[presolve=False]"])
def test_exact_engines_against_enumeration(label: str) -> None:
    asked = 0
    for seed in range(2, 4):
        for problem in variants(data_of(seed)):
            least = optimum(problem)
            result = solve(problem, label)
            assert result.guarantee is Guarantee.OPTIMAL, (seed, problem, result)
            assert result.bound <= least + problem.tolerance
            assert result.objective <= least * (1.0 + 1e-6) + problem.tolerance
            assert verify(problem, result).sound
            asked += result.extra.get("engine_calls", 0)
    assert asked > 4


@pytest.mark.parametrize("label", CONIC)
@pytest.mark.parametrize("options", [{}, {"form": "rows"}, {"bound": "big_m"}])
def test_conic_engines_bound_and_round(label: str, options: dict[str, str]) -> None:
    for seed in (1, 3):
        for problem in variants(data_of(seed)):
            least, unit = optimum(problem), problem.data.target_square
            result = solve(problem, label, **options)
            assert result.bound <= least + 1e-9 * unit
            assert result.objective >= least - 1e-9 * unit
            own = min(result.extra["engine_objective"], result.objective)
            assert result.bound == pytest.approx(own, abs=1e-4 * unit)
            perspective = options.get("bound") != "big_m" and problem.rule.ridge > 0.0
            assert result.extra["relaxation"] == ("perspective" if perspective else "big_m")
            assert result.bound_source is (BoundSource.DUAL if perspective else BoundSource.ENGINE)
            assert verify(problem, result).sound


@pytest.mark.parametrize("label", CONIC)
def test_perspective_is_above_big_m_with_a_ridge(dozen: PruningData, label: str) -> None:
    problem = JointPruning(dozen, 0.1 * dozen.target_square, 5.0, weights="depth")
    tight, weak = (solve(problem, label, bound=bound) for bound in ("perspective", "big_m"))
    assert tight.bound > weak.bound + 1e-3 * dozen.target_square
    point = tight.relaxed
    assert point is not None
    assert tight.bound == pytest.approx(problem.linear_bound(point), rel=1e-9)
    own = relax(without_units(problem), 1e-5, Control())
    constant = without_units(problem).regression.constant
    assert own.bound * constant == pytest.approx(tight.bound, rel=1e-3)


@pytest.mark.parametrize("factor", [1e-6, 1e8])
@pytest.mark.parametrize("label", [*EXACT, *CONIC])
def test_units_do_not_matter(label: str, factor: float) -> None:
    layers, y = random_layers(3, 30, [2, 3, 1, 2])
    size = factor * factor

    def made(by: float) -> list[Any]:
        data = PruningData.from_layers(layers, by * y, 0.7)
        return [
            JointPruning(data, 0.1 * by * by, 0.5, weights="depth"),
            Polishing(data, data.depths, rho=0, n_trees=2),
        ]

    for small, large in zip(made(1.0), made(factor), strict=True):
        first, second = solve(small, label), solve(large, label)
        np.testing.assert_array_equal(first.choice, second.choice)
        assert second.beta == pytest.approx(factor * np.asarray(first.beta), rel=1e-6)
        assert second.objective == pytest.approx(size * first.objective, rel=1e-8)
        assert second.bound == pytest.approx(size * first.bound, rel=1e-4)
        assert second.guarantee is first.guarantee


@pytest.mark.parametrize("label", EXACT)
def test_a_stated_limit_that_is_touched_proves_little(dozen: PruningData, label: str) -> None:
    problem = Polishing(dozen, dozen.depths, rho=0, n_trees=4)
    best = solve(problem, label)
    assert best.guarantee is Guarantee.OPTIMAL
    largest = float(np.abs(np.asarray(best.beta)).max())
    narrow = solve(problem, label, beta_bound=0.5 * largest)
    assert narrow.extra["touches_bound"]
    assert narrow.guarantee is not Guarantee.OPTIMAL
    assert narrow.bound <= best.objective + problem.tolerance
    wide = solve(problem, label, beta_bound=100.0 * largest)
    assert wide.guarantee is Guarantee.OPTIMAL
    assert not wide.extra.get("touches_bound", False)
    # Not touched, and yet not proven: a solution outside may be better.
    middle = solve(problem, label, beta_bound=1.2 * largest)
    assert not middle.extra.get("touches_bound", False)
    assert middle.bound <= best.objective + problem.tolerance
    if middle.guarantee is not Guarantee.OPTIMAL:
        assert middle.extra["bound_within"] == pytest.approx(best.objective, rel=1e-5)


@pytest.mark.parametrize("label", EXACT)
def test_dependent_columns_need_a_limit(label: str) -> None:
    layers, y = random_layers(10, 4, [1, 1, 1, 1, 1, 1])
    data = PruningData.from_layers(layers, y)
    problem = Polishing(data, data.depths, rho=0, n_trees=2)
    with pytest.raises(UnsupportedProblem, match=r"depend on others.*beta_bound.*ridge"):
        solve(problem, label)
    result = solve(problem, label, beta_bound=5.0)
    assert result.bound <= optimum(problem) + problem.tolerance
    ridged = Polishing(data, data.depths, rho=0, n_trees=2, ridge=0.1)
    assert solve(ridged, label).guarantee is Guarantee.OPTIMAL


def test_multiples_of_a_column_need_no_limit() -> None:
    layers, y = random_layers(5, 20, [1, 1, 1])
    data = PruningData.from_layers([*layers, -2.0 * layers[0]], y)
    for nonnegative in (False, True):
        problem = Polishing(data, data.depths, rho=0, n_trees=2, nonnegative=nonnegative)
        if nonnegative:  # a negative multiple does something else
            assert without_units(problem).n_columns == 4
            continue
        result = solve(problem, "highs")
        assert result.objective == pytest.approx(optimum(problem), rel=1e-6)
        assert result.guarantee is Guarantee.OPTIMAL


def test_the_warm_start_and_the_time_limit_are_used(dozen: PruningData) -> None:
    layers, y = random_layers(2, 200, [3] * 40, signal=0.1)
    data = PruningData.from_layers(layers, y, 0.2)
    problem = Polishing(data, data.depths, rho=0, n_trees=12)
    for label in EXACT:
        result = solve(problem, label, time_limit=2.0, gap=0.0)
        assert result.choice is not None
        assert result.bound > 0.0
        assert result.solve_seconds < 6.0
        assert result.objective <= solve(problem, "cbcd").objective * (1.0 + 1e-9)
    # The incumbent is feasible in the engine's program: it comes back where nothing is better.
    small = Polishing(dozen, dozen.depths, rho=0, n_trees=4)
    best = solve(small, "highs")
    form = without_units(small)
    b = form.regression.coefficients(np.asarray(best.choice), np.asarray(best.beta))
    prices = DualPrices.at(form, form.least_squares()[0])
    ranges = Ranges.of(prices, best.objective / form.regression.constant, None)
    centred = SemicontinuousForm.at(prices, best.objective, ranges, presolve=True)
    s, e = centred.at_coefficients(b)
    limits = Limits(gap=1e-7, seconds=np.inf, threads=1, seed=0, verbose=0)
    cuts: Cuts = tighten(centred, limits).cuts
    answer = solve_outer(centred, cuts.with_point(centred, s, e), s, e, limits)
    assert "MIP start solution is feasible" in answer.log
    assert answer.bound <= 1.0 + 1e-6


def test_options_that_do_not_apply(dozen: PruningData) -> None:
    free = Polishing(dozen, dozen.depths, rho=0, n_trees=3)
    fixed = LayerPruning(dozen, 0.1, "depth")
    with pytest.raises(InvalidOption, match="form=products"):
        solve(free, "highs[form=products]")
    with pytest.raises(InvalidOption, match="beta_bound is for free coefficients"):
        solve(fixed, "highs", beta_bound=2.0)
    with pytest.raises(InvalidOption, match="beta_bound must be a number above 0"):
        solve(free, "highs", beta_bound=0.0)
    for label in CONIC:
        with pytest.raises(InvalidOption, match="bound=big_m is for problems with free"):
            solve(fixed, label, bound="big_m")
        with pytest.raises(UnsupportedProblem, match="perspective needs a ridge"):
            solve(free, label, bound="perspective")
        with pytest.raises(InvalidOption, match="beta_bound needs bound=big_m"):
            solve(free, label, beta_bound=1.0)
        assert solve(free, label, bound="big_m", beta_bound=3.0).bound <= optimum(free)
