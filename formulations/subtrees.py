"""Subtree pruning: every tree keeps the rooted subtree that serves the ensemble best."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from formulations.arrays import FloatArray, IntArray, frozen
from formulations.base import checked_point
from formulations.choices import MOST_LISTED, ChoiceFormulation
from formulations.errors import InvalidInput, TooManyChoices
from formulations.kernels.subtree_lists import count_subtrees, subtrees_within
from formulations.kernels.subtree_relaxation import all_gradients
from formulations.kernels.subtrees import SubtreeRule, are_subtrees, largest_gain
from formulations.rewritings.canonical import CanonicalForm
from formulations.splits import Splits
from formulations.weights import NodeWeights, largest_ratio_by_prices, node_weights


@dataclass(frozen=True, eq=False, repr=False)
class SubtreePruning(ChoiceFormulation):
    """Choose where every branch of every tree ends.

        minimise over z   (1/m) ‖ r0 − Σ_i Σ_v (a_v − a_parent) z_v 1[row in v] ‖²
                          + (α/K) Σ_v w_v z_v
        z_v ∈ {0, 1},  z_v ≤ z_parent,  equal for siblings

    with a_v the value γ_i (μ_v − μ_root) of node v. Depth layers are the special case in which
    all nodes of a layer share one z, so with the same node weights the optimum is never above
    that of `LayerPruning`; and the block update is as cheap.

    A choice is (nodes,) integers, 1 for a kept node: the nodes of all trees, one tree after
    the other, in level order. A kept tree keeps its root, and a node's children together. A
    point of the relaxation is (splits,): z of the children of every inner node.

    Parameters
    ----------
    data
        What the problem is built on.
    alpha
        At least 0, in units of y².
    weights
        Node weights w: ``"nodes"`` (1 each), ``"leaves"`` (so that Σ w z is the number of
        leaves of the kept trees) or one (nodes_i,) array of non-negative numbers per tree, the
        root's not used. K is their sum.

    Raises
    ------
    InvalidInput
        When α is negative or not finite, the weights do not fit, or nodes are not known.
    """

    kind: ClassVar[str] = "subtrees"

    weights: NodeWeights = "nodes"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.data.node_counts_known:
            raise InvalidInput(
                "subtree pruning needs the trees, but this data comes from plain D arrays"
            )
        self._share  # noqa: B018  (weights that do not fit are refused here)

    @cached_property
    def rule(self) -> SubtreeRule:
        """Arrays of the block view."""
        return self._rule_at(self.alpha)

    def zero(self) -> IntArray:
        """Return the choice without any node."""
        return np.zeros(len(self.data.parent), dtype=np.int64)

    def full(self) -> IntArray:
        """Return the choice with all nodes of trees that have a split."""
        return np.repeat(
            (np.diff(self._splits.start) > 0).astype(np.int64), np.diff(self.data.node_start)
        )

    def checked(self, choice: npt.ArrayLike) -> IntArray:
        """Return marks of kept nodes as (nodes,) int64.

        Raises
        ------
        InvalidInput
            When the shape differs, a mark is neither 0 nor 1, or the kept nodes of a tree are
            not a subtree: without a parent, without a sibling, or a root alone.
        """
        marks = np.asarray(choice)
        nodes = len(self.data.parent)
        if marks.shape != (nodes,):
            raise InvalidInput(
                f"choice must hold one mark for each of the {nodes} nodes, got shape {marks.shape}"
            )
        if marks.dtype.kind not in "iub":
            raise InvalidInput("choice must hold 0 or 1, or booleans")
        kept = marks.astype(np.int64)
        if are_subtrees(self.data.trees, kept):
            return kept
        if np.any((marks != 0) & (marks != 1)):
            raise InvalidInput("choice must hold 0 or 1, or booleans")
        made = kept[self._splits.first_child]
        expected = self._splits.kept_by(made > 0)
        orphan = np.flatnonzero(made > kept[self._splits.node])
        if len(orphan):
            node = int(self._splits.node[orphan[0]])
            raise InvalidInput(f"choice keeps the children of node {node}, but not the node")
        wrong = kept != expected
        apart = np.flatnonzero(wrong & (self.data.parent >= 0))
        if len(apart):
            raise InvalidInput(
                f"choice[{apart[0]}] differs from its sibling: they are kept together"
            )
        if wrong.any():
            node = int(np.flatnonzero(wrong)[0])
            raise InvalidInput(f"choice[{node}], a root, differs from its children")
        return kept

    def price(self, choice: IntArray, beta: FloatArray) -> float:
        """Return (α/K) Σ w_v over the kept nodes, in units of y²."""
        return float(self.alpha * self._share[choice > 0].sum())

    def point(self, choice: npt.ArrayLike, beta: npt.ArrayLike | None = None) -> FloatArray:
        """Return z (splits,) of a choice."""
        kept = self.checked(choice)
        return kept[self._splits.first_child].astype(np.float64)

    def repaired(self, point: npt.ArrayLike) -> FloatArray:
        """Return z with entries in [0, 1], none above that of the split above."""
        z = np.clip(checked_point(point, len(self._splits.node)), 0.0, 1.0)
        for splits in self._splits.generations:
            z[splits] = np.minimum(z[splits], z[self._splits.parent[splits]])
        return z

    def relaxed_penalty(self, point: FloatArray) -> float:
        """Return (α/K) Σ w z, in units of y²."""
        return float(self._split_cost @ point)

    def rounded(self, point: FloatArray) -> IntArray:
        """Return the nodes whose split has a z above ½."""
        return self._splits.kept_by(self.repaired(point) > 0.5)

    def count_block_choices(self, i: int) -> float:
        """Return the number of rooted subtrees of tree i; a float, since it can be large."""
        return count_subtrees(self._splits.parents_within(i))

    def block_choices(self, i: int) -> npt.NDArray[np.int64]:
        """Return all rooted subtrees of tree i as marks (c, nodes_i), the empty one first."""
        return self._listed(i, np.zeros(len(self._splits.parents_within(i))), np.inf)

    def block_costs(self, i: int, choices: IntArray) -> FloatArray:
        """Return (α/K) Σ w_v of some subtrees (c, nodes_i) of tree i."""
        nodes = slice(int(self.data.node_start[i]), int(self.data.node_start[i + 1]))
        return np.asarray(self.alpha * (choices @ self._share[nodes]))

    def mixture(self, tree: IntArray, choices: IntArray, weights: FloatArray) -> FloatArray:
        """Return z: for every split, the weight of the choices that make it."""
        point = np.zeros(len(self._splits.node))
        for i, choice, weight in zip(tree.tolist(), choices, weights, strict=True):
            begin, end = self._splits.start[i], self._splits.start[i + 1]
            first = self._splits.first_child[begin:end] - self.data.node_start[i]
            point[begin:end] += weight * choice[first]
        return self.repaired(point)

    def parts(self, point: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
        """Return nested subtrees that mix to a point: splits with z ≥ t, for the values t."""
        feasible = self.repaired(point)
        width = int(np.diff(self.data.node_start).max())
        trees: list[int] = []
        choices: list[IntArray] = []
        weights: list[float] = []
        for i in range(self.data.n_trees):
            z = feasible[self._splits.start[i] : self._splits.start[i + 1]]
            levels = np.unique(np.append(z, 0.0))[::-1]
            gaps = np.append(1.0, levels[:-1]) - levels
            for threshold, weight in zip([2.0, *levels[:-1]], gaps.tolist(), strict=True):
                if weight > 0.0:
                    marks = self._splits.kept_within(i, (z >= threshold)[None])[0]
                    trees.append(i)
                    choices.append(np.pad(marks, (0, width - len(marks))))
                    weights.append(weight)
        return np.array(trees), np.stack(choices), np.array(weights)

    def surviving_choices(self, point: FloatArray, value: float) -> list[IntArray]:
        """Return, per tree, the subtrees that can be in a solution better than ``value``.

        Raises
        ------
        TooManyChoices
            When there are more of them than can be listed.
        """
        feasible = self.repaired(point)
        residual = self.residual(self.relaxed_leaf_values(feasible))
        gradient = np.empty(len(feasible))
        all_gradients(self.rule, self.data.trees, residual, gradient)
        # Rounding can only let more survive.
        excess = max(value + self.tolerance - self.linear_bound(feasible), 0.0)
        starts = self._splits.start
        listed: list[IntArray] = []
        open_count = 0
        for i in range(self.data.n_trees):
            listed.append(self._listed(i, gradient[starts[i] : starts[i + 1]], excess))
            open_count += len(listed[-1]) if len(listed[-1]) > 1 else 0
            if open_count > MOST_LISTED:
                raise TooManyChoices(f"more than {MOST_LISTED:,} subtrees are left")
        return listed

    def alpha_max(self) -> float:
        """Return max over subtrees of (loss that one alone saves) / (its share of K).

        From this α on, descent from the empty model stays there.
        """
        return self._largest_ratio(linear=False)

    def alpha_max_certified(self) -> float:
        """Return max over subtrees of (slope of the loss toward one) / (its share of K).

        From this α on the empty model is optimal for the relaxation, hence proven optimal.
        """
        return self._largest_ratio(linear=True)

    def kept_nodes(self, choice: npt.ArrayLike, beta: npt.ArrayLike | None = None) -> int:
        """Return the number of kept nodes, roots of kept trees counted."""
        return int(self.checked(choice).sum())

    def canonical(self) -> CanonicalForm:
        """Return the problem with one binary per split."""
        lower = np.flatnonzero(self._splits.parent >= 0)
        return CanonicalForm(
            data=self.data,
            target=self.data.target,
            trees=np.arange(self.data.n_trees),
            tables=tuple(self._splits.leaf_steps(i) for i in range(self.data.n_trees)),
            cost=self._split_cost,
            upper=self._splits.parent[lower],
            lower=lower,
        )

    def _rule_at(self, alpha: float) -> SubtreeRule:
        return SubtreeRule(
            choice_start=self.data.node_start,
            point_start=self._splits.start,
            child=self._splits.child,
            split=self._splits.own,
            cost=frozen(alpha * self._share),
            weight=self._splits.weight,
            square=self._splits.square,
            reach=self._splits.reach,
        )

    def _largest_ratio(self, linear: bool) -> float:
        weighted = self.data.row_weight[:, None] * self.data.target
        rule = self._rule_at(1.0)
        return largest_ratio_by_prices(
            lambda price: largest_gain(rule, self.data.trees, weighted, price, linear)[1:]
        )

    @property
    def _splits(self) -> Splits:
        return self.data.splits

    def _listed(self, i: int, gradient: FloatArray, excess: float) -> npt.NDArray[np.int64]:
        found = subtrees_within(self._splits.parents_within(i), gradient, excess, MOST_LISTED)
        if found is None:
            raise TooManyChoices(f"more than {MOST_LISTED:,} subtrees of tree {i} are left")
        return self._splits.kept_within(i, found)

    @cached_property
    def _share(self) -> FloatArray:
        """w_v / K of every node, 0 at a root."""
        weights = node_weights(self.data, self.weights)
        total = weights.sum()
        return np.asarray(frozen(weights / total if total > 0.0 else weights))

    @cached_property
    def _split_cost(self) -> FloatArray:
        """(splits,) what making each split costs, in units of y²."""
        cost = np.zeros(len(self._splits.node))
        inner = self._splits.above >= 0
        np.add.at(cost, self._splits.above[inner], self.alpha * self._share[inner])
        return frozen(cost)

    def __repr__(self) -> str:
        weights = self.weights if isinstance(self.weights, str) else "given arrays"
        return f"SubtreePruning({self.data!r}, alpha={self.alpha:g}, weights={weights!r})"
