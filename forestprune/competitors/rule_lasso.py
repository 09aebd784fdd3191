"""Lasso over the nodes of all trees."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from time import perf_counter
from typing import ClassVar, Literal, NamedTuple, get_args

import numpy as np

from forestprune.competitors._core.base import Competitor, Limits, Point, Size, Task
from forestprune.competitors._core.making import loss_of, made
from forestprune.competitors._core.node_columns import NodeColumns
from forestprune.competitors._core.searching import largest_within
from forestprune.competitors._core.working import WorkingNodes
from forestprune.pruned import PrunedEnsemble
from formulations import InvalidInput
from formulations.arrays import FloatArray, IntArray, frozen
from solvers import Termination
from solvers._core.base import require_one_of

# The smallest λ of a path of a given number, relative to the largest.
_SPAN = 1e-3

# Duality gap of the descent, relative to the loss without any node.
_TOLERANCE = 1e-5

# The part of λ by which the slope of a node that is left out may exceed it.
_EXCEEDED = 1e-3

# Nodes that are taken in at least, if there are as many to be taken.
_AT_ONCE = 50

_Columns = Literal["indicator", "step"]


@dataclass(frozen=True)
class RuleLassoOptions:
    """Options of `RuleLasso`.

    Attributes
    ----------
    columns
        ``"indicator"``: every node's column is 1 for the rows in it. ``"step"``: it is what the
        tree's weighted prediction changes by from the parent to the node, so that the source
        has all coefficients 1.
    """

    columns: _Columns = "indicator"

    def __post_init__(self) -> None:
        require_one_of("columns", self.columns, get_args(_Columns))


class _State(NamedTuple):
    """A solution: its λ, weights (nodes,), residual (m,) and constant."""

    penalty: float
    weights: FloatArray
    residual: FloatArray
    constant: float


class RuleLasso(Competitor):
    """Lasso over nodes: RuleFit's rules (Friedman and Popescu 2008) without linear terms.

        minimise over b, c   (1/2m) ‖ r0 − c − Σ_v b_v s_v 1[row in v] ‖² + λ ‖b‖₁

    over all nodes v but the roots. Columns are neither scaled nor trimmed as RuleFit does. To
    tell whether a row is in a node the nodes above are needed: these, and siblings, are counted
    and kept. What is left of a tree predicts sums of b_v s_v; its weight is 1.

    scikit-learn's coordinate descent works on few nodes; of all others those of the largest
    slopes are taken in, until none exceeds λ by more than 0.1 %.
    """

    over = "lambda"
    summary = "lasso over nodes (RuleFit, Friedman and Popescu 2008)"
    exact = "the optimum at the λ found, to 0.1 % of λ"
    Options: ClassVar[type] = RuleLassoOptions

    def within(self, task: Task, limits: Limits) -> PrunedEnsemble:
        """Return the model of the smallest λ that is found to fit."""
        columns = self._columns(task)
        start, working = _start(columns), WorkingNodes(columns, _TOLERANCE)

        def at(penalty: float, before: _State | None) -> tuple[Size, _State]:
            state = _solved(columns, working, penalty, start if before is None else before)
            return _size(task, columns.needed(state.weights)), state

        _, found, ended = largest_within(at, start.penalty, limits, task.time_limit)
        return self._model(task, columns, start if found is None else found, ended)

    def path(self, task: Task, values: int | FloatArray) -> Iterator[Point]:
        """Yield the models along falling λ; cut short after the time limit."""
        ends = perf_counter() + task.time_limit
        columns = self._columns(task)
        state, working = _start(columns), WorkingNodes(columns, _TOLERANCE)
        if isinstance(values, int):
            top = state.penalty
            values = np.geomspace(_SPAN * top, top, values) if top > 0.0 else np.zeros(1)
        for penalty in values[::-1].tolist():
            if perf_counter() > ends:
                return
            state = _solved(columns, working, penalty, state)
            yield Point(penalty, self._model(task, columns, state))

    def _columns(self, task: Task) -> NodeColumns:
        if task.data.n_outputs > 1:
            raise InvalidInput(f"rule_lasso is for one output, the model has {task.data.n_outputs}")
        return NodeColumns(task.data, self.options.columns == "step")

    def _model(
        self,
        task: Task,
        columns: NodeColumns,
        state: _State,
        ended: Termination = Termination.CONVERGED,
    ) -> PrunedEnsemble:
        marks = columns.needed(state.weights)
        loss = loss_of(task, columns.leaf_values(state.weights), state.constant)
        pruned = made(
            task,
            marks,
            added=state.constant,
            penalty=state.penalty,
            objective=loss,
            termination=ended,
        )
        values = columns.values(state.weights)
        start = task.data.node_start
        kept = np.flatnonzero(pruned.depths).tolist()
        trees = tuple(
            replace(tree, value=frozen(values[start[i] : start[i + 1]][_within(marks, start, i)]))
            for i, tree in zip(kept, pruned.model.trees, strict=True)
        )
        scale = np.asarray(frozen(np.ones(len(trees))))
        return replace(pruned, model=replace(pruned.model, trees=trees, scale=scale))


def _within(marks: IntArray, start: IntArray, i: int) -> IntArray:
    return np.asarray(np.flatnonzero(marks[start[i] : start[i + 1]]))


def _size(task: Task, marks: IntArray) -> Size:
    trees = marks[task.data.node_start[:-1]].sum()
    return Size(int(marks.sum()), int(trees))


def _start(columns: NodeColumns) -> _State:
    """Return the solution at the smallest λ at which no node has a weight."""
    weights = np.zeros(len(columns.data.parent))
    residual, constant = columns.residual(weights)
    slopes = np.abs(columns.slopes(residual)[columns.priced])
    return _State(float(slopes.max(initial=0.0)), weights, residual, constant)


def _solved(columns: NodeColumns, working: WorkingNodes, penalty: float, before: _State) -> _State:
    """Return the solution at a λ, from one at another whose nodes are among the working ones."""
    state = before
    while True:
        if len(working.nodes) > 0:
            weights = working.solved(penalty, state.weights)
            state = _State(penalty, weights, *columns.residual(weights))
        slopes = np.where(columns.priced, np.abs(columns.slopes(state.residual)), 0.0)
        slopes[working.nodes] = 0.0
        missing = np.flatnonzero(slopes > (1.0 + _EXCEEDED) * penalty)
        if len(missing) == 0:
            return state._replace(penalty=penalty)
        most = max(_AT_ONCE, int((state.weights != 0.0).sum()))
        working.extend(_strongest(missing, slopes[missing], most))


def _strongest(nodes: IntArray, slopes: FloatArray, most: int) -> IntArray:
    """Return the nodes of the largest slopes.

    Of nodes with the same slope one is taken: most have the same rows, or the other ones, since
    trees split alike.
    """
    order = np.argsort(-slopes, kind="stable")
    nodes, slopes = nodes[order], slopes[order]
    new = np.append(True, slopes[1:] < (1.0 - 1e-9) * slopes[:-1])
    return np.asarray(nodes[new][:most])
