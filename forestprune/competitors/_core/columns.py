"""Trees as columns of a regression: what each predicts on each row."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from formulations import PruningData
from formulations.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class TreeColumns:
    """Predictions of whole trees and the target, centred and weighed.

        (1/m) ‖ r0 − c − Σ_i b_i T_i ‖²,    c the best constant for b, one for each output

    is ‖target − matrix b‖², so that the products of columns are those of a problem without
    weights, outputs and constant.

    Parameters
    ----------
    data
        The ensemble on its rows.
    scale
        (n,) the source's weights: T_i is taken without. None: T_i is taken with its weight.
    centred
        Whether there is a constant.
    """

    data: PruningData
    scale: FloatArray | None = None
    centred: bool = True

    @cached_property
    def tree(self) -> IntArray:
        """Trees that have a column: those that predict more than a constant."""
        data = self.data
        differs = np.logical_or.reduceat((data.value != 0.0).any(axis=1), data.node_start[:-1])
        return np.flatnonzero(differs & (data.depths > 0))

    @cached_property
    def matrix(self) -> FloatArray:
        """(m q, columns) in Fortran order."""
        data = self.data
        columns = np.empty((data.n_rows * data.n_outputs, len(self.tree)), order="F")
        for place, i in enumerate(self.tree.tolist()):
            factor = 1.0 if self.scale is None else 1.0 / self.scale[i]
            column = (factor * self._leaf_values(i))[data.codes[i]]
            columns[:, place] = self._weighed(column)
        return columns

    @cached_property
    def target(self) -> FloatArray:
        """(m q,)."""
        return self._weighed(self.data.target)

    @cached_property
    def products(self) -> FloatArray:
        """(columns, columns) products of the columns."""
        return self.matrix.T @ self.matrix

    @cached_property
    def slopes(self) -> FloatArray:
        """(columns,) products of the columns with the target."""
        return self.matrix.T @ self.target

    @cached_property
    def square(self) -> float:
        """The loss without any tree."""
        return float(self.target @ self.target)

    def relative(self, coefficients: FloatArray) -> FloatArray:
        """Return (n,) weights relative to the source's, from those of the columns."""
        beta = np.zeros(self.data.n_trees)
        beta[self.tree] = coefficients
        if self.scale is not None:
            beta[self.tree] /= self.scale[self.tree]
        return beta

    def constant(self, beta: FloatArray) -> FloatArray:
        """Return (q,) the constant c for weights relative to the source's; 0 without one."""
        data = self.data
        if not self.centred:
            return np.zeros(data.n_outputs)
        mean = data.row_weight @ data.target
        for i in np.flatnonzero(beta).tolist():
            leaves = slice(int(data.leaf_start[i]), int(data.leaf_start[i + 1]))
            mean -= beta[i] * (data.trees.leaf_weight[leaves] @ self._leaf_values(i))
        return np.asarray(mean / data.total_weight)

    def _leaf_values(self, i: int) -> FloatArray:
        data = self.data
        leaves = slice(int(data.leaf_start[i]), int(data.leaf_start[i + 1]))
        return np.asarray(data.value[data.leaf_node[leaves] + data.node_start[i]])

    def _weighed(self, column: FloatArray) -> FloatArray:
        data = self.data
        if self.centred:
            column = column - data.row_weight @ column / data.total_weight
        return np.asarray((column * self._root[:, None]).ravel())

    @cached_property
    def _root(self) -> FloatArray:
        return np.asarray(np.sqrt(self.data.row_weight / self.data.total_weight))
