"""Coordinate descent on choices and on the relaxation, written once for all block rules.

The compiled loops call the functions of a rule (`formulations.kernels.blocks`); none of them knows
whether a choice is a depth or something else.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from formulations.arrays import FloatArray, IntArray
from formulations.kernels.blocks import fill_leaves, fill_relaxed, relax, respond, widest
from formulations.kernels.compiled import kernel
from formulations.kernels.trees import (
    Trees,
    subtract_rows,
    sum_leaves,
    sum_leaves_without,
    sum_nodes,
)


class State(NamedTuple):
    """Where a descent stands; every array is changed in place.

    Attributes
    ----------
    residual
        (m, q) ω (r0 − prediction).
    choice
        The choices of all blocks, one after the other.
    beta
        (n,) the coefficient of each block; 1 where it is fixed.
    leaf_value
        (leaves, q) what each leaf of each block predicts at its choice and coefficient.
    slack
        (n,) how far ‖residual‖ may move before a block can want another choice.
    seen_at
        (n,) the distance travelled when the block was visited last.
    travelled
        (1,) sum of the norms of all changes of the residual so far.
    changed
        (n,) 1 where a block has changed since this was set to 0.
    """

    residual: FloatArray
    choice: IntArray
    beta: FloatArray
    leaf_value: FloatArray
    slack: FloatArray
    seen_at: FloatArray
    travelled: FloatArray
    changed: IntArray


class RelaxedState(NamedTuple):
    """Where a minimisation of the relaxation stands; every array is changed in place.

    ``point`` is relaxed; the other fields are those of `State`.
    """

    residual: FloatArray
    point: FloatArray
    leaf_value: FloatArray
    slack: FloatArray
    seen_at: FloatArray
    travelled: FloatArray


@kernel
def put(rule: Any, trees: Trees, state: State, i: int, choice: IntArray, beta: float) -> None:
    """Give block i a choice and a coefficient; its leaves and the residual follow."""
    state.choice[rule.choice_start[i] : rule.choice_start[i + 1]] = choice
    state.beta[i] = beta
    follow(rule, trees, state, i)


@kernel
def follow(rule: Any, trees: Trees, state: State, i: int) -> None:
    """Make block i's leaves and the residual follow its choice and coefficient."""
    choice = state.choice[rule.choice_start[i] : rule.choice_start[i + 1]]
    beta = state.beta[i]
    begin, end = trees.leaf_start[i], trees.leaf_start[i + 1]
    now = state.leaf_value[begin:end]
    change = np.empty_like(now)
    fill_leaves(rule, trees, i, choice, change)
    square = 0.0
    for leaf in range(change.shape[0]):
        for o in range(change.shape[1]):
            before = now[leaf, o]
            now[leaf, o] = beta * change[leaf, o]
            change[leaf, o] = now[leaf, o] - before
            square += trees.leaf_weight[begin + leaf] * change[leaf, o] ** 2
    if square > 0.0:
        subtract_rows(trees, i, change, state.residual)
        state.travelled[0] += np.sqrt(square)
    state.changed[i] = 1


@kernel
def copy_changed(rule: Any, trees: Trees, state: State, origin: State, target: State) -> None:
    """Copy what differs between two states from one to the other: the blocks that changed.

    ``state`` is the later of the two; its marks of what has changed are taken back.
    """
    for i in range(state.changed.shape[0]):
        if state.changed[i] > 0:
            begin, end = rule.choice_start[i], rule.choice_start[i + 1]
            target.choice[begin:end] = origin.choice[begin:end]
            begin, end = trees.leaf_start[i], trees.leaf_start[i + 1]
            target.leaf_value[begin:end] = origin.leaf_value[begin:end]
            state.changed[i] = 0
    target.residual[:] = origin.residual
    target.beta[:] = origin.beta
    target.slack[:] = origin.slack
    target.seen_at[:] = origin.seen_at
    target.travelled[:] = origin.travelled


@kernel
def sweep(
    rule: Any, trees: Trees, state: State, tolerance: float, haste: float
) -> tuple[int, float]:
    """Visit every block once, in order, and give it its best choice.

    A block is passed over when the residual has travelled less than ``haste`` × its slack since
    the last visit. With a haste of 1 this is exact: the block cannot want another choice,
    since the norm of the residual's move is at most the distance travelled. Moves of many
    blocks rarely add up, so that a haste of √n saves most visits at little risk; only a sweep
    with haste 1 and without a move shows a fixed point.

    Returns
    -------
    moves, gain
        How many blocks changed, and by how much the objective fell.
    """
    outputs = state.residual.shape[1]
    node_sum = np.empty((widest(trees.node_start), outputs))
    leaf_sums = np.empty((widest(trees.leaf_start), outputs))
    moves = 0
    total = 0.0
    for i in range(trees.codes.shape[0]):
        if state.travelled[0] - state.seen_at[i] < haste * state.slack[i]:
            continue
        leaf_sum = leaf_sums[: trees.leaf_start[i + 1] - trees.leaf_start[i]]
        sum_leaves_without(trees, i, state.residual, state.leaf_value, leaf_sum)
        sum_nodes(trees, i, leaf_sum, node_sum)
        # The choice is changed where it stands: a copy would cost more than the response.
        choice = state.choice[rule.choice_start[i] : rule.choice_start[i + 1]]
        beta = state.beta[i : i + 1]
        gain, state.slack[i] = respond(rule, trees, i, node_sum, choice, beta, tolerance)
        if gain > 0.0:
            follow(rule, trees, state, i)
            moves += 1
            total += gain
        # A block's own move does not change the residual without it.
        state.seen_at[i] = state.travelled[0]
    return moves, total


@kernel
def full_correlations(
    rule: Any,
    trees: Trees,
    residual: FloatArray,
    full: IntArray,
    blocks: IntArray,
    correlations: FloatArray,
) -> None:
    """Set ``correlations`` (b,) to ⟨r, t_i⟩ / ‖t_i‖ of some ``blocks`` i (b,).

    t_i is the prediction of the whole tree; 0 for one that predicts 0 everywhere.
    """
    outputs = residual.shape[1]
    leaf_sums = np.empty((widest(trees.leaf_start), outputs))
    values = np.empty_like(leaf_sums)
    for position in range(blocks.shape[0]):
        i = blocks[position]
        begin, end = trees.leaf_start[i], trees.leaf_start[i + 1]
        leaf_sum, value = leaf_sums[: end - begin], values[: end - begin]
        sum_leaves(trees.codes[i], residual, leaf_sum)
        fill_leaves(rule, trees, i, full[rule.choice_start[i] : rule.choice_start[i + 1]], value)
        product = 0.0
        square = 0.0
        for leaf in range(end - begin):
            for o in range(outputs):
                product += leaf_sum[leaf, o] * value[leaf, o]
                square += trees.leaf_weight[begin + leaf] * value[leaf, o] ** 2
        correlations[position] = product / np.sqrt(square) if square > 0.0 else 0.0


@kernel
def relaxed_sweep(
    rule: Any, trees: Trees, state: RelaxedState, tolerance: float, haste: float
) -> tuple[float, int]:
    """Minimise the relaxation over one block after the other.

    Blocks are passed over as in `sweep`, and where the residual has not moved.

    Returns
    -------
    gaps, visits
        Sum of the linear gaps of the blocks that were visited, and how many they are. The
        gaps are taken at different points, so that their sum tells when it is worth computing
        a bound, but is none.
    """
    outputs = state.residual.shape[1]
    node_sum = np.empty((widest(trees.node_start), outputs))
    leaf_sums = np.empty((widest(trees.leaf_start), outputs))
    changes = np.empty_like(leaf_sums)
    total = 0.0
    visits = 0
    for i in range(trees.codes.shape[0]):
        if state.travelled[0] - state.seen_at[i] <= haste * state.slack[i]:
            continue
        visits += 1
        begin, end = trees.leaf_start[i], trees.leaf_start[i + 1]
        leaf_sum = leaf_sums[: end - begin]
        sum_leaves_without(trees, i, state.residual, state.leaf_value, leaf_sum)
        sum_nodes(trees, i, leaf_sum, node_sum)
        part = state.point[rule.point_start[i] : rule.point_start[i + 1]]
        gap, state.slack[i] = relax(rule, trees, i, node_sum, part, tolerance)
        total += gap
        if gap > tolerance:
            change = changes[: end - begin]
            fill_relaxed(rule, trees, i, part, change)
            square = 0.0
            for leaf in range(end - begin):
                for o in range(outputs):
                    before = state.leaf_value[begin + leaf, o]
                    state.leaf_value[begin + leaf, o] = change[leaf, o]
                    change[leaf, o] -= before
                    square += trees.leaf_weight[begin + leaf] * change[leaf, o] ** 2
            subtract_rows(trees, i, change, state.residual)
            state.travelled[0] += np.sqrt(square)
        state.seen_at[i] = state.travelled[0]
    return total, visits
