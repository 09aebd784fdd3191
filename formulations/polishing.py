"""Problem (2): new weights for trees whose depths are settled (FP §2.4)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from formulations.arrays import IntArray, frozen, non_negative_number
from formulations.base import checked_depths
from formulations.coefficients import CoefficientFormulation, lengths
from formulations.errors import InvalidInput
from formulations.joint import require_rho
from formulations.kernels.coefficients import CoefficientRule


@dataclass(frozen=True, eq=False, repr=False)
class Polishing(CoefficientFormulation):
    """Weigh the trees of a pruned ensemble anew: Problem (2).

        ridge (ρ = 2):        (1/m) ( ‖ r0 − Σ_i β_i t_i ‖² + α₂ ‖β‖² )
        best subset (ρ = 0):  (1/m) ‖ r0 − Σ_i β_i t_i ‖² + α₂ ‖β‖₀     or   ‖β‖₀ ≤ n_trees

    with t_i the prediction of tree i at the depth of the choice. α₂ of ρ = 2 is that of
    scikit-learn's ``Ridge(alpha=α₂, fit_intercept=False)``.

    Parameters
    ----------
    data
        What the problem is built on.
    choice
        (n,) depth of each tree, 0 for removed ones.
    alpha2
        α₂, at least 0, in units of y² since trees predict in those of y. Not used where
        ``n_trees`` is given.
    rho
        2 or 0.
    n_trees
        For ρ = 0: how many trees may be used, at least 1, instead of a price for each.
    nonnegative
        Whether β ≥ 0.
    intercept
        Whether a constant is fitted as well, without a penalty.
    ridge
        A ridge beside ρ = 0, at least 0, in units of y².

    Raises
    ------
    InvalidInput
        When a number is not accepted, or the choice keeps no tree.

    Warns
    -----
    UserWarning
        When ``n_trees`` is above the number of kept trees: all may be used then.
    """

    kind: ClassVar[str] = "polishing"

    choice: npt.ArrayLike
    alpha2: float = 0.01
    rho: int = 2
    n_trees: int | None = None
    nonnegative: bool = False
    intercept: bool = False
    ridge: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "choice", frozen(checked_depths(self.choice, self.data)))
        if not np.any(self._depths):
            raise InvalidInput("choice keeps no tree: there is nothing to polish")
        for name in ("alpha2", "ridge"):
            object.__setattr__(self, name, non_negative_number(name, getattr(self, name)))
        require_rho(self.rho, self.ridge)
        for name in ("nonnegative", "intercept"):
            if not isinstance(getattr(self, name), bool):
                raise InvalidInput(f"{name} must be True or False, not {getattr(self, name)!r}")
        if self.n_trees is not None:
            self._check_number(self.n_trees)

    @cached_property
    def rule(self) -> CoefficientRule:
        """One column for every kept tree."""
        kept = self._depths > 0
        prefixes = (self.data.prefix_start[:-1] + self._depths)[kept]
        priced = self.rho == 0 and self.n_trees is None
        return CoefficientRule(
            choice_start=frozen(np.arange(self.data.n_trees + 1)),
            point_start=frozen(np.concatenate([[0], np.cumsum(kept)]), np.int64),
            depth=frozen(self._depths[kept]),
            square=lengths(self.data, prefixes),
            cost=frozen(np.full(int(kept.sum()), self.alpha2 if priced else 0.0)),
            ridge=self.alpha2 if self.rho == 2 else self.ridge,
            nonnegative=self.nonnegative,
        )

    @property
    def most_trees(self) -> int | None:
        """How many trees may be used."""
        return self.n_trees

    @property
    def centred(self) -> bool:
        """Whether there is an intercept."""
        return self.intercept

    def zero(self) -> IntArray:
        """Return the choice: it is settled, and a tree is removed by its coefficient."""
        return np.array(self._depths)

    def full(self) -> IntArray:
        """Return the choice."""
        return np.array(self._depths)

    def checked(self, choice: npt.ArrayLike) -> IntArray:
        """Return the depths as (n,) int64.

        Raises
        ------
        InvalidInput
            When they are not those that the problem was made for.
        """
        depths = checked_depths(choice, self.data)
        if not np.array_equal(depths, self._depths):
            raise InvalidInput("choice must be the one the problem was made for")
        return depths

    def alpha_max(self) -> float:
        """Raise InvalidInput: the size of the trees is settled."""
        raise InvalidInput("polishing has no alpha; its parameters are alpha2 and n_trees")

    @property
    def _depths(self) -> IntArray:
        return np.asarray(self.choice)

    def _check_number(self, n_trees: int) -> None:
        if self.rho != 0:
            raise InvalidInput(f"n_trees is for rho=0 (best subset), got rho={self.rho}")
        if isinstance(n_trees, bool) or not isinstance(n_trees, int | np.integer) or n_trees < 1:
            raise InvalidInput(f"n_trees must be an integer of at least 1, not {n_trees!r}")
        kept = int((self._depths > 0).sum())
        if n_trees > kept:
            warnings.warn(
                f"n_trees={n_trees} is above the number of kept trees: all {kept} may be used",
                stacklevel=4,
            )

    def __repr__(self) -> str:
        limit = f"alpha2={self.alpha2:g}" if self.n_trees is None else f"n_trees={self.n_trees}"
        return f"Polishing({self.data!r}, rho={self.rho}, {limit})"
