"""Exact search where coefficients are free: columns in or out, best bound first."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace
from functools import cache
from itertools import count

import numpy as np

from formulations.arrays import BoolArray, FloatArray, IntArray
from formulations.rewritings.perspective import UnitFree
from solvers._coefficients.descending.best_subset import SubsetSearch
from solvers._coefficients.relaxing.perspective import Bounded, Part, plain_depth
from solvers._coefficients.relaxing.splitting import Splitter, pairs_of
from solvers._core.base import Control
from solvers._core.result import Termination

# Seconds between two entries of the trace when only the bound has moved.
_REPORT_SECONDS = 0.5

# Unknowns up to which the split of the Gram matrix is improved: each Newton step solves a
# dense system of this size.
_MOST_UNKNOWNS = 4500

# A node gets a split of its own when it has less than this part of the columns that its
# present split was made for, or so few that it takes no time.
_FEWER = 0.3
_FEW = 80

# Of the time that is left, a split may take this part.
_SPLIT_TIME = 0.4

# Where a new split begins: so much of the present one, the rest far inside.
_KEPT = 0.7

# The first gap aimed at, relative to the objective, from a split that is not known to be good;
# and the last, relative to the gap of the node.
_FAR = 30.0
_SPLIT_ACCURACY = 0.03

# Rounding takes columns that are used at least this much.
_ROUNDED_UP = 0.3


@dataclass(frozen=True, eq=False)
class Node:
    """A part of the search space.

    Attributes
    ----------
    bound
        Lower bound of all solutions in it.
    used
        Columns that must be used.
    others
        Columns that may be used besides.
    b, use
        The relaxation's coefficients of the others, and how much each is used.
    price
        ν of the relaxation.
    blocks
        Δ over the entries within groups of all columns.
    split_for
        Number of columns that Δ was made for.
    """

    bound: float
    used: tuple[int, ...]
    others: IntArray
    b: FloatArray
    use: FloatArray
    price: float
    blocks: FloatArray
    split_for: float

    def everywhere(self, columns: int) -> FloatArray:
        """Return b over all columns."""
        b = np.zeros(columns)
        b[self.others] = self.b
        return b


class CoefficientBranching:
    """A branch-and-bound search on the columns of a problem.

    Values inside are in units of the regression's constant. A node says which columns are
    used and which may be. Used ones are minimised out; its bound is the perspective relaxation
    of the rest, on a split of the Gram matrix that is made anew where few columns are left.
    Without a ridge and with columns that depend on each other there is no such bound, and
    that of least squares with all columns takes its place.

    Parameters
    ----------
    form
        The problem.
    b
        Coefficients of the incumbent, of the regression's columns.
    control
        Limits, and where progress is reported.
    splitting
        Whether the Gram matrix is split beyond the ridge.
    tolerance
        Relative accuracy of the relaxations.
    """

    def __init__(
        self,
        form: UnitFree,
        b: FloatArray,
        control: Control,
        splitting: bool = True,
        tolerance: float = 1e-7,
    ) -> None:
        self.form = form
        self.control = control
        self.nodes = 0
        self.splits = 0
        self._accuracy = 0.01 * tolerance
        self._regression = form.regression
        self._heuristic = SubsetSearch(form.regression)
        self._heuristic.offer(b)
        self._whole = Part.whole(form)
        self._depth = plain_depth(form)
        self._splitting = splitting and self._depth is not None
        self._first, self._second = pairs_of(self._whole.group)
        self._plain = np.zeros(len(self._first))
        if self._depth is not None:
            self._plain[self._first == self._second] = self._depth
        self._closed = np.inf  # the lowest bound of the nodes that were not searched further
        self._heap: list[tuple[float, int, Node]] = []
        self._order = count()
        self._tried: set[frozenset[int]] = set()
        self._reported = control.elapsed

    @property
    def best(self) -> FloatArray:
        """Coefficients of the incumbent, of the regression's columns."""
        return self._heuristic.best

    @property
    def objective(self) -> float:
        """Objective of the incumbent, in units of y²."""
        return self._heuristic.objective

    @property
    def bound(self) -> float:
        """Lower bound of the optimum in units of y², from all nodes open or closed."""
        lowest = self._heap[0][0] if self._heap else np.inf
        return min(min(lowest, self._closed) * self._regression.constant, self.objective)

    def open(self) -> Node:
        """Solve the root and return it."""
        everything: IntArray = np.flatnonzero(self._whole.count <= self._whole.room)
        nothing = np.zeros(len(everything))
        root = Node(0.0, (), everything, nothing, nothing, 0.0, self._plain, np.inf)
        root = self._examine(root)
        self._report()
        return root

    def run(self, node_limit: int) -> Termination:
        """Search until the gap is closed or a limit is met."""
        while self._heap:
            if self.control.close_enough(self.objective, self.bound):
                return Termination.GAP_REACHED
            reason = self.control.stop()
            if reason is not None:
                return reason
            if self.nodes >= node_limit:
                return Termination.NODE_LIMIT
            bound, _, node = heapq.heappop(self._heap)
            if self._is_done(bound):
                self._close(bound)
                continue
            self._branch(node)
            if self.control.elapsed - self._reported > _REPORT_SECONDS:
                self._report()
        self._report()
        return Termination.EXHAUSTED

    def _branch(self, node: Node) -> None:
        """Divide at the column that is used most: it is used, or it is not."""
        column = int(node.others[np.argmax(node.use)])
        room = self._whole.room - float(self._whole.count[[*node.used, column]].sum())
        beside = self._whole.group[node.others] != self._whole.group[column]
        beside &= self._whole.count[node.others] <= room
        self._examine(self._restricted(replace(node, used=(*node.used, column)), beside))
        self._examine(self._restricted(node, node.others != column))

    def _examine(self, node: Node) -> Node:
        """Bound a node, drop what cannot be better, keep it unless it is closed; return it."""
        self.nodes += 1
        if len(node.others) == 0:
            self._close_leaf(node)
            return node
        part = self._whole.given(list(node.used), node.others)
        node = replace(node, bound=max(node.bound, part.least_squares()))
        if self._depth is None or self._is_done(node.bound) or self.control.stop() is not None:
            node = replace(node, use=np.abs(part.vector))
            return self._keep(node, np.ones(len(node.others), np.bool_))
        found = self._relaxed(part, node)
        node, kept = self._after(node, found)
        size = int(kept.sum())
        fewer = size <= _FEW or size < _FEWER * node.split_for
        if self._splitting and fewer and size > 1 and not self._is_done(node.bound):
            part = part.without(kept)
            node = self._restricted(node, kept)
            node, kept = self._split(part, node)
        return self._keep(node, kept)

    def _keep(self, node: Node, kept: BoolArray) -> Node:
        self._round(node)
        node = self._restricted(node, kept)
        if self._is_done(node.bound):
            self._close(node.bound)
        elif not kept.any():
            self._close_leaf(node)
        else:
            heapq.heappush(self._heap, (node.bound, next(self._order), node))
        return node

    def _relaxed(self, part: Part, node: Node) -> Bounded:
        blocks = node.blocks[self._within(node.others)]
        first, second = pairs_of(part.group)
        matrix = part.gram.copy()
        matrix[first, second] -= blocks
        matrix[second, first] = matrix[first, second]
        depth = blocks[first == second]
        begin = node
        if np.isinf(node.split_for) and not node.b.any():
            stop = self.control.stop
            found = part.alternate(matrix, depth, self._target, lambda: stop() is not None)
            begin = replace(node, b=found.b, price=found.tree_price)
        return part.relax(
            matrix, depth, begin.b, begin.price, self._accuracy * self._target, self._target
        )

    def _after(self, node: Node, found: Bounded) -> tuple[Node, BoolArray]:
        """Return a node with its bound, and which columns a better solution may use."""
        bound = max(node.bound, found.bound)
        moved = replace(node, bound=bound, b=found.b, use=found.use, price=found.tree_price)
        return moved, ~(found.out > self._target)

    def _split(self, part: Part, node: Node) -> tuple[Node, BoolArray]:
        """Improve Δ for a node, and bound it anew."""
        within = self._within(node.others)
        everything = np.ones(len(node.others), np.bool_)
        if within.sum() + len(node.others) + part.group[-1] + 2 > _MOST_UNKNOWNS:
            return node, everything
        self.splits += 1
        splitter = Splitter(part.gram, part.vector, part.cost, part.count, part.group, part.room)
        inside = 0.5 * self._plain[within]
        control = self.control
        latest = control.elapsed + _SPLIT_TIME * (control.time_limit - control.elapsed)
        gap = self._target
        if np.isinf(node.split_for):
            gap *= _FAR
            start = splitter.far(inside, gap)
        else:
            begin = _KEPT * node.blocks[within] + (1.0 - _KEPT) * inside
            start = splitter.near(begin, node.b, node.price, 0.1 * gap)
        split = splitter.run(
            start,
            gap,
            _SPLIT_ACCURACY * (self._target - node.bound),
            self._target - part.constant,
            lambda: control.stop() is not None or control.elapsed > latest,
        )
        blocks = np.zeros(len(self._first))
        blocks[within] = split.blocks
        b = splitter.coefficients(split)
        moved = replace(
            node, blocks=blocks, b=b, price=split.tree_price, split_for=float(len(node.others))
        )
        found = self._relaxed(part, moved)
        if found.bound < node.bound:
            return replace(node, split_for=moved.split_for), everything
        return self._after(moved, found)

    def _close_leaf(self, node: Node) -> None:
        """Nothing is left to decide: the used columns with their best coefficients."""
        used = self.form.place[list(node.used)]
        b = self._regression.refit(used)
        self._offer(b)
        unused = used[b[used] == 0.0]
        value = self._regression.value(b) + float(self._regression.cost[unused].sum())
        self._close(max(node.bound, value / self._regression.constant))

    def _round(self, node: Node) -> None:
        """Descend from the used columns, and those of which the relaxation uses a good part."""
        room = self._whole.room - float(self._whole.count[list(node.used)].sum())
        columns, groups = list(node.used), set()
        for place in np.argsort(-node.use, kind="stable").tolist():
            if node.use[place] < _ROUNDED_UP:
                break
            column = int(node.others[place])
            group = int(self._whole.group[column])
            if group not in groups and self._whole.count[column] <= room:
                columns.append(column)
                groups.add(group)
                room -= float(self._whole.count[column])
        key = frozenset(columns)
        if key not in self._tried:
            self._tried.add(key)
            support = np.zeros(self._regression.n_columns, np.bool_)
            support[self.form.place[columns]] = True
            if self._heuristic.descend(support, self.control):
                self._report()

    def _offer(self, b: FloatArray) -> None:
        if self._heuristic.offer(b):
            self._report()

    def _restricted(self, node: Node, kept: BoolArray) -> Node:
        return replace(node, others=node.others[kept], b=node.b[kept], use=node.use[kept])

    def _within(self, others: IntArray) -> BoolArray:
        """Return which entries within groups are between given columns."""
        kept = np.zeros(self.form.n_columns, np.bool_)
        kept[others] = True
        return np.asarray(kept[self._first] & kept[self._second])

    @property
    def _target(self) -> float:
        """A node whose bound reaches this is closed."""
        allowance = max(self.control.gap * abs(self.objective), self._regression.problem.tolerance)
        return (self.objective - allowance) / self._regression.constant

    def _is_done(self, bound: float) -> bool:
        return bound >= self._target

    def _close(self, bound: float) -> None:
        self._closed = min(self._closed, bound)

    def _report(self) -> None:
        self._reported = self.control.elapsed
        self.control.report(self.objective, self.bound)


@cache
def compile_branching() -> None:
    """Compile the kernels of the bounds."""
    pair, one = np.arange(2), np.ones(2)
    part = Part(pair, 1.0, 0.5 * one, np.eye(2), 0.01 * one, one, pair, 1.0, False)
    split = Splitter(part.gram, part.vector, part.cost, part.count, part.group, part.room)
    found = part.relax(part.gram, 0.1 * one, 0.0 * one, 0.0, 0.1, np.inf)
    split.run(split.near(0.1 * one, found.b, 0.0, 1.0), 1.0, 1.0, np.inf, lambda: False)
