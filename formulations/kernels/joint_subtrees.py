"""The block rule of subtree pruning with free coefficients: all subtrees, all coefficients."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from formulations.arrays import FloatArray, IntArray
from formulations.kernels.blocks import fill_leaves, fill_relaxed, implement, respond
from formulations.kernels.compiled import kernel
from formulations.kernels.envelopes import C, G, Q, root_pieces
from formulations.kernels.subtree_relaxation import fill_relaxed_subtree
from formulations.kernels.subtrees import (
    SubtreeRule,
    cut_values,
    fill_subtree,
    least_value,
    list_kept,
)
from formulations.kernels.trees import Trees, sum_leaves, sum_leaves_without, sum_nodes


class JointSubtreeRule(NamedTuple):
    """Block rule of `JointSubtreePruning`.

    ``fixed`` is the rule of the same problem with coefficients of 1; a relaxed point holds one
    coefficient for each split. ``ridge`` is λ, ``count_cost`` the price of a tree of whatever
    size. A subtree with a squared norm of at most ``short`` is but rounding and is never taken,
    and so are differences of the objective below ``rounding``.
    """

    choice_start: IntArray
    point_start: IntArray
    fixed: SubtreeRule
    ridge: float
    count_cost: float
    short: float
    rounding: float


@kernel
def measure(
    rule: JointSubtreeRule, trees: Trees, i: int, slope: FloatArray, choice: IntArray
) -> tuple[float, float, float]:
    """Return g, q and c of the subtree of tree i that ``choice`` (nodes,) marks."""
    begin = trees.node_start[i]
    g, q, c = 0.0, 0.0, 0.0
    for node in range(choice.shape[0]):
        if choice[node] > 0:
            c += rule.fixed.cost[begin + node]
            child = rule.fixed.child[begin + node]
            if child < 0 or choice[child] == 0:
                g -= 0.5 * slope[node]
                q += rule.fixed.square[begin + node] / trees.total_weight
    return g, q, c


@kernel
def best_piece(rule: JointSubtreeRule, trees: Trees, pieces: FloatArray) -> tuple[float, float]:
    """Return the least value of the pieces with their best coefficients, and its coefficient.

    Both are 0 where no subtree is better than none.
    """
    ridge, short = rule.ridge / trees.total_weight, rule.short / trees.total_weight
    best, at = 0.0, 0.0
    for k in range(pieces.shape[0]):
        g, q = pieces[k, G], pieces[k, Q]
        if q > short:
            value = pieces[k, C] + rule.count_cost - g * g / (q + ridge)
            if value < best:
                best, at = value, g / (q + ridge)
    return best, at


@kernel
def take_best_at(
    rule: JointSubtreeRule, trees: Trees, i: int, slope: FloatArray, beta: float, choice: IntArray
) -> tuple[float, float]:
    """Write the best subtree at a coefficient to ``choice`` (nodes,).

    Returns its value at its own best coefficient, which may be another, and that one; zeros
    where it is the empty one.
    """
    nodes = choice.shape[0]
    begin = trees.node_start[i]
    cut = np.empty(nodes)
    margin = np.empty(nodes)
    members = np.empty(nodes, dtype=np.int64)
    for node in range(nodes):
        square = rule.fixed.square[begin + node] / trees.total_weight
        cut[node] = beta * (slope[node] + beta * square)
    least_value(rule.fixed, trees, i, cut, rule.rounding, margin)
    count = list_kept(rule.fixed, trees, i, margin, rule.rounding, members)
    choice[:] = 0
    if count == 1:
        return 0.0, 0.0
    for position in range(count):
        choice[members[position]] = 1
    g, q, c = measure(rule, trees, i, slope, choice)
    length = q + rule.ridge / trees.total_weight
    return c + rule.count_cost - g * g / length, g / length


@kernel
def slopes_at(rule: JointSubtreeRule, trees: Trees, i: int, leaf_sum: FloatArray) -> FloatArray:
    """Return `cut_values` without squares of tree i (nodes,), from the residual's leaf sums."""
    nodes = trees.node_start[i + 1] - trees.node_start[i]
    node_sum = np.empty((nodes, leaf_sum.shape[1]))
    slope = np.empty(nodes)
    sum_nodes(trees, i, leaf_sum, node_sum)
    cut_values(rule.fixed, trees, i, node_sum, True, slope)
    return slope


@kernel
def list_best(
    rule: JointSubtreeRule,
    trees: Trees,
    i: int,
    residual: FloatArray,
    leaf_value: FloatArray,
    most: int,
) -> tuple[IntArray, FloatArray]:
    """Return the best subtrees of tree i among those of its envelope, with their values.

    At most so many, (c, nodes) and (c,), none of them empty; the others are left as they are.
    """
    leaf_sum = np.empty((trees.leaf_start[i + 1] - trees.leaf_start[i], residual.shape[1]))
    sum_leaves_without(trees, i, residual, leaf_value, leaf_sum)
    slope = slopes_at(rule, trees, i, leaf_sum)
    pieces = root_pieces(rule.fixed, trees, i, slope, 1.0)
    length = pieces[:, Q] + rule.ridge / trees.total_weight
    value = np.full(pieces.shape[0], np.inf)
    for k in range(pieces.shape[0]):
        if pieces[k, Q] > rule.short / trees.total_weight:
            value[k] = pieces[k, C] + rule.count_cost - pieces[k, G] ** 2 / length[k]
    choices = np.empty((most, slope.shape[0]), dtype=np.int64)
    values = np.empty(most)
    count = 0
    for k in np.argsort(value):
        if count == most or value[k] == np.inf:
            break
        found, beta = take_best_at(rule, trees, i, slope, pieces[k, G] / length[k], choices[count])
        new = beta != 0.0
        for other in range(count):
            if new and np.all(choices[other] == choices[count]):
                new = False
        if new:
            values[count] = found
            count += 1
    return choices[:count], values[:count]


@kernel
def respond_with_both(
    rule: JointSubtreeRule,
    trees: Trees,
    i: int,
    node_sum: FloatArray,
    choice: IntArray,
    beta: FloatArray,
    tolerance: float,
) -> tuple[float, float]:
    """Exact update of subtree and coefficient; see `formulations.kernels.blocks.respond`.

    The slack is 0: a coefficient follows every move of the residual.
    """
    slope = np.empty(choice.shape[0])
    cut_values(rule.fixed, trees, i, node_sum, True, slope)
    ridge = rule.ridge / trees.total_weight
    now = 0.0
    if beta[0] != 0.0:
        g, q, c = measure(rule, trees, i, slope, choice)
        now = (q + ridge) * beta[0] ** 2 - 2.0 * g * beta[0] + c + rule.count_cost
    best, at = best_piece(rule, trees, root_pieces(rule.fixed, trees, i, slope, 1.0))
    if now - best <= tolerance:
        return 0.0, 0.0
    before = choice.copy()
    choice[:] = 0
    found, coefficient = 0.0, 0.0
    if best < -rule.rounding:
        found, coefficient = take_best_at(rule, trees, i, slope, at, choice)
    if now - found <= tolerance:  # rounding promised more than there is
        choice[:] = before
        return 0.0, 0.0
    beta[0] = coefficient
    return now - found, 0.0


@kernel
def fill_one_subtree(
    rule: JointSubtreeRule, trees: Trees, i: int, choice: IntArray, leaf_value: FloatArray
) -> None:
    """Write the value of each leaf's deepest kept node."""
    fill_subtree(rule.fixed, trees, i, choice, leaf_value)


@kernel
def fill_relaxed_splits(
    rule: JointSubtreeRule, trees: Trees, i: int, point: FloatArray, leaf_value: FloatArray
) -> None:
    """Write the sum of the steps along each leaf's path, each times its split's coefficient."""
    fill_relaxed_subtree(rule.fixed, trees, i, point, leaf_value)


@kernel
def dual_pieces(
    rule: JointSubtreeRule, trees: Trees, residual: FloatArray, start: IntArray
) -> FloatArray:
    """Return the pieces (p, 4) of all trees; tree i's begin at ``start[i]``.

    With the rule for bounds, the subtree of least c − ⟨u, P_T⟩² / (λ m) is among them for any
    multiple u of the residual.
    """
    outputs = residual.shape[1]
    found = np.empty((64, 4))
    start[0] = 0
    for i in range(trees.codes.shape[0]):
        leaf_sum = np.empty((trees.leaf_start[i + 1] - trees.leaf_start[i], outputs))
        sum_leaves(trees.codes[i], residual, leaf_sum)
        slope = slopes_at(rule, trees, i, leaf_sum)
        pieces = root_pieces(rule.fixed, trees, i, slope, 1.0)
        start[i + 1] = start[i] + pieces.shape[0]
        if start[i + 1] > found.shape[0]:
            longer = np.empty((2 * start[i + 1], 4))
            longer[: start[i]] = found[: start[i]]
            found = longer
        found[start[i] : start[i + 1]] = pieces
    return found[: start[-1]]


@kernel
def best_single(
    rule: JointSubtreeRule, trees: Trees, residual: FloatArray, price: float
) -> tuple[float, float, float]:
    """Find the subtree, with its best coefficient, whose gain − price · share is largest.

    Costs are shares of the total weight K; the gain is by how much the loss falls when one
    tree takes the subtree, less the price of a tree.

    Returns
    -------
    excess, gain, share
        The largest difference, and its two parts; 0, 0, 0 when none is above 0.
    """
    outputs = residual.shape[1]
    ridge, short = rule.ridge / trees.total_weight, rule.short / trees.total_weight
    most, most_gain, most_share = 0.0, 0.0, 0.0
    for i in range(trees.codes.shape[0]):
        leaf_sum = np.empty((trees.leaf_start[i + 1] - trees.leaf_start[i], outputs))
        sum_leaves(trees.codes[i], residual, leaf_sum)
        slope = slopes_at(rule, trees, i, leaf_sum)
        pieces = root_pieces(rule.fixed, trees, i, slope, price)
        for k in range(pieces.shape[0]):
            g, q = pieces[k, G], pieces[k, Q]
            if q > short:
                gain = g * g / (q + ridge) - rule.count_cost
                excess = gain - price * pieces[k, C]
                if excess > most:
                    most, most_gain, most_share = excess, gain, pieces[k, C]
    return most, most_gain, most_share


implement(respond, JointSubtreeRule, respond_with_both)
implement(fill_leaves, JointSubtreeRule, fill_one_subtree)
implement(fill_relaxed, JointSubtreeRule, fill_relaxed_splits)
