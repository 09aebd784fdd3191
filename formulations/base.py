"""What every formulation offers to the solvers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from formulations.arrays import BoolArray, FloatArray, IntArray, PickledByFields, finite_floats
from formulations.data import PruningData
from formulations.errors import InvalidInput
from formulations.kernels import blocks
from formulations.kernels import trees as tree_kernels


@dataclass(frozen=True, eq=False)
class Formulation(PickledByFields, ABC):
    """A problem in which block i, a tree, chooses a column and a coefficient.

        minimise  (1/m) ‖r0 − Σ_i β_i P_i,c_i‖² + Σ_i cost_i(c_i, β_i)

    This is the one form of all problems. The coefficient is fixed at 1
    (`ChoiceFormulation`) or free (`CoefficientFormulation`). A formulation is frozen. Its
    *block view* (`rule`, with what `kernels.blocks` asks of it) never expands the columns.

    Attributes
    ----------
    data
        What the problem is built on.
    """

    kind: ClassVar[str]

    data: PruningData

    def __post_init__(self) -> None:
        if not isinstance(self.data, PruningData):
            raise InvalidInput(
                f"data must be PruningData (see pruning_data), not {type(self.data).__name__}"
            )

    def with_value(self, parameter: str, value: Any) -> Self:
        """Return the same problem at another value of a parameter; the data is shared."""
        return replace(self, **{parameter: value})

    def with_alpha(self, alpha: float) -> Self:
        """Return the same problem at another α; the data is shared."""
        return self.with_value("alpha", alpha)

    @property
    @abstractmethod
    def rule(self) -> Any:
        """Arrays of the block view: a NamedTuple with overloads in `kernels.blocks`."""

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
    def checked_beta(self, choice: IntArray, beta: npt.ArrayLike | None) -> FloatArray:
        """Return coefficients (n,) of a checked choice; InvalidInput when they do not fit."""

    @abstractmethod
    def price(self, choice: IntArray, beta: FloatArray) -> float:
        """Return Σ_i cost_i(c_i, β_i) of a choice that is known to be feasible."""

    def penalty(self, choice: npt.ArrayLike, beta: npt.ArrayLike | None = None) -> float:
        """Return Σ_i cost_i(c_i, β_i), in units of y²."""
        checked = self.checked(choice)
        return self.price(checked, self.checked_beta(checked, beta))

    @abstractmethod
    def point(self, choice: npt.ArrayLike, beta: npt.ArrayLike | None = None) -> FloatArray:
        """Return a choice, with its coefficients, as a point of the relaxation."""

    @abstractmethod
    def repaired(self, point: npt.ArrayLike) -> FloatArray:
        """Return a feasible point of the relaxation near the given one."""

    @abstractmethod
    def linear_bound(self, point: npt.ArrayLike) -> float:
        """Return a lower bound of the optimum, whatever the point of the relaxation."""

    @abstractmethod
    def alpha_max(self) -> float:
        """Return the α from which on descent from the empty model stays there."""

    @abstractmethod
    def kept_nodes(self, choice: npt.ArrayLike, beta: npt.ArrayLike | None = None) -> int:
        """Return the number of nodes of the kept trees, roots counted."""

    def kept_trees(self, choice: npt.ArrayLike, beta: npt.ArrayLike | None = None) -> int:
        """Return the number of trees that keep more than their root, with a coefficient."""
        checked = self.checked(choice)
        return int((self.keeps(checked) & (self.checked_beta(checked, beta) != 0.0)).sum())

    def keeps(self, choice: IntArray) -> BoolArray:
        """Return (n,) whether a feasible choice keeps more than the root of each tree."""
        return np.logical_or.reduceat(choice > 0, self.rule.choice_start[:-1])

    def leaf_values(self, choice: npt.ArrayLike, beta: npt.ArrayLike | None = None) -> FloatArray:
        """Return what each leaf of each tree predicts at a choice, (leaves, q)."""
        checked = self.checked(choice)
        coefficients = self.checked_beta(checked, beta)
        values = np.zeros((len(self.data.leaf_node), self.data.n_outputs))
        blocks.fill_all_leaves(self.rule, self.data.trees, checked, values)
        if not (coefficients == 1.0).all():
            values *= np.repeat(coefficients, np.diff(self.data.leaf_start))[:, None]
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

    def loss(self, choice: npt.ArrayLike, beta: npt.ArrayLike | None = None) -> float:
        """Return (1/m) ‖r0 − prediction‖², in units of y²."""
        return self._loss_of(self.residual(self.leaf_values(choice, beta)))

    def objective(self, choice: npt.ArrayLike, beta: npt.ArrayLike | None = None) -> float:
        """Return loss plus penalty, computed anew from the data.

        Parameters
        ----------
        choice
            As the formulation defines it.
        beta
            (n,) coefficients of the trees; may be left out where they are fixed at 1.

        Raises
        ------
        InvalidInput
            When ``choice`` is not feasible or ``beta`` does not fit.
        """
        return self.loss(choice, beta) + self.penalty(choice, beta)

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


def checked_depths(given: npt.ArrayLike, data: PruningData) -> IntArray:
    """Return a depth for every tree as (n,) int64.

    Raises
    ------
    InvalidInput
        When the shape differs, a depth is not an integer, or not between 0 and d_i.
    """
    depths = np.asarray(given)
    if depths.shape != (data.n_trees,):
        raise InvalidInput(
            f"choice must hold one depth for each of the {data.n_trees} trees, "
            f"got shape {depths.shape}"
        )
    if depths.dtype.kind not in "iu":
        raise InvalidInput(f"choice must hold integers, got {depths.dtype}")
    wrong = np.flatnonzero((depths < 0) | (depths > data.depths))
    if len(wrong):
        i = int(wrong[0])
        raise InvalidInput(
            f"choice[{i}] must lie between 0 and the tree's depth {data.depths[i]}, got {depths[i]}"
        )
    return depths.astype(np.int64)


def nodes_to_depth(data: PruningData, depths: IntArray) -> int:
    """Return the number of nodes of trees cut at given depths, roots of kept trees counted.

    Raises
    ------
    InvalidInput
        When the data comes from plain D arrays, so that nodes are not known.
    """
    if not data.node_counts_known:
        raise InvalidInput("node counts are not known for data from plain D arrays")
    return sum(
        int(sizes[:depth].sum()) + int(depth > 0)
        for sizes, depth in zip(data.layer_sizes, depths.tolist(), strict=True)
    )
