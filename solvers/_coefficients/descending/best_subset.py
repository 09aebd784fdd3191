"""Best subsets of columns: a swept tableau, and local search by adding, dropping, swapping."""

from __future__ import annotations

import numpy as np

from formulations import NormalEquations
from formulations.arrays import BoolArray, FloatArray, IntArray
from formulations.kernels.compiled import kernel
from solvers._core.base import Control

# A column of which less than this part is left beside the support adds nothing but rounding.
_DEPENDENT = 1e-9

# Rounding grows with every pivot: after so many the tableau is computed anew.
_PIVOTS = 200


@kernel
def sweep_out(table: FloatArray, c: int) -> None:
    """Sweep column c of a symmetric tableau in, or out if it is in."""
    pivot = table[c, c]
    row = table[c].copy()
    size = table.shape[0]
    for i in range(size):
        if row[i] != 0.0:
            factor = row[i] / pivot
            for j in range(size):
                table[i, j] -= factor * row[j]
    for j in range(size):
        table[c, j] = row[j] / abs(pivot)
        table[j, c] = table[c, j]
    table[c, c] = -1.0 / pivot


@kernel
def find_best_move(
    table: FloatArray,
    used: BoolArray,
    group: IntArray,
    length: FloatArray,
    cost: FloatArray,
    count: IntArray,
    most: int,
    nonnegative: bool,
) -> tuple[float, int, int]:
    """Try every addition, removal and exchange; see `Tableau.best_move`.

    Without column r of the support, the products of the others with the rest of the target,
    and their own rests, are larger by what r takes of them.
    """
    columns = used.shape[0]
    total = 0
    holder = np.full(group[-1] + 1 if columns else 0, -1)
    for c in range(columns):
        if used[c]:
            total += count[c]
            holder[group[c]] = c
    best, out, into = 0.0, -1, -1
    for r in range(-1, columns):
        if r >= 0 and not used[r]:
            continue
        room = most - total
        removal, inverse, coefficient = 0.0, 1.0, 0.0
        if r >= 0:
            inverse = -table[r, r]
            coefficient = table[r, columns]
            removal = coefficient * coefficient / inverse - cost[r]
            room += count[r]
            if removal < best:
                best, out, into = removal, r, -1
        for c in range(columns):
            taken = holder[group[c]]
            if used[c] or count[c] > room or (taken >= 0 and taken != r):
                continue
            product, left = table[c, columns], table[c, c]
            if r >= 0:
                beside = table[r, c]
                product += beside * coefficient / inverse
                left += beside * beside / inverse
            change = removal + cost[c]
            if left > _DEPENDENT * length[c] and (product > 0.0 or not nonnegative):
                change -= product * product / left
            if change < best:
                best, out, into = change, r, c
    return best, out, into


class Tableau:
    """The normal equations of a regression, swept on a support.

    Sweeping a column out of the matrix of all products solves for it: with S the swept columns
    and H the inverse of their Gram matrix with ridge, the tableau holds −H within S, the
    coefficients of the other columns on S beside it, and outside what is left of the other
    columns' products; likewise for the target. So the change of the objective by any addition,
    removal or exchange is read off, and each costs one pass over the tableau.

    Parameters
    ----------
    regression
        The columns and their products.
    """

    def __init__(self, regression: NormalEquations) -> None:
        self.regression = regression
        self.used = np.zeros(regression.n_columns, dtype=np.bool_)
        self._length = regression.gram.diagonal() + regression.ridge
        self._groups = regression.groups
        most = regression.problem.most_trees
        self._most = int(regression.count.sum()) if most is None else most
        self._load(self.used)

    @property
    def loss(self) -> float:
        """Loss with ridge of the support with its best coefficients."""
        return float(self._table[-1, -1])

    @property
    def value(self) -> float:
        """Objective of the support with its best coefficients."""
        return self.loss + float(self.regression.cost[self.used].sum())

    @property
    def coefficients(self) -> FloatArray:
        """Best coefficients of the support, (columns,)."""
        return np.where(self.used, self._table[:-1, -1], 0.0)

    def use(self, support: BoolArray) -> None:
        """Change the support to ``support`` (columns,); dependent columns are left out."""
        for c in np.flatnonzero(self.used & ~support):
            self.flip(int(c))
        for c in np.flatnonzero(support & ~self.used):
            if self._table[c, c] > _DEPENDENT * self._length[c]:
                self.flip(int(c))

    def flip(self, c: int) -> None:
        """Add a column to the support, or remove it."""
        self.used[c] = not self.used[c]
        self._pivots += 1
        if self._pivots > _PIVOTS:
            self._load(self.used.copy())
        else:
            sweep_out(self._table, c)

    def best_move(self) -> tuple[float, int, int]:
        """Return the move that lowers the objective most: (change, out, into).

        The change is 0 when no move does. ``out`` and ``into`` are columns, −1 where the move
        removes or adds nothing. Moves to more trees than may be used, to a second column of a
        group, and to a column that depends on the support do not count.
        """
        model = self.regression
        return find_best_move(
            self._table,
            self.used,
            self._groups,
            self._length,
            model.cost,
            model.count,
            self._most,
            model.problem.nonnegative,
        )

    def least_useful(self) -> int:
        """Return the column of the support whose removal raises the loss least."""
        support = np.flatnonzero(self.used)
        rise = self._table[support, -1] ** 2 / -self._table[support, support]
        return int(support[np.argmin(rise)])

    def _load(self, support: BoolArray) -> None:
        regression = self.regression
        p = regression.n_columns
        self._table = np.empty((p + 1, p + 1))
        self._table[:-1, :-1] = regression.gram + np.diag(regression.ridge)
        self._table[-1, :-1] = self._table[:-1, -1] = regression.vector
        self._table[-1, -1] = regression.constant
        self._pivots = 0
        for c in np.flatnonzero(support):
            sweep_out(self._table, int(c))


class SubsetSearch:
    """The best subset found so far, and searches from there.

    Parameters
    ----------
    regression
        The problem on explicit columns.
    """

    def __init__(self, regression: NormalEquations) -> None:
        self.regression = regression
        self.tableau = Tableau(regression)
        self.best = np.zeros(regression.n_columns)
        self.objective = regression.value(self.best)
        self._tolerance = regression.problem.tolerance

    def offer(self, b: FloatArray) -> bool:
        """Take coefficients (columns,) if they are better; say whether they were."""
        objective = self.regression.value(b)
        if objective < self.objective - self._tolerance:
            self.best, self.objective = b, objective
            return True
        return False

    def descend(self, support: BoolArray, control: Control) -> bool:
        """Make the best move from a support until none is left; offer where it ends.

        Returns
        -------
        bool
            Whether the best solution has changed.
        """
        self.tableau.use(support)
        value = self.tableau.value
        while control.stop() is None:
            change, out, into = self.tableau.best_move()
            if not change < -self._tolerance:
                break
            for c in (out, into):
                if c >= 0:
                    self.tableau.flip(c)
            # What rounding promises in vain would be undone and promised again.
            if not self.tableau.value < value:
                break
            value = self.tableau.value
        return self.offer(self.regression.refit(np.flatnonzero(self.tableau.used)))

    def search(self, patience: int, control: Control) -> bool:
        """Shake and descend until so many trials in a row have failed.

        A trial removes a random half of the best support. Returns False when stopped early.
        """
        generator = np.random.default_rng(control.seed)
        failures = 0
        while failures < patience:
            if control.stop() is not None:
                return False
            support = self.best != 0.0
            used = np.flatnonzero(support)
            if len(used) == 0:
                return True
            support[generator.choice(used, (len(used) + 1) // 2, replace=False)] = False
            failures = 0 if self.descend(support, control) else failures + 1
            control.report(self.objective)
        return True

    def backward(self, control: Control) -> bool:
        """Start from one column of every group, drop the least useful ones, descend.

        The column is the one that gains most alone, with all copies of a tree; where the
        number of trees is limited, copies are left out.
        """
        model, most = self.regression, self.regression.problem.most_trees
        alone = model.vector**2 / (model.gram.diagonal() + model.ridge) - model.cost
        count = model.count
        if most is not None:
            alone = np.where(count > 1, -np.inf, alone)
        support = np.zeros(model.n_columns, dtype=np.bool_)
        for begin, end in zip(model.start[:-1].tolist(), model.start[1:].tolist(), strict=True):
            support[begin + int(np.argmax(alone[begin:end]))] = True
        self.tableau.use(support)
        while most is not None and count[self.tableau.used].sum() > most:
            if control.stop() is not None:
                return False
            self.tableau.flip(self.tableau.least_useful())
        return self.descend(self.tableau.used.copy(), control)
