"""The block rule of layer pruning: choosing a depth."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from formulations.arrays import FloatArray, IntArray
from formulations.data import PruningData
from formulations.kernels.blocks import (
    LEAST_GAIN,
    fill_leaves,
    fill_relaxed,
    implement,
    linear_gap,
    relax,
    respond,
)
from formulations.kernels.compiled import kernel
from formulations.kernels.trees import Trees, sum_leaves, sum_nodes


class LayerRule(NamedTuple):
    """Block rule of `LayerPruning`.

    A choice is one depth per block; a relaxed point holds z_i1 ≥ … ≥ z_id of every tree.
    ``cost`` (prefixes,) is cost_i(k) for k = 0…d_i; ``products`` the tables of
    `PruningData.prefix_products`.
    """

    choice_start: IntArray
    point_start: IntArray
    prefix_start: IntArray
    product_start: IntArray
    products: FloatArray
    cost: FloatArray


@kernel
def prefix_sums(trees: Trees, i: int, node_sum: FloatArray, sums: FloatArray) -> None:
    """Set ``sums`` (d_i + 1,) to ⟨r, P_ik⟩ from the node sums of r.

    Layer k adds Σ (value − value of the parent) · sum over its nodes.
    """
    begin, end = trees.node_start[i], trees.node_start[i + 1]
    layers = trees.layer_start[trees.layer_pointer[i] : trees.layer_pointer[i + 1]]
    outputs = node_sum.shape[1]
    steps = trees.step[begin:end].reshape((end - begin) * outputs)
    flat = node_sum.reshape(node_sum.shape[0] * outputs)
    total = 0.0
    sums[0] = 0.0
    for k in range(1, layers.shape[0] - 1):
        for entry in range(layers[k] * outputs, layers[k + 1] * outputs):
            total += steps[entry] * flat[entry]
        sums[k] = total


@kernel
def all_prefix_sums(
    trees: Trees, residual: FloatArray, prefix_start: IntArray, sums: FloatArray
) -> None:
    """Set ``sums`` (prefixes,) to ⟨r, P_ik⟩ for every tree and prefix."""
    outputs = residual.shape[1]
    for i in range(trees.codes.shape[0]):
        leaf_sum = np.empty((trees.leaf_start[i + 1] - trees.leaf_start[i], outputs))
        node_sum = np.empty((trees.node_start[i + 1] - trees.node_start[i], outputs))
        sum_leaves(trees.codes[i], residual, leaf_sum)
        sum_nodes(trees, i, leaf_sum, node_sum)
        prefix_sums(trees, i, node_sum, sums[prefix_start[i] : prefix_start[i + 1]])


def target_sums(data: PruningData) -> FloatArray:
    """Return ⟨r0, P_ik⟩ for every tree and prefix."""
    sums = np.zeros(data.prefix_start[-1])
    weighted = data.row_weight[:, None] * data.target
    all_prefix_sums(data.trees, weighted, data.prefix_start, sums)
    return sums


@kernel
def respond_with_depth(
    rule: LayerRule,
    trees: Trees,
    i: int,
    node_sum: FloatArray,
    choice: IntArray,
    beta: FloatArray,
    tolerance: float,
) -> tuple[float, float]:
    """Exact block update over d_i + 1 depths (FP (4)); see `formulations.kernels.blocks.respond`.

    The present depth stays unless another is better by more than ``tolerance``, or a
    smaller one is as good: so the objective never rises and descent ends.
    """
    begin, end = rule.prefix_start[i], rule.prefix_start[i + 1]
    depths = end - begin
    table = rule.products[rule.product_start[i] : rule.product_start[i + 1]]
    value = np.empty(depths)
    prefix_sums(trees, i, node_sum, value)
    lowest = 0.0
    for k in range(depths):
        square = table[k * depths + k]
        value[k] = (square - 2.0 * value[k]) / trees.total_weight + rule.cost[begin + k]
        lowest = min(lowest, value[k])
    best = 0
    while value[best] > lowest + tolerance:
        best += 1
    now = choice[0]
    gain = value[now] - value[best]
    if gain > tolerance or (best < now and gain >= 0.0):
        gain = max(gain, LEAST_GAIN)
    else:
        best = now
        gain = 0.0
    choice[0] = best
    slack = room_before_change(trees, table, value, best)
    return gain, slack


@kernel
def room_before_change(trees: Trees, table: FloatArray, value: FloatArray, best: int) -> float:
    """Return how far the residual may move, in norm, while prefix ``best`` stays the best.

    ``value`` (d_i + 1,) − 2 ⟨r, P_ik⟩ / m and what does not depend on r. That of prefix k
    relative to the best moves by at most 2 ‖δr‖ ‖P_ik − P_i,best‖ / m.
    """
    depths = value.shape[0]
    squared = np.inf
    for k in range(depths):
        # Products are rounded: a little is added to the distance so that the room is never
        # too large.
        lengths = table[k * depths + k] + table[best * depths + best]
        square = max(lengths - 2.0 * table[k * depths + best], 0.0) + 1e-14 * lengths
        if k != best and square > 0.0:
            margin = max(value[k] - value[best], 0.0)
            squared = min(squared, margin * margin / square)
    return 0.5 * trees.total_weight * float(np.sqrt(squared))


@kernel
def fill_leaves_to_depth(
    rule: Any, trees: Trees, i: int, choice: IntArray, leaf_value: FloatArray
) -> None:
    """Write the value of each leaf's ancestor at the chosen depth, or its own above it."""
    outputs = leaf_value.shape[1]
    if choice[0] == 0:
        leaf_value[:] = 0.0
        return
    begin = trees.node_start[i]
    layers = trees.layer_start[trees.layer_pointer[i] : trees.layer_pointer[i + 1]]
    nodes = layers[-1]
    stop = layers[choice[0] + 1]
    seen = np.empty(nodes, dtype=np.int64)
    for node in range(nodes):
        seen[node] = node if node < stop else seen[trees.parent[begin + node]]
    first = trees.leaf_start[i]
    for leaf in range(leaf_value.shape[0]):
        node = seen[trees.leaf_node[first + leaf]]
        for o in range(outputs):
            leaf_value[leaf, o] = trees.value[begin + node, o]


@kernel
def fill_relaxed_layers(
    rule: Any, trees: Trees, i: int, point: FloatArray, leaf_value: FloatArray
) -> None:
    """Write Σ_k z_ik (D_i)_k along each leaf's path, times γ_i."""
    outputs = leaf_value.shape[1]
    begin = trees.node_start[i]
    layers = trees.layer_start[trees.layer_pointer[i] : trees.layer_pointer[i + 1]]
    value = np.zeros((layers[-1], outputs))
    for k in range(1, layers.shape[0] - 1):
        z = point[k - 1]
        for node in range(layers[k], layers[k + 1]):
            above = trees.parent[begin + node]
            for o in range(outputs):
                value[node, o] = value[above, o] + z * trees.step[begin + node, o]
    first = trees.leaf_start[i]
    for leaf in range(leaf_value.shape[0]):
        node = trees.leaf_node[first + leaf]
        for o in range(outputs):
            leaf_value[leaf, o] = value[node, o]


@kernel
def relax_layers(
    rule: LayerRule,
    trees: Trees,
    i: int,
    node_sum: FloatArray,
    point: FloatArray,
    tolerance: float,
) -> tuple[float, float]:
    """Minimise over z_i in prefix weights s_ik = z_ik − z_i,k+1 by pairwise steps.

    A step moves weight from the used prefix of largest gradient to the prefix of smallest,
    as far as lowers the objective most.
    """
    begin = rule.prefix_start[i]
    depths = rule.prefix_start[i + 1] - begin
    table = rule.products[rule.product_start[i] : rule.product_start[i + 1]]
    scale = 2.0 / trees.total_weight
    gradient = np.empty(depths)
    weight = np.empty(depths)
    prefix_sums(trees, i, node_sum, gradient)
    for k in range(depths):
        before = point[k - 1] if k > 0 else 1.0
        weight[k] = before - (point[k] if k < depths - 1 else 0.0)
    for k in range(depths):
        product = -gradient[k]
        for other in range(depths):
            product += table[k * depths + other] * weight[other]
        gradient[k] = rule.cost[begin + k] + scale * product
    gap = _weights_gap(weight, gradient)
    left = gap
    for _ in range(50 * depths if gap > tolerance else 0):
        worst, best = -1, 0
        for k in range(depths):
            if gradient[k] < gradient[best]:
                best = k
            if weight[k] > 0.0 and (worst < 0 or gradient[k] > gradient[worst]):
                worst = k
        square = (
            table[worst * depths + worst]
            + table[best * depths + best]
            - 2.0 * table[worst * depths + best]
        )
        step = weight[worst]
        if square > 0.0:
            step = min(step, (gradient[worst] - gradient[best]) / (scale * square))
        weight[worst] -= step
        weight[best] += step
        for k in range(depths):
            change = table[k * depths + best] - table[k * depths + worst]
            gradient[k] += scale * step * change
        left = _weights_gap(weight, gradient)
        if left <= 0.1 * tolerance:
            break
    if gap > tolerance:
        total = 0.0
        for k in range(depths - 1, 0, -1):
            total += weight[k]
            point[k - 1] = min(total, 1.0)
    best = int(np.argmax(weight))
    if weight[best] < 1.0:
        return gap, 0.0
    return gap, room_before_change(trees, table, gradient, best)


@kernel
def stop_rises(layer_start: IntArray, z: FloatArray) -> None:
    """Lower every entry of ``z`` that is above the one before it in its tree to that."""
    for i in range(layer_start.shape[0] - 1):
        for entry in range(layer_start[i] + 1, layer_start[i + 1]):
            z[entry] = min(z[entry], z[entry - 1])


@kernel
def add_deeper(layer_start: IntArray, z: FloatArray) -> None:
    """Add to every entry of ``z`` all that come after it in its tree."""
    for i in range(layer_start.shape[0] - 1):
        for entry in range(layer_start[i + 1] - 2, layer_start[i] - 1, -1):
            z[entry] += z[entry + 1]


@kernel
def _weights_gap(weight: FloatArray, gradient: FloatArray) -> float:
    at_point = 0.0
    lowest = np.inf
    for k in range(weight.shape[0]):
        at_point += weight[k] * gradient[k]
        lowest = min(lowest, gradient[k])
    return at_point - lowest


@kernel
def layer_gap(
    rule: LayerRule, trees: Trees, i: int, node_sum: FloatArray, point: FloatArray
) -> float:
    """⟨g_i, z_i⟩ − min_k g_ik with g_ik = −(2/m) ⟨r, P_ik⟩ + cost_i(k), g_i0 = 0."""
    begin = rule.prefix_start[i]
    depths = rule.prefix_start[i + 1] - begin
    gradient = np.empty(depths)
    prefix_sums(trees, i, node_sum, gradient)
    lowest = 0.0
    at_point = 0.0
    for k in range(1, depths):
        gradient[k] = rule.cost[begin + k] - 2.0 * gradient[k] / trees.total_weight
        at_point += point[k - 1] * (gradient[k] - gradient[k - 1])
        lowest = min(lowest, gradient[k])
    return max(at_point - lowest, 0.0)


implement(respond, LayerRule, respond_with_depth)
implement(fill_leaves, LayerRule, fill_leaves_to_depth)
implement(linear_gap, LayerRule, layer_gap)
implement(fill_relaxed, LayerRule, fill_relaxed_layers)
implement(relax, LayerRule, relax_layers)
