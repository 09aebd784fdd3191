"""Problem (1): pruning depth layers (FP §2.2)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from formulations.arrays import FloatArray, IntArray, frozen
from formulations.base import checked_depths, checked_point, nodes_to_depth
from formulations.choices import ChoiceFormulation
from formulations.kernels.layers import (
    LayerRule,
    add_deeper,
    all_prefix_sums,
    stop_rises,
    target_sums,
)
from formulations.rewritings.canonical import CanonicalForm
from formulations.weights import LayerWeights, largest_ratio, prefix_shares


@dataclass(frozen=True, eq=False, repr=False)
class LayerPruning(ChoiceFormulation):
    """Choose how deep every tree remains: Problem (1) of the ForestPrune paper.

        minimise over z   (1/m) ‖ r0 − Σ_i γ_i D_i z_i ‖²  +  (α/K) Σ_i Σ_k w_ik z_ik
        z_ik ∈ {0, 1},  z_ik ≥ z_i,k+1

    A choice is (n,) integers, the depth k_i ∈ {0…d_i} of each tree, 0 for a tree that is
    removed. A point of the relaxation is (Σ d_i,): the z of all trees, one tree after the
    other.

    Parameters
    ----------
    data
        What the problem is built on.
    alpha
        At least 0, in units of y²: multiply by `PruningData.y_variance` an α that is meant
        for a standardised response.
    weights
        Layer weights w: ``"nodes"`` (the number of nodes of the layer), ``"depth"`` (1 each)
        or one (d_i,) array of non-negative numbers per tree. K is their normaliser, see
        `formulations.weights.layer_weights`.

    Raises
    ------
    InvalidInput
        When α is negative or not finite, or the weights do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> from forestprune import LayerPruning, PruningData
    >>> D = [np.array([[1.0, 0.5], [-1.0, 0.0], [0.0, 0.25]])]
    >>> problem = LayerPruning(PruningData.from_layers(D, [1.5, -1.0, 0.25]), 0.1, "depth")
    >>> round(problem.objective([2]), 6)
    0.1
    """

    kind: ClassVar[str] = "layers"

    weights: LayerWeights = "nodes"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._prefix_share  # noqa: B018  (weights that do not fit are refused here)

    @cached_property
    def rule(self) -> LayerRule:
        """Arrays of the block view."""
        return LayerRule(
            choice_start=frozen(np.arange(self.data.n_trees + 1)),
            point_start=self._layer_start,
            prefix_start=self.data.prefix_start,
            product_start=self.data.product_start,
            products=self.data.prefix_products,
            cost=frozen(self.alpha * self._prefix_share),
        )

    def zero(self) -> IntArray:
        """Return depth 0 for every tree."""
        return np.zeros(self.data.n_trees, dtype=np.int64)

    def full(self) -> IntArray:
        """Return every tree's own depth."""
        return np.array(self.data.depths)

    def checked(self, choice: npt.ArrayLike) -> IntArray:
        """Return depths as (n,) int64.

        Raises
        ------
        InvalidInput
            When the shape differs, a depth is not an integer, or not between 0 and d_i.
        """
        return checked_depths(choice, self.data)

    def price(self, choice: IntArray, beta: FloatArray) -> float:
        """Return (α/K) Σ_i Σ_{k ≤ k_i} w_ik, in units of y²."""
        prefixes = self.data.prefix_start[:-1] + choice
        return float(self.alpha * self._prefix_share[prefixes].sum())

    def point(self, choice: npt.ArrayLike, beta: npt.ArrayLike | None = None) -> FloatArray:
        """Return z (Σ d_i,) of a choice."""
        depths = self.checked(choice)
        return (self._layer_number <= np.repeat(depths, self.data.depths)).astype(np.float64)

    def repaired(self, point: npt.ArrayLike) -> FloatArray:
        """Return z with entries in [0, 1] that do not rise inside a tree."""
        z = np.clip(checked_point(point, int(self._layer_start[-1])), 0.0, 1.0)
        stop_rises(self._layer_start, z)
        return z

    def relaxed_penalty(self, point: FloatArray) -> float:
        """Return (α/K) Σ w z, in units of y²."""
        return float(self._layer_cost @ point)

    def rounded(self, point: FloatArray) -> IntArray:
        """Return the depth up to which z is above ½, for each tree."""
        kept = self.repaired(point) > 0.5
        total = np.concatenate([[0], np.cumsum(kept)])
        return np.diff(total[self._layer_start])

    def count_block_choices(self, i: int) -> float:
        """Return d_i + 1."""
        return float(self.data.depths[i] + 1)

    def block_choices(self, i: int) -> npt.NDArray[np.int64]:
        """Return the depths 0…d_i, (d_i + 1, 1)."""
        return np.arange(self.data.depths[i] + 1)[:, None]

    def block_costs(self, i: int, choices: IntArray) -> FloatArray:
        """Return (α/K) Σ_{l≤k} w_il of some depths (c, 1) of tree i."""
        return np.asarray(self.rule.cost[self.data.prefix_start[i] + choices[:, 0]])

    def mixture(self, tree: IntArray, choices: IntArray, weights: FloatArray) -> FloatArray:
        """Return z: in layer k, the weight of the choices at least as deep."""
        point = np.zeros(self._layer_start[-1])
        deep = choices[:, 0] > 0
        np.add.at(point, self._layer_start[tree[deep]] + choices[deep, 0] - 1, weights[deep])
        add_deeper(self._layer_start, point)
        return self.repaired(point)

    def parts(self, point: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
        """Return the depths whose mixture is a relaxed point: s_ik = z_ik − z_i,k+1 > 0."""
        begins = self.data.prefix_start[:-1]
        padded = np.ones(self.data.prefix_start[-1])
        padded[np.delete(np.arange(len(padded)), begins)] = point
        weights = padded - np.append(padded[1:], 0.0)
        ends = self.data.prefix_start[1:] - 1
        weights[ends] = padded[ends]
        used = np.flatnonzero(weights > 0.0)
        tree = np.repeat(np.arange(self.data.n_trees), self.data.depths + 1)[used]
        return tree, (used - begins[tree])[:, None], weights[used]

    def surviving_choices(self, point: FloatArray, value: float) -> list[IntArray]:
        """Return, per tree, the depths that can be part of a solution better than ``value``."""
        feasible = self.repaired(point)
        residual = self.residual(self.relaxed_leaf_values(feasible))
        sums = np.zeros(self.data.prefix_start[-1])
        all_prefix_sums(self.data.trees, residual, self.data.prefix_start, sums)
        gradient = self.rule.cost - 2.0 * sums / self.data.total_weight
        lowest = np.minimum.reduceat(gradient, self.data.prefix_start[:-1])
        excess = gradient - np.repeat(lowest, self.data.depths + 1)
        # Rounding can only let more survive.
        kept = self.linear_bound(feasible) + excess <= value + self.tolerance
        kept |= excess == 0.0
        return [
            np.flatnonzero(kept[begin:end])[:, None]
            for begin, end in zip(
                self.data.prefix_start[:-1], self.data.prefix_start[1:], strict=True
            )
        ]

    def alpha_max(self) -> float:
        """Return max_ik K (2⟨r0,P_ik⟩ − ‖P_ik‖²) / (m Σ_{l≤k} w_il), at least 0.

        From this α on, descent from the empty model stays there.
        """
        gain = 2.0 * self._target_sums - self.data.prefix_squares
        return largest_ratio(gain / self.data.total_weight, self._prefix_share)

    def alpha_max_certified(self) -> float:
        """Return max_ik 2 K ⟨r0,P_ik⟩ / (m Σ_{l≤k} w_il), at least 0.

        From this α on the empty model is optimal for the relaxation, hence proven optimal.
        """
        return largest_ratio(2.0 * self._target_sums / self.data.total_weight, self._prefix_share)

    def kept_nodes(self, choice: npt.ArrayLike, beta: npt.ArrayLike | None = None) -> int:
        """Return the number of nodes of the kept trees, roots counted.

        Raises
        ------
        InvalidInput
            When the data comes from plain D arrays, so that nodes are not known.
        """
        return nodes_to_depth(self.data, self.checked(choice))

    def canonical(self) -> CanonicalForm:
        """Return the problem with one binary z_ik per layer."""
        inner = np.ones(self._layer_start[-1], dtype=np.bool_)
        inner[self._layer_start[:-1][self.data.depths > 0]] = False
        lower = np.flatnonzero(inner)
        return CanonicalForm(
            data=self.data,
            target=self.data.target,
            trees=np.arange(self.data.n_trees),
            tables=tuple(self._leaf_steps(i) for i in range(self.data.n_trees)),
            cost=self._layer_cost,
            upper=lower - 1,
            lower=lower,
        )

    @cached_property
    def _prefix_share(self) -> FloatArray:
        return prefix_shares(self.data, self.weights)

    @cached_property
    def _layer_start(self) -> IntArray:
        return frozen(np.concatenate([[0], np.cumsum(self.data.depths)]), np.int64)

    @cached_property
    def _layer_number(self) -> IntArray:
        """The layer k = 1…d_i of every entry of z."""
        return np.concatenate([np.arange(1, depth + 1) for depth in self.data.depths])

    @cached_property
    def _layer_cost(self) -> FloatArray:
        prefixes = np.repeat(self.data.prefix_start[:-1], self.data.depths) + self._layer_number
        share = self._prefix_share
        return np.asarray(frozen(self.alpha * (share[prefixes] - share[prefixes - 1])))

    @cached_property
    def _target_sums(self) -> FloatArray:
        """⟨r0, P_ik⟩ of all prefixes."""
        return target_sums(self.data)

    def _leaf_steps(self, i: int) -> FloatArray:
        """(leaves, d_i, q): γ_i D_i on every leaf."""
        data = self.data
        nodes = slice(int(data.node_start[i]), int(data.node_start[i + 1]))
        parent, value = data.parent[nodes], data.value[nodes]
        layers = data.layer_start[data.layer_pointer[i] : data.layer_pointer[i + 1]]
        layer = np.repeat(np.arange(len(layers) - 1), np.diff(layers))
        here = data.leaf_node[data.leaf_start[i] : data.leaf_start[i + 1]].astype(np.int64)
        steps = np.zeros((len(here), len(layers) - 2, data.n_outputs))
        for k in range(len(layers) - 2, 0, -1):
            reached = layer[here] == k
            node = here[reached]
            steps[reached, k - 1] = value[node] - value[parent[node]]
            here[reached] = parent[node]
        return steps

    def __repr__(self) -> str:
        weights = self.weights if isinstance(self.weights, str) else "given arrays"
        return f"LayerPruning({self.data!r}, alpha={self.alpha:g}, weights={weights!r})"
