"""Nodes that come and go."""

from __future__ import annotations

import numpy as np

from forestprune.forgetful.kernels.layout import PAIRS, Trees
from formulations.arrays import FloatArray
from formulations.kernels.compiled import kernel, view_kernel

# Rows that go down a tree side by side.
_ABREAST = 16


@view_kernel
def set_leaf(node: int, tree: Trees) -> None:
    """Mark a node as a leaf, where rows that have arrived stay."""
    tree.feature[node], tree.threshold[node], tree.left[node] = -1, np.inf, node


@view_kernel
def make_leaf(node: int, tree: Trees) -> None:
    """Give back all nodes below a node."""
    feature, left, pairs = tree.feature, tree.left, tree.pairs
    if feature[node] < 0:
        return
    # The stack of free pairs serves as the list of those whose children are still to be given
    # back: each of them is on it.
    done = tree.state[PAIRS]
    pairs[done] = (left[node] - 1) // 2
    set_leaf(node, tree)
    end = done + 1
    while done < end:
        for child in (2 * pairs[done] + 1, 2 * pairs[done] + 2):
            if feature[child] >= 0:
                pairs[end] = (left[child] - 1) // 2
                feature[child] = -1
                end += 1
        done += 1
    tree.state[PAIRS] = end


@view_kernel
def build_subtree(node: int, tree: Trees) -> None:
    """BuildSubTree: begin anew below a node, with two children that are leaves.

    They get their rows, and are split in turn, when their level is updated.
    """
    make_leaf(node, tree)
    tree.state[PAIRS] -= 1
    left = 2 * tree.pairs[tree.state[PAIRS]] + 1
    tree.left[node] = left
    set_leaf(left, tree)
    set_leaf(left + 1, tree)


@kernel
def read_frequencies(X: FloatArray, tree: Trees, classes: int, out: FloatArray) -> None:
    """Write to ``out`` (m, values) the class frequencies, or means, of the nodes that rows reach.

    A tree that has seen nothing gives all classes the same frequency, or a mean of 0. Some rows
    go down side by side, so that their memory accesses overlap.
    """
    feature, threshold, left = tree.feature, tree.threshold, tree.left
    m = X.shape[0]
    for begin in range(0, m, _ABREAST):
        rows, reached = X[begin : begin + _ABREAST], out[begin : begin + _ABREAST]
        at = np.zeros(_ABREAST, dtype=np.uint32)
        moved = True
        while moved:
            moved = False
            for i in range(rows.shape[0]):
                node = at[i]
                # At a leaf the row stays: the child is the leaf, and no number is above it.
                after = left[node] + (rows[i, max(0, feature[node])] > threshold[node])
                moved |= after != node
                at[i] = after
        for i in range(rows.shape[0]):
            node = at[i]
            total = tree.total[node]
            for c in range(out.shape[1]):
                value = tree.value[node, c]
                if classes > 0:
                    value = value / total if total > 0 else 1 / classes
                reached[i, c] = value
