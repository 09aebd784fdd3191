"""One compiled call for a batch and all trees."""

from __future__ import annotations

import numpy as np

from forestprune.forgetful.kernels.growth import update_subtree, update_tree
from forestprune.forgetful.kernels.layout import HEIGHT, HELD, STALE, Batch
from forestprune.forgetful.kernels.memory import sort_batch
from forestprune.forgetful.kernels.nodes import read_frequencies
from forestprune.forgetful.kernels.views import (
    N_CLASSES,
    room_arrays,
    rule_arrays,
    sorted_rows,
    tree_arrays,
)
from formulations.arrays import FloatArray, IntArray
from formulations.kernels.compiled import kernel

# What is wrong with a batch.
NO_CLASS, NOT_A_NUMBER = -1, -2


@kernel
def sort_rows(table: IntArray, X: FloatArray) -> bool:
    """Sort a batch by every feature, for all trees; return whether it has no NaN."""
    return sort_batch(X, sorted_rows(table))


@kernel
def learn(
    table: IntArray,
    X: FloatArray,
    label: IntArray,
    target: FloatArray,
    weight: IntArray,
    r_size: IntArray,
    height: IntArray,
    thread: int,
    threads: int,
) -> int:
    """Update the trees whose turn on this thread it is with a batch; return the most rows held.

    Alone, a thread sorts the batch too. `NO_CLASS` or `NOT_A_NUMBER` says what is wrong with a
    batch, which then changes nothing.
    """
    for number in label:
        if number < 0 or number >= table[N_CLASSES]:
            return NO_CLASS
    batch = Batch(X, label, target, weight, sorted_rows(table))
    if threads == 1 and not sort_batch(X, batch.sorted):
        return NOT_A_NUMBER
    rules, room = rule_arrays(table), room_arrays(thread, table)
    most = 0
    for t in range(thread, r_size.shape[0], threads):
        tree = tree_arrays(t, table)
        update_tree(t, batch, r_size[t], height[t], tree, rules, room)
        most = max(most, tree.state[HELD])
    return most


@kernel
def predict(table: IntArray, X: FloatArray, out: FloatArray) -> None:
    """Write class frequencies, or means, to ``out`` (trees, m, values)."""
    for t in range(out.shape[0]):
        read_frequencies(X, tree_arrays(t, table), table[N_CLASSES], out[t])


@kernel
def rebuild(t: int, table: IntArray) -> None:
    """Sort the rows that a tree holds and build it anew, under its last height limit."""
    tree, room = tree_arrays(t, table), room_arrays(0, table)
    held = tree.state[HELD]
    arrival = tree.arrival[:held]
    for f in range(tree.X.shape[0]):
        if tree.usable[f]:
            by_value = np.argsort(tree.X[f][arrival], kind="mergesort")
            tree.order[f, :held] = arrival[by_value]
            room.order[0, f, :held] = tree.order[f, :held]
    tree.state[STALE] = 1
    update_subtree(0, tree.state[HEIGHT], tree, rule_arrays(table), room)
