"""Data of trees that were cut: what is left of a tree is a whole tree of further problems."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from formulations.arrays import BoolArray
from formulations.base import checked_depths
from formulations.data import PruningData
from formulations.subtrees import SubtreePruning


def cut_trees(data: PruningData, choice: npt.ArrayLike) -> PruningData:
    """Return the data of the same trees cut, on the same rows.

    A tree of which nothing is kept becomes a single leaf, so that trees keep their numbers.
    `Polishing` on such data and its ``depths`` weighs the trees of a pruned ensemble anew,
    whatever their shapes.

    Parameters
    ----------
    data
        The trees.
    choice
        A choice of `LayerPruning`, the depth at which each tree is cut, or of
        `SubtreePruning`, a mark for each node.

    Raises
    ------
    InvalidInput
        When the choice is neither.
    """
    kept = _kept(data, choice)
    parents, values = [], []
    codes = np.empty_like(data.codes)
    for i in range(data.n_trees):
        nodes = slice(int(data.node_start[i]), int(data.node_start[i + 1]))
        leaves = slice(int(data.leaf_start[i]), int(data.leaf_start[i + 1]))
        parent, left = data.parent[nodes], kept[nodes]
        place = np.cumsum(left) - 1
        parents.append(np.where(parent >= 0, place[parent], -1)[left])
        values.append(data.value[nodes][left])
        ends = data.leaf_node[leaves].astype(np.int64)
        while not left[ends].all():
            ends = np.where(left[ends], ends, parent[ends])
        # What is left of every branch ends in a leaf, and leaves are numbered in level order.
        code = np.unique(ends, return_inverse=True)[1]
        codes[i] = code[data.codes[i]]
    # y = r0 with an offset of 0: adding the offset and subtracting it again would round.
    cut = PruningData.from_trees(
        parents,
        values,
        codes,
        data.target,
        sample_weight=data.row_weight,
        node_counts_known=data.node_counts_known,
    )
    return replace(cut, offset=data.offset)


def _kept(data: PruningData, choice: npt.ArrayLike) -> BoolArray:
    """Return marks (nodes,) of the nodes that a choice keeps, all roots with them."""
    given = np.asarray(choice)
    kept = np.zeros(len(data.parent), dtype=np.bool_)
    # Where depths and marks are of the same number, all trees are single leaves: nothing to cut.
    if given.shape == kept.shape != (data.n_trees,):
        kept[:] = SubtreePruning(data, 0.0).checked(given)
        kept[data.node_start[:-1]] = True
        return kept
    for i, depth in enumerate(checked_depths(given, data).tolist()):
        begin = int(data.node_start[i])
        layers = data.layer_start[data.layer_pointer[i] :]
        kept[begin : begin + int(layers[depth + 1])] = True
    return kept
