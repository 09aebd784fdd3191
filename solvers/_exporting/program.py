# mypy: disable-error-code="import-untyped"
"""Explicit columns as a mixed-integer linear program in a file (`rewritings.linearised`)."""

from __future__ import annotations

import io
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from formulations import ChoiceColumns
from formulations.arrays import IntArray
from formulations.rewritings.linearised import Products
from formulations.storage import own_version
from solvers._core.errors import EngineFailure

# The formats, and how a line of comment begins in each.
COMMENT = {".mps": "* ", ".lp": "\\ "}

_ABOUT = """\
A pruning problem as a mixed-integer linear program; written by forestprune {version}.
{trees} trees, {columns} columns of {blocks} of them, {products} products of two columns.
The objective is that of the problem, in units of the response squared. Ask for a gap and
tolerances far below what is to be checked: those of solvers are often absolute.
x_t3_{letter}2 = 1: tree 3 (the first is 0) {meaning}.
y_t3_{letter}2_t5_{letter}1 = x_t3_{letter}2 * x_t5_{letter}1, which the rows sum_ see to.
constant = 1 carries the constant of the objective.
"""


def write_program(columns: ChoiceColumns, path: Path) -> None:
    """Write a program with a constant, a binary for every column, and all products.

    Parameters
    ----------
    columns
        What to write.
    path
        An ``.mps`` or ``.lp`` file.

    Raises
    ------
    EngineFailure
        When HiGHS, which writes it, fails.
    OSError
        When the file cannot be written.
    """
    problem = columns.problem
    products = _products(columns)
    by_depth = columns.choices.shape[1] <= 1
    plain = path.with_suffix(f".plain{path.suffix}")
    try:
        _write(_program(columns, products), plain)
        about = _ABOUT.format(
            version=own_version(),
            trees=problem.data.n_trees,
            columns=columns.n_columns,
            blocks=len(columns.open_blocks),
            products=len(products.left),
            letter="k" if by_depth else "c",
            meaning="keeps 2 layers" if by_depth else "takes block_choices(3)[2] of the problem",
        )
        with path.open("wb") as file, plain.open("rb") as body:
            file.writelines(
                f"{COMMENT[path.suffix]}{line}\n".encode() for line in about.splitlines()
            )
            shutil.copyfileobj(body, file)
    finally:
        plain.unlink(missing_ok=True)


def _products(columns: ChoiceColumns) -> Products:
    """Return the objective, linear in the columns and in products of two blocks' columns."""
    block = _block_numbers(columns.start)
    left, right = np.nonzero(block[:, None] < block)
    return Products(
        linear=columns.linear + np.diag(columns.gram),
        left=left,
        right=right,
        coefficient=2.0 * columns.gram[left, right],
        constant=columns.constant,
    )


def _program(columns: ChoiceColumns, products: Products) -> Any:
    """Return the program as HiGHS takes it."""
    import highspy

    settled, labels = _settled_labels(columns), _labels(columns)
    n_binaries, n_products = len(settled) + len(labels), len(products.left)
    rows, row_names = _rows(columns.start, products, settled, labels)
    # Columns sum to 1 in a block, products sum to a column.
    total = np.array([1.0 if name.startswith("one_") else 0.0 for name in row_names])
    pairs = zip(products.left.tolist(), products.right.tolist(), strict=True)
    kinds = highspy.HighsVarType
    program = highspy.HighsLp()
    program.model_name_ = "forestprune"
    program.num_col_, program.num_row_ = 1 + n_binaries + n_products, len(row_names)
    program.col_names_ = [
        "constant",
        *(f"x_{label}" for label in [*settled, *labels]),
        *(f"y_{labels[c]}_{labels[d]}" for c, d in pairs),
    ]
    program.col_cost_ = np.concatenate(
        [[products.constant], np.zeros(len(settled)), products.linear, products.coefficient]
    )
    program.col_lower_ = np.repeat([1.0, 0.0], [1, n_binaries + n_products])
    program.col_upper_ = np.ones(program.num_col_)
    program.integrality_ = [
        kinds.kContinuous,
        *[kinds.kInteger] * n_binaries,
        *[kinds.kContinuous] * n_products,
    ]
    program.row_names_, program.row_lower_, program.row_upper_ = row_names, total, total
    program.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    program.a_matrix_.start_ = rows.indptr
    program.a_matrix_.index_ = rows.indices + 1
    program.a_matrix_.value_ = rows.data
    return program


def _rows(
    start: IntArray, products: Products, settled: list[str], labels: list[str]
) -> tuple[sparse.csr_array[Any], list[str]]:
    """Return the rows Σ_c x_c of every tree and Σ_d y_cd − x_c, over x and y, and their names."""
    block = _block_numbers(start)
    n_settled, n_trees = len(settled), len(settled) + len(start) - 1
    x = n_settled + np.arange(len(labels))
    y = n_settled + len(labels) + np.arange(len(products.left))
    # One row for every column and every other block.
    near = np.concatenate([products.left, products.right])
    far = block[np.concatenate([products.right, products.left])]
    keys, row = np.unique(near * len(start) + far, return_inverse=True)
    column, other = np.divmod(keys, len(start))
    sums = n_trees + np.arange(len(keys))
    entries = (
        np.repeat([1.0, -1.0], [n_settled + len(x) + len(row), len(keys)]),
        (
            np.concatenate([np.arange(n_settled), n_settled + block, n_trees + row, sums]),
            np.concatenate([np.arange(n_settled), x, y, y, x[column]]),
        ),
    )
    shape = (n_trees + len(keys), n_settled + len(x) + len(y))
    trees = [labels[c].split("_")[0] for c in start[:-1].tolist()]
    names = [
        *(f"one_{label.split('_')[0]}" for label in settled),
        *(f"one_{tree}" for tree in trees),
        *(
            f"sum_{labels[c]}_{trees[b]}"
            for c, b in zip(column.tolist(), other.tolist(), strict=True)
        ),
    ]
    return sparse.csr_array(entries, shape=shape), names


def _labels(columns: ChoiceColumns) -> list[str]:
    """Return what each column is called: tree and depth, or tree and place among its choices."""
    tree = np.repeat(columns.open_blocks, np.diff(columns.start)).tolist()
    if columns.choices.shape[1] <= 1:
        return [
            f"t{i}_k{depth}" for i, (depth,) in zip(tree, columns.choices.tolist(), strict=True)
        ]
    place = np.arange(columns.n_columns) - columns.start[_block_numbers(columns.start)]
    return [f"t{i}_c{c}" for i, c in zip(tree, place.tolist(), strict=True)]


def _settled_labels(columns: ChoiceColumns) -> list[str]:
    """Return what the only column of each settled tree is called."""
    settled = np.setdiff1d(np.arange(columns.problem.data.n_trees), columns.open_blocks).tolist()
    if columns.choices.shape[1] <= 1:
        return [f"t{i}_k{columns.settled[i]}" for i in settled]
    return [f"t{i}_c0" for i in settled]


def _block_numbers(start: IntArray) -> IntArray:
    return np.repeat(np.arange(len(start) - 1), np.diff(start))


def _write(program: Any, path: Path) -> None:
    import highspy
    from pyomo.common.tee import capture_output

    with capture_output(io.StringIO(), capture_fd=True):  # its banner comes before any option
        highs: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    highs.setOptionValue("output_flag", False)
    for status in (highs.passModel(program), highs.writeModel(str(path))):
        if status != highspy.HighsStatus.kOk:
            raise EngineFailure(f"HiGHS could not write the program: {status}")
