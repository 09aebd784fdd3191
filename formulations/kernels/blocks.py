"""The block view: what a formulation says of its blocks, and passes over all of them.

A formulation describes its blocks by a *rule*: a NamedTuple of arrays with overloads of
`respond` and `fill_leaves` and, where points of its relaxation are worked on, of `fill_relaxed`,
`relax` and `linear_gap`. Compiled loops call these, and numba picks the overload by the rule's
type; so no loop knows whether a choice is a depth or something else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core import types
from numba.extending import overload

from formulations.arrays import FloatArray, IntArray
from formulations.kernels.compiled import kernel
from formulations.kernels.trees import Trees, sum_leaves, sum_nodes

# What `respond` returns for a change that gains nothing: what changed must be told from what
# stayed.
LEAST_GAIN = float(np.finfo(np.float64).tiny)


def respond(
    rule: Any,
    trees: Trees,
    i: int,
    node_sum: FloatArray,
    choice: IntArray,
    beta: FloatArray,
    tolerance: float,
) -> tuple[float, float]:
    """Write block i's best choice over ``choice``; return its gain and slack.

    ``node_sum`` (nodes, q) are sums of the residual *without* block i; ``beta`` (1,) is its
    coefficient, which is written too where it is free. The gain is by how much the objective
    falls: 0 when the choice stays, and at least `LEAST_GAIN` when it changes. Among choices
    within ``tolerance`` of the best the smallest wins. While the residual without block i
    moves by less than the slack (in norm), the choice stays the best.
    """
    raise NotImplementedError


def fill_leaves(rule: Any, trees: Trees, i: int, choice: IntArray, leaf_value: FloatArray) -> None:
    """Write what each leaf of block i predicts at a choice to ``leaf_value`` (leaves, q).

    The coefficient is left out.
    """
    raise NotImplementedError


def fill_relaxed(
    rule: Any, trees: Trees, i: int, point: FloatArray, leaf_value: FloatArray
) -> None:
    """Write what each leaf of block i predicts at its part of a relaxed point."""
    raise NotImplementedError


def relax(
    rule: Any, trees: Trees, i: int, node_sum: FloatArray, point: FloatArray, tolerance: float
) -> tuple[float, float]:
    """Move block i's part of a relaxed point to the block's minimum, to within ``tolerance``.

    ``node_sum`` (nodes, q) are sums of the residual *without* block i. Returns the block's
    linear gap before the move, and the slack after it: while the residual without block i
    moves by less (in norm), the new part stays the block's minimum.
    """
    raise NotImplementedError


def linear_gap(rule: Any, trees: Trees, i: int, node_sum: FloatArray, point: FloatArray) -> float:
    """Return ⟨g_i, point⟩ − min over block i's choices of ⟨g_i, choice⟩, at least 0.

    g is the gradient of the objective at the residual whose sums are ``node_sum``, and
    ``point`` the block's part of a relaxed point.
    """
    raise NotImplementedError


def implement(generic: Callable[..., Any], rule_type: type, special: Callable[..., Any]) -> None:
    """Register ``special``, a kernel, as what ``generic`` means for rules of one type."""

    def choose(rule, *others):  # type: ignore[no-untyped-def]  # numba compares annotations
        if isinstance(rule, types.NamedTuple) and rule.instance_class is rule_type:
            return lambda rule, *others: special(rule, *others)
        return None

    overload(generic)(choose)


@kernel
def widest(start: IntArray) -> int:
    """Return the longest of the stretches that ``start`` (n + 1,) marks."""
    most = 0
    for i in range(start.shape[0] - 1):
        most = max(most, start[i + 1] - start[i])
    return most


@kernel
def total_linear_gap(
    rule: Any, trees: Trees, residual: FloatArray, point: FloatArray, gaps: FloatArray
) -> float:
    """Return Σ_i of `linear_gap` at a relaxed point with its residual; one pass over all rows.

    ``gaps`` (n,) receives the terms.
    """
    outputs = residual.shape[1]
    node_sum = np.empty((widest(trees.node_start), outputs))
    leaf_sums = np.empty((widest(trees.leaf_start), outputs))
    total = 0.0
    for i in range(trees.codes.shape[0]):
        leaf_sum = leaf_sums[: trees.leaf_start[i + 1] - trees.leaf_start[i]]
        sum_leaves(trees.codes[i], residual, leaf_sum)
        sum_nodes(trees, i, leaf_sum, node_sum)
        gaps[i] = linear_gap(
            rule, trees, i, node_sum, point[rule.point_start[i] : rule.point_start[i + 1]]
        )
        total += gaps[i]
    return total


@kernel
def fill_all_leaves(rule: Any, trees: Trees, choice: IntArray, leaf_value: FloatArray) -> None:
    """Write what each leaf of each block predicts at a choice to ``leaf_value`` (leaves, q)."""
    for i in range(trees.codes.shape[0]):
        fill_leaves(
            rule,
            trees,
            i,
            choice[rule.choice_start[i] : rule.choice_start[i + 1]],
            leaf_value[trees.leaf_start[i] : trees.leaf_start[i + 1]],
        )


@kernel
def fill_table(rule: Any, trees: Trees, i: int, choices: IntArray, table: FloatArray) -> None:
    """Write what each leaf of block i predicts at each choice to ``table`` (leaves, c, q)."""
    column = np.empty((table.shape[0], table.shape[2]))
    for c in range(choices.shape[0]):
        fill_leaves(rule, trees, i, choices[c], column)
        for leaf in range(table.shape[0]):
            for o in range(table.shape[2]):
                table[leaf, c, o] = column[leaf, o]


@kernel
def fill_all_relaxed(rule: Any, trees: Trees, point: FloatArray, leaf_value: FloatArray) -> None:
    """Write what each leaf of each block predicts at a relaxed point to ``leaf_value``."""
    for i in range(trees.codes.shape[0]):
        fill_relaxed(
            rule,
            trees,
            i,
            point[rule.point_start[i] : rule.point_start[i + 1]],
            leaf_value[trees.leaf_start[i] : trees.leaf_start[i + 1]],
        )
