"""Problems written for other software: as a mixed-integer linear program, or as matrices."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from formulations import ChoiceColumns, ChoiceFormulation, Formulation, InvalidInput
from formulations.archive import replacing, write_arrays
from formulations.arrays import FloatArray, IntArray
from formulations.errors import TooManyChoices
from formulations.rewritings.columns import widest_choice
from formulations.rewritings.linearised import count_products
from formulations.storage import own_version
from solvers._choices.opening import Opening
from solvers._core.base import Control
from solvers._core.errors import UnsupportedProblem
from solvers._exporting.program import COMMENT, write_program

# Limits on what is written: variables for products, and entries of one matrix (2 GB).
_MOST_PRODUCTS = 5_000_000
_MOST_ENTRIES = 250_000_000

_ABOUT = """\
A pruning problem as matrices; written by forestprune {version}.
  minimise  constant + linear @ x + x @ gram @ x     (units of y squared)
  over      x[c] in {{0, 1}},  x[block_start[b]:block_start[b + 1]].sum() == 1 for each block b
{choices}
linear = cost - 2 <P, r> / m and gram = <P, P> / m with P the columns, r the target without the
settled trees and m the sum of the row weights. With rows: gram = A.T @ A and
  constant + linear @ x + x @ gram @ x = rest + cost @ x + ((A @ x - b) ** 2).sum()
"""

_LAYERS = (
    "x[c] = 1: tree[c] takes choice[c], its number of layers. Trees in no block take settled[tree]."
)

_SUBTREES = """\
x[c] = 1: tree[c] keeps the nodes that choice[c] marks by 1, in level order and padded with 0.
Trees t in no block keep those that settled[choice_start[t]:choice_start[t + 1]] marks."""


@dataclass(frozen=True)
class Exported:
    """What was written.

    Attributes
    ----------
    path
        The file.
    columns, blocks, products
        Number of columns, of trees with more than one of them, and of products of columns
        (0 in a file of matrices).
    """

    path: Path
    columns: int
    blocks: int
    products: int


def export_problem(
    problem: Formulation,
    path: str | os.PathLike[str],
    *,
    presolve: bool = False,
    rows: bool = False,
) -> Exported:
    """Write a problem so that other software can solve it.

    The suffix decides. ``.mps`` and ``.lp``: a mixed-integer *linear* program with a binary
    for every choice of every tree and a variable for the product of each two, exact by
    `rewritings.linearised`. ``.npz``: the matrices of the mixed-integer *quadratic* program,
    without the products; to write that in cvxpy, say,

    >>> f = np.load("problem.npz")                                          # doctest: +SKIP
    >>> x = cp.Variable(len(f["linear"]), boolean=True)                     # doctest: +SKIP
    >>> loss = cp.quad_form(x, cp.psd_wrap(f["gram"]))                      # doctest: +SKIP
    >>> value = f["constant"] + f["linear"] @ x + loss                      # doctest: +SKIP
    >>> start = f["block_start"]                                            # doctest: +SKIP
    >>> one = [cp.sum(x[a:b]) == 1 for a, b in zip(start, start[1:])]       # doctest: +SKIP
    >>> cp.Problem(cp.Minimize(value), one).solve(solver="SCIP")            # doctest: +SKIP
    >>> depths = f["settled"].copy()                                        # doctest: +SKIP
    >>> depths[f["tree"][x.value > 0.5]] = f["choice"][x.value > 0.5, 0]    # doctest: +SKIP

    Each file says in its first lines, or in its entry ``about``, how to read it. Objectives
    are those of `Formulation.objective`, constant included.

    Parameters
    ----------
    problem
        A problem with fixed coefficients.
    path
        The file; an existing one is replaced when the new one is complete.
    presolve
        Leave out choices that are in no solution better than the one that coordinate descent
        and the relaxation find, by reduced costs. The optimal value stays the same; who does
        not want to rely on that writes all choices.
    rows
        For ``.npz``: whether to add A and b, with a row for each row of data and output.

    Raises
    ------
    InvalidInput
        When the suffix is none of these, or ``rows`` is asked of a linear program.
    UnsupportedProblem
        When coefficients are free, the file would be absurdly large, or it would not say which
        subtrees its columns are; the message has the reason and what can be written instead.
    OSError
        When the file cannot be written.
    """
    path = Path(path)
    linear = path.suffix in COMMENT
    if not linear and path.suffix != ".npz":
        raise InvalidInput(f"path must end in .mps, .lp or .npz, not {path.name!r}")
    if linear and rows:
        raise InvalidInput("rows=True is for matrices (.npz), a linear program has no rows of data")
    if not isinstance(problem, ChoiceFormulation):
        raise UnsupportedProblem(
            f"a problem of kind {problem.kind!r} has free coefficients and cannot be exported; "
            "save_problem writes it for forestprune itself"
        )
    by_depth = widest_choice(problem) <= 1
    if linear and presolve and not by_depth:
        raise UnsupportedProblem(
            f"after presolve a linear program cannot say which of its choices (kind "
            f"{problem.kind!r}) each column is; .npz can, and presolve=False numbers them as "
            "problem.block_choices does"
        )
    try:
        choices = _choices(problem, presolve)
    except TooManyChoices as error:
        raise UnsupportedProblem(
            f"the problem has too many choices to be written: {error}"
            + ("" if presolve else "; presolve=True leaves out what no better solution has")
        ) from None
    counts = [len(listed) for listed in choices if len(listed) > 1]
    start = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    columns, products = int(start[-1]), count_products(start) if linear else 0
    advice = "" if presolve else "; presolve=True leaves out what no better solution has"
    if products > _MOST_PRODUCTS:
        raise UnsupportedProblem(
            f"a linear program of this problem would have {products:,} products of columns, "
            f"more than {_MOST_PRODUCTS:,}{advice}; .npz takes the matrices without products"
        )
    data = problem.data
    entries = columns * max(columns, data.n_rows * data.n_outputs if rows else 0)
    if entries > _MOST_ENTRIES:
        raise UnsupportedProblem(
            f"a matrix of this problem would have {entries:,} entries, more than "
            f"{_MOST_ENTRIES:,}{advice}" + ("; rows=False leaves out A" if rows else "")
        )
    written = ChoiceColumns.of(problem, choices)
    if linear:
        with replacing(path) as part:
            write_program(written, part)
    else:
        write_arrays(_matrices(written, rows), path)
    return Exported(path, columns, len(counts), products)


def _choices(problem: ChoiceFormulation, presolve: bool) -> list[IntArray]:
    """Return the choices of every tree that are written."""
    if not presolve:
        return [problem.block_choices(i) for i in range(problem.data.n_trees)]
    opening = Opening.of(problem, Control())
    return problem.surviving_choices(opening.relaxed.point, opening.incumbent.objective)


def _matrices(columns: ChoiceColumns, rows: bool) -> dict[str, npt.NDArray[Any]]:
    """Return the entries of a file of matrices."""
    problem = columns.problem
    by_depth = widest_choice(problem) <= 1
    tree = np.repeat(columns.open_blocks, np.diff(columns.start))
    width = np.diff(problem.rule.choice_start)
    cost = [
        problem.block_costs(i, columns.choices[begin:end, : width[i]])
        for i, begin, end in zip(
            columns.open_blocks.tolist(), columns.start[:-1], columns.start[1:], strict=True
        )
    ]
    entries: dict[str, npt.NDArray[Any]] = {
        "about": np.array(
            _ABOUT.format(version=own_version(), choices=_LAYERS if by_depth else _SUBTREES)
        ),
        "gram": columns.gram,
        "linear": columns.linear,
        "constant": np.array(columns.constant),
        "cost": np.concatenate([np.empty(0), *cost]),
        "block_start": columns.start,
        "tree": tree,
        "choice": columns.choices,
        "settled": columns.settled,
    }
    if not by_depth:
        entries["choice_start"] = problem.rule.choice_start
    if rows:
        entries["A"], entries["b"] = _rows(columns, tree)
        entries["rest"] = np.array(problem.penalty(columns.settled))
    return entries


def _rows(columns: ChoiceColumns, tree: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return A (m·q, columns) and b (m·q,): what columns predict, and what they should."""
    problem, data = columns.problem, columns.problem.data
    begins = problem.rule.choice_start
    matrix = np.empty((data.n_rows, data.n_outputs, columns.n_columns))
    for c, i in enumerate(tree.tolist()):
        alone = problem.zero()
        alone[begins[i] : begins[i + 1]] = columns.choices[c, : begins[i + 1] - begins[i]]
        leaves = problem.leaf_values(alone)[data.leaf_start[i] : data.leaf_start[i + 1]]
        matrix[:, :, c] = leaves[data.codes[i]]
    weight = data.row_weight[:, None]
    target = problem.residual(problem.leaf_values(columns.settled)) / weight
    scale = np.sqrt(weight / data.total_weight)
    matrix *= scale[:, :, None]
    return matrix.reshape(target.size, columns.n_columns), (scale * target).reshape(-1)
