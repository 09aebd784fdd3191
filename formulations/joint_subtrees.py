"""Subtrees and weights of the trees together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from formulations.arrays import FloatArray, IntArray, frozen, non_negative_number
from formulations.base import checked_point
from formulations.coefficients import (
    FreeFormulation,
    best_dual_bound,
    checked_coefficients,
    rounding_length,
)
from formulations.joint import JointPruning, require_rho
from formulations.kernels.envelopes import C, G
from formulations.kernels.joint_subtrees import JointSubtreeRule, best_single, dual_pieces
from formulations.subtrees import SubtreePruning
from formulations.weights import NodeWeights, largest_ratio_by_prices, node_weights


@dataclass(frozen=True, eq=False, repr=False)
class JointSubtreePruning(FreeFormulation):
    """Choose where every branch of every tree ends, and the weight of every tree.

        minimise over T, β   (1/m) ‖ r0 − Σ_i β_i P_i,T_i ‖² + Σ_{i: β_i ≠ 0} cost(T_i) + penalty(β)
        penalty = (α₂/m) ‖β‖²  (ρ = 2)   or   α₂ ‖β‖₀ + (ridge/m) ‖β‖²  (ρ = 0)

    with T_i a rooted subtree of tree i, P_i,T what it predicts and cost(T) = (α/K) Σ_{v in T} w_v:
    Problem (5) with subtrees for depths. With the same node weights its optimum is never
    above that of `JointPruning`, nor above that of `SubtreePruning` with its coefficients
    penalised.

    A choice is that of `SubtreePruning`, with (n,) coefficients β; a tree of coefficient 0 is
    removed and costs nothing. The best subtree *and* coefficient of one tree, the others
    fixed, are found exactly, whatever the number of subtrees (`kernels.envelopes`), and so is
    the dual bound at a point. A descent by such updates is but a local search: exact solvers
    need all subtrees listed. Without a ridge next to nothing is proven of a point, see
    `linear_bound`.

    A point of the relaxation is (splits,): a coefficient for each split, any numbers. A
    solution's has β_i at the splits that T_i makes.

    Parameters
    ----------
    data
        What the problem is built on.
    alpha
        Weight of size, at least 0, in units of y².
    alpha2
        α₂, at least 0, in units of y² since trees predict in those of y.
    rho
        2 or 0.
    weights
        Node weights, as for `SubtreePruning`.
    ridge
        A ridge beside ρ = 0, at least 0, in units of y²; it makes bounds possible.

    Raises
    ------
    InvalidInput
        When a number is not accepted, the weights do not fit, or nodes are not known.
    """

    kind: ClassVar[str] = "joint subtrees"

    alpha: float
    alpha2: float = 0.01
    rho: int = 2
    weights: NodeWeights = "nodes"
    ridge: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("alpha", "alpha2", "ridge"):
            object.__setattr__(self, name, non_negative_number(name, getattr(self, name)))
        require_rho(self.rho, self.ridge)
        self.unweighted  # noqa: B018  (what does not fit is refused here)

    @cached_property
    def unweighted(self) -> SubtreePruning:
        """The problem of the same size penalty whose coefficients are all 1."""
        return SubtreePruning(self.data, self.alpha, self.weights)

    @cached_property
    def by_layers(self) -> JointPruning:
        """The problem restricted to subtrees that end at one depth: of the same costs."""
        sizes = self.data.layer_sizes
        starts = [np.cumsum(np.append(1, size)) for size in sizes]
        weights = np.split(node_weights(self.data, self.weights), self.data.node_start[1:-1])
        sums = [
            np.add.reduceat(weight, start[:-1]) if len(start) > 1 else np.empty(0)
            for weight, start in zip(weights, starts, strict=True)
        ]
        return JointPruning(self.data, self.alpha, self.alpha2, self.rho, sums, self.ridge)

    def of_depths(self, depths: IntArray) -> IntArray:
        """Return the choice that cuts every tree at a depth (n,)."""
        layer = [np.repeat(np.arange(len(s) + 1), np.append(1, s)) for s in self.data.layer_sizes]
        deepest = depths[self._tree]
        return ((np.concatenate(layer) <= deepest) & (deepest > 0)).astype(np.int64)

    @cached_property
    def rule(self) -> JointSubtreeRule:
        """Arrays of the block view."""
        fixed = self.unweighted.rule
        return JointSubtreeRule(
            choice_start=fixed.choice_start,
            point_start=fixed.point_start,
            fixed=fixed,
            ridge=self.alpha2 if self.rho == 2 else self.ridge,
            count_cost=self.alpha2 if self.rho == 0 else 0.0,
            short=rounding_length(fixed.square),
            rounding=self.tolerance,
        )

    @cached_property
    def dual_rule(self) -> JointSubtreeRule:
        """The rule without the squares: it has the least c − ⟨u,P_T⟩² / (λ m) of a tree."""
        fixed = self.rule.fixed
        lines = fixed._replace(square=frozen(np.zeros(len(fixed.square))))
        return self.rule._replace(fixed=lines, short=-1.0)

    def zero(self) -> IntArray:
        """Return the choice without any node."""
        return self.unweighted.zero()

    def full(self) -> IntArray:
        """Return the choice with all nodes of trees that have a split."""
        return self.unweighted.full()

    def checked(self, choice: npt.ArrayLike) -> IntArray:
        """Return marks of kept nodes as (nodes,) int64; InvalidInput when they are no subtrees."""
        return self.unweighted.checked(choice)

    def checked_beta(self, choice: IntArray, beta: npt.ArrayLike | None) -> FloatArray:
        """Return coefficients as (n,) floats.

        Raises
        ------
        InvalidInput
            When they are missing, have another shape, are not finite, or not 0 for a tree of
            which nothing is kept.
        """
        return checked_coefficients(beta, ~self.keeps(choice))

    def price(self, choice: IntArray, beta: FloatArray) -> float:
        """Return (λ/m) ‖β‖² and the costs of the trees with a coefficient, in units of y²."""
        rule = self.rule
        ridge = rule.ridge / self.data.total_weight * float(beta @ beta)
        used = beta != 0.0
        sizes = float(rule.fixed.cost @ np.where(used[self._tree], choice, 0))
        return ridge + sizes + rule.count_cost * int(used.sum())

    def point(self, choice: npt.ArrayLike, beta: npt.ArrayLike | None = None) -> FloatArray:
        """Return the coefficients of all splits (splits,) of a choice."""
        kept = self.checked(choice)
        coefficients = self.checked_beta(kept, beta)
        return self.unweighted.point(kept) * np.repeat(coefficients, np.diff(self.rule.point_start))

    def repaired(self, point: npt.ArrayLike) -> FloatArray:
        """Return the point: any coefficients will do."""
        return checked_point(point, int(self.rule.point_start[-1]))

    def linear_bound(self, point: npt.ArrayLike) -> float:
        """Return the dual bound at a point, see `CoefficientFormulation.linear_bound`.

            L(u) = ( 2⟨r0,u⟩ − ‖u‖² ) / m − Σ_i max(0, max_T ⟨u,P_T⟩² / (λ m) − cost(T) − [ρ=0] α₂)

        The maximum over all subtrees is exact: without the squares, those that are best for
        some coefficient are nested, and one pass finds them all. Besides, and without a ridge
        only, a solution costs at least what the smallest subtree does, or is the empty model.
        """
        feasible = self.repaired(point)
        least = self._least_of_nothing_and_one
        rule, data = self.rule, self.data
        if rule.ridge == 0.0:
            return least
        residual = self.residual(self.relaxed_leaf_values(feasible))
        start = np.zeros(data.n_trees + 1, dtype=np.int64)
        pieces = dual_pieces(self.dual_rule, data.trees, residual, start)
        shares = pieces[:, G] ** 2 * (data.total_weight / rule.ridge)
        used = shares > 0.0
        cost = np.where(used, pieces[:, C] + rule.count_cost, 0.0)

        def gains(square: float) -> float:
            each = np.maximum.reduceat(square * shares - cost, start[:-1])
            return float(np.maximum(each, 0.0).sum())

        return max(best_dual_bound(data, residual, gains), least)

    def alpha_max(self) -> float:
        """Return the α from which on descent from the empty model stays there.

        max over subtrees of ( ⟨r0,P_T⟩² / (‖P_T‖² + λ) / m − [ρ = 0] α₂ ) / (share of T in K)
        """
        target = self.data.row_weight[:, None] * self.data.target
        rule = self.with_alpha(1.0).rule
        return largest_ratio_by_prices(
            lambda price: best_single(rule, self.data.trees, target, price)[1:]
        )

    def price_of_nothing(self, over: str) -> float:
        """Return a value of a parameter from which on using no tree is optimal.

        One tree gains what `alpha_max` looks at, and two or more at most the whole loss, at the
        price of the two smallest subtrees.

        Parameters
        ----------
        over
            ``"alpha"``, or ``"alpha2"`` where ρ = 0.
        """
        free = self.with_value(over, 0.0)
        unit = max(self.data.target_square, np.finfo(float).tiny)  # differences keep their digits
        base = free.least_prices[:2]
        rise = (self.with_value(over, unit).least_prices[:2] - base) / unit
        target = self.data.row_weight[:, None] * self.data.target
        if over == "alpha":
            top = self.alpha_max()
        else:
            top = best_single(free.rule, self.data.trees, target, 1.0)[0]
        if len(rise) == 2 and rise.sum() > 0.0:
            loss = self.data.target_square
            top = max(top, (loss - float(base.sum())) / float(rise.sum()))
        return top

    @property
    def largest_squares(self) -> float:
        """Σ_i ‖P_i‖² of the whole trees: a ridge as large as this at least halves them."""
        return float(self.rule.fixed.square[self.rule.fixed.child < 0].sum())

    @cached_property
    def least_prices(self) -> FloatArray:
        """Prices of the smallest subtrees of the trees that have a split, the cheapest first."""
        rule = self.rule
        above = np.flatnonzero(self.data.parent == 0)
        prices = np.bincount(self._tree[above], rule.fixed.cost[above], minlength=self.data.n_trees)
        return np.sort(prices[np.unique(self._tree[above])] + rule.count_cost)

    def kept_nodes(self, choice: npt.ArrayLike, beta: npt.ArrayLike | None = None) -> int:
        """Return the number of nodes of the trees with a coefficient, roots counted."""
        kept = self.checked(choice)
        return int(kept[self.checked_beta(kept, beta)[self._tree] != 0.0].sum())

    @property
    def _least_of_nothing_and_one(self) -> float:
        """The loss of the empty model, or the price of the smallest subtree, if that is less."""
        return min(self.data.target_square, float(self.least_prices.min(initial=np.inf)))

    @cached_property
    def _tree(self) -> IntArray:
        """(nodes,) the tree of each node."""
        return np.repeat(np.arange(self.data.n_trees), np.diff(self.data.node_start))

    def __repr__(self) -> str:
        return (
            f"JointSubtreePruning({self.data!r}, alpha={self.alpha:g}, alpha2={self.alpha2:g}, "
            f"rho={self.rho})"
        )
