"""The block rule of problems with free coefficients."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from formulations.arrays import FloatArray, IntArray
from formulations.kernels.blocks import fill_leaves, fill_relaxed, implement, respond
from formulations.kernels.compiled import kernel
from formulations.kernels.layers import fill_leaves_to_depth, fill_relaxed_layers, prefix_sums
from formulations.kernels.trees import Trees, sum_leaves, sum_nodes


class CoefficientRule(NamedTuple):
    """Block rule of `CoefficientFormulation`.

    A choice is one depth per block, 0 for none; a relaxed point holds one coefficient per
    column. Column c of block i is the tree's prefix of depth ``depth[c]``, with squared norm
    ``square[c]`` and price ``cost[c]``; ``ridge`` is λ.
    """

    choice_start: IntArray
    point_start: IntArray
    depth: IntArray
    square: FloatArray
    cost: FloatArray
    ridge: float
    nonnegative: bool


@kernel
def respond_with_coefficient(
    rule: CoefficientRule,
    trees: Trees,
    i: int,
    node_sum: FloatArray,
    choice: IntArray,
    beta: FloatArray,
    tolerance: float,
) -> tuple[float, float]:
    """Exact update of depth and coefficient (FP (6)); see `formulations.kernels.blocks.respond`.

    With σ the product of the residual and a column, the best coefficient is σ / (‖P‖² + λ)
    and lowers the loss by σ² / (‖P‖² + λ) / m. A column without length is never taken. The
    slack is 0: a coefficient follows every move of the residual.
    """
    layers = trees.layer_pointer[i + 1] - trees.layer_pointer[i] - 1
    sums = np.empty(layers)
    prefix_sums(trees, i, node_sum, sums)
    now = 0.0
    lowest = 0.0
    begin, end = rule.point_start[i], rule.point_start[i + 1]
    value = np.zeros(end - begin)
    for c in range(begin, end):
        product = sums[rule.depth[c]]
        length = rule.square[c] + rule.ridge
        if rule.depth[c] == choice[0]:
            here = beta[0]
            now = (here * here * length - 2.0 * here * product) / trees.total_weight
            now += rule.cost[c]
        if rule.nonnegative:
            product = max(product, 0.0)
        if rule.square[c] > 0.0:
            value[c - begin] = rule.cost[c] - product * product / length / trees.total_weight
            lowest = min(lowest, value[c - begin])
    if now - lowest <= tolerance:
        return 0.0, 0.0
    choice[0] = 0
    beta[0] = 0.0
    best = 0.0
    if lowest < -tolerance:
        for c in range(begin, end):
            if value[c - begin] <= lowest + tolerance:
                choice[0] = rule.depth[c]
                beta[0] = sums[rule.depth[c]] / (rule.square[c] + rule.ridge)
                best = value[c - begin]
                break
    return now - best, 0.0


@kernel
def fill_relaxed_columns(
    rule: CoefficientRule, trees: Trees, i: int, point: FloatArray, leaf_value: FloatArray
) -> None:
    """Write Σ_c b_c P_c on the leaves: layer k has the coefficients of all deeper columns."""
    layers = trees.layer_pointer[i + 1] - trees.layer_pointer[i] - 2
    z = np.zeros(layers)
    for c in range(point.shape[0]):
        for k in range(rule.depth[rule.point_start[i] + c]):
            z[k] += point[c]
    fill_relaxed_layers(rule, trees, i, z, leaf_value)


@kernel
def column_products(
    rule: CoefficientRule, trees: Trees, residual: FloatArray, products: FloatArray
) -> None:
    """Set ``products`` (columns,) to ⟨r, P_c⟩; one pass over all rows."""
    outputs = residual.shape[1]
    for i in range(trees.codes.shape[0]):
        leaf_sum = np.empty((trees.leaf_start[i + 1] - trees.leaf_start[i], outputs))
        node_sum = np.empty((trees.node_start[i + 1] - trees.node_start[i], outputs))
        sums = np.empty(trees.layer_pointer[i + 1] - trees.layer_pointer[i] - 1)
        sum_leaves(trees.codes[i], residual, leaf_sum)
        sum_nodes(trees, i, leaf_sum, node_sum)
        prefix_sums(trees, i, node_sum, sums)
        for c in range(rule.point_start[i], rule.point_start[i + 1]):
            products[c] = sums[rule.depth[c]]


implement(respond, CoefficientRule, respond_with_coefficient)
implement(fill_leaves, CoefficientRule, fill_leaves_to_depth)
implement(fill_relaxed, CoefficientRule, fill_relaxed_columns)
