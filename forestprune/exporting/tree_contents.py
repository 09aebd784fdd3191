"""Trees as arrays in a file, and back after checking that they are trees."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from forestprune.exporting.taking import Taken
from forestprune.trees import Tree
from formulations import InvalidInput
from formulations.arrays import BoolArray, IntArray, frozen

# What is written of a tree; the parents and layers follow from the children.
_NODES: dict[str, Any] = {
    "feature": np.int32,
    "threshold": np.float64,
    "left": np.int32,
    "missing_left": np.bool_,
    "value": np.float64,
    "cover": np.float64,
}


def pack_trees(trees: Sequence[Tree], outputs: int, arrays: dict[str, npt.NDArray[Any]]) -> None:
    """Add the nodes of all trees, one tree after the other."""
    arrays["node_start"] = np.cumsum([0, *(tree.n_nodes for tree in trees)], dtype=np.int64)
    for name, dtype in _NODES.items():
        empty = np.zeros((0, outputs) if name == "value" else 0, dtype=dtype)
        arrays[name] = np.concatenate([empty, *(getattr(tree, name) for tree in trees)])
    words = max(
        (tree.categories.shape[1] for tree in trees if tree.categories is not None), default=0
    )
    if words > 0:
        bits = np.zeros((len(arrays["left"]), words), dtype=np.uint64)
        for (begin, end), tree in zip(pairwise(arrays["node_start"]), trees, strict=True):
            if tree.categories is not None:
                bits[begin:end, : tree.categories.shape[1]] = tree.categories
        arrays["categories"] = bits


def unpack_trees(taken: Taken, n_features: int, outputs: int) -> list[Tree]:
    """Return the trees after checking every node.

    Raises
    ------
    InvalidInput
        When an array is missing, or they do not make trees of these features and outputs.
    """
    starts = taken.array("node_start", "iu", 1)
    ascending = len(starts) > 0 and starts[0] == 0 and bool((starts[1:] > starts[:-1]).all())
    taken.require(ascending, "node_start does not say where its trees begin")
    nodes = int(starts[-1])
    left, feature = taken.array("left", "i", 1), taken.array("feature", "i", 1)
    missing_left = taken.array("missing_left", "b", 1)
    threshold = taken.array("threshold", "f", 1)
    value, cover = taken.floats("value", (nodes, outputs)), taken.floats("cover", (nodes,))
    for name, array in (
        ("left", left),
        ("feature", feature),
        ("missing_left", missing_left),
        ("threshold", threshold),
    ):
        taken.require(len(array) == nodes, f"{name} must have {nodes} entries, not {len(array)}")
    taken.require(not (cover < 0.0).any(), "cover must not be negative")
    inner = left >= 0
    known = ((feature >= 0) == inner) & (feature >= -1) & (feature < n_features)
    taken.require(known.all(), f"feature must be one of {n_features} at a split and -1 at a leaf")
    bits = _categories(taken, np.isnan(threshold), inner)
    trees = []
    for i, (begin, end) in enumerate(pairwise(starts.tolist())):
        here = slice(begin, end)
        parent, layer = _links(left[here], i)
        categorical = bits is not None and bool(np.isnan(threshold[here]).any())
        trees.append(
            Tree(
                feature=frozen(feature[here], np.int32),
                threshold=frozen(threshold[here], np.float64),
                left=frozen(left[here], np.int32),
                missing_left=frozen(missing_left[here]),
                parent=frozen(parent),
                layer=frozen(layer),
                value=frozen(value[here]),
                cover=frozen(cover[here]),
                categories=frozen(bits[here]) if bits is not None and categorical else None,
            )
        )
    return trees


def _categories(
    taken: Taken, categorical: BoolArray, inner: BoolArray
) -> npt.NDArray[np.uint64] | None:
    """Return the bits of categorical splits, those whose threshold is NaN, or None."""
    if not categorical.any():
        return None
    bits = taken.array("categories", "u", 2)
    taken.require(
        bits.shape[0] == len(inner) and bits.shape[1] > 0 and bits.dtype == np.uint64,
        f"categories must have {len(inner)} rows of 64 bits each",
    )
    taken.require(not (categorical & ~inner).any(), "a leaf must not have NaN as its threshold")
    return bits


def _links(left: IntArray, i: int) -> tuple[IntArray, IntArray]:
    """Return parents and layers of nodes in level order.

    In this order the j-th split has the children 2j + 1 and 2j + 2. When these come after it
    and there are no other nodes, every node but the root has one parent before it: there are
    no circles, and nothing is out of reach.
    """
    splits = np.flatnonzero(left >= 0)
    first = 1 + 2 * np.arange(len(splits))
    if (
        len(left) != 1 + 2 * len(splits)
        or not np.array_equal(left[splits], first)
        or bool((first <= splits).any())
        or bool((left < -1).any())
    ):
        raise InvalidInput(f"left does not make tree {i} a tree in level order")
    parent = np.full(len(left), -1, dtype=np.int32)
    parent[1:] = np.repeat(splits, 2)
    layers = [0]
    for above in parent[1:].tolist():
        layers.append(layers[above] + 1)
    return parent, np.array(layers, dtype=np.int32)
