"""The best subtree of a tree beside the present one: the block update of subtree pruning."""

from __future__ import annotations

import numpy as np

from formulations.arrays import FloatArray, IntArray
from formulations.kernels.blocks import LEAST_GAIN, implement, respond
from formulations.kernels.compiled import kernel
from formulations.kernels.subtrees import SubtreeRule, append_children, find_margins
from formulations.kernels.trees import Trees


@kernel
def compare_with_least(
    rule: SubtreeRule,
    trees: Trees,
    i: int,
    cut: FloatArray,
    margin: FloatArray,
    tolerance: float,
    choice: IntArray,
    kept: IntArray,
    lost: IntArray,
) -> tuple[int, int, int, float]:
    """Compare the least subtree of tree i with the one that ``choice`` (nodes,) marks.

    Only the nodes of the two are walked over.

    Returns
    -------
    kept, lost, added, gain
        How many nodes the least subtree keeps, which are written to ``kept``, the root first;
        how many of ``choice`` it does not keep, written to ``lost``; how many that
        ``choice`` does not mark it makes a split at first; and the value of ``choice`` minus
        that of the least.
    """
    begin = trees.node_start[i]
    kept[0] = 0
    count, gone, added, position, gain = 1, 0, 0, 0, 0.0
    while position < count:
        node = kept[position]
        position += 1
        child = rule.child[begin + node]
        made = child >= 0 and choice[child] > 0
        if margin[node] < -tolerance:
            count = append_children(rule, trees, i, node, kept, count)
            if not made and (node == 0 or choice[node] > 0):
                added += 1
                gain -= margin[node]
        elif made:
            first = gone
            gone = append_children(rule, trees, i, node, lost, gone)
            gain -= cut[node]
            while first < gone:
                below = lost[first]
                first += 1
                child = rule.child[begin + below]
                gain += rule.cost[begin + below]
                if child >= 0 and choice[child] > 0:
                    gone = append_children(rule, trees, i, below, lost, gone)
                else:
                    gain += cut[below]
    return count, gone, added, gain


@kernel
def room_before_change(
    rule: SubtreeRule, trees: Trees, i: int, margin: FloatArray, tolerance: float, kept: IntArray
) -> float:
    """Return how far the residual may move, in norm, while the least subtree stays the least.

    ``kept`` are its nodes. Another subtree ends at some of its inner nodes, or goes on below
    some of its ends; these places have no row in common. At each, the values' difference is
    the margin, and moves by at most 2 ‖δr‖ / m times the distance of the predictions. The
    distances' norm is at most their sum, so the least ratio of the places decides.
    """
    begin = trees.node_start[i]
    outputs = trees.value.shape[1]
    squares = np.empty(margin.shape[0])  # Σ N a² over the subtree's ends below a node
    sums = np.empty((margin.shape[0], outputs))  # Σ N a
    for position in range(kept.shape[0]):
        squares[kept[position]] = 0.0
        for o in range(outputs):
            sums[kept[position], o] = 0.0
    squared = np.inf
    for position in range(kept.shape[0] - 1, -1, -1):
        node = kept[position]
        weight = rule.weight[begin + node]
        square = rule.square[begin + node]
        if margin[node] < -tolerance:
            across = 0.0
            for o in range(outputs):
                across += trees.value[begin + node, o] * sums[node, o]
            distance = max(squares[node] - 2.0 * across + square, 0.0)
            distance += 1e-14 * (squares[node] + square)
        else:
            distance = rule.reach[begin + node] ** 2
            squares[node] = square
            for o in range(outputs):
                sums[node, o] = weight * trees.value[begin + node, o]
        # A split that is not made though a little better than none leaves no room.
        room = abs(margin[node]) if margin[node] < -tolerance else max(margin[node], 0.0)
        if distance > 0.0:
            squared = min(squared, room * room / distance)
        if node > 0:
            above = trees.parent[begin + node]
            squares[above] += squares[node]
            for o in range(outputs):
                sums[above, o] += sums[node, o]
    return float(0.5 * trees.total_weight * np.sqrt(squared))


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
    """Exact block update over all rooted subtrees; see `formulations.kernels.blocks.respond`.

    The present subtree stays unless another is better by more than ``tolerance``, or a part
    of it is as good.
    """
    nodes = choice.shape[0]
    cut = np.empty(nodes)
    margin = np.empty(nodes)
    members = np.empty(nodes, dtype=np.int64)
    lost = np.empty(nodes, dtype=np.int64)
    find_margins(rule, trees, i, node_sum, tolerance, cut, margin)
    count, gone, added, gain = compare_with_least(
        rule, trees, i, cut, margin, tolerance, choice, members, lost
    )
    kept = members[:count]
    if gain > tolerance or (added == 0 and gone > 0 and gain >= 0.0):
        for position in range(gone):
            choice[lost[position]] = 0
        for position in range(count):
            choice[kept[position]] = 1 if count > 1 else 0
        # What has moved mostly moves again: its slack is not worth computing.
        return max(gain, LEAST_GAIN), 0.0
    if added > 0 or gone > 0:
        return 0.0, 0.0  # what stays is as good as the best to rounding, but another
    return 0.0, room_before_change(rule, trees, i, margin, tolerance, kept)


implement(respond, SubtreeRule, respond_with_subtree)
