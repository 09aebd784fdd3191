"""The splits of an ensemble: where its trees branch, and what lies below."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from formulations.arrays import BoolArray, FloatArray, IntArray, frozen
from formulations.kernels.compiled import kernel
from formulations.kernels.trees import Trees


@dataclass(frozen=True, eq=False)
class Splits:
    """The inner nodes of all trees, one tree after the other, in level order.

    Attributes
    ----------
    trees
        The trees; nodes are counted over all of them here.
    """

    trees: Trees

    @cached_property
    def above(self) -> IntArray:
        """(nodes,) the split that makes each node; −1 at a root."""
        return frozen(np.where(self._parent >= 0, np.searchsorted(self.node, self._parent), -1))

    @cached_property
    def node(self) -> IntArray:
        """(splits,) the node of each split."""
        return frozen(np.unique(self._parent[self._parent >= 0]))

    @cached_property
    def start(self) -> IntArray:
        """(n + 1,) where the splits of each tree begin."""
        return frozen(np.searchsorted(self.node, self.trees.node_start), np.int64)

    @cached_property
    def parent(self) -> IntArray:
        """(splits,) the split above each split; −1 at a root."""
        return frozen(self.above[self.node])

    @cached_property
    def own(self) -> IntArray:
        """(nodes,) the split of each node, counted within its tree; −1 at a leaf."""
        own = np.full(len(self._parent), -1, dtype=np.int64)
        tree = np.searchsorted(self.trees.node_start, self.node, side="right") - 1
        own[self.node] = np.arange(len(self.node)) - self.start[tree]
        return frozen(own)

    @cached_property
    def first_child(self) -> IntArray:
        """(splits,) the first node that each split makes."""
        inner = np.flatnonzero(self.above >= 0)
        first = np.unique(self.above[inner], return_index=True)[1]
        return frozen(inner[first])

    @cached_property
    def child(self) -> IntArray:
        """(nodes,) the first child of each node, counted within its tree; −1 at a leaf."""
        child = np.full(len(self._parent), -1, dtype=np.int64)
        tree = np.searchsorted(self.trees.node_start, self.node, side="right") - 1
        child[self.node] = self.first_child - self.trees.node_start[tree]
        return frozen(child)

    @cached_property
    def generations(self) -> list[IntArray]:
        """Splits that have one above them, those of one layer after those of the layer before."""
        generations: list[IntArray] = []
        here: IntArray = np.flatnonzero(self.parent < 0)
        while len(here):
            below = np.zeros(len(self.node), dtype=np.bool_)
            below[here] = True
            here = np.flatnonzero((self.parent >= 0) & below[self.parent])
            generations.append(here)
        return generations[:-1]

    @cached_property
    def weight(self) -> FloatArray:
        """(nodes,) the weight N of the rows in each node."""
        weight = np.zeros(len(self._parent))
        weigh_nodes(self.trees, weight)
        return frozen(weight)

    @cached_property
    def square(self) -> FloatArray:
        """(nodes,) N a², summed over outputs, of each node."""
        return frozen(self.weight * (self.trees.value**2).sum(axis=1))

    @cached_property
    def reach(self) -> FloatArray:
        """(nodes,) how far the predictions of a subtree below each node can be from its own."""
        reach = np.zeros(len(self._parent))
        find_reaches(self.trees, self.weight, reach)
        return frozen(reach)

    def parents_within(self, i: int) -> IntArray:
        """Return (splits_i,) the split above each split of tree i, counted within it."""
        above = self.parent[self.start[i] : self.start[i + 1]]
        return np.where(above >= 0, above - self.start[i], -1)

    def kept_by(self, made: BoolArray) -> IntArray:
        """Return (nodes,) marks of the nodes that some splits (splits,) keep, roots with them."""
        kept = np.zeros(len(self._parent), dtype=np.int64)
        inner = self.above >= 0
        kept[inner] = made[self.above[inner]]
        first = np.flatnonzero(self.parent < 0)
        kept[self.node[first]] = made[first]
        return kept

    def kept_within(self, i: int, made: BoolArray) -> npt.NDArray[np.int64]:
        """Return (c, nodes_i) marks of the nodes of tree i that its splits (c, splits_i) keep."""
        above = self.above[self.trees.node_start[i] : self.trees.node_start[i + 1]]
        kept = np.zeros((len(made), len(above)), dtype=np.int64)
        if made.shape[1]:
            kept[:, 0] = made[:, 0]
            kept[:, 1:] = made[:, above[1:] - self.start[i]]
        return kept

    def leaf_steps(self, i: int) -> FloatArray:
        """Return (leaves, splits_i, q): the step that each split of tree i adds on every leaf."""
        trees = self.trees
        begin = int(trees.node_start[i])
        here = trees.leaf_node[trees.leaf_start[i] : trees.leaf_start[i + 1]].astype(np.int64)
        splits = int(self.start[i + 1] - self.start[i])
        steps = np.zeros((len(here), splits, trees.value.shape[1]))
        while np.any(here > 0):
            inside = np.flatnonzero(here > 0)
            node = begin + here[inside]
            steps[inside, self.above[node] - self.start[i]] = trees.step[node]
            here[inside] = trees.parent[node]
        return steps

    @cached_property
    def _parent(self) -> IntArray:
        """(nodes,) the parent of each node; −1 at a root."""
        begins = np.repeat(self.trees.node_start[:-1], np.diff(self.trees.node_start))
        return np.where(self.trees.parent >= 0, self.trees.parent + begins, -1)


@kernel
def weigh_nodes(trees: Trees, weight: FloatArray) -> None:
    """Set ``weight`` (nodes,) to the weight of the rows in every node of every tree."""
    for i in range(trees.codes.shape[0]):
        begin, end = trees.node_start[i], trees.node_start[i + 1]
        here = weight[begin:end]
        here[:] = 0.0
        for leaf in range(trees.leaf_start[i], trees.leaf_start[i + 1]):
            here[trees.leaf_node[leaf]] = trees.leaf_weight[leaf]
        for node in range(end - begin - 1, 0, -1):
            here[trees.parent[begin + node]] += here[node]


@kernel
def find_reaches(trees: Trees, weight: FloatArray, reach: FloatArray) -> None:
    """Set ``reach`` (nodes,) to what `Splits.reach` says.

    Below node v, a subtree's leaves u add N_u (a_u − a_v)². For every v a pass over the nodes
    below it takes, at each of them, the larger of stopping there and going on.
    """
    outputs = trees.value.shape[1]
    for i in range(trees.codes.shape[0]):
        begin = trees.node_start[i]
        nodes = trees.node_start[i + 1] - begin
        parent = trees.parent[begin : begin + nodes]
        most = np.empty(nodes)
        below = np.empty(nodes)
        inside = np.zeros(nodes, dtype=np.bool_)
        members = np.empty(nodes, dtype=np.int64)
        first = np.full(nodes, nodes)
        for node in range(nodes - 1, 0, -1):
            first[parent[node]] = node
        for top in range(nodes):
            if first[top] == nodes:
                reach[begin + top] = 0.0
                continue
            count = 1
            members[0] = top
            inside[top] = True
            position = 0
            while position < count:
                node = members[position]
                position += 1
                child = first[node]
                while child < nodes and parent[child] == node:
                    members[count] = child
                    count += 1
                    child += 1
            for position in range(count):
                below[members[position]] = 0.0
            for position in range(count - 1, -1, -1):
                node = members[position]
                square = 0.0
                for o in range(outputs):
                    square += (trees.value[begin + node, o] - trees.value[begin + top, o]) ** 2
                most[node] = max(weight[begin + node] * square, below[node])
                if position > 0:
                    below[parent[node]] += most[node]
            reach[begin + top] = np.sqrt(most[top])
