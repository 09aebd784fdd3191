"""Problems whose coefficients are fixed: every tree chooses one of its columns."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from formulations.arrays import FloatArray, IntArray, non_negative_number
from formulations.base import Formulation
from formulations.errors import InvalidInput
from formulations.kernels import blocks
from formulations.rewritings.canonical import CanonicalForm

# Choices of single blocks that are listed together, as columns with a Gram matrix: 3 GB.
MOST_LISTED = 20_000


@dataclass(frozen=True, eq=False)
class ChoiceFormulation(Formulation):
    """A problem in which all coefficients are 1.

        minimise  (1/m) ‖r0 − Σ_i P_i,c_i‖² + Σ_i cost_i(c_i)

    Its relaxation lets every block mix its choices. Two more views serve the solvers:
    explicit columns of some choices (`ChoiceColumns`), and the *canonical view*
    (`canonical`), a least-squares problem in binaries for generic engines.

    Attributes
    ----------
    alpha
        Weight of the size of the pruned ensemble, at least 0, in units of y².
    """

    alpha: float

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "alpha", non_negative_number("alpha", self.alpha))

    def checked_beta(self, choice: IntArray, beta: npt.ArrayLike | None) -> FloatArray:
        """Return ones.

        Raises
        ------
        InvalidInput
            When coefficients are given that are not all 1.
        """
        ones = np.ones(self.data.n_trees)
        if beta is not None and not np.array_equal(beta, ones):
            raise InvalidInput(f"beta must be None or {self.data.n_trees} ones: it is fixed here")
        return ones

    @abstractmethod
    def relaxed_penalty(self, point: FloatArray) -> float:
        """Return the linear cost of a relaxed point, in units of y²."""

    @abstractmethod
    def rounded(self, point: FloatArray) -> IntArray:
        """Return the nearest choice to a relaxed point."""

    @abstractmethod
    def count_block_choices(self, i: int) -> float:
        """Return the number of choices of block i; a float, since it can be large."""

    @abstractmethod
    def block_choices(self, i: int) -> npt.NDArray[np.int64]:
        """Return all choices of block i, one a row, the empty one first.

        Raises
        ------
        TooManyChoices
            When there are more than can be listed.
        """

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
    def parts(self, point: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
        """Return choices whose mixture is a feasible point: the inverse of `mixture`.

        Returns
        -------
        tree, choices, weights
            (c,), (c, width), (c,), sorted by tree; all weights are above 0.
        """

    @abstractmethod
    def surviving_choices(self, point: FloatArray, value: float) -> list[IntArray]:
        """Return, per block, the choices that can be part of a solution better than ``value``.

        With L the Frank–Wolfe bound at ``point`` and g the gradient there, every feasible
        choice c has an objective of at least L + Σ_i ( g_i,c_i − min g_i ), since f is convex
        and at least its linearisation. All terms are at least 0, so a choice of block i with
        L + g_i,c − min g_i > value is in no solution of at most that value. The bound must be
        that of the very point where g is taken.

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
    def alpha_max_certified(self) -> float:
        """Return the α from which on the empty model is proven optimal."""

    @abstractmethod
    def canonical(self) -> CanonicalForm:
        """Return the problem as least squares in ordered binaries."""

    def count_choices(self) -> float:
        """Return the number of feasible choices; a float, since it can be large."""
        return float(np.prod([self.count_block_choices(i) for i in range(self.data.n_trees)]))

    def linear_bound(self, point: npt.ArrayLike) -> float:
        """Return the Frank–Wolfe bound at a relaxed point.

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
