"""The columns of a problem with free coefficients, as thresholding needs them."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import numpy.typing as npt
from scipy import sparse

from formulations import CoefficientFormulation, Regression
from formulations.arrays import FloatArray, IntArray
from formulations.kernels.coefficients import column_products
from formulations.kernels.trees import squared_norm

# Up to so many columns the products of all pairs pay off.
_MOST_GRAM_COLUMNS = 1500


class Columns(ABC):
    """Columns in groups; coefficients b (columns,) use at most one of each group.

    Attributes
    ----------
    problem
        Where they come from.
    start, groups
        (g + 1,) where the columns of each group begin, and (columns,) the group of each.
    own
        Sparse (columns, columns): ⟨P_c, P_d⟩ / m inside the groups.
    square
        (columns,) its diagonal.
    cost, ridge
        (columns,) price of a coefficient, and λ / m over the number of trees.
    count
        (columns,) number of trees that a column stands for.
    few
        Size of a support up to which a refit is cheap.
    """

    few: float

    def __init__(
        self,
        problem: CoefficientFormulation,
        start: IntArray,
        tables: list[FloatArray],
        cost: FloatArray,
        ridge: FloatArray,
        count: IntArray,
    ) -> None:
        self.problem = problem
        self.start = start
        self.groups = np.repeat(np.arange(len(start) - 1), np.diff(start))
        # block_diag of no blocks has another shape.
        blocks = [sparse.coo_array(table) for table in tables]
        self.own = sparse.block_diag(blocks, format="csr") if blocks else sparse.csr_array((0, 0))
        self.square = self.own.diagonal()
        self.cost, self.ridge, self.count = cost, ridge, count

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.cost)

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.start) - 1

    @abstractmethod
    def image(self, b: FloatArray) -> FloatArray:
        """Return what `loss` and `products` at b are computed from."""

    @abstractmethod
    def loss(self, b: FloatArray, image: FloatArray) -> float:
        """Return (1/m) ‖r0 − Σ b P‖²."""

    @abstractmethod
    def products(self, image: FloatArray) -> FloatArray:
        """Return (columns,) ⟨r, P_c⟩ / m at the residual."""

    @abstractmethod
    def refit(self, support: IntArray) -> FloatArray:
        """Return the best coefficients (columns,) with all but a support at 0."""

    @abstractmethod
    def point(self, b: FloatArray) -> FloatArray:
        """Return coefficients of all columns of the problem."""

    @abstractmethod
    def coefficients(self, choice: npt.ArrayLike, beta: npt.ArrayLike) -> FloatArray:
        """Return coefficients (columns,) of a solution."""

    def penalty(self, b: FloatArray) -> float:
        """Return the ridge and the costs, in units of y²."""
        return float(self.ridge @ b**2 + self.cost[b != 0.0].sum())


class GramColumns(Columns):
    """All products of all columns; identical trees are one group."""

    few = np.inf

    def __init__(self, problem: CoefficientFormulation) -> None:
        self.form = form = Regression.of(problem)
        parts = [slice(*ends) for ends in zip(form.start[:-1], form.start[1:], strict=True)]
        tables = [form.gram[part, part] for part in parts]
        super().__init__(problem, form.start, tables, form.cost, form.ridge, form.count)

    def image(self, b: FloatArray) -> FloatArray:
        """Return (columns,) the products of the columns with the prediction."""
        used = np.flatnonzero(b)
        return np.asarray(b[used] @ self.form.gram[used])

    def loss(self, b: FloatArray, image: FloatArray) -> float:
        """Return constant − 2 ⟨vector, b⟩ + ⟨b, image⟩."""
        return float(self.form.constant - 2.0 * (self.form.vector @ b) + b @ image)

    def products(self, image: FloatArray) -> FloatArray:
        """Return vector − image."""
        return self.form.vector - image

    def refit(self, support: IntArray) -> FloatArray:
        """Solve with the products of the support."""
        return self.form.refit(support)

    def point(self, b: FloatArray) -> FloatArray:
        """Return coefficients of all columns of the problem; copies share evenly."""
        return self.form.point(b)

    def coefficients(self, choice: npt.ArrayLike, beta: npt.ArrayLike) -> FloatArray:
        """Return coefficients (columns,) of a solution."""
        return self.form.coefficients(choice, beta)


class RowColumns(Columns):
    """The residual on the rows: one pass over them for all products with it."""

    few = 200  # computing their products takes about as long as that pass

    def __init__(self, problem: CoefficientFormulation) -> None:
        data, rule = problem.data, problem.rule
        self.places = places = np.flatnonzero(rule.square > 0.0)
        trees, begins = np.unique(problem.column_tree[places], return_index=True)
        start = np.append(begins, len(places))
        tables = []
        for i, begin, end in zip(trees.tolist(), start[:-1], start[1:], strict=True):
            size = int(data.depths[i]) + 1
            table = data.prefix_products[data.product_start[i] : data.product_start[i + 1]]
            depth = rule.depth[places[begin:end]]
            tables.append(table.reshape(size, size)[np.ix_(depth, depth)] / data.total_weight)
        ridge = np.full(len(places), rule.ridge / data.total_weight)
        ones = np.ones(len(places), dtype=np.int64)
        super().__init__(problem, start, tables, rule.cost[places], ridge, ones)

    def image(self, b: FloatArray) -> FloatArray:
        """Return the residual (m, q), multiplied by the row weights."""
        return self.problem.residual(self.problem.relaxed_leaf_values(self.point(b)))

    def loss(self, b: FloatArray, image: FloatArray) -> float:
        """Return its squared norm over m."""
        data = self.problem.data
        return squared_norm(data.trees, image) / data.total_weight

    def products(self, image: FloatArray) -> FloatArray:
        """Return its products with the columns over m."""
        data = self.problem.data
        products = np.empty(self.problem.n_columns)
        column_products(self.problem.rule, data.trees, image, products)
        return products[self.places] / data.total_weight

    def refit(self, support: IntArray) -> FloatArray:
        """Compute the products of the support alone, and solve."""
        form = Regression.of(self.problem, self.places[support])
        return form.point(form.refit(form.start[1:] - 1))[self.places]

    def point(self, b: FloatArray) -> FloatArray:
        """Return coefficients of all columns of the problem."""
        point = np.zeros(self.problem.n_columns)
        point[self.places] = b
        return point

    def coefficients(self, choice: npt.ArrayLike, beta: npt.ArrayLike) -> FloatArray:
        """Return coefficients (columns,) of a solution."""
        return self.problem.point(choice, beta)[self.places]


def columns_of(problem: CoefficientFormulation) -> Columns:
    """Return the columns with all products where these are few, else on the rows.

    Polishing has one column a tree: there are few, and merging identical ones needs products.
    """
    one_each = bool(np.all(np.diff(problem.rule.point_start) <= 1))
    small = problem.n_columns <= _MOST_GRAM_COLUMNS
    return GramColumns(problem) if one_each or small else RowColumns(problem)
