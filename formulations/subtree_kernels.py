"""The block rule of subtree pruning: choosing where to cut each branch."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from formulations.arrays import FloatArray, IntArray
from formulations.blocks import (
    fill_leaves,
    fill_relaxed,
    implement,
    linear_gap,
    relax,
    respond,
)
from formulations.compiled import kernel
from formulations.tree_kernels import Trees, sum_leaves, sum_nodes


class SubtreeRule(NamedTuple):
    """Block rule of `SubtreePruning`.

    A choice marks the kept nodes of every tree, the root's with them; a relaxed point holds
    one number for each split, the extent to which it is made.

    ``split`` (nodes,) is the number of a node's split within its tree, −1 at a leaf; ``cost``
    (nodes,) the price of a node, 0 at a root; ``weight`` (nodes,) the weight N of the rows in a
    node; ``reach`` (nodes,) the largest distance, over all subtrees below a node, of their
    predictions from the node's own.
    """

    choice_start: IntArray
    point_start: IntArray
    split: IntArray
    cost: FloatArray
    weight: FloatArray
    reach: FloatArray


@kernel
def respond_with_subtree(
    rule: SubtreeRule,
    trees: Trees,
    i: int,
    node_sum: FloatArray,
    choice: IntArray,
    beta: FloatArray,
    tolerance: float,
) -> tuple[float, float]:
    """Exact block update over all rooted subtrees; see `formulations.blocks.respond`.

    Stopping at v changes the loss by cut(v) = (a_v² N_v − 2 a_v S_v) / m, with S_v the sum of
    the residual without the tree over the rows in v. From the leaves up,

        F(v) = min( cut(v), Σ over children c of F(c) + cost(c) ),   ties: cut.

    The present subtree stays unless another is better by more than ``tolerance``, or a part
    of it is as good.
    """
    begin = trees.node_start[i]
    nodes = trees.node_start[i + 1] - begin
    outputs = node_sum.shape[1]
    parent = trees.parent[begin : begin + nodes]
    split = rule.split[begin : begin + nodes]
    below = np.zeros(nodes)  # best value of the children with their costs
    present = np.zeros(nodes)  # the same for the present subtree
    made = np.zeros(nodes, dtype=np.bool_)  # whether the best subtree has the split
    was_made = np.zeros(nodes, dtype=np.bool_)
    for node in range(1, nodes):
        if choice[node] > 0:
            was_made[parent[node]] = True
    squares = np.zeros(nodes)  # of the best subtree's predictions, Σ N a²
    sums = np.zeros((nodes, outputs))  # Σ N a
    squared_room = np.inf
    best = 0.0
    now = 0.0
    for node in range(nodes - 1, -1, -1):
        weight = rule.weight[begin + node]
        square = 0.0
        product = 0.0
        for o in range(outputs):
            value = trees.value[begin + node, o]
            square += value * value
            product += value * node_sum[node, o]
        cut = (weight * square - 2.0 * product) / trees.total_weight
        value_here = cut
        margin = below[node] - cut
        if split[node] >= 0:
            distance = rule.reach[begin + node] ** 2
            if margin < -tolerance:
                made[node] = True
                value_here = below[node]
                across = 0.0
                for o in range(outputs):
                    across += trees.value[begin + node, o] * sums[node, o]
                distance = max(squares[node] - 2.0 * across + weight * square, 0.0)
                distance += 1e-14 * (squares[node] + weight * square)
            if distance > 0.0:
                squared_room = min(squared_room, margin * margin / distance)
        if not made[node]:
            squares[node] = weight * square
            for o in range(outputs):
                sums[node, o] = weight * trees.value[begin + node, o]
        now_here = present[node] if was_made[node] else cut
        if node == 0:
            best = value_here
            now = now_here
        else:
            above = parent[node]
            below[above] += value_here + rule.cost[begin + node]
            present[above] += now_here + rule.cost[begin + node]
            squares[above] += squares[node]
            for o in range(outputs):
                sums[above, o] += sums[node, o]
    gain = now - best
    smaller = _mark_kept(parent, made, choice, gain > tolerance)
    if gain > tolerance or (smaller and gain >= 0.0):
        _mark_kept(parent, made, choice, True)
    else:
        gain = 0.0
    return gain, 0.5 * trees.total_weight * np.sqrt(squared_room)


@kernel
def _mark_kept(parent: IntArray, made: FloatArray, choice: IntArray, write: bool) -> bool:
    """Say whether the nodes that ``made`` keeps are part of the choice, and fewer.

    They are written over the choice on request.
    """
    nodes = parent.shape[0]
    kept = np.zeros(nodes, dtype=np.bool_)
    kept[0] = True
    fewer = False
    part = True
    for node in range(1, nodes):
        kept[node] = kept[parent[node]] and made[parent[node]]
        if kept[node] and choice[node] == 0:
            part = False
        if not kept[node] and choice[node] > 0:
            fewer = True
    if write:
        choice[0] = 1 if made[0] else 0
        for node in range(1, nodes):
            choice[node] = 1 if kept[node] else 0
    return part and fewer


@kernel
def fill_subtree(
    rule: SubtreeRule, trees: Trees, i: int, choice: IntArray, leaf_value: FloatArray
) -> None:
    """Write the value of each leaf's deepest kept node."""
    begin = trees.node_start[i]
    nodes = trees.node_start[i + 1] - begin
    seen = np.zeros(nodes, dtype=np.int64)
    for node in range(1, nodes):
        seen[node] = node if choice[node] > 0 else seen[trees.parent[begin + node]]
    first = trees.leaf_start[i]
    for leaf in range(leaf_value.shape[0]):
        node = seen[trees.leaf_node[first + leaf]]
        for o in range(leaf_value.shape[1]):
            leaf_value[leaf, o] = trees.value[begin + node, o]


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
def split_parents(rule: SubtreeRule, trees: Trees, i: int, parent: IntArray) -> None:
    """Set ``parent`` (splits,) to the split above each split, −1 at the root's."""
    begin = trees.node_start[i]
    for node in range(trees.node_start[i + 1] - begin):
        here = rule.split[begin + node]
        if here >= 0:
            above = trees.parent[begin + node]
            parent[here] = rule.split[begin + above] if above >= 0 else -1


@kernel
def least_subtree(parent: IntArray, gradient: FloatArray, made: FloatArray) -> float:
    """Return min over subtrees of Σ gradient of their splits; mark these in ``made`` (splits,).

    Splits come after those above them. Ties: fewer splits.
    """
    splits = parent.shape[0]
    below = np.zeros(splits)
    lowest = 0.0
    for s in range(splits - 1, -1, -1):
        total = gradient[s] + below[s]
        made[s] = 1.0 if total < 0.0 else 0.0
        if total < 0.0:
            if parent[s] >= 0:
                below[parent[s]] += total
            else:
                lowest += total
    for s in range(splits):
        if parent[s] >= 0 and made[parent[s]] == 0.0:
            made[s] = 0.0
    return lowest


@kernel
def subtree_gap(
    rule: SubtreeRule, trees: Trees, i: int, node_sum: FloatArray, point: FloatArray
) -> float:
    """⟨g_i, z_i⟩ − min over subtrees; see `formulations.blocks.linear_gap`."""
    splits = point.shape[0]
    gradient = np.empty(splits)
    parent = np.empty(splits, dtype=np.int64)
    made = np.empty(splits)
    split_gradient(rule, trees, i, node_sum, gradient)
    split_parents(rule, trees, i, parent)
    lowest = least_subtree(parent, gradient, made)
    total = 0.0
    for s in range(splits):
        total += gradient[s] * point[s]
    return max(total - lowest, 0.0)


@kernel
def relax_subtree(
    rule: SubtreeRule,
    trees: Trees,
    i: int,
    node_sum: FloatArray,
    point: FloatArray,
    tolerance: float,
) -> tuple[float, float]:
    """Minimise over z_i by pairwise steps; see `formulations.blocks.relax`.

    A point with z_s at most that of the split above is a mixture of nested subtrees: those of
    the splits with z_s ≥ t, for the values t that occur. A step moves weight from the one of
    them with the largest linear value to the subtree with the least, as far as lowers the
    objective most.
    """
    splits = point.shape[0]
    if splits == 0:
        return 0.0, np.inf
    outputs = node_sum.shape[1]
    begin = trees.node_start[i]
    nodes = trees.node_start[i + 1] - begin
    first, leaves = trees.leaf_start[i], trees.leaf_start[i + 1] - trees.leaf_start[i]
    parent = np.empty(splits, dtype=np.int64)
    gradient = np.empty(splits)
    made = np.empty(splits)
    direction = np.empty(splits)
    value = np.empty((leaves, outputs))
    leaf_sum = np.empty((leaves, outputs))
    change = np.empty((nodes, outputs))
    sums = node_sum[:nodes].copy()
    split_parents(rule, trees, i, parent)
    # The gradient is taken at the residual with the block's own predictions.
    fill_relaxed_subtree(rule, trees, i, point, value)
    for leaf in range(leaves):
        for o in range(outputs):
            leaf_sum[leaf, o] = trees.leaf_weight[first + leaf] * value[leaf, o]
    sum_nodes(trees, i, leaf_sum, change)
    sums -= change
    before = -1.0
    for step in range(50 * splits):
        split_gradient(rule, trees, i, sums, gradient)
        lowest = least_subtree(parent, gradient, made)
        gap = -lowest
        for s in range(splits):
            gap += gradient[s] * point[s]
        if step == 0:
            before = max(gap, 0.0)
        if gap <= (tolerance if step == 0 else 0.1 * tolerance):
            break
        weight, highest = _worst_member(point, gradient, direction)
        fall = highest - lowest
        for s in range(splits):
            direction[s] = made[s] - direction[s]
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
        for s in range(splits):
            point[s] = min(max(point[s] + length * direction[s], 0.0), 1.0)
            if parent[s] >= 0:
                point[s] = min(point[s], point[parent[s]])
        sum_nodes(trees, i, leaf_sum, change)
        for node in range(nodes):
            for o in range(outputs):
                sums[node, o] -= length * change[node, o]
    return before, 0.0


@kernel
def _worst_member(
    point: FloatArray, gradient: FloatArray, member: FloatArray
) -> tuple[float, float]:
    """Find, of the nested subtrees that mix to a point, that of the largest linear value.

    Returns its weight and that value, and marks its splits in ``member``.
    """
    splits = point.shape[0]
    order = np.argsort(-point)
    weight, highest, threshold = 1.0 - point[order[0]], 0.0, 2.0
    if weight <= 0.0:
        highest = -np.inf
    total = 0.0
    for position in range(splits):
        total += gradient[order[position]]
        here = point[order[position]]
        after = point[order[position + 1]] if position + 1 < splits else 0.0
        if here > after and total > highest:
            weight, highest, threshold = here - after, total, here
    for s in range(splits):
        member[s] = 1.0 if point[s] >= threshold else 0.0
    return weight, highest


@kernel
def largest_gain(
    rule: SubtreeRule, trees: Trees, residual: FloatArray, price: float, linear: bool
) -> tuple[float, float, float]:
    """Find the subtree of one block for which gain − price · share is largest.

    ``rule.cost`` are shares of the total weight K. The gain is by how much the loss falls when
    the block takes the subtree, or, on request, the slope toward it.

    Returns
    -------
    excess, gain, share
        The largest difference, and its two parts; 0, 0, 0 when none is above 0.
    """
    outputs = residual.shape[1]
    most, most_gain, most_share = 0.0, 0.0, 0.0
    for i in range(trees.codes.shape[0]):
        begin = trees.node_start[i]
        nodes = trees.node_start[i + 1] - begin
        parent = trees.parent[begin : begin + nodes]
        leaf_sum = np.empty((trees.leaf_start[i + 1] - trees.leaf_start[i], outputs))
        node_sum = np.empty((nodes, outputs))
        sum_leaves(trees.codes[i], residual, leaf_sum)
        sum_nodes(trees, i, leaf_sum, node_sum)
        gain = np.zeros(nodes)  # of the best below the node, children counted
        share = np.zeros(nodes)
        for node in range(nodes - 1, -1, -1):
            square = 0.0
            product = 0.0
            for o in range(outputs):
                value = trees.value[begin + node, o]
                square += value * value
                product += value * node_sum[node, o]
            stop = 2.0 * product / trees.total_weight
            if not linear:
                stop -= rule.weight[begin + node] * square / trees.total_weight
            going_on = rule.split[begin + node] >= 0 and (gain[node] - price * share[node] > stop)
            if not going_on:
                gain[node], share[node] = stop, 0.0
            if node > 0:
                above = parent[node]
                gain[above] += gain[node]
                share[above] += share[node] + rule.cost[begin + node]
        excess = gain[0] - price * share[0]
        if excess > most:
            most, most_gain, most_share = excess, gain[0], share[0]
    return most, most_gain, most_share


implement(respond, SubtreeRule, respond_with_subtree)
implement(fill_leaves, SubtreeRule, fill_subtree)
implement(linear_gap, SubtreeRule, subtree_gap)
implement(fill_relaxed, SubtreeRule, fill_relaxed_subtree)
implement(relax, SubtreeRule, relax_subtree)
