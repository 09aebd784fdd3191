"""Products of the columns that a descent uses, kept up to date as choices change."""

from __future__ import annotations

import numpy as np

from formulations import CoefficientFormulation, JointSubtreePruning
from formulations.arrays import FloatArray, IntArray
from formulations.kernels.blocks import fill_all_leaves
from formulations.rewritings.regression import least_coefficients

_CHUNK = 4096


class SupportGram:
    """⟨P_i, P_l⟩ of the trees at their choices; only what has changed is computed anew.

    Parameters
    ----------
    problem
        A problem without an intercept and without a sign of the coefficients.
    """

    def __init__(self, problem: CoefficientFormulation | JointSubtreePruning) -> None:
        trees = problem.data.n_trees
        self._problem = problem
        self._choice = problem.zero()
        self._known = np.zeros(trees, dtype=np.bool_)
        self._gram = np.zeros((trees, trees))
        self._vector = np.zeros(trees)

    def refit(self, choice: IntArray, kept: IntArray) -> FloatArray:
        """Return the best coefficients of some trees (k,) at their choices."""
        moved = np.logical_or.reduceat(choice != self._choice, self._problem.rule.choice_start[:-1])
        changed = kept[moved[kept] | ~self._known[kept]]
        if len(changed):
            # A tree that is not kept now would have to be compared with the changed ones later.
            self._known[:] = False
            self._known[kept] = True
            self._multiply(choice, kept, changed)
            self._choice[:] = choice
        matrix = self._gram[np.ix_(kept, kept)]
        matrix[np.diag_indices(len(kept))] += self._problem.rule.ridge
        return least_coefficients(matrix, self._vector[kept], nonnegative=False)

    def _multiply(self, choice: IntArray, kept: IntArray, changed: IntArray) -> None:
        problem, data = self._problem, self._problem.data
        values = np.zeros((len(data.leaf_node), data.n_outputs))
        fill_all_leaves(problem.rule, data.trees, choice, values)
        products = np.zeros((len(changed), len(kept)))
        vector = np.zeros(len(changed))
        place = np.searchsorted(kept, changed)
        for begin in range(0, data.n_rows, _CHUNK):
            rows = slice(begin, min(begin + _CHUNK, data.n_rows))
            for o in range(data.n_outputs):
                columns = np.empty((len(kept), rows.stop - rows.start))
                for row, i in enumerate(kept.tolist()):
                    leaf = values[data.leaf_start[i] : data.leaf_start[i + 1], o]
                    np.take(leaf, data.codes[i, rows], out=columns[row], mode="clip")
                weighted = columns[place] * data.row_weight[rows]
                products += weighted @ columns.T
                vector += weighted @ data.target[rows, o]
        self._gram[np.ix_(changed, kept)] = products
        self._gram[np.ix_(kept, changed)] = products.T
        self._vector[changed] = vector
