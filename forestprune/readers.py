"""Reading fitted ensembles into plain arrays; one function a class of models."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import singledispatch
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.ensemble import (
    AdaBoostRegressor,
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from forestprune.ensemble import TreeEnsemble
from forestprune.trees import Tree
from formulations import InvalidInput
from formulations.arrays import FloatArray, finite_floats, frozen

SUPPORTED = (
    "RandomForestRegressor, ExtraTreesRegressor, GradientBoostingRegressor, "
    "DecisionTreeRegressor, or a list of fitted DecisionTreeRegressor"
)


def read_ensemble(model: Any, weights: npt.ArrayLike | None = None) -> TreeEnsemble:
    """Read a fitted model into plain arrays.

    Depth pruning needs inner values that are the means of the leaves below. That is tested
    on every tree. Where it fails (boosting with a loss other than the squared error, the
    absolute error as criterion, monotonic constraints) inner values are recomputed from the
    leaves by the weight of the training rows, with a warning: the full model stays the same.

    Parameters
    ----------
    model
        A fitted RandomForestRegressor, ExtraTreesRegressor, GradientBoostingRegressor or
        DecisionTreeRegressor, also of a subclass or inside a FrozenEstimator; or a list of
        fitted DecisionTreeRegressor.
    weights
        (n,) scale of each tree of a list, 1/n each by default. Only for a list.

    Raises
    ------
    InvalidInput
        When the model is not fitted or cannot be pruned, with the reason.
    """
    if weights is not None and not isinstance(model, list | tuple):
        raise InvalidInput(
            f"weights go with a list of trees; the {type(model).__name__} has its own"
        )
    if isinstance(model, list | tuple):
        return _read_list(model, weights)
    return _read(model)


@singledispatch
def _read(model: Any) -> TreeEnsemble:
    raise InvalidInput(
        f"model must be a fitted {SUPPORTED}; {type(model).__name__} is not supported"
    )


@_read.register(FrozenEstimator)
def _read_frozen(model: Any) -> TreeEnsemble:
    return _read(model.estimator)


@_read.register(Pipeline)
def _refuse_pipeline(model: Any) -> TreeEnsemble:
    raise InvalidInput(
        "model must not be a Pipeline: transform X with pipeline[:-1] and give pipeline[-1]"
    )


@_read.register(AdaBoostRegressor)
def _refuse_adaboost(model: Any) -> TreeEnsemble:
    raise InvalidInput(
        "AdaBoostRegressor predicts a weighted median of its trees, not a sum: "
        "it cannot be pruned by layers"
    )


@_read.register(RandomForestRegressor)
@_read.register(ExtraTreesRegressor)
def _read_forest(model: Any) -> TreeEnsemble:
    _require_fitted(model)
    trees = list(model.estimators_)
    return _ensemble(model, trees, np.full(len(trees), 1.0 / len(trees)))


@_read.register(GradientBoostingRegressor)
def _read_boosting(model: Any) -> TreeEnsemble:
    _require_fitted(model)
    trees = list(model.estimators_[:, 0])
    init = None if isinstance(model.init_, str) else model.init_  # "zero" or an estimator
    return _ensemble(model, trees, np.full(len(trees), float(model.learning_rate)), init)


@_read.register(DecisionTreeRegressor)
def _read_tree(model: Any) -> TreeEnsemble:
    _require_fitted(model)
    return _ensemble(model, [model], np.ones(1))


def _read_list(trees: Sequence[Any], weights: npt.ArrayLike | None) -> TreeEnsemble:
    if len(trees) == 0:
        raise InvalidInput("model must hold at least one tree, got an empty list")
    for i, tree in enumerate(trees):
        if not isinstance(tree, DecisionTreeRegressor):
            raise InvalidInput(
                f"model[{i}] must be a fitted DecisionTreeRegressor, not {type(tree).__name__}"
            )
        _require_fitted(tree, f"model[{i}]")
        for what in ("n_features_in_", "n_outputs_"):
            if getattr(tree, what) != getattr(trees[0], what):
                raise InvalidInput(
                    f"model[{i}] has {what} = {getattr(tree, what)}, "
                    f"model[0] has {getattr(trees[0], what)}"
                )
    if weights is None:
        return _ensemble(trees[0], list(trees), np.full(len(trees), 1.0 / len(trees)))
    scale = finite_floats("weights", weights)
    if scale.shape != (len(trees),):
        raise InvalidInput(f"weights must have shape ({len(trees)},), got {scale.shape}")
    return _ensemble(trees[0], list(trees), scale)


def _require_fitted(model: BaseEstimator, name: str = "model") -> None:
    try:
        check_is_fitted(model)
    except NotFittedError:
        raise InvalidInput(
            f"{name} must be fitted before it is pruned; this {type(model).__name__} is not"
        ) from None


def _ensemble(
    model: Any, estimators: list[Any], scale: FloatArray, init: Any = None
) -> TreeEnsemble:
    trees = [_tree(estimator.tree_) for estimator in estimators]
    failing = [i for i, tree in enumerate(trees) if not tree.has_mean_values]
    if failing:
        warnings.warn(
            f"{type(model).__name__}: in {len(failing)} of {len(trees)} trees inner values are "
            "not the means of the leaves below (a loss or criterion other than the squared "
            "error, or a constraint); they are recomputed from the leaves",
            stacklevel=4,
        )
        for i in failing:
            trees[i] = trees[i].with_mean_values()
    names = getattr(model, "feature_names_in_", None)
    roots = np.stack([tree.value[0] for tree in trees])
    return TreeEnsemble(
        trees=tuple(trees),
        scale=frozen(scale),
        constant=frozen(scale @ roots),
        init=init,
        n_features=int(model.n_features_in_),
        feature_names=None if names is None else tuple(map(str, names)),
        source=type(model).__name__,
        allow_nan=bool(get_tags(model).input_tags.allow_nan),
    )


def _tree(tree: Any) -> Tree:
    """Read scikit-learn's ``tree_``."""
    return Tree.from_children(
        left=tree.children_left,
        right=tree.children_right,
        feature=tree.feature,
        threshold=tree.threshold,
        missing_left=tree.missing_go_to_left.astype(np.bool_),
        value=tree.value[:, :, 0],
        cover=tree.weighted_n_node_samples,
    )
