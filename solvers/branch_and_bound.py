"""Exact search: relaxations on the choices that survive fixing, best bound first."""

from __future__ import annotations

import heapq
from itertools import count

import numpy as np

from formulations import ChoiceColumns, ChoiceFormulation
from formulations.arrays import BoolArray, FloatArray, IntArray
from solvers._choices.columns import (
    descend_columns,
    discard,
    keep_to_allowed,
    largest_weights,
    relax_columns,
    spreads,
)
from solvers._choices.opening import Opening, compile_opening
from solvers._coefficients.branch_and_bound import CoefficientBranchAndBound
from solvers._core.base import Answer, Control, Solver
from solvers._core.options import BranchAndBoundOptions
from solvers._core.result import BoundSource, Termination

# Seconds between two entries of the trace when only the bound has moved.
_REPORT_SECONDS = 0.5


class BranchAndBound(Solver[ChoiceFormulation]):
    """Best-first search on the Gram matrix of the choices that survive reduced-cost fixing.

    The incumbent is that of coordinate descent with local search, of rounding at the root
    and of rounding and descent at every node. A node allows some columns of each block. Its
    relaxation starts at its parent's; its bound is that of Frank and Wolfe; columns that
    cannot be in a better solution are dropped again. It is split at the block whose rounding
    at random would cost most, at the mean of that block's weights.
    """

    summary = "exact: best-first branch and bound on own relaxations"
    method = "exact"
    proof = "exhaustion, by Frank–Wolfe bounds at the nodes"
    for_coefficients = CoefficientBranchAndBound
    Options = BranchAndBoundOptions
    options: BranchAndBoundOptions

    def prepare(self, problem: ChoiceFormulation) -> None:
        """Compile the kernels."""
        compile_opening(problem)

    def run(self, problem: ChoiceFormulation, model: None, control: Control) -> Answer:
        """Find an incumbent, solve the root, drop what cannot be better, search."""
        opening = Opening.of(problem, control)
        columns = opening.columns(self.options.presolve, control)
        if isinstance(columns, Answer):
            return columns
        incumbent = opening.incumbent
        search = Search(columns, incumbent.choice, incumbent.objective, opening.bound, control)
        termination = search.run(self.options.node_limit)
        return Answer(
            termination,
            choice=search.choice,
            local=incumbent.local and search.objective == incumbent.objective,
            relaxed=opening.relaxed.point,
            bound=search.bound,
            bound_source=BoundSource.EXHAUSTION,
            extra={"nodes": search.nodes, "columns": columns.n_columns},
        )


class Search:
    """A branch-and-bound search on explicit columns.

    Parameters
    ----------
    columns
        The problem; a solution better than ``objective`` uses only these.
    choice, objective
        The incumbent.
    bound
        A lower bound of the optimum.
    control
        Limits, and where progress is reported.
    """

    def __init__(
        self,
        columns: ChoiceColumns,
        choice: IntArray,
        objective: float,
        bound: float,
        control: Control,
    ) -> None:
        self.columns = columns
        self.choice = choice
        self.objective = objective
        self.root_bound = bound
        self.control = control
        self.nodes = 0
        self._closed = np.inf  # the lowest bound of the nodes that were not searched further
        self._heap: list[tuple[float, int, BoolArray, FloatArray]] = []
        self._order = count()
        self._reported = control.elapsed

    @property
    def bound(self) -> float:
        """Lower bound of the optimum, from all nodes open or closed."""
        lowest = self._heap[0][0] if self._heap else np.inf
        return max(self.root_bound, min(lowest, self._closed, self.objective))

    def run(self, node_limit: int) -> Termination:
        """Search until the gap is closed or a limit is met."""
        columns = self.columns
        weights = columns.weights(columns.selected(self.choice))
        self._examine(np.ones(columns.n_columns, dtype=np.bool_), weights, self.root_bound)
        while self._heap:
            if self.control.close_enough(self.objective, self.bound):
                return Termination.GAP_REACHED
            reason = self.control.stop()
            if reason is not None:
                return reason
            if self.nodes >= node_limit:
                return Termination.NODE_LIMIT
            bound, _, allowed, packed = heapq.heappop(self._heap)
            if self._prunable(bound):
                self._closed = min(self._closed, bound)
                continue
            weights = np.zeros(columns.n_columns)
            weights[allowed] = packed
            self._branch(bound, allowed, weights)
            if self.control.elapsed - self._reported > _REPORT_SECONDS:
                self._report()
        self._report()
        return Termination.EXHAUSTED

    def _branch(self, bound: float, allowed: BoolArray, weights: FloatArray) -> None:
        start = self.columns.start
        spread = np.empty(len(start) - 1)
        spreads(start, self.columns.gram, weights, spread)
        block = int(np.argmax(spread))
        here = np.arange(start[block], start[block + 1])
        # Where all weight of every block is on one column, any block with a choice is split.
        if spread[block] == 0.0:
            open_counts = np.add.reduceat(allowed, start[:-1])
            block = int(np.argmax(open_counts))
            here = np.arange(start[block], start[block + 1])
            kept = here[allowed[here]]
            middle = int(kept[(len(kept) - 1) // 2])
        else:
            middle = int(np.floor(here @ weights[here] / weights[here].sum()))
        for side in (here <= middle, here > middle):
            child = allowed.copy()
            child[here[~side]] = False
            if child[here].any():
                moved = weights.copy()
                keep_to_allowed(start, child, moved)
                self._examine(child, moved, bound)

    def _examine(self, allowed: BoolArray, weights: FloatArray, above: float) -> None:
        """Solve a node's relaxation, try its rounding, and keep it unless it is closed."""
        self.nodes += 1
        columns = self.columns
        to_close = max(self.objective - above, 0.0)
        tolerance = max(0.02 * to_close, 0.1 * self._allowance)
        value, gap, gradient = relax_columns(
            columns.start,
            columns.gram,
            columns.linear,
            allowed,
            weights,
            tolerance,
            1000,
        )
        bound = max(above, columns.constant + value - gap)
        self._try_rounding(weights)
        if self._prunable(bound):
            self._closed = min(self._closed, bound)
            return
        discard(columns.start, allowed, gradient, self.objective - (columns.constant + value - gap))
        if np.add.reduceat(allowed, columns.start[:-1]).max() == 1:
            # One choice is left, and descent from it was tried: nothing better is below.
            self._closed = min(self._closed, max(bound, self._only_value(allowed)))
            return
        keep_to_allowed(columns.start, allowed, weights)
        heapq.heappush(self._heap, (bound, next(self._order), allowed, weights[allowed]))

    def _only_value(self, allowed: BoolArray) -> float:
        return self.columns.value(allowed.astype(np.float64))

    def _try_rounding(self, weights: FloatArray) -> None:
        columns = self.columns
        selected = np.empty(len(columns.open_blocks), dtype=np.int64)
        largest_weights(columns.start, weights, selected)
        tolerance = columns.problem.tolerance
        descend_columns(columns.start, columns.gram, columns.linear, selected, tolerance)
        if columns.value(columns.weights(selected)) < self.objective - tolerance:
            choice = columns.choice(selected)
            objective = columns.problem.objective(choice)
            if objective < self.objective:
                self.choice, self.objective = choice, objective
                self._report()

    @property
    def _allowance(self) -> float:
        """How far below the incumbent a bound may stay."""
        return max(self.control.gap * abs(self.objective), self.columns.problem.tolerance)

    def _prunable(self, bound: float) -> bool:
        return bound >= self.objective - self._allowance

    def _report(self) -> None:
        self._reported = self.control.elapsed
        self.control.report(self.objective, self.bound)
