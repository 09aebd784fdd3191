"""The arrays that hold the trees of one engine, and what the kernels work in."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from formulations.arrays import FloatArray, IntArray

Bytes = npt.NDArray[np.uint8]
Keys = npt.NDArray[np.uint64]

# Entries of ``state``.
HELD = 0  # rows remembered
FREE = 1  # slots for rows that are free
PAIRS = 2  # pairs of nodes that are free
CALLS = 3  # updates so far, the counter of the draws of what to forget
HEIGHT = 4  # height limit of the last update
SEED = 5
STALE = 6  # 1: no node can be taken over from the last update
STATE_COLUMNS = 7

# Criteria.
GINI, ENTROPY, SQUARED_ERROR = 0, 1, 2

# Entries of ``Rules.whole``.
CRITERION, CLASSES, MIN_SPLIT, MIN_LEAF, MAX_FEATURES, AT_RANDOM = 0, 1, 2, 3, 4, 5
# Entries of ``Rules.real``.
MIN_DECREASE, MIN_STATISTIC = 0, 1

# Rows of ``Room.queue``.
NODE, LOW, HIGH, CHANGED_LOW, CHANGED_HIGH, TAKEN_OVER = 0, 1, 2, 3, 4, 5
QUEUE_ROWS = 6

# Rows of ``Room.flag``: rows forgotten, rows new, rows that go to the smaller child.
GONE, FRESH, MARKED = 0, 1, 2
FLAGS = 3


class Trees(NamedTuple):
    """The trees of one engine side by side; a *slot* is the place of a remembered row.

    Kernels get the arrays of one tree, without the first axis. Slots are unsigned, so that
    indexing by them needs no check for negative numbers.

    Attributes
    ----------
    X
        (trees, F, slots) float64 features, one feature after the other.
    label
        (trees, slots) int16 classes; without slots for regression.
    coded
        (trees, slots) uint16 twice the weight of the row, plus its class; without slots for
        regression and for more than two classes.
    target
        (trees, slots) float64 targets; without slots for classification.
    weight
        (trees, slots) int32 times that the tree has seen the row, at least 1.
    order
        (trees, F, slots) uint32 slots of the held rows, sorted by each feature that the tree
        may use; equal values in the order of their arrival.
    arrival
        (trees, slots) uint32 slots of the held rows in the order of their arrival.
    free, pairs
        (trees, slots) uint32 and int32 stacks of the slots, and of the pairs of nodes, that are
        not used.
        Pair p is the nodes 2p + 1 (left) and 2p + 2; the root is node 0.
    feature
        (trees, nodes) int32 feature of the split, −1 at a leaf.
    threshold
        (trees, nodes) float64: a row goes left when its feature is at most that; +inf at a leaf.
    left
        (trees, nodes) uint32 left child, the right child is the next node; a leaf itself.
    value
        (trees, nodes, max(classes, 1)) float64 weight of each class, or the mean target.
    total
        (trees, nodes) float64 weight of the rows.
    usable
        (trees, F) uint8 whether the tree may split on the feature.
    state
        (trees, `STATE_COLUMNS`) int64 counters.
    """

    X: FloatArray
    label: IntArray
    coded: IntArray
    target: FloatArray
    weight: IntArray
    order: IntArray
    arrival: IntArray
    free: IntArray
    pairs: IntArray
    feature: IntArray
    threshold: FloatArray
    left: IntArray
    value: FloatArray
    total: FloatArray
    usable: Bytes
    state: IntArray


class Room(NamedTuple):
    """What an update writes over; nothing in it outlives an update.

    Kernels get the arrays of one thread, without the first axis.

    Attributes
    ----------
    order
        (threads, 2, F, slots) uint32 slots of the rows of the nodes of two consecutive levels,
        sorted by each feature; the rows of a node are one segment.
    changed
        (threads, 2, 2 · slots) int32 for the same nodes the rows that came or went since the
        last update: 2 · slot, plus 1 where the row came.
    queue
        (threads, 2, `QUEUE_ROWS`, slots) int32 the nodes of the two levels.
    key
        (threads, 2, slots) uint64 keys of the nodes' draws, by their paths from the root.
    flag
        (threads, `FLAGS`, slots) uint8 properties of the slots; 0 between updates.
    place
        (threads, slots) int32 slots of the rows of the batch, −1 where not seen.
    sums
        (threads, max(classes, 1)) float64 room for counts.
    features
        (threads, F) int32 room for the features that are tried.
    prefix
        (threads, 2, slots) int32 room for the weights up to each row of a node, of all rows and of
        those of class 1.
    """

    order: IntArray
    changed: IntArray
    queue: IntArray
    key: Keys
    flag: Bytes
    place: IntArray
    sums: FloatArray
    features: IntArray
    prefix: IntArray


class Rules(NamedTuple):
    """What the engine was set up with.

    Attributes
    ----------
    whole
        int64 settings, see the entries above.
    real
        float64 settings, see the entries above.
    entropy
        int64 table of n log₂ n (empty for other criteria) in units of 2⁻²⁸: sums of whole
        numbers are exact, so that scores do not depend on the order in which rows came and went.
    """

    whole: IntArray
    real: FloatArray
    entropy: IntArray


class Batch(NamedTuple):
    """Rows that arrive together.

    Attributes
    ----------
    X
        (b, F) float64.
    label, target
        (b,) int64 classes, or float64 targets; the other is empty.
    weight
        (trees, b) int64 times that each tree sees each row; empty: once.
    sorted
        (F, at least b) int32 rows sorted by each feature.
    """

    X: FloatArray
    label: IntArray
    target: FloatArray
    weight: IntArray
    sorted: IntArray
