"""What other libraries are told of a model: trees, what their nodes add, and the start."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from forestprune.ensemble import TreeEnsemble
from forestprune.exporting.start import start_values
from forestprune.trees import Tree
from formulations import InvalidInput
from formulations.arrays import FloatArray


def base_values(model: TreeEnsemble) -> FloatArray:
    """Return (q,) what is predicted without any tree.

    Raises
    ------
    InvalidInput
        When the ensemble starts from an estimator that does not predict a constant.
    """
    return np.asarray(model.constant + start_values(model))


def trees_and_values(model: TreeEnsemble) -> tuple[tuple[Tree, ...], list[FloatArray]]:
    """Return at least one tree, and per tree (nodes, q): γ (μ − μ(root)).

    That is what a row adds that stops at the node. Libraries want a tree: where none was kept it
    is a single leaf that adds nothing.
    """
    if not model.trees:
        return (_single_leaf(model.n_outputs),), [np.zeros((1, model.n_outputs))]
    return model.trees, [
        scale * (tree.value - tree.value[0])
        for scale, tree in zip(model.scale, model.trees, strict=True)
    ]


def require_plain_rows(model: TreeEnsemble, what: str) -> None:
    """Refuse rows in which numbers stand for missing values.

    Raises
    ------
    InvalidInput
        When they may, which ``what`` has no word for.
    """
    rules = model.rules
    if rules.zero_is_missing is not None and rules.zero_is_missing.any():
        raise InvalidInput(f"{what} cannot take zeros for missing values, as {model.source} does")
    if not np.isnan(rules.missing):
        raise InvalidInput(
            f"{what} cannot take {rules.missing:g} for missing values, as this {model.source} does"
        )


def require_numerical(model: TreeEnsemble, what: str) -> None:
    """Refuse categorical splits.

    Raises
    ------
    InvalidInput
        When there are any, which ``what`` does not know.
    """
    if any(np.isnan(tree.threshold).any() for tree in model.trees):
        raise InvalidInput(f"{what} have no categorical splits; this {model.source} has some")


def _single_leaf(outputs: int) -> Tree:
    none: npt.NDArray[Any] = np.array([-1])
    return Tree.from_children(
        left=none,
        right=none,
        feature=none,
        threshold=np.zeros(1),
        missing_left=np.zeros(1, dtype=np.bool_),
        value=np.zeros((1, outputs)),
        cover=np.ones(1),
    )
