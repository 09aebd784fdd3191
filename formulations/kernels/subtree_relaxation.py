"""The relaxed block rule of subtree pruning: how far every split is made."""

from __future__ import annotations

import numpy as np

from formulations.arrays import FloatArray
from formulations.kernels.blocks import fill_relaxed, implement, linear_gap, relax
from formulations.kernels.compiled import kernel
from formulations.kernels.subtree_response import room_before_change
from formulations.kernels.subtrees import SubtreeRule, cut_values, least_value, list_kept
from formulations.kernels.trees import Trees, sum_leaves, sum_nodes

# Steps at a visit of a block of the relaxation.
_STEPS = 8


@kernel
def fill_relaxed_subtree(
    rule: SubtreeRule, trees: Trees, i: int, point: FloatArray, leaf_value: FloatArray
) -> None:
    """Write the sum of the steps along each leaf's path, each by the extent of its split."""
    outputs = leaf_value.shape[1]
    begin = trees.node_start[i]
    nodes = trees.node_start[i + 1] - begin
    value = np.zeros((nodes, outputs))
    for node in range(1, nodes):
        above = trees.parent[begin + node]
        z = point[rule.split[begin + above]]
        for o in range(outputs):
            value[node, o] = value[above, o] + z * trees.step[begin + node, o]
    first = trees.leaf_start[i]
    for leaf in range(leaf_value.shape[0]):
        node = trees.leaf_node[first + leaf]
        for o in range(outputs):
            leaf_value[leaf, o] = value[node, o]


@kernel
def split_gradient(
    rule: SubtreeRule, trees: Trees, i: int, node_sum: FloatArray, gradient: FloatArray
) -> None:
    """Set ``gradient`` (splits,) to Σ over a split's children of cost − (2/m) ⟨step, S⟩."""
    begin = trees.node_start[i]
    gradient[:] = 0.0
    for node in range(1, trees.node_start[i + 1] - begin):
        product = 0.0
        for o in range(node_sum.shape[1]):
            product += trees.step[begin + node, o] * node_sum[node, o]
        above = rule.split[begin + trees.parent[begin + node]]
        gradient[above] += rule.cost[begin + node] - 2.0 * product / trees.total_weight


@kernel
def all_gradients(
    rule: SubtreeRule, trees: Trees, residual: FloatArray, gradient: FloatArray
) -> None:
    """Set ``gradient`` (splits,) of all trees, as `split_gradient` does for one."""
    outputs = residual.shape[1]
    for i in range(trees.codes.shape[0]):
        leaf_sum = np.empty((trees.leaf_start[i + 1] - trees.leaf_start[i], outputs))
        node_sum = np.empty((trees.node_start[i + 1] - trees.node_start[i], outputs))
        sum_leaves(trees.codes[i], residual, leaf_sum)
        sum_nodes(trees, i, leaf_sum, node_sum)
        here = gradient[rule.point_start[i] : rule.point_start[i + 1]]
        split_gradient(rule, trees, i, node_sum, here)


@kernel
def subtree_gap(
    rule: SubtreeRule, trees: Trees, i: int, node_sum: FloatArray, point: FloatArray
) -> float:
    """⟨g_i, z_i⟩ − min over subtrees; see `formulations.kernels.blocks.linear_gap`."""
    nodes = trees.node_start[i + 1] - trees.node_start[i]
    cut = np.empty(nodes)
    margin = np.empty(nodes)
    gradient = np.empty(point.shape[0])
    cut_values(rule, trees, i, node_sum, True, cut)
    lowest = least_value(rule, trees, i, cut, 0.0, margin)
    split_gradient(rule, trees, i, node_sum, gradient)
    return max(float(gradient @ point) - lowest, 0.0)


@kernel
def relax_subtree(
    rule: SubtreeRule,
    trees: Trees,
    i: int,
    node_sum: FloatArray,
    point: FloatArray,
    tolerance: float,
) -> tuple[float, float]:
    """Lower the objective over z_i by pairwise steps; see `formulations.kernels.blocks.relax`.

    A point with z_s at most that of the split above is a mixture of nested subtrees: those of
    the splits with z_s ≥ t, for the values t that occur. A step moves weight from the one of
    them with the largest linear value to the subtree with the least, as far as lowers the
    objective most. There are a few steps at a visit: what other blocks do matters more.
    """
    splits = point.shape[0]
    if splits == 0:
        return 0.0, np.inf
    outputs = node_sum.shape[1]
    begin = trees.node_start[i]
    nodes = trees.node_start[i + 1] - begin
    first, leaves = trees.leaf_start[i], trees.leaf_start[i + 1] - trees.leaf_start[i]
    cut = np.empty(nodes)
    margin = np.empty(nodes)
    members = np.empty(nodes, dtype=np.int64)
    gradient = np.empty(splits)
    direction = np.empty(splits)
    value = np.empty((leaves, outputs))
    leaf_sum = np.empty((leaves, outputs))
    change = np.empty((nodes, outputs))
    sums = node_sum[:nodes].copy()
    # The gradient is taken at the residual with the block's own predictions.
    fill_relaxed_subtree(rule, trees, i, point, value)
    for leaf in range(leaves):
        for o in range(outputs):
            leaf_sum[leaf, o] = trees.leaf_weight[first + leaf] * value[leaf, o]
    sum_nodes(trees, i, leaf_sum, change)
    sums -= change
    before = 0.0
    for step in range(_STEPS + 1):
        cut_values(rule, trees, i, sums, True, cut)
        lowest = least_value(rule, trees, i, cut, 0.0, margin)
        split_gradient(rule, trees, i, sums, gradient)
        gap = float(gradient @ point) - lowest
        if step == 0:
            before = max(gap, 0.0)
        if gap <= (tolerance if step == 0 else 0.1 * tolerance) or step == _STEPS:
            break
        weight, highest = _worst_member(point, gradient, direction)
        fall = highest - lowest
        kept = members[: list_kept(rule, trees, i, margin, 0.0, members)]
        direction *= -1.0
        for position in range(kept.shape[0]):
            if margin[kept[position]] < 0.0:
                direction[rule.split[begin + kept[position]]] += 1.0
        fill_relaxed_subtree(rule, trees, i, direction, value)
        square = 0.0
        for leaf in range(leaves):
            for o in range(outputs):
                leaf_sum[leaf, o] = trees.leaf_weight[first + leaf] * value[leaf, o]
                square += leaf_sum[leaf, o] * value[leaf, o]
        length = weight
        if square > 0.0:
            length = min(weight, 0.5 * trees.total_weight * fall / square)
        if length <= 0.0:
            break
        _move(rule, trees, i, length, direction, point)
        sum_nodes(trees, i, leaf_sum, change)
        for node in range(nodes):
            for o in range(outputs):
                sums[node, o] -= length * change[node, o]
    kept = members[: list_kept(rule, trees, i, margin, 0.0, members)]
    made = 0.0
    for position in range(kept.shape[0]):
        if margin[kept[position]] < 0.0:
            made += 1.0
            if point[rule.split[begin + kept[position]]] < 1.0:
                return before, 0.0
    if point.sum() != made:
        return before, 0.0
    return before, room_before_change(rule, trees, i, margin, 0.0, kept)


@kernel
def _move(
    rule: SubtreeRule,
    trees: Trees,
    i: int,
    length: float,
    direction: FloatArray,
    point: FloatArray,
) -> None:
    """Add ``length`` × ``direction`` to a point; rounding must not leave the relaxation."""
    begin = trees.node_start[i]
    for node in range(trees.node_start[i + 1] - begin):
        s = rule.split[begin + node]
        if s >= 0:
            most = 1.0 if node == 0 else point[rule.split[begin + trees.parent[begin + node]]]
            point[s] = min(max(point[s] + length * direction[s], 0.0), most)


@kernel
def _worst_member(
    point: FloatArray, gradient: FloatArray, member: FloatArray
) -> tuple[float, float]:
    """Find, of the nested subtrees that mix to a point, that of the largest linear value.

    Returns its weight and that value, and marks its splits in ``member``.
    """
    used = np.flatnonzero(point)
    order = used[np.argsort(-point[used])]
    weight, highest, threshold = 1.0, 0.0, 2.0
    if order.shape[0] > 0:
        weight = 1.0 - point[order[0]]
    if weight <= 0.0:
        highest = -np.inf
    total = 0.0
    for position in range(order.shape[0]):
        total += gradient[order[position]]
        here = point[order[position]]
        after = point[order[position + 1]] if position + 1 < order.shape[0] else 0.0
        if here > after and total > highest:
            weight, highest, threshold = here - after, total, here
    for s in range(point.shape[0]):
        member[s] = 1.0 if point[s] >= threshold else 0.0
    return weight, highest


implement(linear_gap, SubtreeRule, subtree_gap)
implement(fill_relaxed, SubtreeRule, fill_relaxed_subtree)
implement(relax, SubtreeRule, relax_subtree)
