"""Compiled steps on explicit columns: relaxation, rounding and descent on the Gram matrix.

Every function works on the columns that ``allowed`` (columns,) marks, at least one a block.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from formulations import ChoiceColumns
from formulations.arrays import BoolArray, FloatArray, IntArray
from formulations.kernels.compiled import kernel


@kernel
def gradient_at(gram: FloatArray, linear: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the gradient of the objective at weights (columns,)."""
    gradient = linear.copy()
    for c in range(weights.shape[0]):
        if weights[c] != 0.0:
            gradient += 2.0 * weights[c] * gram[c]
    return gradient


@kernel
def linear_gaps(
    start: IntArray, allowed: BoolArray, weights: FloatArray, gradient: FloatArray
) -> float:
    """Return Σ_i ( ⟨g_i, s_i⟩ − min g_i ) over the allowed columns."""
    total = 0.0
    for i in range(start.shape[0] - 1):
        lowest = np.inf
        here = 0.0
        for c in range(start[i], start[i + 1]):
            if allowed[c]:
                here += weights[c] * gradient[c]
                lowest = min(lowest, gradient[c])
        total += here - lowest
    return total


@kernel
def step_on_face(
    start: IntArray, gram: FloatArray, gradient: FloatArray, weights: FloatArray
) -> None:
    """Step towards the minimum over the weights that are not 0, until one of them would be.

    Conjugate gradients in the directions that keep the sum of each block. Where steps inside
    one block after the other crawl, because the columns of different blocks are nearly the
    same, this is what moves the blocks together.
    """
    used = np.empty(weights.shape[0], dtype=np.int64)
    first = np.empty(start.shape[0], dtype=np.int64)
    count, blocks = 0, 0
    for i in range(start.shape[0] - 1):
        first[blocks] = count
        for c in range(start[i], start[i + 1]):
            if weights[c] > 0.0:
                used[count] = c
                count += 1
        if count - first[blocks] < 2:  # its weight cannot move
            count = first[blocks]
        else:
            blocks += 1
    first[blocks] = count
    if count == 0:
        return
    square = np.empty((count, count))
    left = np.empty(count)
    for a in range(count):
        left[a] = -gradient[used[a]]
        for b in range(count):
            square[a, b] = 2.0 * gram[used[a], used[b]]
    keep_sums(first, blocks, left)
    move = np.zeros(count)
    direction = left.copy()
    size = left @ left
    enough = 1e-16 * size
    for _ in range(count):
        if size <= enough:
            break
        image = square @ direction
        curvature = direction @ image
        if curvature <= 0.0:
            break
        move += (size / curvature) * direction
        left -= (size / curvature) * image
        keep_sums(first, blocks, left)
        before = size
        size = left @ left
        direction = left + (size / before) * direction
    step = 1.0
    blocking = -1
    for a in range(count):
        if weights[used[a]] + step * move[a] < 0.0:
            step = -weights[used[a]] / move[a]
            blocking = a
    for a in range(count):
        weights[used[a]] = max(weights[used[a]] + step * move[a], 0.0)
        if a == blocking:
            weights[used[a]] = 0.0
        gradient += 2.0 * step * move[a] * gram[used[a]]


@kernel
def keep_sums(first: IntArray, blocks: int, move: FloatArray) -> None:
    """Subtract its mean from each block's part of ``move``."""
    for i in range(blocks):
        mean = move[first[i] : first[i + 1]].sum() / (first[i + 1] - first[i])
        move[first[i] : first[i + 1]] -= mean


@kernel
def relax_columns(
    start: IntArray,
    gram: FloatArray,
    linear: FloatArray,
    allowed: BoolArray,
    weights: FloatArray,
    tolerance: float,
    most_sweeps: int,
) -> tuple[float, float, FloatArray]:
    """Minimise over the weights by pairwise steps, to a Frank–Wolfe gap of ``tolerance``.

    ``weights`` are changed in place; the gradient is kept up with every step, at the price
    of two rows of the Gram matrix.

    Returns
    -------
    value, gap, gradient
        The objective without its constant, by how much it is above its lower bound at most,
        and the gradient, all at the weights.
    """
    gradient = gradient_at(gram, linear, weights)
    blocks = start.shape[0] - 1
    for sweep in range(most_sweeps):
        if linear_gaps(start, allowed, weights, gradient) <= tolerance:
            break
        if sweep % 2 == 1:
            step_on_face(start, gram, gradient, weights)
        for i in range(blocks):
            for _ in range(3 * (start[i + 1] - start[i])):
                worst, best = -1, -1
                for c in range(start[i], start[i + 1]):
                    if not allowed[c]:
                        continue
                    if best < 0 or gradient[c] < gradient[best]:
                        best = c
                    if weights[c] > 0.0 and (worst < 0 or gradient[c] > gradient[worst]):
                        worst = c
                fall = gradient[worst] - gradient[best]
                if weights[worst] * fall <= 0.01 * tolerance / blocks:
                    break
                square = gram[worst, worst] + gram[best, best] - 2.0 * gram[worst, best]
                step = weights[worst]
                if square > 0.0:
                    step = min(step, 0.5 * fall / square)
                weights[worst] -= step
                weights[best] += step
                for c in range(gradient.shape[0]):
                    gradient[c] += 2.0 * step * (gram[best, c] - gram[worst, c])
    gradient = gradient_at(gram, linear, weights)
    gap = linear_gaps(start, allowed, weights, gradient)
    value = 0.0
    for c in range(weights.shape[0]):
        value += 0.5 * weights[c] * (linear[c] + gradient[c])
    return value, gap, gradient


@kernel
def discard(start: IntArray, allowed: BoolArray, gradient: FloatArray, excess: float) -> None:
    """Disallow columns whose gradient is more than ``excess`` above their block's smallest."""
    for i in range(start.shape[0] - 1):
        lowest = np.inf
        for c in range(start[i], start[i + 1]):
            if allowed[c]:
                lowest = min(lowest, gradient[c])
        for c in range(start[i], start[i + 1]):
            if gradient[c] - lowest > excess:
                allowed[c] = False


@kernel
def keep_to_allowed(start: IntArray, allowed: BoolArray, weights: FloatArray) -> None:
    """Move weight from columns that are not allowed to the nearest of the block that is."""
    for i in range(start.shape[0] - 1):
        for c in range(start[i], start[i + 1]):
            if allowed[c] or weights[c] == 0.0:
                continue
            nearest = -1
            for other in range(start[i], start[i + 1]):
                if allowed[other] and (nearest < 0 or abs(other - c) < abs(nearest - c)):
                    nearest = other
            weights[nearest] += weights[c]
            weights[c] = 0.0


@kernel
def descend_columns(
    start: IntArray,
    gram: FloatArray,
    linear: FloatArray,
    selected: IntArray,
    tolerance: float,
) -> None:
    """Give one block after the other its best column, until none changes."""
    terms = linear.copy()
    for i in range(selected.shape[0]):
        terms += 2.0 * gram[selected[i]]
    moved = True
    while moved:
        moved = False
        for i in range(selected.shape[0]):
            now = selected[i]
            best = now
            best_change = -tolerance
            for c in range(start[i], start[i + 1]):
                # Without the block's own column, c adds terms − 2 gram[now, c] + gram[c, c].
                change = (terms[c] - 2.0 * gram[now, c] + gram[c, c]) - (
                    terms[now] - gram[now, now]
                )
                if change < best_change:
                    best = c
                    best_change = change
            if best != now:
                selected[i] = best
                moved = True
                for c in range(terms.shape[0]):
                    terms[c] += 2.0 * (gram[best, c] - gram[now, c])


@kernel
def largest_weights(start: IntArray, weights: FloatArray, selected: IntArray) -> None:
    """Write each block's column of largest weight to ``selected`` (n,)."""
    for i in range(selected.shape[0]):
        best = start[i]
        for c in range(start[i], start[i + 1]):
            if weights[c] > weights[best]:
                best = c
        selected[i] = best


@kernel
def spreads(start: IntArray, gram: FloatArray, weights: FloatArray, spread: FloatArray) -> None:
    """Write Σ_c s_c ‖P_c‖² − ‖Σ_c s_c P_c‖², over m, of each block to ``spread`` (n,).

    The sum over the blocks is by how much the objective rises on average when every block
    draws one column with its weights as probabilities: where it is 0, the point is integer.
    """
    for i in range(spread.shape[0]):
        total = 0.0
        for c in range(start[i], start[i + 1]):
            if weights[c] > 0.0:
                total += weights[c] * gram[c, c]
                for other in range(start[i], start[i + 1]):
                    total -= weights[c] * weights[other] * gram[c, other]
        spread[i] = max(total, 0.0)


def relax_all(columns: ChoiceColumns, weights: FloatArray, tolerance: float) -> None:
    """Minimise over the weights (columns,) in place, all columns allowed."""
    everything = np.ones(columns.n_columns, dtype=np.bool_)
    relax_columns(
        columns.start, columns.gram, columns.linear, everything, weights, tolerance, 10_000
    )


@cache
def compile_columns() -> None:
    """Compile the kernels, on one block of two columns."""
    start = np.array([0, 2])
    gram, linear, weights = np.eye(2), np.zeros(2), np.array([1.0, 0.0])
    allowed, selected = np.ones(2, dtype=np.bool_), np.zeros(1, dtype=np.int64)
    _, _, gradient = relax_columns(start, gram, linear, allowed, weights, 0.0, 1)
    discard(start, allowed, gradient, 1.0)
    keep_to_allowed(start, allowed, weights)
    largest_weights(start, weights, selected)
    descend_columns(start, gram, linear, selected, 0.0)
    spreads(start, gram, weights, np.zeros(1))
