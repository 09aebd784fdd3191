"""All columns of a problem with free coefficients, where they can be listed."""

from __future__ import annotations

import numpy as np

from formulations import (
    CoefficientFormulation,
    FreeFormulation,
    JointSubtreePruning,
    NormalEquations,
    Regression,
    SubtreeColumns,
)
from formulations.arrays import FloatArray

# Subtrees of all trees that are listed as columns.
_MOST_SUBTREES = 5000


def every_column(problem: FreeFormulation) -> NormalEquations:
    """Return the products of all columns of a problem for which they can be listed."""
    if isinstance(problem, JointSubtreePruning):
        return SubtreeColumns.every(problem)
    assert isinstance(problem, CoefficientFormulation)
    return Regression.of(problem)


def compile_listing(problem: FreeFormulation) -> None:
    """Compile the kernels that fill the columns."""
    if isinstance(problem, JointSubtreePruning):
        begin, end = problem.rule.choice_start[:2]
        whole = [[problem.full()[begin:end]] if problem.full()[begin] else []]
        SubtreeColumns.of(problem, whole)
    else:
        assert isinstance(problem, CoefficientFormulation)
        Regression.of(problem, np.arange(min(1, problem.n_columns)))


def count_columns(problem: FreeFormulation) -> FloatArray:
    """Return the number of columns of each tree (n,); floats, since they can be large."""
    if isinstance(problem, JointSubtreePruning):
        trees = range(problem.data.n_trees)
        return np.array([problem.unweighted.count_block_choices(i) - 1.0 for i in trees])
    return np.asarray(np.diff(problem.rule.point_start), dtype=np.float64)


def unlistable(problem: FreeFormulation) -> str | None:
    """Return why the columns of a problem cannot be listed, or None when they can."""
    if not isinstance(problem, JointSubtreePruning):
        return None
    count = float(count_columns(problem).sum())
    if count <= _MOST_SUBTREES:
        return None
    return f"its trees have {count:.3g} subtrees, at most {_MOST_SUBTREES:,} can be listed"
