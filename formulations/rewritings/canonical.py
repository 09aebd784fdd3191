"""The canonical view: least squares in ordered binaries, for generic engines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from formulations.arrays import FloatArray, IntArray
from formulations.data import PruningData

_CHUNK_BYTES = 64 * 2**20


@dataclass(frozen=True, eq=False)
class CanonicalForm:
    """A problem in binaries x (p,) that come in order.

        minimise  ‖b − A x‖² + costᵀx     subject to  x[upper] ≥ x[lower],  0 ≤ x ≤ 1

    The same loss in *Gram form* is ``xᵀ G x − 2 cᵀx + constant`` with G = AᵀA, c = Aᵀb and
    constant = ‖b‖². Both forms have the same value at every x; the rows of A, scaled by
    √(ω/m), number m·q, those of G only p. G and c are sums over rows and are accumulated in
    chunks, so A is never held whole unless it is asked for.

    Attributes
    ----------
    data
        The data of the problem.
    target
        (m, q) what A x is to come near to, before scaling.
    trees
        (t,) the trees that have columns.
    tables
        Per such tree (leaves, p_i, q): the entries of the tree's columns on its leaves.
    cost
        (p,) linear cost of every variable, in units of y².
    upper, lower
        Positions of the variables of the constraints x[upper] ≥ x[lower].
    """

    data: PruningData
    target: FloatArray
    trees: IntArray
    tables: tuple[FloatArray, ...]
    cost: FloatArray
    upper: IntArray
    lower: IntArray

    @property
    def n_variables(self) -> int:
        """Number of binaries p."""
        return len(self.cost)

    def chunks(self, size: int | None = None) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Yield (A, b) for stretches of ``size`` data rows, of about 64 MB by default."""
        rows, outputs = self.data.target.shape
        if size is None:
            size = max(1, _CHUNK_BYTES // (8 * outputs * max(self.n_variables, 1)))
        for begin in range(0, rows, size):
            part = slice(begin, min(begin + size, rows))
            scale = np.sqrt(self.data.row_weight[part] / self.data.total_weight)
            # Column by column, so that every gather reads a few values and writes in order.
            columns = np.empty((self.n_variables, len(scale), outputs))
            begin_column = 0
            for i, table in zip(self.trees, self.tables, strict=True):
                end_column = begin_column + table.shape[1]
                codes = self.data.codes[i, part].astype(np.intp)
                by_column = np.ascontiguousarray(np.swapaxes(table, 0, 1))
                np.take(by_column, codes, axis=1, out=columns[begin_column:end_column], mode="clip")
                begin_column = end_column
            columns *= scale[:, None]
            flat = columns.reshape(self.n_variables, len(scale) * outputs)
            yield flat.T, (scale[:, None] * self.target[part]).reshape(-1)

    def rows(self) -> tuple[FloatArray, FloatArray]:
        """Return A (m·q, p) and b (m·q,), whole."""
        return next(self.chunks(self.data.n_rows))

    @cached_property
    def gram(self) -> tuple[FloatArray, FloatArray, float]:
        """G (p, p), c (p,) and the constant."""
        matrix = np.zeros((self.n_variables, self.n_variables))
        vector = np.zeros(self.n_variables)
        constant = 0.0
        for columns, target in self.chunks():
            matrix += columns.T @ columns
            vector += columns.T @ target
            constant += float(target @ target)
        return matrix, vector, constant

    def value(self, x: FloatArray) -> float:
        """Return the objective at x, from the rows."""
        loss = sum(float(((target - columns @ x) ** 2).sum()) for columns, target in self.chunks())
        return loss + float(self.cost @ x)
