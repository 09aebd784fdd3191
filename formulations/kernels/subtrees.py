"""The block rule of subtree pruning, and the least subtree of a tree in one pass."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from formulations.arrays import FloatArray, IntArray
from formulations.kernels.blocks import fill_leaves, implement
from formulations.kernels.compiled import kernel
from formulations.kernels.trees import Trees, sum_leaves, sum_nodes


class SubtreeRule(NamedTuple):
    """Block rule of `SubtreePruning`.

    A choice marks the kept nodes of every tree, the root's with them; a relaxed point holds
    one number for each split, the extent to which it is made.

    ``child`` (nodes,) is the first child of a node and ``split`` (nodes,) the number of its
    split, both counted within its tree, −1 at a leaf; siblings follow each other. ``cost``
    (nodes,) is the price of a node, 0 at a root; ``weight`` (nodes,) the weight N of the rows in a
    node and ``square`` (nodes,) N a²; ``reach`` (nodes,) as `Splits.reach` says.
    """

    choice_start: IntArray
    point_start: IntArray
    child: IntArray
    split: IntArray
    cost: FloatArray
    weight: FloatArray
    square: FloatArray
    reach: FloatArray


@kernel
def cut_values(
    rule: SubtreeRule, trees: Trees, i: int, node_sum: FloatArray, linear: bool, cut: FloatArray
) -> None:
    """Set ``cut`` (nodes,) to the change of the loss when tree i's branches end at a node.

    (a_v² N_v − 2 a_v S_v) / m, with S_v the sum of the residual over the rows in v; on request
    without the square, which is the slope.
    """
    begin = trees.node_start[i]
    nodes = cut.shape[0]
    outputs = node_sum.shape[1]
    scale = -2.0 / trees.total_weight
    if outputs == 1:  # without the inner loop this runs on several nodes at once
        flat = node_sum.reshape(node_sum.shape[0])
        value = trees.value[begin : begin + nodes].reshape(nodes)
        for node in range(nodes):
            cut[node] = scale * value[node] * flat[node]
    else:
        for node in range(nodes):
            product = 0.0
            for o in range(outputs):
                product += trees.value[begin + node, o] * node_sum[node, o]
            cut[node] = scale * product
    if not linear:
        square = rule.square[begin : begin + nodes]
        for node in range(nodes):
            cut[node] += square[node] / trees.total_weight


@kernel
def least_value(
    rule: SubtreeRule, trees: Trees, i: int, cut: FloatArray, tolerance: float, margin: FloatArray
) -> float:
    """Return the least value over all rooted subtrees of tree i.

    From the leaves up, F(v) = min( cut(v), Σ over children c of F(c) + cost(c) ). ``margin``
    (nodes,) is set to the second minus the first, inf at a leaf: a split is made where it is
    below −tolerance. Ties: cut.
    """
    begin, nodes = trees.node_start[i], cut.shape[0]
    parent = trees.parent[begin : begin + nodes]
    cost = rule.cost[begin : begin + nodes]
    leaf_node = trees.leaf_node[trees.leaf_start[i] : trees.leaf_start[i + 1]]
    for node in range(nodes):
        margin[node] = -cut[node]
    for leaf in range(leaf_node.shape[0]):
        margin[leaf_node[leaf]] = np.inf
    for node in range(nodes - 1, 0, -1):
        # A sum and not a branch: which way it goes cannot be foreseen.
        here = margin[node]
        gained = here if here < -tolerance else 0.0
        margin[parent[node]] += cut[node] + gained + cost[node]
    return float(cut[0] + (margin[0] if margin[0] < -tolerance else 0.0))


@kernel
def find_margins(
    rule: SubtreeRule,
    trees: Trees,
    i: int,
    node_sum: FloatArray,
    tolerance: float,
    cut: FloatArray,
    margin: FloatArray,
) -> None:
    """Set ``cut`` and ``margin`` (nodes,) as `cut_values` and `least_value` do.

    With one output in one pass from the leaves up: in deep trees, whose nodes are many times
    what fits near the processor, reading them is what takes the time.
    """
    if node_sum.shape[1] > 1:
        cut_values(rule, trees, i, node_sum, False, cut)
        least_value(rule, trees, i, cut, tolerance, margin)
        return
    nodes = cut.shape[0]
    begin, end = trees.node_start[i], trees.node_start[i + 1]
    parent = trees.parent[begin:end]
    value = trees.value[begin:end].reshape(nodes)
    square = rule.square[begin:end]
    cost = rule.cost[begin:end]
    leaf_node = trees.leaf_node[trees.leaf_start[i] : trees.leaf_start[i + 1]]
    flat = node_sum.reshape(node_sum.shape[0])
    scale = 1.0 / trees.total_weight
    margin[:] = 0.0
    for leaf in range(leaf_node.shape[0]):
        margin[leaf_node[leaf]] = np.inf
    for node in range(nodes - 1, -1, -1):
        own = scale * (square[node] - 2.0 * value[node] * flat[node])
        here = margin[node] - own
        cut[node] = own
        margin[node] = here
        # A sum and not a branch: which way it goes cannot be foreseen.
        gained = here if here < -tolerance else 0.0
        if node > 0:
            margin[parent[node]] += own + gained + cost[node]


@kernel
def append_children(
    rule: SubtreeRule, trees: Trees, i: int, node: int, members: IntArray, count: int
) -> int:
    """Append the children of an inner node to ``members``, of which there are ``count``."""
    begin, nodes = trees.node_start[i], members.shape[0]
    child = rule.child[begin + node]
    while child < nodes and trees.parent[begin + child] == node:
        members[count] = child
        count += 1
        child += 1
    return count


@kernel
def list_kept(
    rule: SubtreeRule, trees: Trees, i: int, margin: FloatArray, tolerance: float, kept: IntArray
) -> int:
    """Write the nodes that the least subtree keeps to ``kept``, the root first; count them.

    ``kept`` must have room for all nodes of the tree.
    """
    kept[0] = 0
    count, position = 1, 0
    while position < count:
        node = kept[position]
        position += 1
        if margin[node] < -tolerance:
            count = append_children(rule, trees, i, node, kept, count)
    return count


@kernel
def fill_subtree(
    rule: SubtreeRule, trees: Trees, i: int, choice: IntArray, leaf_value: FloatArray
) -> None:
    """Write the value of each leaf's deepest kept node."""
    outputs = leaf_value.shape[1]
    begin, end = trees.node_start[i], trees.node_start[i + 1]
    parent = trees.parent[begin:end]
    leaf_node = trees.leaf_node[trees.leaf_start[i] : trees.leaf_start[i + 1]]
    if outputs == 1:  # without the inner loop this is several times as fast
        value = trees.value[begin:end].reshape(end - begin)
        shown = np.empty(end - begin)
        shown[0] = value[0]
        for node in range(1, end - begin):
            shown[node] = value[node] if choice[node] > 0 else shown[parent[node]]
        flat = leaf_value.reshape(leaf_value.shape[0])
        for leaf in range(leaf_node.shape[0]):
            flat[leaf] = shown[leaf_node[leaf]]
        return
    seen = np.zeros(end - begin, dtype=np.int64)
    for node in range(1, end - begin):
        seen[node] = node if choice[node] > 0 else seen[parent[node]]
    for leaf in range(leaf_node.shape[0]):
        for o in range(outputs):
            leaf_value[leaf, o] = trees.value[begin + seen[leaf_node[leaf]], o]


@kernel
def are_subtrees(trees: Trees, choice: IntArray) -> bool:
    """Return whether marks (nodes,) keep a rooted subtree of every tree, or nothing of it."""
    for i in range(trees.codes.shape[0]):
        begin, end = trees.node_start[i], trees.node_start[i + 1]
        if choice[begin] != (choice[begin + 1] if end > begin + 1 else 0):
            return False
        for node in range(begin + 1, end):
            if choice[node] != 0:
                above = begin + trees.parent[node]
                if choice[node] != 1 or choice[above] != 1:
                    return False
            beside = node > begin + 1 and trees.parent[node] == trees.parent[node - 1]
            if beside and choice[node] != choice[node - 1]:
                return False
    return True


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
        cut = np.empty(nodes)
        gain = np.zeros(nodes)  # of the best below the node, children counted
        share = np.zeros(nodes)
        cut_values(rule, trees, i, node_sum, linear, cut)
        for node in range(nodes - 1, -1, -1):
            going_on = rule.child[begin + node] >= 0 and (
                gain[node] - price * share[node] > -cut[node]
            )
            if not going_on:
                gain[node], share[node] = -cut[node], 0.0
            if node > 0:
                above = parent[node]
                gain[above] += gain[node]
                share[above] += share[node] + rule.cost[begin + node]
        excess = gain[0] - price * share[0]
        if excess > most:
            most, most_gain, most_share = excess, gain[0], share[0]
    return most, most_gain, most_share


implement(fill_leaves, SubtreeRule, fill_subtree)
