"""Every choice there is: the reference for tiny problems."""

from __future__ import annotations

import numpy as np

from formulations import ChoiceColumns, ChoiceFormulation
from formulations.arrays import FloatArray, IntArray
from formulations.choices import MOST_LISTED
from formulations.kernels.compiled import kernel
from solvers._coefficients.brute_force import BruteForceCoefficients
from solvers._core.base import Answer, Control, Solver
from solvers._core.result import BoundSource, Termination

_MOST_CHOICES = 1e8
_CHOICES_A_CALL = 1e6


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


class BruteForce(Solver[ChoiceFormulation]):
    """Enumerate all choices on the products of their columns."""

    for_coefficients = BruteForceCoefficients
    summary = f"all choices, up to {_MOST_CHOICES:.0e} of them"
    method = "exact"
    proof = "exhaustion"

    @classmethod
    def unsupported(cls, problem: ChoiceFormulation) -> str | None:
        """Refuse more choices than can be tried."""
        count = problem.count_choices()
        if count > _MOST_CHOICES:
            return f"it has {count:.3g} choices, at most {_MOST_CHOICES:.0e} can be tried"
        columns = sum(problem.count_block_choices(i) for i in range(problem.data.n_trees))
        if columns > MOST_LISTED:
            return f"its trees have {columns:.3g} choices, at most {MOST_LISTED:,} can be listed"
        return None

    def prepare(self, problem: ChoiceFormulation) -> None:
        """Compile the kernel."""
        start = np.array([0, 1])
        nothing = np.zeros((1, 1))
        best_completion(start, nothing, nothing[0], 0, start[:1].copy(), 0.0, 1.0, start[:1].copy())

    def build(self, problem: ChoiceFormulation) -> ChoiceColumns:
        """Return all choices as columns."""
        return ChoiceColumns.every(problem)

    def run(self, problem: ChoiceFormulation, model: ChoiceColumns, control: Control) -> Answer:
        """Try all completions of every choice of the first blocks, the rest in one call."""
        begins = model.start[:-1]
        sizes = np.diff(model.start)
        completions = np.cumprod(sizes[::-1].astype(np.float64))[::-1]
        first = int(np.argmax(np.append(completions, 1.0) <= _CHOICES_A_CALL))
        best = np.inf
        best_selected = begins.copy()
        termination = Termination.EXHAUSTED
        for option in np.ndindex(*sizes[:first]):
            selected = begins.copy()
            selected[:first] += np.array(option, dtype=np.int64)
            above = selected[:first]
            value = model.linear[above].sum() + model.gram[np.ix_(above, above)].sum()
            found = best_completion(
                model.start,
                model.gram,
                model.linear,
                first,
                selected,
                model.constant + float(value),
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
        choice = model.choice(best_selected)
        if termination is not Termination.EXHAUSTED:
            return Answer(termination, choice=choice)
        return Answer(
            termination,
            choice=choice,
            local=True,
            bound=problem.objective(choice),
            bound_source=BoundSource.EXHAUSTION,
        )
