"""Loops of the perspective relaxation: coordinate descent, and the terms of the dual bound."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from formulations.arrays import FloatArray, IntArray
from formulations.kernels.compiled import kernel


class Terms(NamedTuple):
    """Perspective terms: min over z of Σ depth b² / z + cost z, with Σ z ≤ 1 in a group."""

    start: IntArray
    depth: FloatArray
    cost: FloatArray
    nonnegative: bool


@kernel
def group_use(terms: Terms, g: int, skip: int, b: FloatArray, price: float) -> float:
    """Return Σ z of a group at a price of use added to the costs, without column ``skip``."""
    total = 0.0
    for c in range(terms.start[g], terms.start[g + 1]):
        if c != skip and b[c] != 0.0:
            total += abs(b[c]) * np.sqrt(terms.depth[c] / (terms.cost[c] + price))
    return total


@kernel
def best_coefficient(
    terms: Terms, g: int, c: int, b: FloatArray, product: float, length: float
) -> float:
    """Return the best coefficient of column c of group g, given the group's others.

    Where more than one column's worth would be used, the price at which the sum is 1 is
    found by bisection; the coefficient falls with the price, and is 0 at the highest.
    """
    size = product if terms.nonnegative else abs(product)
    depth, cost = terms.depth[c], terms.cost[c]
    if size <= 0.0 or size * size <= depth * cost:
        return 0.0
    low, high = 0.0, size * size / depth - cost
    found = (size - np.sqrt(depth * cost)) / length
    use = group_use(terms, g, c, b, 0.0) + found * np.sqrt(depth / cost)
    if not use <= 1.0:
        for _ in range(60):
            price = 0.5 * (low + high)
            found = (size - np.sqrt(depth * (cost + price))) / length
            use = group_use(terms, g, c, b, price) + found * np.sqrt(depth / (cost + price))
            if use > 1.0:
                low = price
            else:
                high = price
            if high - low <= 1e-13 * high:
                break
        found = max(0.0, (size - np.sqrt(depth * (cost + high))) / length)
    return float(found) if product > 0.0 else -float(found)


@kernel
def relax_coefficients(
    terms: Terms, matrix: FloatArray, b: FloatArray, residual: FloatArray, sweeps: int, least: float
) -> bool:
    """Descend on bᵀ matrix b − 2 ⟨vector, b⟩ plus the terms; ``residual`` is vector − matrix b.

    Coordinate by coordinate: the terms of a group are differentiable but for a kink where a
    coefficient is 0, so a point that no coordinate improves is optimal. Returns whether no
    step of the last sweep was worth ``least``.
    """
    columns = b.shape[0]
    for _ in range(sweeps):
        largest = 0.0
        for g in range(terms.start.shape[0] - 1):
            for c in range(terms.start[g], terms.start[g + 1]):
                length = matrix[c, c]
                moved = best_coefficient(terms, g, c, b, residual[c] + length * b[c], length)
                step = moved - b[c]
                if step != 0.0:
                    largest = max(largest, step * step * (length + terms.depth[c]))
                    b[c] = moved
                    for j in range(columns):
                        residual[j] -= matrix[c, j] * step
        if largest <= least:
            return True
    return False


@kernel
def least_terms(
    start: IntArray, cost: FloatArray, gain: FloatArray, count: FloatArray, price: float
) -> tuple[float, float]:
    """Return Σ_g min(0, min_c cost + price count − gain), and the trees used by it."""
    value, trees = 0.0, 0.0
    for g in range(start.shape[0] - 1):
        best, used = 0.0, 0.0
        for c in range(start[g], start[g + 1]):
            term = cost[c] + price * count[c] - gain[c]
            if term < best:
                best, used = term, count[c]
        value += best
        trees += used
    return value, trees


@kernel
def best_price(
    start: IntArray, cost: FloatArray, gain: FloatArray, count: FloatArray, room: float
) -> float:
    """Return the price of a tree at which the bound with a limit on trees is largest."""
    if least_terms(start, cost, gain, count, 0.0)[1] <= room:
        return 0.0
    low, high = 0.0, 0.0
    for c in range(gain.shape[0]):
        high = max(high, (gain[c] - cost[c]) / count[c])
    for _ in range(60):
        price = 0.5 * (low + high)
        if least_terms(start, cost, gain, count, price)[1] > room:
            low = price
        else:
            high = price
    return high
