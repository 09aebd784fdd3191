"""Responses that trees fit exactly, and numbers that are very small."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np
import pytest
from conftest import random_layers

from forestprune import (
    InvalidInput,
    JointPruning,
    Polishing,
    PruningData,
    solve,
    solve_path,
    verify,
)


def exact(seed: int) -> PruningData:
    """A response that is the sum of some of the trees."""
    generator = np.random.default_rng(seed)
    rows, trees = int(generator.choice([1, 2, 3, 4, 6])), int(generator.integers(1, 6))
    depths = generator.integers(0, 3, trees)
    layers = [generator.normal(size=(rows, depth)) for depth in depths]
    if generator.random() < 0.4:
        layers.append(layers[0].copy())
    y = generator.normal(size=rows)
    if generator.random() < 0.5:
        y = sum((D.sum(1) * generator.integers(0, 2) for D in layers), np.zeros(rows))
    return PruningData.from_layers(layers, y, 0.5)


@pytest.mark.parametrize("seed", [500000, *range(30)])
@pytest.mark.parametrize("label", ["cbcd", "cbcd[local_search=False]", "relaxation", "iht"])
def test_descent_ends_where_nothing_is_left(seed: int, label: str) -> None:
    problem = JointPruning(exact(seed), 0.0, 0.0, weights="depth")
    began = perf_counter()
    result = solve(problem, label, time_limit=5)
    assert perf_counter() - began < 5
    assert result.objective >= 0.0


@pytest.mark.parametrize("label", ["clarabel", "highs", "branch_and_bound"])
def test_exact_fits_have_no_bound_above_them(label: str) -> None:
    layers, y = random_layers(0, 4, [2, 2, 2, 2])
    data = PruningData.from_layers(layers, y)
    best = solve(Polishing(data, data.depths, rho=0, n_trees=4), "cbcd")
    assert best.objective <= 1e-12 * data.target_square
    result = solve(Polishing(data, data.depths, rho=0, n_trees=4), label)
    assert result.bound <= result.objective + 1e-12 * data.target_square


@pytest.mark.parametrize("power", [-60, -27, 40])
def test_powers_of_two_change_nothing(power: int) -> None:
    layers, y = random_layers(30, 12, [2, 3, 2], signal=0.1)

    def answer(scale: float) -> Any:
        data = PruningData.from_layers([scale * D for D in layers], scale * y)
        problem = JointPruning(data, 0.05 * scale**2, 0.01 * scale**2, 0, "depth", 0.1 * scale**2)
        return solve(problem, "cbcd[local_search=False]")

    plain, scaled = answer(1.0), answer(2.0**power)
    assert scaled.guarantee == plain.guarantee
    assert scaled.objective == plain.objective * 4.0**power
    assert scaled.bound == pytest.approx(plain.bound * 4.0**power, rel=1e-6)


def test_arguments_of_the_wrong_type_are_named() -> None:
    layers, y = random_layers(31, 12, [2, 3])
    data = PruningData.from_layers(layers, y)
    problem = JointPruning(data, 0.1, weights="depth")
    result = solve(problem)
    with pytest.raises(InvalidInput, match="callback must be"):
        solve(problem, callback="x")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="time_limit must be"):
        solve_path(problem, time_limit="x")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="pool must be"):
        solve_path(problem, pool="x")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="weights must be"):
        JointPruning(data, 0.1, weights=3.0)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="problem must be"):
        verify("x", result)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="result must be"):
        verify(problem, "x")  # type: ignore[arg-type]
