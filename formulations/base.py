"""What every formulation offers to the solvers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from formulations import blocks, tree_kernels
from formulations.arrays import (
    FloatArray,
    IntArray,
    PickledByFields,
    finite_floats,
    non_negative_number,
)
from formulations.canonical import CanonicalForm
from formulations.data import PruningData
from formulations.errors import InvalidInput


@dataclass(frozen=True, eq=False)
class Formulation(PickledByFields, ABC):
    """A problem in which block i, a tree, chooses one of its columns (mathematics.md §6).

        minimise  (1/m) ‖r0 − Σ_i P_i,c_i‖² + Σ_i cost_i(c_i)

    A formulation is frozen. Two views of it serve the solvers: the *block view* (`rule`, with
    the loops of `formulations.blocks`) never expands the columns, and the *canonical view*
    (`canonical`) is a least-squares problem in binaries for generic engines.

    Attributes
    ----------
    data
        What the problem is built on.
    alpha
        Weight of the size of the pruned ensemble, at least 0, in units of y².
    """

    kind: ClassVar[str]

    data: PruningData
    alpha: float

    def __post_init__(self) -> None:
        if not isinstance(self.data, PruningData):
            raise InvalidInput(
                f"data must be PruningData (see pruning_data), not {type(self.data).__name__}"
            )
        object.__setattr__(self, "alpha", non_negative_number("alpha", self.alpha))

    def with_alpha(self, alpha: float) -> Self:
        """Return the same problem at another α; the data and its caches are shared."""
        return replace(self, alpha=alpha)

    @property
    @abstractmethod
    def rule(self) -> Any:
        """Arrays of the block view: a NamedTuple with overloads in `formulations.blocks`."""

    @abstractmethod
    def zero(self) -> IntArray:
        """Return the choice that removes every tree."""

    @abstractmethod
    def full(self) -> IntArray:
        """Return the choice that keeps every tree whole."""

    @abstractmethod
    def checked(self, choice: npt.ArrayLike) -> IntArray:
        """Return a choice as int64 array; InvalidInput when it is not feasible."""

    @abstractmethod
    def penalty(self, choice: npt.ArrayLike) -> float:
        """Return Σ_i cost_i(c_i), in units of y²."""

    @abstractmethod
    def point(self, choice: npt.ArrayLike) -> FloatArray:
        """Return a choice as a point of the relaxation."""

    @abstractmethod
    def repaired(self, point: npt.ArrayLike) -> FloatArray:
        """Return a feasible point of the relaxation near the given one."""

    @abstractmethod
    def relaxed_penalty(self, point: FloatArray) -> float:
        """Return the linear cost of a relaxed point, in units of y²."""

    @abstractmethod
    def rounded(self, point: FloatArray) -> IntArray:
        """Return the nearest choice to a relaxed point."""

    @abstractmethod
    def count_choices(self) -> float:
        """Return the number of feasible choices; a float, since it can be large."""

    @abstractmethod
    def block_choices(self, i: int) -> npt.NDArray[np.int64]:
        """Return all choices of block i, one a row, the empty one first."""

    @abstractmethod
    def block_costs(self, i: int, choices: IntArray) -> FloatArray:
        """Return the cost of each of some choices of block i, in units of y²."""

    @abstractmethod
    def mixture(self, tree: IntArray, choices: IntArray, weights: FloatArray) -> FloatArray:
        """Return the relaxed point that mixes some choices.

        Parameters
        ----------
        tree, choices, weights
            (c,), (c, width), (c,): the block, the choice and the weight of each; the weights
            of a block sum to 1.
        """

    @abstractmethod
    def surviving_choices(self, point: FloatArray, value: float) -> list[IntArray]:
        """Return, per block, the choices that can be part of a solution better than ``value``.

        With L the Frank–Wolfe bound at ``point`` and g the gradient there, every feasible
        choice c has an objective of at least L + Σ_i ( g_i,c_i − min g_i ), since f is convex
        and at least its linearisation. All terms are at least 0, so a choice of block i with
        L + g_i,c − min g_i > value is in no solution of at most that value. The bound must be
        that of the very point where g is taken (mathematics.md §3).

        Parameters
        ----------
        point
            A point of the relaxation; the nearer to its optimum, the fewer survive.
        value
            Objective of a known solution.

        Returns
        -------
        list of ndarray
            Per block (c_i, width) int64; a block of which none survives keeps its best, and
            then no solution is better than ``value``.
        """

    @abstractmethod
    def alpha_max(self) -> float:
        """Return the α from which on descent from the empty model stays there."""

    @abstractmethod
    def alpha_max_certified(self) -> float:
        """Return the α from which on the empty model is proven optimal."""

    @abstractmethod
    def kept_nodes(self, choice: npt.ArrayLike) -> int:
        """Return the number of nodes of the kept trees, roots counted."""

    @abstractmethod
    def canonical(self) -> CanonicalForm:
        """Return the problem as least squares in ordered binaries."""

    def kept_trees(self, choice: npt.ArrayLike) -> int:
        """Return the number of trees that keep more than their root."""
        kept = self.checked(choice) > 0
        return int(np.logical_or.reduceat(kept, self.rule.choice_start[:-1]).sum())

    def leaf_values(self, choice: npt.ArrayLike) -> FloatArray:
        """Return what each leaf of each tree predicts at a choice, (leaves, q)."""
        checked = self.checked(choice)
        values = np.zeros((len(self.data.leaf_node), self.data.n_outputs))
        blocks.fill_all_leaves(self.rule, self.data.trees, checked, values)
        return values

    def relaxed_leaf_values(self, point: FloatArray) -> FloatArray:
        """Return what each leaf of each tree predicts at a relaxed point, (leaves, q)."""
        values = np.zeros((len(self.data.leaf_node), self.data.n_outputs))
        blocks.fill_all_relaxed(self.rule, self.data.trees, point, values)
        return values

    def residual(self, leaf_values: FloatArray) -> FloatArray:
        """Return ω (r0 − prediction), (m, q), for given leaf values."""
        residual = self.data.row_weight[:, None] * self.data.target
        tree_kernels.subtract_all(self.data.trees, leaf_values, residual)
        return residual

    def loss(self, choice: npt.ArrayLike) -> float:
        """Return (1/m) ‖r0 − prediction‖², in units of y²."""
        return self._loss_of(self.residual(self.leaf_values(choice)))

    def objective(self, choice: npt.ArrayLike, beta: npt.ArrayLike | None = None) -> float:
        """Return loss plus penalty, computed anew from the data.

        Parameters
        ----------
        choice
            As the formulation defines it.
        beta
            Coefficients of the trees; fixed at 1 here, so None or (n,) ones.

        Raises
        ------
        InvalidInput
            When ``choice`` is not feasible or ``beta`` is not all ones.
        """
        if beta is not None and not np.array_equal(beta, np.ones(self.data.n_trees)):
            raise InvalidInput(f"beta must be None or {self.data.n_trees} ones: it is fixed here")
        return self.loss(choice) + self.penalty(choice)

    def linear_bound(self, point: npt.ArrayLike) -> float:
        """Return the Frank–Wolfe bound at a relaxed point (mathematics.md §3).

            f(s) − Σ_i ( ⟨g_i, s_i⟩ − min over block i's choices of ⟨g_i, ·⟩ )

        f is convex on the relaxation and the linear minimum is attained at a choice, so this
        is at most the value of every feasible choice, whatever the point.

        Parameters
        ----------
        point
            A point of the relaxation (``point(choice)`` for a choice); made feasible first.
        """
        feasible = self.repaired(point)
        residual = self.residual(self.relaxed_leaf_values(feasible))
        gaps = np.empty(self.data.n_trees)
        gap = blocks.total_linear_gap(self.rule, self.data.trees, residual, feasible, gaps)
        return self._loss_of(residual) + self.relaxed_penalty(feasible) - gap

    def relaxed_objective(self, point: npt.ArrayLike) -> float:
        """Return the objective of the relaxation at a point, made feasible first."""
        feasible = self.repaired(point)
        residual = self.residual(self.relaxed_leaf_values(feasible))
        return self._loss_of(residual) + self.relaxed_penalty(feasible)

    @cached_property
    def tolerance(self) -> float:
        """Differences of the objective below this are rounding, in units of y²."""
        return 1e-12 * self.data.target_square

    def _loss_of(self, residual: FloatArray) -> float:
        return tree_kernels.squared_norm(self.data.trees, residual) / self.data.total_weight


def checked_point(given: npt.ArrayLike, size: int) -> FloatArray:
    """Return a relaxed point as (size,) float array.

    Raises
    ------
    InvalidInput
        When it has another shape or a number that is not finite.
    """
    point = finite_floats("point", given)
    if point.shape != (size,):
        raise InvalidInput(f"point must have shape ({size},), got {point.shape}")
    return point
