"""A problem with free coefficients on explicit columns, with all their products."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import linalg
from scipy.optimize import nnls

from formulations.arrays import FloatArray, IntArray
from formulations.coefficients import CoefficientFormulation, FreeFormulation
from formulations.kernels import blocks
from formulations.rewritings.canonical import CanonicalForm

# Two columns whose products differ by less than this part may be identical and are compared.
_SAME = 1e-12


@dataclass(frozen=True, eq=False)
class NormalEquations(ABC):
    """Least squares on columns with their products, at most one of each group.

        minimise  constant − 2 ⟨vector, b⟩ + bᵀ (gram + diag ridge) b + Σ_{b_c ≠ 0} cost_c

    Attributes
    ----------
    problem
        Where the columns come from.
    start
        (g + 1,) where the columns of each group begin. A group is a tree, or identical trees.
    sources
        (columns,) of arrays: what each column stands for, as whoever made them counts.
    gram
        (columns, columns) ⟨P_c, P_d⟩ / m, centred where there is an intercept.
    vector
        (columns,) ⟨P_c, r0⟩ / m.
    constant
        ‖r0‖² / m.
    cost, ridge
        (columns,) price of a coefficient, and λ / m over the number of trees.
    count
        (columns,) number of trees.
    """

    problem: FreeFormulation
    start: IntArray
    sources: tuple[IntArray, ...]
    gram: FloatArray
    vector: FloatArray
    constant: float
    cost: FloatArray
    ridge: FloatArray
    count: IntArray

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.vector)

    @property
    def everything(self) -> IntArray:
        """(g,) the last column of each group: all trees, where each has one column."""
        return self.start[1:] - 1

    @property
    def groups(self) -> IntArray:
        """(columns,) the group of each column."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))

    @property
    def merged(self) -> int:
        """Number of trees that another one stands for."""
        return int((self.count[self.start[1:] - 1] - 1).sum()) if self.n_columns else 0

    def value(self, b: FloatArray) -> float:
        """Return the objective at coefficients (columns,)."""
        smooth = b @ self.gram @ b - 2.0 * (self.vector @ b) + self.ridge @ b**2
        return float(self.constant + smooth + self.cost[b != 0.0].sum())

    def refit(self, support: Sequence[int] | IntArray) -> FloatArray:
        """Return the best coefficients (columns,) with all but a support at 0.

        Where the columns of the support depend on each other and there is no ridge, those
        of least norm.
        """
        place = np.asarray(support, dtype=np.int64)
        b = np.zeros(self.n_columns)
        matrix = self.gram[np.ix_(place, place)] + np.diag(self.ridge[place])
        b[place] = least_coefficients(matrix, self.vector[place], self.problem.nonnegative)
        return b

    @property
    def uncentred(self) -> FloatArray:
        """(columns,) ‖P_c‖² / m before centring."""
        return self.gram.diagonal()

    @abstractmethod
    def column(self, c: int) -> FloatArray:
        """Return what a column predicts, (m, q)."""

    @abstractmethod
    def point(self, b: FloatArray) -> FloatArray:
        """Return coefficients (columns,) as a point of the problem's relaxation."""

    @abstractmethod
    def solution(self, b: FloatArray) -> tuple[IntArray, FloatArray]:
        """Return (choice, beta) of coefficients with at most one column a group."""

    @abstractmethod
    def coefficients(self, choice: npt.ArrayLike, beta: npt.ArrayLike) -> FloatArray:
        """Return coefficients (columns,) of a solution, as far as its columns are here."""


@dataclass(frozen=True, eq=False)
class Regression(NormalEquations):
    """Least squares on some columns of a problem.

    Identical columns of several trees are *merged*: with c trees that predict the same, one
    column of the group stands for each number j = 1…c of them. It costs j times as much, and
    its ridge is divided by j, since a coefficient that is split evenly over j trees has a
    squared norm of b² / j. So ``sources`` are the problem's columns that a column stands for.
    """

    problem: CoefficientFormulation

    @classmethod
    def of(cls, problem: CoefficientFormulation, columns: IntArray | None = None) -> Regression:
        """Compute the products of some columns from the rows.

        Parameters
        ----------
        problem
            The problem.
        columns
            Positions of columns in ascending order; all by default. Those without length
            are left out.
        """
        chosen = np.arange(problem.n_columns) if columns is None else np.asarray(columns)
        chosen = chosen[problem.rule.square[chosen] > 0.0]
        gram, vector, constant = _products(problem, chosen)
        trees = problem.column_tree[chosen]
        if len(np.unique(trees)) == len(trees):
            groups = _identical(problem, chosen, gram, vector)
        else:
            groups = [np.array([c]) for c in range(len(chosen))]
        place = np.array([group[0] for group in groups for _ in group], dtype=np.int64)
        count = np.array([j + 1 for group in groups for j in range(len(group))], dtype=np.int64)
        owners = np.array([trees[group[0]] for group in groups for _ in group], dtype=np.int64)
        return cls(
            problem=problem,
            start=np.append(np.unique(owners, return_index=True)[1], len(owners)),
            sources=tuple(chosen[group[: j + 1]] for group in groups for j in range(len(group))),
            gram=gram[np.ix_(place, place)],
            vector=vector[place],
            constant=constant,
            cost=problem.rule.cost[chosen][place] * count,
            ridge=problem.rule.ridge / problem.data.total_weight / count,
            count=count,
        )

    @property
    def uncentred(self) -> FloatArray:
        """(columns,) ‖P_c‖² / m before centring."""
        first = np.array([source[0] for source in self.sources], dtype=np.int64)
        return self.problem.rule.square[first] / self.problem.data.total_weight

    def column(self, c: int) -> FloatArray:
        """Return what a column predicts, (m, q)."""
        return _column(self.problem, int(self.sources[c][0]))

    def point(self, b: FloatArray) -> FloatArray:
        """Return coefficients of all columns of the problem; copies share evenly."""
        point = np.zeros(self.problem.n_columns)
        for c in np.flatnonzero(b).tolist():
            point[self.sources[c]] += b[c] / self.count[c]
        return point

    def solution(self, b: FloatArray) -> tuple[IntArray, FloatArray]:
        """Return (choice, beta) of coefficients with at most one column a group."""
        return self.problem.solution(self.point(b))

    def coefficients(self, choice: npt.ArrayLike, beta: npt.ArrayLike) -> FloatArray:
        """Return coefficients (columns,) of a solution, as far as its columns are here.

        Of identical trees, as many are used as the solution uses, evenly.
        """
        point = self.problem.point(choice, beta)
        b = np.zeros(self.n_columns)
        for begin, end in zip(self.start[:-1].tolist(), self.start[1:].tolist(), strict=True):
            copies = self.sources[end - 1]
            if len(copies) == 1:
                b[begin:end] = [point[self.sources[c][0]] for c in range(begin, end)]
            elif (used := int((point[copies] != 0.0).sum())) > 0:
                b[begin + used - 1] = point[copies].sum()
        return b


def least_coefficients(matrix: FloatArray, vector: FloatArray, nonnegative: bool) -> FloatArray:
    """Minimise bᵀ matrix b − 2 vectorᵀ b, over b ≥ 0 on request; of several, the shortest."""
    if len(vector) == 0:
        return vector
    if not nonnegative:
        try:
            factor = linalg.cho_factor(matrix)
            diagonal = np.abs(np.diag(factor[0]))
            if diagonal.min() > 1e-6 * diagonal.max():
                b = linalg.cho_solve(factor, vector)
                return np.asarray(b + linalg.cho_solve(factor, vector - matrix @ b))
        except linalg.LinAlgError:
            pass
    values, vectors = linalg.eigh(matrix)
    kept = values > np.finfo(float).eps * len(values) * max(float(values[-1]), 0.0)
    root = np.sqrt(values[kept])
    if nonnegative:
        return np.asarray(
            nnls(root[:, None] * vectors[:, kept].T, (vectors[:, kept].T @ vector) / root)[0]
        )
    return np.asarray(vectors[:, kept] @ ((vectors[:, kept].T @ vector) / values[kept]))


def _products(
    problem: CoefficientFormulation, columns: IntArray
) -> tuple[FloatArray, FloatArray, float]:
    """Return Gram matrix, products with the target and its square, all over m."""
    data, rule = problem.data, problem.rule
    trees = problem.column_tree[columns]
    owners = np.unique(trees)
    tables = []
    for i in owners.tolist():
        depths = np.asarray(rule.depth[columns[trees == i]])[:, None]
        leaves = int(data.leaf_start[i + 1] - data.leaf_start[i])
        table = np.zeros((leaves, len(depths), data.n_outputs))
        blocks.fill_table(rule, data.trees, i, depths, table)
        tables.append(table)
    none = np.empty(0, dtype=np.int64)
    form = CanonicalForm(
        data, data.target, owners, tuple(tables), np.zeros(len(columns)), none, none
    )
    gram, vector, constant = form.gram
    if not problem.centred:
        return gram, vector, constant
    means = np.zeros((len(columns), data.n_outputs))
    begin = 0
    for i, table in zip(owners.tolist(), tables, strict=True):
        weight = data.trees.leaf_weight[data.leaf_start[i] : data.leaf_start[i + 1]]
        means[begin : begin + table.shape[1]] = np.tensordot(weight, table, axes=1)
        begin += table.shape[1]
    means /= data.total_weight
    target = data.row_weight @ data.target / data.total_weight
    return gram - means @ means.T, vector - means @ target, constant - float(target @ target)


def _identical(
    problem: CoefficientFormulation, columns: IntArray, gram: FloatArray, vector: FloatArray
) -> list[IntArray]:
    """Return groups of positions in ``columns`` that predict and cost the same.

    In the order of their first members; most have one. Candidates are found by their
    products, and then compared row by row.
    """
    lengths, cost = gram.diagonal(), problem.rule.cost[columns]
    scale = float(np.abs(vector).max(initial=0.0))
    alike = np.abs(np.subtract.outer(vector, vector)) <= _SAME * scale
    alike &= np.equal.outer(cost, cost)
    alike &= np.add.outer(lengths, lengths) - 2.0 * gram <= _SAME * lengths[:, None]
    groups: dict[int, list[int]] = {}
    for c in range(len(columns)):
        for d in np.flatnonzero(alike[c, :c]).tolist():
            if d in groups and _same_column(problem, int(columns[c]), int(columns[d])):
                groups[d].append(c)
                break
        else:
            groups[c] = [c]
    return [np.array(group) for group in groups.values()]


def _same_column(problem: CoefficientFormulation, one: int, other: int) -> bool:
    first, second = _column(problem, one), _column(problem, other)
    return bool(np.abs(first - second).max() <= _SAME * np.abs(first).max())


def _column(problem: CoefficientFormulation, c: int) -> FloatArray:
    data = problem.data
    i = int(problem.column_tree[c])
    leaves = int(data.leaf_start[i + 1] - data.leaf_start[i])
    table = np.zeros((leaves, 1, data.n_outputs))
    blocks.fill_table(problem.rule, data.trees, i, problem.rule.depth[c : c + 1, None], table)
    return np.asarray(table[data.codes[i], 0])
