"""Problem (5): depths and weights of the trees together (FP §3.4)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from formulations.arrays import FloatArray, IntArray, frozen, non_negative_number
from formulations.base import checked_depths
from formulations.coefficients import CoefficientFormulation, lengths
from formulations.errors import InvalidInput
from formulations.kernels.coefficients import CoefficientRule
from formulations.kernels.layers import target_sums
from formulations.weights import LayerWeights, largest_ratio, prefix_shares


@dataclass(frozen=True, eq=False, repr=False)
class JointPruning(CoefficientFormulation):
    """Choose how deep every tree remains, and its weight: Problem (5).

        minimise over k, β   (1/m) ‖ r0 − Σ_i β_i P_i,k_i ‖² + Σ_i cost_i(k_i) + penalty(β)
        penalty = (α₂/m) ‖β‖²  (ρ = 2)   or   α₂ ‖β‖₀ + (ridge/m) ‖β‖²  (ρ = 0)

    Parameters
    ----------
    data
        What the problem is built on.
    alpha
        Weight of size, at least 0, in units of y².
    alpha2
        α₂, at least 0, in units of y² since trees predict in those of y; for ρ = 2 that of
        scikit-learn's ``Ridge(alpha)``.
    rho
        2 or 0.
    weights
        Layer weights, as for `LayerPruning`.
    ridge
        A ridge beside ρ = 0, at least 0, in units of y²; it makes bounds possible.

    Raises
    ------
    InvalidInput
        When a number is not accepted, or the weights do not fit.
    """

    kind: ClassVar[str] = "joint"

    alpha: float
    alpha2: float = 0.01
    rho: int = 2
    weights: LayerWeights = "nodes"
    ridge: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("alpha", "alpha2", "ridge"):
            object.__setattr__(self, name, non_negative_number(name, getattr(self, name)))
        require_rho(self.rho, self.ridge)
        self._share  # noqa: B018  (weights that do not fit are refused here)

    @cached_property
    def rule(self) -> CoefficientRule:
        """One column for every layer of every tree."""
        count_cost = self.alpha2 if self.rho == 0 else 0.0
        return CoefficientRule(
            choice_start=frozen(np.arange(self.data.n_trees + 1)),
            point_start=frozen(np.concatenate([[0], np.cumsum(self.data.depths)]), np.int64),
            depth=frozen(self._depth),
            square=lengths(self.data, self._prefix),
            cost=frozen(self.alpha * self._share + count_cost),
            ridge=self.alpha2 if self.rho == 2 else self.ridge,
            nonnegative=False,
        )

    def zero(self) -> IntArray:
        """Return depth 0 for every tree."""
        return np.zeros(self.data.n_trees, dtype=np.int64)

    def full(self) -> IntArray:
        """Return every tree's own depth."""
        return np.array(self.data.depths)

    def checked(self, choice: npt.ArrayLike) -> IntArray:
        """Return depths as (n,) int64; InvalidInput when they are not depths of the trees."""
        return checked_depths(choice, self.data)

    def alpha_max(self) -> float:
        """Return the α from which on descent from the empty model stays there.

        max_ik K ( ⟨r0,P_ik⟩² / (‖P_ik‖² + λ) / m − [ρ = 0] α₂ ) / Σ_{l≤k} w_il
        """
        rule, sums = self.rule, target_sums(self.data)[self._prefix]
        length = rule.square + rule.ridge
        gain = np.divide(sums**2, length, out=np.zeros_like(length), where=rule.square > 0.0)
        count_cost = self.alpha2 if self.rho == 0 else 0.0
        return largest_ratio(gain / self.data.total_weight - count_cost, self._share)

    @cached_property
    def _depth(self) -> IntArray:
        """The depth k = 1…d_i of every column."""
        return np.concatenate([np.arange(1, depth + 1) for depth in self.data.depths])

    @cached_property
    def _prefix(self) -> IntArray:
        """The place of every column among all prefixes."""
        return np.asarray(np.repeat(self.data.prefix_start[:-1], self.data.depths) + self._depth)

    @cached_property
    def _share(self) -> FloatArray:
        """Σ_{l≤k} w_il / K of every column."""
        return prefix_shares(self.data, self.weights)[self._prefix]

    def __repr__(self) -> str:
        return (
            f"JointPruning({self.data!r}, alpha={self.alpha:g}, alpha2={self.alpha2:g}, "
            f"rho={self.rho})"
        )


def require_rho(rho: int, ridge: float) -> None:
    """Check the kind of penalty on the coefficients.

    Raises
    ------
    InvalidInput
        When ``rho`` is neither 0 nor 2, or there is a ridge beside ρ = 2.
    """
    if isinstance(rho, bool) or rho not in (0, 2):
        raise InvalidInput(f"rho must be 2 (ridge) or 0 (number of trees), not {rho!r}")
    if rho == 2 and ridge != 0.0:
        raise InvalidInput(f"ridge is for rho=0; with rho=2 alpha2 is the ridge, got ridge={ridge}")
