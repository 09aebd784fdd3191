"""Trees, forests and lists of trees of scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from forestprune.ensemble import TreeEnsemble
from forestprune.readers.common import constant_of, not_fitted, require_own_methods
from forestprune.trees import Tree
from formulations import InvalidInput
from formulations.arrays import FloatArray, IntArray, finite_floats, frozen


def read_tree(model: Any) -> TreeEnsemble:
    """Read a DecisionTree or ExtraTree, Regressor or Classifier."""
    require_readable(model)
    return ensemble_of(model, [tree_of(model)], np.ones(1))


def read_forest(model: Any) -> TreeEnsemble:
    """Read a RandomForest or ExtraTrees, Regressor or Classifier."""
    require_readable(model)
    trees = [tree_of(estimator) for estimator in model.estimators_]
    return ensemble_of(model, trees, np.full(len(trees), 1.0 / len(trees)))


def read_list(trees: Sequence[Any], weights: npt.ArrayLike | None) -> TreeEnsemble:
    """Read a list of DecisionTreeRegressor; errors as `read_ensemble`."""
    if len(trees) == 0:
        raise InvalidInput("model must hold at least one tree, got an empty list")
    for i, tree in enumerate(trees):
        if not isinstance(tree, DecisionTreeRegressor):
            raise InvalidInput(
                f"model[{i}] must be a fitted DecisionTreeRegressor, not {type(tree).__name__}"
            )
        require_readable(tree, f"model[{i}]")
        for what in ("n_features_in_", "n_outputs_", "feature_names_in_"):
            own, first = (getattr(one, what, "unknown") for one in (tree, trees[0]))
            if not np.array_equal(own, first):
                raise InvalidInput(f"model[{i}] has {what} = {own}, model[0] has {first}")
    scale = np.full(len(trees), 1.0 / len(trees))
    if weights is not None:
        scale = finite_floats("weights", weights)
        if scale.shape != (len(trees),):
            raise InvalidInput(f"weights must have shape ({len(trees)},), got {scale.shape}")
    ensemble = ensemble_of(trees[0], [tree_of(tree) for tree in trees], scale)
    return replace(ensemble, allow_nan=all(map(_takes_missing, trees)))


def require_readable(model: Any, name: str = "model") -> None:
    """Refuse what is not fitted, or predicts in its own way."""
    try:
        check_is_fitted(model)
    except NotFittedError:
        raise not_fitted(model, name) from None
    require_own_methods(model, "sklearn", name)


def ensemble_of(
    model: Any, trees: Sequence[Tree], scale: FloatArray, start: Any = 0.0, **parts: Any
) -> TreeEnsemble:
    """Return the ensemble of a model's trees; ``parts`` are further fields of it.

    Raises
    ------
    InvalidInput
        For a classifier of several outputs.
    """
    names = getattr(model, "feature_names_in_", None)
    return TreeEnsemble(
        trees=tuple(trees),
        scale=frozen(scale),
        constant=constant_of(trees, scale, start),
        n_features=int(model.n_features_in_),
        feature_names=None if names is None else tuple(map(str, names)),
        source=type(model).__name__,
        allow_nan=_takes_missing(model),
        classes=classes_of(model),
        **({"init": None} | parts),
    )


def classes_of(model: Any) -> npt.NDArray[Any] | None:
    """Return the labels of a classifier, None for another model.

    Raises
    ------
    InvalidInput
        When there are several outputs, each with classes of its own.
    """
    classes = getattr(model, "classes_", None)
    if classes is None:
        return None
    if isinstance(classes, list):
        raise InvalidInput(
            f"model must have one output; this {type(model).__name__} has classes for "
            f"{len(classes)}, and trees are pruned for one: fit one model for each"
        )
    return np.asarray(frozen(classes))


def tree_of(
    model: Any, features: IntArray | None = None, places: IntArray | None = None, classes: int = 0
) -> Tree:
    """Return the tree of a fitted DecisionTree estimator.

    Parameters
    ----------
    model
        The estimator.
    features
        Features of the ensemble that the tree's own features are; None where they are these.
    places, classes
        For a tree that has not seen all classes of an ensemble: where its own ones are among
        the ensemble's, and how many these are.
    """
    tree = model.tree_
    value = tree.value[:, :, 0]
    if getattr(model, "classes_", None) is not None:
        classes_of(model)
        value = frequencies(tree.value[:, 0, :], places, classes or tree.value.shape[2])
    feature = tree.feature
    if features is not None:
        feature = np.where(feature >= 0, features[np.maximum(feature, 0)], -1)
    return Tree.from_children(
        left=tree.children_left,
        right=tree.children_right,
        feature=feature,
        threshold=tree.threshold,
        missing_left=tree.missing_go_to_left.astype(np.bool_),
        value=value,
        cover=tree.weighted_n_node_samples,
    )


def frequencies(value: FloatArray, places: IntArray | None, classes: int) -> FloatArray:
    """Return (nodes, outputs) class frequencies: of two classes those of the second alone."""
    if places is not None:
        own, value = value, np.zeros((len(value), classes))
        value[:, places] = own
    return value[:, 1:] if classes == 2 else value


def _takes_missing(model: BaseEstimator) -> bool:
    return bool(get_tags(model).input_tags.allow_nan)
