"""Compiled passes over leaf codes and node arrays, shared by all formulations.

A pass over one tree touches every row once (a scatter-add into the leaves, or a gather from
them) and every node once; nothing is ever expanded to a rows × layers matrix.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from formulations.arrays import FloatArray, IntArray
from formulations.kernels.compiled import kernel


class Trees(NamedTuple):
    """The arrays of `PruningData` that kernels need, in one argument.

    ``row_weight`` is empty where all rows weigh 1; ``step`` (nodes, q) is the value of each
    node minus that of its parent; ``leaf_weight`` is the weight of the rows in each leaf. The
    other fields are described in `PruningData`.
    """

    codes: npt.NDArray[np.unsignedinteger[Any]]
    row_weight: FloatArray
    total_weight: float
    node_start: IntArray
    leaf_start: IntArray
    layer_start: IntArray
    layer_pointer: IntArray
    parent: IntArray
    value: FloatArray
    step: FloatArray
    leaf_node: IntArray
    leaf_weight: FloatArray


@kernel
def find_layers(parent: IntArray, layer_start: IntArray) -> int:
    """Write where each layer begins, and the number of nodes after the last one.

    Returns the number of layers, the root's counted; 0 when the nodes are not in level order:
    the parents must be sorted and each come before its children.
    """
    layer_start[0] = 0
    layers = 1
    here = 0
    for node in range(1, parent.shape[0]):
        if parent[node] < max(parent[node - 1], 0) or parent[node] >= node:
            return 0
        if parent[node] >= here:  # its parent is in the layer so far the last
            here = node
            layer_start[layers] = node
            layers += 1
    layer_start[layers] = parent.shape[0]
    return layers


@kernel
def weigh_leaves(
    codes: npt.NDArray[np.unsignedinteger[Any]],
    row_weight: FloatArray,
    leaf_start: IntArray,
    leaf_weight: FloatArray,
) -> None:
    """Add the weight of the rows of every leaf to ``leaf_weight`` (leaves,)."""
    for i in range(codes.shape[0]):
        code = codes[i]
        weight = leaf_weight[leaf_start[i] : leaf_start[i + 1]]
        for j in range(code.shape[0]):
            weight[code[j]] += row_weight[j]


@kernel
def subtract_parents(
    node_start: IntArray, parent: IntArray, value: FloatArray, step: FloatArray
) -> None:
    """Set ``step`` (nodes, q) to each node's value minus its parent's; 0 at a root."""
    for i in range(node_start.shape[0] - 1):
        begin = node_start[i]
        for node in range(begin + 1, node_start[i + 1]):
            for o in range(value.shape[1]):
                step[node, o] = value[node, o] - value[begin + parent[node], o]


@kernel
def sum_leaves(
    code: npt.NDArray[np.unsignedinteger[Any]], residual: FloatArray, leaf_sum: FloatArray
) -> None:
    """Set ``leaf_sum`` (leaves, q) to the sums of the rows of ``residual`` (m, q) per leaf.

    Two accumulators keep consecutive rows of one leaf from waiting for each other.
    """
    rows, outputs = residual.shape
    leaf_sum[:] = 0.0
    if outputs > 1:
        for j in range(rows):
            leaf = code[j]
            for o in range(outputs):
                leaf_sum[leaf, o] += residual[j, o]
        return
    flat = residual.reshape(rows)
    leaves = leaf_sum.shape[0]
    first = leaf_sum.reshape(leaves)
    if leaves > 1024 or rows < 64 * leaves:  # where setting them up costs more than it saves
        for j in range(rows):
            first[code[j]] += flat[j]
        return
    second = np.zeros(leaves)
    even = rows - rows % 2
    for j in range(0, even, 2):
        first[code[j]] += flat[j]
        second[code[j + 1]] += flat[j + 1]
    for j in range(even, rows):
        first[code[j]] += flat[j]
    for leaf in range(leaves):
        first[leaf] += second[leaf]


@kernel
def sum_nodes(trees: Trees, i: int, leaf_sum: FloatArray, node_sum: FloatArray) -> None:
    """Set ``node_sum`` (nodes of tree i, q) to the sums over the leaves below each node."""
    outputs = leaf_sum.shape[1]
    parent = trees.parent[trees.node_start[i] : trees.node_start[i + 1]]
    leaf_node = trees.leaf_node[trees.leaf_start[i] : trees.leaf_start[i + 1]]
    if outputs == 1:  # without the inner loop this is four times as fast
        flat = node_sum.reshape(node_sum.shape[0])
        for node in range(parent.shape[0]):
            flat[node] = 0.0
        for leaf in range(leaf_node.shape[0]):
            flat[leaf_node[leaf]] = leaf_sum[leaf, 0]
        for node in range(parent.shape[0] - 1, 0, -1):
            flat[parent[node]] += flat[node]
        return
    node_sum[: parent.shape[0]] = 0.0
    for leaf in range(leaf_node.shape[0]):
        for o in range(outputs):
            node_sum[leaf_node[leaf], o] = leaf_sum[leaf, o]
    for node in range(parent.shape[0] - 1, 0, -1):
        for o in range(outputs):
            node_sum[parent[node], o] += node_sum[node, o]


@kernel
def sum_leaves_without(
    trees: Trees, i: int, residual: FloatArray, leaf_value: FloatArray, leaf_sum: FloatArray
) -> None:
    """Set ``leaf_sum`` to the sums per leaf of the residual without tree i's ``leaf_value``."""
    sum_leaves(trees.codes[i], residual, leaf_sum)
    begin = trees.leaf_start[i]
    if leaf_sum.shape[1] == 1:
        for leaf in range(leaf_sum.shape[0]):
            leaf_sum[leaf, 0] += trees.leaf_weight[begin + leaf] * leaf_value[begin + leaf, 0]
        return
    for leaf in range(leaf_sum.shape[0]):
        for o in range(leaf_sum.shape[1]):
            leaf_sum[leaf, o] += trees.leaf_weight[begin + leaf] * leaf_value[begin + leaf, o]


@kernel
def subtract_rows(trees: Trees, i: int, leaf_value: FloatArray, residual: FloatArray) -> None:
    """Subtract ω · ``leaf_value`` (leaves, q) of each row's leaf from ``residual`` (m, q)."""
    rows, outputs = residual.shape
    code = trees.codes[i]
    weighted = trees.row_weight.shape[0] > 0
    if outputs == 1:
        flat = residual.reshape(rows)
        value = leaf_value.reshape(leaf_value.shape[0])
        if weighted:
            for j in range(rows):
                flat[j] -= trees.row_weight[j] * value[code[j]]
        else:
            for j in range(rows):
                flat[j] -= value[code[j]]
        return
    for j in range(rows):
        leaf = code[j]
        weight = trees.row_weight[j] if weighted else 1.0
        for o in range(outputs):
            residual[j, o] -= weight * leaf_value[leaf, o]


@kernel
def subtract_all(trees: Trees, leaf_value: FloatArray, residual: FloatArray) -> None:
    """Subtract the predictions of all trees that have a non-zero leaf value."""
    for i in range(trees.codes.shape[0]):
        value = leaf_value[trees.leaf_start[i] : trees.leaf_start[i + 1]]
        if np.any(value != 0.0):
            subtract_rows(trees, i, value, residual)


@kernel
def squared_norm(trees: Trees, residual: FloatArray) -> float:
    """‖r‖² of a residual that is held multiplied by the row weights."""
    total = 0.0
    weighted = trees.row_weight.shape[0] > 0
    for j in range(residual.shape[0]):
        square = 0.0
        for o in range(residual.shape[1]):
            square += residual[j, o] * residual[j, o]
        total += square / trees.row_weight[j] if weighted else square
    return total


@kernel
def multiply_prefixes(trees: Trees, start: IntArray, products: FloatArray) -> None:
    """Fill the tables of ⟨P_ik, P_il⟩, k, l = 0…d_i, of every tree.

    For k ≤ l the rows of a node of layer k see its value in column k and, in column l, the
    value of the node at layer l below it. So a bottom-up pass that carries, for every l, the
    weighted sum of the column-l values below each node gives all products from leaf weights.
    """
    outputs = trees.value.shape[1]
    for i in range(trees.codes.shape[0]):
        begin = trees.node_start[i]
        parent = trees.parent[begin : trees.node_start[i + 1]]
        value = trees.value[begin : trees.node_start[i + 1]]
        layers = trees.layer_start[trees.layer_pointer[i] : trees.layer_pointer[i + 1]]
        leaf_node = trees.leaf_node[trees.leaf_start[i] : trees.leaf_start[i + 1]]
        leaf_weight = trees.leaf_weight[trees.leaf_start[i] : trees.leaf_start[i + 1]]
        depth = layers.shape[0] - 2
        table = products[start[i] : start[i + 1]].reshape(depth + 1, depth + 1)
        weight = np.zeros(parent.shape[0])
        below = np.zeros((parent.shape[0], depth + 1, outputs))
        leaf = np.zeros(parent.shape[0], dtype=np.bool_)
        for position in range(leaf_node.shape[0]):
            weight[leaf_node[position]] = leaf_weight[position]
            leaf[leaf_node[position]] = True
        ended = np.zeros(depth + 1)
        for k in range(depth, -1, -1):
            for node in range(layers[k], layers[k + 1]):
                square = 0.0
                for o in range(outputs):
                    square += value[node, o] * value[node, o]
                if leaf[node]:
                    ended[k] += weight[node] * square
                    for last in range(k, depth + 1):
                        for o in range(outputs):
                            below[node, last, o] = weight[node] * value[node, o]
                else:
                    for o in range(outputs):
                        below[node, k, o] = weight[node] * value[node, o]
                for last in range(k, depth + 1):
                    for o in range(outputs):
                        table[k, last] += value[node, o] * below[node, last, o]
                if node > 0:
                    weight[parent[node]] += weight[node]
                    for last in range(k, depth + 1):
                        for o in range(outputs):
                            below[parent[node], last, o] += below[node, last, o]
        # Leaves above layer k are still the deepest node of their rows there.
        above = 0.0
        for k in range(depth + 1):
            for last in range(k, depth + 1):
                table[k, last] += above
                table[last, k] = table[k, last]
            above += ended[k]
