"""Forgetful models as ensembles for pruning."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from forestprune.ensemble import TreeEnsemble
from forestprune.trees import Tree
from formulations.arrays import FloatArray, frozen
from formulations.errors import InvalidInput


def read_forgetful(model: Any) -> TreeEnsemble:
    """Return the trees of a forgetful model at this moment.

    The ensemble predicts class frequencies (of two classes those of the second), or means:
    what ``predict_proba`` is with ``voting="soft"``. Later batches do not change it.

    Parameters
    ----------
    model
        A forgetful tree or forest, classifier or regressor.

    Raises
    ------
    InvalidInput
        When the model has not learnt anything.
    """
    inner = getattr(model, "_trees", None)
    if inner is None:
        raise InvalidInput(f"model must have learnt a batch; this {type(model).__name__} has not")
    engine = inner.engine
    classes = getattr(model, "classes_", None)
    outputs = _outputs(model, classes)
    trees = tuple(_tree(engine.tree(t), outputs) for t in range(engine.n_trees))
    scale = np.full(len(trees), 1.0 / len(trees))
    names = getattr(model, "feature_names_in_", None)
    return TreeEnsemble(
        trees=trees,
        scale=frozen(scale),
        constant=frozen(scale @ np.stack([tree.value[0] for tree in trees])),
        init=None,
        n_features=engine.n_features,
        feature_names=None if names is None else tuple(map(str, names)),
        source=type(model).__name__,
        allow_nan=False,
        classes=None if classes is None else np.asarray(frozen(classes)),
    )


def retained_rows(model: Any) -> tuple[FloatArray, npt.NDArray[Any]]:
    """Return the rows (m, features) that the trees of a forgetful model remember, and y (m,).

    It is the union over trees: equal rows occur as often as in the tree that remembers most
    of them. They come in the order of their values.

    Raises
    ------
    InvalidInput
        When the model is no forgetful one, or has not learnt anything.
    """
    inner = getattr(model, "_trees", None)
    if inner is None or not hasattr(model, "retained"):
        raise InvalidInput(
            "X and y can be left out only for a forgetful model that has learnt a batch; this "
            f"{type(model).__name__} remembers no rows"
        )
    known = [inner.engine.retained(t)[:2] for t in range(inner.engine.n_trees)]
    table = np.concatenate([np.column_stack(rows) for rows in known])
    distinct, places = np.unique(table, axis=0, return_inverse=True)
    times = np.zeros(len(distinct), dtype=np.int64)
    begin = 0
    for X, _ in known:
        own = places[begin : begin + len(X)]
        times = np.maximum(times, np.bincount(own, minlength=len(distinct)))
        begin += len(X)
    rows = np.repeat(distinct, times, axis=0)
    y = rows[:, -1]
    return rows[:, :-1], model._labelled(y if model._regression else y.astype(np.int64))


def _outputs(model: Any, classes: npt.NDArray[Any] | None) -> Any:
    """Return which columns of the engine's values are outputs, in order."""
    if classes is None:
        return slice(None)
    numbers = model._labels.numbers
    return numbers[1:] if len(numbers) == 2 else numbers


def _tree(tree: Any, outputs: Any) -> Tree:
    return Tree.from_children(
        left=tree.left,
        right=tree.right,
        feature=tree.feature,
        threshold=tree.threshold,
        missing_left=np.zeros(len(tree.left), dtype=np.bool_),
        value=tree.value[:, outputs],
        cover=tree.weight,
    )
