"""Problems with free coefficients: every tree chooses one of its columns and a weight."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar

from formulations.arrays import BoolArray, FloatArray, IntArray, finite_floats, frozen
from formulations.base import Formulation, checked_point, nodes_to_depth
from formulations.data import PruningData
from formulations.errors import InvalidInput
from formulations.kernels.coefficients import CoefficientRule, column_products
from formulations.kernels.trees import squared_norm

# Columns shorter than this part of the longest one are rounding and are never taken.
_SHORT = 1e-10


@dataclass(frozen=True, eq=False)
class FreeFormulation(Formulation):
    """A problem in which every tree has a coefficient of its own, 0 for a removed one."""

    @property
    def most_trees(self) -> int | None:
        """Number of trees that may be used, or None for any number."""
        return None

    @property
    def nonnegative(self) -> bool:
        """Whether coefficients must not be negative."""
        return False

    @property
    def centred(self) -> bool:
        """Whether there is an intercept, so that all columns and the target are centred."""
        return False

    @property
    def convex(self) -> bool:
        """Whether all columns may be used at no price, so that a linear system solves it."""
        return False


@dataclass(frozen=True, eq=False)
class CoefficientFormulation(FreeFormulation):
    """A problem in which every tree may take one of its columns, with a coefficient.

        minimise  (1/m) ( ‖ r0 − Σ_i β_i P_i,k_i ‖² + λ ‖β‖² ) + Σ_{i: β_i ≠ 0} cost_i(k_i)

    A choice is (n,) integers, the depth k_i of each tree, and comes with (n,) coefficients β;
    a tree of coefficient 0 is removed and costs nothing. A point of the relaxation is one
    coefficient for each column of `rule`, and may use several columns of a tree.

    `JointPruning` and `Polishing` say which columns there are, and what they cost.
    """

    @property
    @abstractmethod
    def rule(self) -> CoefficientRule:
        """The columns, their costs and λ."""

    @property
    def nonnegative(self) -> bool:
        """Whether coefficients must not be negative."""
        return self.rule.nonnegative

    @property
    def convex(self) -> bool:
        """Whether all columns may be used at no price, so that a linear system solves it."""
        rule = self.rule
        single = bool(np.all(np.diff(rule.point_start) <= 1))
        return single and self.most_trees is None and not rule.cost.any()

    @property
    def n_columns(self) -> int:
        """Number of columns of all trees."""
        return len(self.rule.depth)

    @cached_property
    def column_tree(self) -> IntArray:
        """(columns,) the tree of each column."""
        return np.repeat(np.arange(self.data.n_trees), np.diff(self.rule.point_start))

    def checked_beta(self, choice: IntArray, beta: npt.ArrayLike | None) -> FloatArray:
        """Return coefficients as (n,) floats.

        Raises
        ------
        InvalidInput
            When they are missing, have another shape, are not finite, are negative where
            that is not allowed, are not 0 for a tree of depth 0, or are too many.
        """
        given = checked_coefficients(beta, choice == 0)
        if self.rule.nonnegative and given.min() < 0.0:
            raise InvalidInput(f"beta must not be negative; found {given.min():g}")
        used = int((given != 0.0).sum())
        if self.most_trees is not None and used > self.most_trees:
            raise InvalidInput(f"beta uses {used} trees, at most {self.most_trees} may be used")
        return given

    def price(self, choice: IntArray, beta: FloatArray) -> float:
        """Return (λ/m) ‖β‖² and the costs of the trees with a coefficient, in units of y²."""
        taken = self.rule.depth == choice[self.column_tree]
        used = taken & (beta[self.column_tree] != 0.0)
        ridge = self.rule.ridge / self.data.total_weight
        return float(ridge * (beta @ beta) + self.rule.cost[used].sum())

    def point(self, choice: npt.ArrayLike, beta: npt.ArrayLike | None = None) -> FloatArray:
        """Return the coefficients of all columns (columns,) of a choice."""
        depths = self.checked(choice)
        coefficients = self.checked_beta(depths, beta)
        taken = self.rule.depth == depths[self.column_tree]
        return np.where(taken, coefficients[self.column_tree], 0.0)

    def solution(self, point: npt.ArrayLike) -> tuple[IntArray, FloatArray]:
        """Return (choice, beta) of a point that uses one column a tree at most.

        Raises
        ------
        InvalidInput
            When two columns of a tree have a coefficient.
        """
        b = self.repaired(point)
        choice, beta = self.zero(), np.zeros(self.data.n_trees)
        used = np.flatnonzero(b)
        trees = self.column_tree[used]
        if len(np.unique(trees)) < len(trees):
            raise InvalidInput("point uses more than one column of a tree")
        choice[trees], beta[trees] = self.rule.depth[used], b[used]
        return choice, beta

    def repaired(self, point: npt.ArrayLike) -> FloatArray:
        """Return coefficients that are not negative where that is not allowed."""
        b = checked_point(point, self.n_columns)
        return np.maximum(b, 0.0) if self.rule.nonnegative else b

    def residual(self, leaf_values: FloatArray) -> FloatArray:
        """Return ω (r0 − prediction), (m, q); with the best intercept where there is one."""
        residual = super().residual(leaf_values)
        if self.centred:
            residual -= self.data.row_weight[:, None] * self._mean_of(residual)
        return residual

    def intercept_of(self, choice: npt.ArrayLike, beta: npt.ArrayLike | None) -> FloatArray:
        """Return what is added to all predictions, (q,): the best constant, or zeros."""
        if not self.centred:
            return np.zeros(self.data.n_outputs)
        return self._mean_of(super().residual(self.leaf_values(choice, beta)))

    def linear_bound(self, point: npt.ArrayLike) -> float:
        """Return the dual bound at a point.

        For every u, ‖v‖² ≥ 2⟨v,u⟩ − ‖u‖². With v = r0 − Σ b P the sum splits over columns,
        and a column's least contribution is min(0, cost − ⟨u,P⟩² / (λ m)). So

            L(u) = ( 2⟨r0,u⟩ − ‖u‖² ) / m − Σ_i max(0, max_k ⟨u,P_ik⟩² / (λ m) − cost_ik)

        is a lower bound, where the sum is over the largest terms if the number of trees is
        limited. Its largest value is that of the perspective relaxation. Here u is the best
        multiple of the residual at the point. Without a ridge there is only L(0) = 0.
        """
        feasible = self.repaired(point)
        ridge = self.rule.ridge
        if ridge == 0.0:
            return 0.0
        residual = self.residual(self.relaxed_leaf_values(feasible))
        products = np.empty(self.n_columns)
        column_products(self.rule, self.data.trees, residual, products)
        if self.rule.nonnegative:
            products = np.maximum(products, 0.0)
        shares = products**2 / (ridge * self.data.total_weight)
        return best_dual_bound(
            self.data,
            residual,
            lambda square: _largest_gains(self, square * shares - self.rule.cost),
        )

    def kept_nodes(self, choice: npt.ArrayLike, beta: npt.ArrayLike | None = None) -> int:
        """Return the number of nodes of the trees with a coefficient, roots counted.

        Raises
        ------
        InvalidInput
            When the data comes from plain D arrays, so that nodes are not known.
        """
        depths = self.checked(choice)
        return nodes_to_depth(
            self.data, np.where(self.checked_beta(depths, beta) != 0.0, depths, 0)
        )

    def _mean_of(self, residual: FloatArray) -> FloatArray:
        return np.asarray(residual.sum(axis=0) / self.data.total_weight)


def lengths(data: PruningData, prefixes: IntArray) -> FloatArray:
    """Return ‖P‖² of some prefixes, 0 where it is but rounding."""
    squares = data.prefix_squares[prefixes]
    return np.asarray(frozen(np.where(squares > rounding_length(squares), squares, 0.0)))


def rounding_length(squares: FloatArray) -> float:
    """Return the ‖P‖² up to which a column is but rounding beside columns of these ‖P‖²."""
    return _SHORT**2 * float(squares.max(initial=0.0))


def checked_coefficients(beta: npt.ArrayLike | None, removed: BoolArray) -> FloatArray:
    """Return coefficients as (n,) floats.

    Parameters
    ----------
    beta
        What was given.
    removed
        (n,) which trees the choice removes.

    Raises
    ------
    InvalidInput
        When they are missing, have another shape, are not finite, or not 0 for a tree that
        is removed.
    """
    if beta is None:
        raise InvalidInput("beta is needed: the coefficients are part of the solution")
    given = finite_floats("beta", beta)
    if given.shape != removed.shape:
        raise InvalidInput(f"beta must have shape ({len(removed)},), got {given.shape}")
    wrong = np.flatnonzero(removed & (given != 0.0))
    if len(wrong):
        raise InvalidInput(f"beta[{wrong[0]}] must be 0: the choice removes tree {wrong[0]}")
    return given


def best_dual_bound(
    data: PruningData, residual: FloatArray, gains: Callable[[float], float]
) -> float:
    """Return the largest dual bound L(u) over the multiples u of a residual, at least 0.

    Parameters
    ----------
    data
        What the problem is built on.
    residual
        (m, q), multiplied by the row weights.
    gains
        Called with the square of the multiple; the sum over blocks of what is gained at most.
    """
    weight = data.total_weight
    square = squared_norm(data.trees, residual)
    along = float((residual * data.target).sum())
    if along <= 0.0 or square == 0.0:
        return 0.0

    def bound(scale: float) -> float:
        return (2.0 * scale * along - scale * scale * square) / weight - gains(scale * scale)

    best = minimize_scalar(
        lambda scale: -bound(scale),
        bounds=(0.0, along / square),
        method="bounded",
        options={"xatol": 1e-9 * along / square},
    ).x
    return max(bound(float(best)), bound(1.0), 0.0)


def _largest_gains(problem: CoefficientFormulation, gains: FloatArray) -> float:
    """Return the sum over blocks of the largest gain above 0, of as many as may be used."""
    starts = problem.rule.point_start
    filled = np.diff(starts) > 0
    if not filled.any():
        return 0.0
    per_block = np.maximum(np.maximum.reduceat(gains, starts[:-1][filled]), 0.0)
    most = problem.most_trees
    if most is not None and most < len(per_block):
        per_block = np.partition(per_block, len(per_block) - most)[len(per_block) - most :]
    return float(per_block.sum())
