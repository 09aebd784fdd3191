"""Every choice there is: the reference for tiny problems."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from formulations import Formulation
from formulations.arrays import FloatArray, IntArray
from formulations.compiled import kernel
from solvers._base import Answer, Control, Solver
from solvers._result import BoundSource, Termination

_MOST_CHOICES = 1e8
_CHOICES_A_CALL = 1e6


class Columns(NamedTuple):
    """The columns of all choices of all blocks, as products.

    ``start`` (n + 1,) is where each block's choices begin, the empty one first; ``gram``
    (c, c), ``linear`` (c,) are such that a selection of columns has the value
    ``constant + Σ linear + Σ gram`` over the selected columns and pairs of them.
    """

    start: IntArray
    gram: FloatArray
    linear: FloatArray
    constant: float


@kernel
def best_completion(
    start: IntArray,
    gram: FloatArray,
    linear: FloatArray,
    first: int,
    selected: IntArray,
    value: float,
    best: float,
    best_selected: IntArray,
) -> float:
    """Try all choices of the blocks from ``first`` on; those before are in ``selected``.

    Depth first; every level keeps the linear terms given the selection above it. Returns the
    best value and writes its selection to ``best_selected``.
    """
    blocks = start.shape[0] - 1
    terms = np.empty((blocks + 1, linear.shape[0]))
    terms[first] = linear
    for i in range(first):
        terms[first] += 2.0 * gram[selected[i]]
    values = np.empty(blocks + 1)
    values[first] = value
    level = first
    for i in range(first, blocks):
        selected[i] = start[i] - 1
    if first == blocks and value < best:
        best_selected[:] = selected
        return value
    while level >= first:
        selected[level] += 1
        column = selected[level]
        if column == start[level + 1]:
            selected[level] = start[level] - 1
            level -= 1
            continue
        now = values[level] + terms[level, column] + gram[column, column]
        if level == blocks - 1:
            if now < best:
                best = now
                best_selected[:] = selected
            continue
        values[level + 1] = now
        for later in range(start[level + 1], linear.shape[0]):
            terms[level + 1, later] = terms[level, later] + 2.0 * gram[column, later]
        level += 1
    return best


class BruteForce(Solver):
    """Enumerate all choices on the products of their columns."""

    summary = f"all choices, up to {_MOST_CHOICES:.0e} of them"
    method = "exact"
    proof = "exhaustion"

    @classmethod
    def unsupported(cls, problem: Formulation) -> str | None:
        """Refuse more choices than can be tried."""
        count = problem.count_choices()
        if count > _MOST_CHOICES:
            return f"it has {count:.3g} choices, at most {_MOST_CHOICES:.0e} can be tried"
        return None

    def prepare(self, problem: Formulation) -> None:
        """Compile the kernel."""
        start = np.array([0, 1])
        nothing = np.zeros((1, 1))
        best_completion(start, nothing, nothing[0], 0, start[:1].copy(), 0.0, 1.0, start[:1].copy())

    def build(self, problem: Formulation) -> tuple[Columns, IntArray]:
        """Return the columns' products and the choice that each column stands for."""
        data = problem.data
        choices, columns, costs, counts = [], [], [], [0]
        for i in range(data.n_trees):
            part = slice(problem.rule.choice_start[i], problem.rule.choice_start[i + 1])
            options = problem.block_choices(i)
            for option in options:
                choice = problem.zero()
                choice[part] = option
                choices.append(choice)
                weighted = data.row_weight[:, None] * data.target
                columns.append((weighted - problem.residual(problem.leaf_values(choice))).ravel())
                costs.append(problem.penalty(choice))
            counts.append(counts[-1] + len(options))
        matrix = np.array(columns)
        weight = np.repeat(data.row_weight, data.n_outputs)
        gram = (matrix / weight) @ matrix.T / data.total_weight
        linear = np.array(costs) - 2.0 * matrix @ data.target.ravel() / data.total_weight
        return Columns(np.array(counts), gram, linear, data.target_square), np.array(choices)

    def run(
        self, problem: Formulation, model: tuple[Columns, IntArray], control: Control
    ) -> Answer:
        """Try all completions of every choice of the first blocks, the rest in one call."""
        columns, choices = model
        sizes = np.diff(columns.start)
        completions = np.cumprod(sizes[::-1].astype(np.float64))[::-1]
        first = int(np.argmax(np.append(completions, 1.0) <= _CHOICES_A_CALL))
        best = np.inf
        best_selected = columns.start[:-1].copy()
        termination = Termination.EXHAUSTED
        for option in np.ndindex(*sizes[:first]):
            selected = columns.start[:-1].copy()
            selected[:first] += np.array(option, dtype=np.int64)
            above = selected[:first]
            value = (
                columns.constant
                + columns.linear[above].sum()
                + columns.gram[np.ix_(above, above)].sum()
            )
            found = best_completion(
                columns.start,
                columns.gram,
                columns.linear,
                first,
                selected,
                float(value),
                best,
                best_selected,
            )
            if found < best:
                best = found
                control.report(best)
            reason = control.stop()
            if reason is not None:
                termination = reason
                break
        choice = choices[best_selected].sum(axis=0)
        if termination is not Termination.EXHAUSTED:
            return Answer(termination, choice=choice)
        return Answer(
            termination,
            choice=choice,
            local=True,
            bound=problem.objective(choice),
            bound_source=BoundSource.EXHAUSTION,
        )
