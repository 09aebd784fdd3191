"""Every pattern of used columns, each with its best coefficients."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from formulations import FreeFormulation, NormalEquations
from formulations.arrays import IntArray
from solvers._coefficients.listing import compile_listing, count_columns, every_column
from solvers._core.base import Answer, Control, Solver
from solvers._core.result import BoundSource, Termination

MOST_PATTERNS = 1e5
# Values nearer than this part of the target's mean square come from rounding of products.
_ROUNDING = 1e-11


@dataclass(frozen=True, eq=False)
class Patterns:
    """Columns with their products, and which of them each group may use.

    Attributes
    ----------
    regression
        The columns with their products.
    options
        Per group the positions of its columns, −1 for none, in the order they are tried.
    """

    regression: NormalEquations
    options: tuple[IntArray, ...]

    @classmethod
    def of(cls, problem: FreeFormulation) -> Patterns:
        """Compute the products; where all columns may be used at no price, all are."""
        regression = every_column(problem)
        if problem.convex:
            return cls(regression, tuple(regression.everything[:, None]))
        ends = zip(regression.start[:-1], regression.start[1:], strict=True)
        return cls(regression, tuple(np.append(-1, np.arange(*end)) for end in ends))

    def __iter__(self) -> Iterator[IntArray]:
        """Yield the used columns of every pattern that the number of trees allows."""
        most = self.regression.problem.most_trees
        limit = np.inf if most is None else most
        count = self.regression.count
        stack: list[tuple[int, tuple[int, ...], int]] = [(0, (), 0)]
        while stack:
            group, used, trees = stack.pop()
            if group == len(self.options):
                yield np.array(used, dtype=np.int64)
                continue
            for c in self.options[group][::-1].tolist():
                if c < 0:
                    stack.append((group + 1, used, trees))
                elif trees + count[c] <= limit:
                    stack.append((group + 1, (*used, c), trees + int(count[c])))

    def is_unique(self, columns: IntArray) -> bool:
        """Return whether no other columns predict the same as these at the same price.

        Others do where the columns depend on each other without a ridge, and where one of
        identical trees can stand for another.
        """
        form = self.regression
        last = form.everything[form.groups[columns]]
        copies = np.array([len(form.sources[c]) for c in last.tolist()], dtype=np.int64)
        if np.any((copies > form.count[columns]) | ((copies > 1) & (form.ridge[columns] == 0.0))):
            return False
        length = np.sqrt(form.gram.diagonal()[columns])
        matrix = form.gram[np.ix_(columns, columns)] / np.outer(length, length)
        values = np.linalg.eigvalsh(matrix + np.diag(form.ridge[columns] / length**2))
        return bool(np.all(values > np.finfo(float).eps * len(columns) * values[-1:]))


class BruteForceCoefficients(Solver[FreeFormulation]):
    """Try every pattern of used columns, at most one a tree, and refit its coefficients.

    ``extra["unique_support"]`` tells whether one support alone has the least value, to
    rounding; ``extra["patterns"]`` how many were tried.
    """

    takes = FreeFormulation
    summary = f"all patterns of used columns, up to {MOST_PATTERNS:.0e} of them"
    method = "exact"
    proof = "exhaustion"

    @classmethod
    def unsupported(cls, problem: FreeFormulation) -> str | None:
        """Refuse more patterns than can be tried."""
        count = count_patterns(problem)
        if count > MOST_PATTERNS:
            return (
                f"it has {count:.3g} patterns of used columns, at most {MOST_PATTERNS:.0e} "
                "can be tried"
            )
        return None

    def prepare(self, problem: FreeFormulation) -> None:
        """Compile the kernels that fill the columns."""
        compile_listing(problem)

    def build(self, problem: FreeFormulation) -> Patterns:
        """Return the columns and what each tree may use."""
        return Patterns.of(problem)

    def run(self, problem: FreeFormulation, model: Patterns, control: Control) -> Answer:
        """Refit all patterns; of those within rounding, keep one with the fewest trees."""
        form = model.regression
        rounding = _ROUNDING * problem.data.target_square
        best = np.zeros(form.n_columns)
        lowest = form.value(best)
        value = lowest
        ties = {frozenset[int]()}
        tried = 0
        termination = Termination.EXHAUSTED
        for used in model:
            b = form.refit(used)
            found = form.value(b)
            tried += 1
            if found <= lowest + rounding:
                support = frozenset(np.flatnonzero(b).tolist())
                ties = {support} if found < lowest - rounding else ties | {support}
                lowest = min(found, lowest)
                fewer = form.count[b != 0.0].sum() < form.count[best != 0.0].sum()
                if found < value - rounding or (fewer and found <= lowest + rounding):
                    best, value = b, found
                    control.report(value)
            reason = control.stop()
            if reason is not None:
                termination = reason
                break
        choice, beta = form.solution(best)
        extra = {"patterns": tried}
        if termination is not Termination.EXHAUSTED:
            return Answer(termination, choice=choice, beta=beta, extra=extra)
        unique = len(ties) == 1 and model.is_unique(np.flatnonzero(best))
        return Answer(
            termination,
            choice=choice,
            beta=beta,
            local=True,
            bound=problem.objective(choice, beta),
            bound_source=BoundSource.EXHAUSTION,
            extra=extra | {"unique_support": unique},
        )


def count_patterns(problem: FreeFormulation) -> float:
    """Return at least the number of patterns that are tried; a float, since it can be large.

    Identical trees are counted as different ones.
    """
    if problem.convex:
        return 1.0
    sizes = count_columns(problem)
    if np.isinf(sizes).any():
        return np.inf
    most = len(sizes) if problem.most_trees is None else min(problem.most_trees, len(sizes))
    with_trees = np.zeros(most + 1)  # the number of patterns with 0, 1, … trees
    with_trees[0] = 1.0
    for size in sizes[sizes > 0.0]:
        with_trees[1:] += size * with_trees[:-1]
    return float(with_trees.sum())
