"""Nodes that a lasso works on, with the products of their columns."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from forestprune.competitors._core.descent import lasso_weights
from forestprune.competitors._core.node_columns import NodeColumns
from formulations.arrays import FloatArray, IntArray


class WorkingNodes:
    """Some of the nodes; more come, and none goes.

    Columns and the target are centred and weighed, so that

        (1/m) ‖ r0 − c − Σ_v b_v s_v 1[row in v] ‖²,    c the best constant for b

    is ‖target − matrix b‖².

    Parameters
    ----------
    columns
        All nodes.
    tolerance
        Duality gap at which a descent ends, relative to the loss without any node.

    Attributes
    ----------
    nodes
        (c,) in the order in which they came.
    """

    def __init__(self, columns: NodeColumns, tolerance: float) -> None:
        self._tolerance = tolerance
        self.nodes: IntArray = np.empty(0, dtype=np.int64)
        self._columns = columns
        self._store = np.empty((columns.data.n_rows, 0), order="F")
        self._products = np.empty((0, 0))
        self._slopes = np.empty(0)

    def extend(self, nodes: IntArray) -> None:
        """Take in nodes that are not here yet."""
        old, new = len(self.nodes), len(self.nodes) + len(nodes)
        if new > self._store.shape[1]:
            grown = np.empty((self._store.shape[0], 2 * new), order="F")
            grown[:, :old] = self._store[:, :old]
            self._store = grown
        fresh = self._weighed(self._columns.matrix(nodes))
        self._store[:, old:new] = fresh
        products = np.empty((new, new))
        products[:old, :old] = self._products
        products[old:] = fresh.T @ self._store[:, :new]
        products[:old, old:] = products[old:, :old].T
        self._products = products
        self._slopes = np.append(self._slopes, fresh.T @ self._target)
        self.nodes = np.append(self.nodes, nodes)

    def solved(self, penalty: float, weights: FloatArray) -> FloatArray:
        """Return weights (nodes of all trees,) that are optimal for a λ, from others."""
        found = lasso_weights(
            self._store[:, : len(self.nodes)],
            self._target,
            self._products,
            self._slopes,
            [penalty],
            start=weights[self.nodes],
            tolerance=self._tolerance,
        )
        optimal = np.zeros_like(weights)
        optimal[self.nodes] = found[0]
        return optimal

    def _weighed(self, columns: FloatArray) -> FloatArray:
        weight = self._columns.data.row_weight / self._columns.data.total_weight
        return np.asfortranarray(np.sqrt(weight)[:, None] * (columns - weight @ columns))

    @cached_property
    def _target(self) -> FloatArray:
        return self._weighed(self._columns.data.target)[:, 0]
