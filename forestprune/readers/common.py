"""What readers of all libraries share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from forestprune.ensemble import TreeEnsemble
from forestprune.trees import Tree
from formulations import InvalidInput
from formulations.arrays import FloatArray, frozen


def require_own_methods(model: Any, package: str, name: str = "model") -> None:
    """Refuse a subclass that predicts in its own way.

    Raises
    ------
    InvalidInput
        When one of the methods that predict is not the library's.
    """
    for method in ("predict", "predict_proba"):
        own = getattr(type(model), method, None)
        if own is not None and own.__module__.split(".")[0] != package:
            library = {"sklearn": "scikit-learn"}.get(package, package)
            raise InvalidInput(
                f"{name} must predict as {library}'s own class does; {type(model).__name__} "
                f"has a {method} of its own, which pruning would not follow"
            )


def not_fitted(model: Any, name: str = "model") -> InvalidInput:
    """Return the error for a model that was not fitted."""
    return InvalidInput(
        f"{name} must be fitted before it is pruned; this {type(model).__name__} is not"
    )


def constant_of(trees: Sequence[Tree], scale: FloatArray, start: Any = 0.0) -> FloatArray:
    """Return (q,) the start of an ensemble and the share of the roots."""
    roots = np.stack([tree.value[0] for tree in trees])
    return np.asarray(frozen(start + scale @ roots))


def in_column(value: FloatArray, column: int, columns: int) -> FloatArray:
    """Return (nodes, columns) values that are 0 but in one column, given as (nodes,)."""
    wide = np.zeros((len(value), columns))
    wide[:, column] = value
    return wide


def compared(
    ensemble: TreeEnsemble, rows: npt.NDArray[Any], raw: npt.ArrayLike, tolerance: float
) -> TreeEnsemble:
    """Return the ensemble, after a look at whether it predicts what its library does.

    Libraries may write the same model in another way in another version: that must not
    go unseen.

    Parameters
    ----------
    ensemble
        What was read.
    rows
        A few rows.
    raw
        The library's own raw scores of these rows.
    tolerance
        Difference allowed, relative to the sum of the largest values of all trees.

    Raises
    ------
    InvalidInput
        When the scores differ.
    """
    given = ensemble.raw_predict(rows)
    wanted = np.asarray(raw, dtype=np.float64).reshape(given.shape)
    size = np.abs(ensemble.constant).max() + sum(
        float(np.abs(gamma * tree.value).max())
        for gamma, tree in zip(ensemble.scale, ensemble.trees, strict=True)
    )
    if not (np.isfinite(size) and np.all(np.abs(given - wanted) <= tolerance * size)):
        raise InvalidInput(
            f"model cannot be read: this {ensemble.source} predicts {wanted.ravel()[0]:.9g} where "
            f"its trees sum to {given.ravel()[0]:.9g}; its library may store trees in a way "
            "that this version does not know"
        )
    return ensemble
