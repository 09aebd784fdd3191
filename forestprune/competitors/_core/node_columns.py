"""Nodes as columns of a regression: a row is in a node or not."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from formulations import PruningData
from formulations.arrays import BoolArray, FloatArray, IntArray
from formulations.kernels.compiled import kernel
from formulations.kernels.trees import Trees, subtract_all, sum_leaves, sum_nodes


@dataclass(frozen=True, eq=False)
class NodeColumns:
    """Columns s_v 1[row in v] of all nodes v but the roots, for one output; never all at once.

    Attributes
    ----------
    data
        The ensemble on its rows.
    by_step
        Whether s_v is what a tree's prediction changes by from the parent to v, and not 1.
    """

    data: PruningData
    by_step: bool

    @cached_property
    def size(self) -> FloatArray:
        """(nodes,) s_v, 0 at roots."""
        step = self.data.trees.step[:, 0] if self.by_step else np.ones(len(self.data.parent))
        return np.where(self.data.parent < 0, 0.0, step)

    @cached_property
    def priced(self) -> BoolArray:
        """(nodes,) whether a node has a column that differs from row to row."""
        cover = self._sums(self.data.row_weight)
        # Sums of weights round, and a node that all rows reach is a constant.
        within = (cover > 0.0) & (cover < (1.0 - 1e-12) * self.data.total_weight)
        return np.asarray((self.size != 0.0) & within)

    def slopes(self, residual: FloatArray) -> FloatArray:
        """Return (nodes,) (1/m) ⟨residual, column⟩ for a residual (m,) that sums to 0."""
        sums = self._sums(residual * self.data.row_weight)
        return np.asarray(sums * self.size / self.data.total_weight)

    def residual(self, weights: FloatArray) -> tuple[FloatArray, float]:
        """Return (m,) what weights (nodes,) leave of the target, and the best constant."""
        data = self.data
        rest = data.row_weight[:, None] * data.target
        subtract_all(data.trees, self.leaf_values(weights), rest)
        left = rest[:, 0] / data.row_weight
        constant = float(data.row_weight @ left / data.total_weight)
        return left - constant, constant

    def values(self, weights: FloatArray) -> FloatArray:
        """Return (nodes, 1) the sum of the columns of a node and of those above."""
        values = np.zeros((len(self.data.parent), 1))
        _accumulate(self.data.node_start, self.data.parent, weights * self.size, values[:, 0])
        return values

    def leaf_values(self, weights: FloatArray) -> FloatArray:
        """Return (leaves, 1) the values of leaves."""
        data = self.data
        begin = np.repeat(data.node_start[:-1], np.diff(data.leaf_start))
        return np.asarray(self.values(weights)[data.leaf_node + begin])

    def needed(self, weights: FloatArray) -> IntArray:
        """Return (nodes,) marks of the nodes that tell which of the weighted ones a row is in.

        These are the weighted nodes, those above, and their siblings.
        """
        marks = np.zeros(len(self.data.parent), dtype=np.int64)
        _mark(self.data.node_start, self.data.parent, weights, marks)
        return marks

    def matrix(self, nodes: IntArray) -> FloatArray:
        """Return the (m, c) columns of some nodes, in Fortran order."""
        inside = (self._rows_in_leaves @ self._leaves_in_nodes[:, nodes]).tocsc()
        return np.asarray(inside.toarray(order="F") * self.size[nodes])

    def _sums(self, rows: FloatArray) -> FloatArray:
        """Return (nodes,) the sums of (m,) entries over the rows in each node."""
        sums = np.zeros((len(self.data.parent), 1))
        _sum_all(self.data.trees, np.ascontiguousarray(rows[:, None]), sums)
        return sums[:, 0]

    @cached_property
    def _rows_in_leaves(self) -> Any:
        data = self.data
        leaf = (data.codes.T.astype(np.int64) + data.leaf_start[:-1]).ravel()
        begins = np.arange(data.n_rows + 1) * data.n_trees
        shape = (data.n_rows, len(data.leaf_node))
        return sparse.csr_array((np.ones(len(leaf)), leaf, begins), shape=shape)

    @cached_property
    def _leaves_in_nodes(self) -> Any:
        """(leaves, nodes)."""
        data = self.data
        begin = np.repeat(data.node_start[:-1], np.diff(data.node_start))
        above = np.where(data.parent < 0, -1, data.parent + begin)
        leaf = np.arange(len(data.leaf_node))
        node = data.leaf_node + np.repeat(data.node_start[:-1], np.diff(data.leaf_start))
        leaves, nodes = [], []
        while len(leaf):
            leaves.append(leaf)
            nodes.append(node)
            up = above[node]
            leaf, node = leaf[up >= 0], up[up >= 0]
        pairs = (np.concatenate(leaves), np.concatenate(nodes))
        shape = (len(data.leaf_node), len(data.parent))
        return sparse.coo_array((np.ones(len(pairs[0])), pairs), shape=shape).tocsc()


@kernel
def _sum_all(trees: Trees, rows: FloatArray, sums: FloatArray) -> None:
    """Set ``sums`` (nodes, q) to the sums of ``rows`` (m, q) over the rows in each node."""
    for i in range(trees.codes.shape[0]):
        leaf_sum = np.empty((trees.leaf_start[i + 1] - trees.leaf_start[i], rows.shape[1]))
        sum_leaves(trees.codes[i], rows, leaf_sum)
        sum_nodes(trees, i, leaf_sum, sums[trees.node_start[i] : trees.node_start[i + 1]])


@kernel
def _accumulate(
    node_start: IntArray, parent: IntArray, step: FloatArray, values: FloatArray
) -> None:
    """Set ``values`` to the sums of the steps from the root on."""
    for i in range(node_start.shape[0] - 1):
        begin = node_start[i]
        for node in range(begin + 1, node_start[i + 1]):
            values[node] = values[begin + parent[node]] + step[node]


@kernel
def _mark(node_start: IntArray, parent: IntArray, weights: FloatArray, marks: IntArray) -> None:
    """Mark nodes of a weight, what is above them, and siblings, which come one after another."""
    for i in range(node_start.shape[0] - 1):
        begin, end = node_start[i], node_start[i + 1]
        for node in range(end - 1, begin, -1):
            if weights[node] != 0.0 or marks[node] != 0:
                marks[node] = 1
                marks[begin + parent[node]] = 1
        for node in range(begin + 1, end):
            if marks[node] != 0:
                above = parent[node]
                for other in range(max(node - 1, begin + 1), min(node + 2, end)):
                    if parent[other] == above:
                        marks[other] = 1
