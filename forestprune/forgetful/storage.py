"""Memory for the trees of an engine, and the table of addresses that kernels get."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from forestprune.forgetful.kernels.layout import (
    FLAGS,
    FREE,
    HELD,
    PAIRS,
    QUEUE_ROWS,
    STALE,
    STATE_COLUMNS,
    Room,
    Rules,
    Trees,
)
from forestprune.forgetful.kernels.scores import ENTROPY_UNIT
from formulations.arrays import FloatArray, IntArray
from formulations.errors import InvalidInput

MOST_CLASSES = 32767  # a class fits into 16 bits
MOST_WEIGHT = 32767  # twice the weight and a class fit into 16 bits


class TreeArrays(NamedTuple):
    """One tree: root first, level by level.

    Attributes
    ----------
    left, right
        (nodes,) int32 children, −1 at a leaf.
    feature
        (nodes,) int32 feature of the split, −1 at a leaf.
    threshold
        (nodes,) float64; a row goes left when its feature is at most that. 0 at a leaf.
    value
        (nodes, max(classes, 1)) class frequencies, or the mean target.
    weight
        (nodes,) weight of the remembered rows.
    """

    left: IntArray
    right: IntArray
    feature: IntArray
    threshold: FloatArray
    value: FloatArray
    weight: FloatArray


def list_nodes(t: int, trees: Trees, n_classes: int) -> TreeArrays:
    """Return tree t without the nodes that are not used."""
    nodes, left, right = [0], [], []
    for node in nodes:  # grows as it goes
        inner = trees.feature[t, node] >= 0
        left.append(len(nodes) if inner else -1)
        right.append(len(nodes) + 1 if inner else -1)
        if inner:
            first = int(trees.left[t, node])
            nodes += [first, first + 1]
    feature, weight = trees.feature[t, nodes], trees.total[t, nodes]
    return TreeArrays(
        left=np.array(left, dtype=np.int32),
        right=np.array(right, dtype=np.int32),
        feature=feature,
        threshold=np.where(feature < 0, 0.0, trees.threshold[t, nodes]),
        value=frequencies_of(trees.value[t, nodes], weight, n_classes),
        weight=weight,
    )


def frequencies_of(value: FloatArray, total: FloatArray, n_classes: int) -> FloatArray:
    """Return the class frequencies (nodes, classes) of nodes, or copies of their means.

    Without a row all classes are equally frequent.
    """
    if n_classes == 0:
        return value.copy()
    seen = total[:, None] > 0.0
    return np.where(seen, value / np.where(seen, total[:, None], 1.0), 1.0 / n_classes)


def empty_trees(usable: npt.NDArray[np.uint8], n_classes: int, slots: int) -> Trees:
    """Return trees that remember nothing, with room for ``slots`` rows each.

    Parameters
    ----------
    usable
        (trees, F) whether each tree may split on each feature.
    n_classes
        0 for regression.
    slots
        At least 1.
    """
    n_trees, F = usable.shape
    nodes = 2 * slots + 1
    state = np.zeros((n_trees, STATE_COLUMNS), dtype=np.int64)
    state[:, FREE] = state[:, PAIRS] = slots
    state[:, STALE] = 1
    numbers = np.tile(np.arange(slots, dtype=np.int32), (n_trees, 1))
    return Trees(
        X=np.zeros((n_trees, F, slots)),
        label=np.zeros((n_trees, slots if n_classes else 0), dtype=np.int16),
        coded=np.zeros((n_trees, slots if 0 < n_classes <= 2 else 0), dtype=np.uint16),
        target=np.zeros((n_trees, 0 if n_classes else slots)),
        weight=np.ones((n_trees, slots), dtype=np.int32),
        order=np.zeros((n_trees, F, slots), dtype=np.uint32),
        arrival=np.zeros((n_trees, slots), dtype=np.uint32),
        free=numbers.astype(np.uint32),
        pairs=numbers,
        feature=np.full((n_trees, nodes), -1, dtype=np.int32),
        threshold=np.full((n_trees, nodes), np.inf),
        left=np.zeros((n_trees, nodes), dtype=np.uint32),
        value=np.zeros((n_trees, nodes, max(n_classes, 1))),
        total=np.zeros((n_trees, nodes)),
        usable=usable.copy(),
        state=state,
    )


def fill_tree(
    t: int, trees: Trees, X: FloatArray, y: IntArray | FloatArray, weight: IntArray
) -> None:
    """Let an empty tree hold rows in their order of arrival, without sorting or splitting them."""
    held = len(y)
    top = trees.state[t, FREE] - held
    slots = trees.free[t, top : top + held].copy()
    trees.state[t, HELD], trees.state[t, FREE] = held, top
    trees.arrival[t, :held] = slots
    trees.X[t][:, slots] = X.T
    trees.weight[t, slots] = weight
    if trees.label.shape[1] == 0:
        trees.target[t, slots] = y
    else:
        trees.label[t, slots] = y
    if trees.coded.shape[1] > 0:
        trees.coded[t, slots] = 2 * weight + y


def require_sound(state: dict[str, Any]) -> None:
    """Refuse what an engine was said to hold when kernels would read beyond their arrays.

    Raises
    ------
    InvalidInput
        When arrays do not fit together, as in a file that was damaged or forged.
    """
    F, n_classes, rows = state["n_features"], state["n_classes"], state["rows"]
    usable, counters = np.asarray(state["usable"]), np.asarray(state["state"])
    fits = (
        F > 0
        and 0 <= n_classes <= MOST_CLASSES
        and len(rows) > 0
        and usable.shape == (len(rows), F)
        and bool((usable <= 1).all() and usable.any(axis=1).all())
        and counters.shape == (len(rows), STATE_COLUMNS)
        and counters.dtype == np.int64
    )
    for X, y, weight in rows if fits else ():
        held = len(y)
        fits = fits and (
            X.shape == (held, F)
            and X.dtype == np.float64
            and not bool(np.isnan(X).any())
            and y.shape == weight.shape == (held,)
            and y.dtype == (np.int64 if n_classes else np.float64)
            and bool((weight >= 1).all() and (weight <= MOST_WEIGHT).all())
            and (n_classes == 0 or bool(((y >= 0) & (y < n_classes)).all()))
        )
    if not fits:
        raise InvalidInput("state must be that of a forgetful model, but its arrays do not fit")


def larger_trees(old: Trees, n_classes: int, slots: int) -> Trees:
    """Return the same trees with room for more rows, in arrays of their own."""
    before = old.X.shape[2]
    new = empty_trees(old.usable, n_classes, slots)
    for name in Trees._fields:
        source, target = getattr(old, name), getattr(new, name)
        target[tuple(slice(0, n) for n in source.shape)] = source
    for t in range(len(old.X)):
        for stack, column in ((new.free, FREE), (new.pairs, PAIRS)):
            top = new.state[t, column]
            stack[t, top : top + slots - before] = np.arange(before, slots)
            new.state[t, column] += slots - before
    return new


def empty_room(threads: int, n_features: int, values: int, slots: int) -> Room:
    """Return what updates of trees with ``slots`` slots work in."""
    return Room(
        order=np.empty((threads, 2, n_features, slots), dtype=np.uint32),
        changed=np.empty((threads, 2, 2 * slots), dtype=np.int32),
        queue=np.empty((threads, 2, QUEUE_ROWS, slots), dtype=np.int32),
        key=np.empty((threads, 2, slots), dtype=np.uint64),
        flag=np.zeros((threads, FLAGS, slots), dtype=np.uint8),
        place=np.empty((threads, slots), dtype=np.int32),
        sums=np.empty((threads, values)),
        features=np.empty((threads, n_features), dtype=np.int32),
        prefix=np.empty((threads, 2, slots), dtype=np.int32),
    )


def address_table(
    trees: Trees, room: Room, rules: Rules, sorted_rows: IntArray, n_classes: int
) -> IntArray:
    """Return the table that `kernels.views` takes apart; the arrays must be kept alive."""
    n_trees, F, slots = trees.X.shape
    sizes = [n_trees, F, slots, trees.value.shape[2], n_classes, *map(len, rules)]
    addresses = [array.ctypes.data for array in (*trees, *room, *rules, sorted_rows)]
    return np.array(sizes + addresses, dtype=np.int64)


def entropy_table(length: int) -> IntArray:
    """Return n log₂ n for n below ``length``, in the unit of the kernels."""
    n = np.arange(length, dtype=np.float64)
    return np.rint(n * np.log2(np.maximum(n, 1.0)) / ENTROPY_UNIT).astype(np.int64)
