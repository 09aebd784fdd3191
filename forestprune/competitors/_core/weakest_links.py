"""Cost-complexity pruning of fitted trees: at which α every split goes."""

from __future__ import annotations

import heapq

import numpy as np

from forestprune.trees import Tree
from formulations.arrays import FloatArray, IntArray
from formulations.kernels.compiled import kernel

TINY = float(np.finfo(np.float64).tiny)


def split_prices(tree: Tree, factor: float) -> FloatArray:
    """Return the α at which each split goes, (nodes,): all above 0, but −inf at leaves.

    Minimal cost-complexity pruning (Breiman and others 1984) collapses, again and again, the
    node t of the smallest

        g(t) = (R(t) − R(T_t)) / (number of leaves of T_t − 1)

    where R is the squared error of the training rows by their share. Node values are means, so
    R(t) − R(T_t) is the sum, over the splits below and at t, of Σ over both children of
    (cover / cover of the root) · |μ_child − μ|²: neither impurities nor rows are needed.

    Parameters
    ----------
    tree
        A tree with mean values.
    factor
        What errors, summed over outputs, are multiplied by.
    """
    inner = np.flatnonzero(tree.left >= 0)
    gain = np.zeros(tree.n_nodes)
    if tree.cover[0] > 0.0:
        for child in (tree.left[inner], tree.left[inner] + 1):
            square = ((tree.value[child] - tree.value[inner]) ** 2).sum(axis=1)
            gain[inner] += factor * tree.cover[child] / tree.cover[0] * square
    price = np.full(tree.n_nodes, -np.inf)
    _collapse(tree.left, tree.parent, gain, price)
    return price


@kernel
def _collapse(left: IntArray, parent: IntArray, gain: FloatArray, price: FloatArray) -> None:
    """Set the price of every split; ``gain`` becomes that of the splits at and below."""
    nodes = left.shape[0]
    splits = np.zeros(nodes, dtype=np.int64)
    for node in range(nodes - 1, -1, -1):
        if left[node] >= 0:
            splits[node] += 1
        if node > 0:
            splits[parent[node]] += splits[node]
            gain[parent[node]] += gain[node]
    queue = [(gain[node] / splits[node], node) for node in range(nodes) if left[node] >= 0]
    heapq.heapify(queue)
    reached = TINY  # so that at α = 0 nothing goes
    stack = np.empty(nodes, dtype=np.int64)
    while len(queue) > 0:
        ratio, node = heapq.heappop(queue)
        if splits[node] == 0:  # it went with a node above
            continue
        now = gain[node] / splits[node]
        if now > ratio:  # its weaker links have gone: the ratio only rises
            heapq.heappush(queue, (now, node))
            continue
        reached = max(reached, now)
        lost_gain, lost_splits = gain[node], splits[node]
        top = node
        while True:
            gain[top] -= lost_gain
            splits[top] -= lost_splits
            if top == 0:
                break
            top = parent[top]
        stack[0] = node
        height = 1
        while height > 0:
            height -= 1
            gone = stack[height]
            price[gone] = reached
            splits[gone] = 0
            for child in range(left[gone], left[gone] + 2):
                if left[child] >= 0 and price[child] == -np.inf:
                    stack[height] = child
                    height += 1
