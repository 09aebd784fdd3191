"""What a pruning problem is built on: leaf codes, node arrays, target and row weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from formulations.arrays import FloatArray, IntArray, PickledByFields, finite_floats, frozen
from formulations.data_checks import (
    as_columns,
    as_layers,
    as_offset,
    checked_tree,
    row_weights,
    trie_of,
)
from formulations.errors import InvalidInput
from formulations.kernels import trees as tree_kernels
from formulations.kernels.trees import Trees
from formulations.splits import Splits


@dataclass(frozen=True, eq=False, repr=False)
class PruningData(PickledByFields):
    """An ensemble seen from the rows of a problem.

    A prefix column is constant on the leaves of its tree, so a tree is stored as one small
    integer per row (its leaf) beside short node arrays. Nodes of a tree are in level order:
    the root first, layers one after the other; its leaves are numbered in that order. All
    arrays are read-only. Build one with `from_trees` or `from_layers`.

    Attributes
    ----------
    codes
        (n, m) unsigned integers: the leaf of each row in each tree.
    target
        (m, q) the target r0 = y − offset, in the units of y.
    offset
        (m, q) what the empty model predicts.
    row_weight
        (m,) positive weights ω of the rows.
    node_start, leaf_start
        (n + 1,) where each tree begins in the node arrays and in the leaf arrays.
    layer_start, layer_pointer
        Where each layer of a tree begins among its nodes: ``d + 2`` entries for a tree of
        depth d, the last one its number of nodes; tree i's from ``layer_pointer[i]`` on.
    parent
        Parent of each node, counted within its tree; −1 at a root.
    value
        (nodes, q) γ (μ(node) − μ(root)), in the units of y.
    leaf_node
        Node of each leaf, counted within its tree.
    node_counts_known
        False where the nodes come from plain D arrays, whose trees are unknown.
    """

    codes: npt.NDArray[np.unsignedinteger[Any]]
    target: FloatArray
    offset: FloatArray
    row_weight: FloatArray
    node_start: IntArray
    leaf_start: IntArray
    layer_start: IntArray
    layer_pointer: IntArray
    parent: IntArray
    value: FloatArray
    leaf_node: IntArray
    node_counts_known: bool

    @classmethod
    def from_trees(
        cls,
        parents: Sequence[npt.ArrayLike],
        values: Sequence[npt.ArrayLike],
        codes: npt.NDArray[Any],
        y: npt.ArrayLike,
        *,
        offset: npt.ArrayLike = 0.0,
        sample_weight: npt.ArrayLike | None = None,
        node_counts_known: bool = True,
    ) -> PruningData:
        """Build from node arrays in level order and leaf codes.

        Parameters
        ----------
        parents
            Per tree (nodes,) integers: the parent's position, −1 for the root; layers in
            ascending order.
        values
            Per tree (nodes,) or (nodes, q): γ (μ(node) − μ(root)), 0 at the root.
        codes
            (n, m) integers: the leaf of each row, leaves numbered in level order.
        y
            (m,) or (m, q) response.
        offset
            What the empty model predicts: a scalar, (q,), (m,) or (m, q).
        sample_weight
            (m,) weights of at least 0, 1 by default; rows of weight 0 are left out.
        node_counts_known
            Whether the nodes are those of real trees, so that they can be counted.

        Raises
        ------
        InvalidInput
            When shapes do not match, a number is not finite, a weight is negative, or the
            nodes are not in level order.
        """
        response = as_columns("y", y)
        rows, outputs = response.shape
        if len(parents) == 0:
            raise InvalidInput("parents must hold at least one tree, got none")
        if len(parents) != len(values):
            raise InvalidInput(f"parents holds {len(parents)} trees, values {len(values)}")
        if codes.shape != (len(parents), rows):
            raise InvalidInput(
                f"codes must have shape (trees, rows) = {(len(parents), rows)}, got {codes.shape}"
            )
        weight = row_weights(sample_weight, rows)
        offsets = as_offset(offset, rows, outputs)
        trees = [
            checked_tree(i, parent, value, outputs)
            for i, (parent, value) in enumerate(zip(parents, values, strict=True))
        ]
        leaf_counts = np.array([len(tree[3]) for tree in trees])
        top = codes.max(axis=1).astype(np.int64)
        if np.any(top >= leaf_counts) or (codes.dtype.kind == "i" and codes.min() < 0):
            raise InvalidInput("codes must lie between 0 and the tree's number of leaves − 1")
        if not weight.all():
            kept = weight > 0.0
            codes, response, offsets, weight = (
                codes[:, kept],
                response[kept],
                offsets[kept],
                weight[kept],
            )
        return cls(
            codes=frozen(codes, leaf_code_dtype(int(leaf_counts.max()))),
            target=frozen(response - offsets),
            offset=frozen(offsets),
            row_weight=frozen(weight),
            node_start=_starts([len(tree[0]) for tree in trees]),
            leaf_start=_starts(leaf_counts),
            layer_start=frozen(np.concatenate([tree[2] for tree in trees]), np.int64),
            layer_pointer=_starts([len(tree[2]) for tree in trees]),
            parent=frozen(np.concatenate([tree[0] for tree in trees]), np.int32),
            value=frozen(np.concatenate([tree[1] for tree in trees])),
            leaf_node=frozen(np.concatenate([tree[3] for tree in trees]), np.int32),
            node_counts_known=node_counts_known,
        )

    @classmethod
    def from_layers(
        cls,
        D_list: Sequence[npt.ArrayLike],
        y: npt.ArrayLike,
        gamma: npt.ArrayLike = 1.0,
        sample_weight: npt.ArrayLike | None = None,
    ) -> PruningData:
        """Build from plain depth-difference matrices, with offset 0 (FP Algorithm 1).

        Rows that share their first k entries share a node of layer k, so any matrix is a
        tree. How many nodes a layer of the source had is not known: problems on such data
        take ``weights="depth"`` or an array.

        Parameters
        ----------
        D_list
            Per tree (m, d_i), or (m, d_i, q) for q outputs.
        y
            (m,) or (m, q) response, which is the target.
        gamma
            Scale of every tree: a scalar or (n,).
        sample_weight
            (m,) weights of at least 0, 1 by default.

        Raises
        ------
        InvalidInput
            When shapes do not match or a number is not finite.
        """
        response = as_columns("y", y)
        rows, outputs = response.shape
        if len(D_list) == 0:
            raise InvalidInput("D_list must hold at least one array, got none")
        try:
            scale = np.broadcast_to(finite_floats("gamma", gamma), (len(D_list),))
        except ValueError as error:
            raise InvalidInput(
                f"gamma must be a scalar or hold one number for each of the {len(D_list)} trees, "
                f"got shape {np.shape(gamma)} ({error})"
            ) from None
        tries = [
            trie_of(as_layers(i, D, rows, outputs), float(factor))
            for i, (D, factor) in enumerate(zip(D_list, scale, strict=True))
        ]
        return cls.from_trees(
            [parent for parent, _, _ in tries],
            [value for _, value, _ in tries],
            np.stack([code for _, _, code in tries]),
            response,
            sample_weight=sample_weight,
            node_counts_known=False,
        )

    @property
    def n_trees(self) -> int:
        """Number of trees n."""
        return int(self.codes.shape[0])

    @property
    def n_rows(self) -> int:
        """Number of rows of positive weight."""
        return int(self.codes.shape[1])

    @property
    def n_outputs(self) -> int:
        """Number of outputs q."""
        return int(self.target.shape[1])

    @cached_property
    def depths(self) -> npt.NDArray[np.int64]:
        """(n,) depth d_i of each tree."""
        return np.asarray(frozen(np.diff(self.layer_pointer) - 2, np.int64))

    @cached_property
    def total_weight(self) -> float:
        """Sum of the row weights: the m of every formula."""
        return float(self.row_weight.sum())

    @cached_property
    def target_square(self) -> float:
        """‖r0‖² / m: the objective of the empty model, in units of y²."""
        return float((self.row_weight @ self.target**2).sum() / self.total_weight)

    @cached_property
    def y_variance(self) -> float:
        """Weighted variance of y, summed over outputs: the factor from a user's α to ours."""
        y = self.target + self.offset
        mean = self.row_weight @ y / self.total_weight
        return float((self.row_weight @ (y - mean) ** 2).sum() / self.total_weight)

    @cached_property
    def layer_sizes(self) -> list[npt.NDArray[np.int64]]:
        """Per tree (d_i,): the number of nodes in layers 1…d_i."""
        return [
            np.diff(self.layer_start[begin + 1 : end])
            for begin, end in zip(self.layer_pointer[:-1], self.layer_pointer[1:], strict=True)
        ]

    @cached_property
    def trees(self) -> Trees:
        """The arrays that the kernels work on."""
        uniform = bool(np.all(self.row_weight == 1.0))
        leaf_weight = np.zeros(len(self.leaf_node))
        step = np.zeros_like(self.value)
        tree_kernels.subtract_parents(self.node_start, self.parent, self.value, step)
        tree_kernels.weigh_leaves(self.codes, self.row_weight, self.leaf_start, leaf_weight)
        return Trees(
            codes=self.codes,
            row_weight=frozen(np.empty(0)) if uniform else self.row_weight,
            total_weight=self.total_weight,
            node_start=self.node_start,
            leaf_start=self.leaf_start,
            layer_start=self.layer_start,
            layer_pointer=self.layer_pointer,
            parent=self.parent,
            value=self.value,
            step=frozen(step),
            leaf_node=self.leaf_node,
            leaf_weight=frozen(leaf_weight),
        )

    @cached_property
    def splits(self) -> Splits:
        """Where the trees branch."""
        return Splits(self.trees)

    @cached_property
    def prefix_start(self) -> IntArray:
        """(n + 1,) where each tree's prefixes 0…d_i begin in arrays over all prefixes."""
        return _starts(self.depths + 1)

    @cached_property
    def product_start(self) -> IntArray:
        """(n + 1,) where each tree's (d_i + 1)² products begin in `prefix_products`."""
        return _starts((self.depths + 1) ** 2)

    @cached_property
    def prefix_products(self) -> FloatArray:
        """⟨P_ik, P_il⟩ inside each tree, one (d_i + 1, d_i + 1) table after the other."""
        products = np.zeros(self.product_start[-1])
        tree_kernels.multiply_prefixes(self.trees, self.product_start, products)
        return np.asarray(frozen(products))

    @cached_property
    def prefix_squares(self) -> FloatArray:
        """‖P_ik‖² of every prefix k = 0…d_i of every tree, (prefixes,)."""
        tables = zip(self.product_start[:-1], self.product_start[1:], self.depths + 1, strict=True)
        return np.concatenate(
            [
                self.prefix_products[begin:end].reshape(size, size).diagonal()
                for begin, end, size in tables
            ]
        )

    def take_rows(self, rows: slice | IntArray) -> PruningData:
        """Return the same trees on some of the rows."""
        parts = {field.name: getattr(self, field.name) for field in fields(self)}
        for name in ("target", "offset", "row_weight"):
            parts[name] = frozen(parts[name][rows])
        parts["codes"] = frozen(self.codes[:, rows])
        return PruningData(**parts)

    def __repr__(self) -> str:
        return (
            f"PruningData({self.n_rows} rows, {self.n_trees} trees of depth up to "
            f"{int(self.depths.max())}, {self.n_outputs} output"
            f"{'' if self.n_outputs == 1 else 's'})"
        )


def leaf_code_dtype(n_leaves: int) -> np.dtype[Any]:
    """Return the smallest unsigned integer type that numbers so many leaves."""
    return np.dtype(np.min_scalar_type(max(n_leaves - 1, 0)))


def _starts(lengths: npt.ArrayLike) -> IntArray:
    return frozen(np.concatenate([[0], np.cumsum(lengths)]), np.int64)
