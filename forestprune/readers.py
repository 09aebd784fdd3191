"""Reading fitted ensembles into plain arrays; one function a class of models."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import singledispatch
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
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
        fitted DecisionTreeRegressor. A `TreeEnsemble` that was read before stays as it is.
    weights
        (n,) scale of each tree of a list, 1/n each by default. Only for a list.

    Raises
    ------
    InvalidInput
        When the model is not fitted or cannot be pruned, with the reason.
    """
    if isinstance(model, list | tuple):
        ensemble = _read_list(model, weights)
    elif weights is None:
        ensemble = _read(model)
    else:
        raise InvalidInput(
            f"weights go with a list of trees; the {type(model).__name__} has its own"
        )
    failing = {i for i, tree in enumerate(ensemble.trees) if not tree.has_mean_values}
    if not failing:
        return ensemble
    warnings.warn(
        f"{ensemble.source}: in {len(failing)} of {ensemble.n_trees} trees inner values are "
        "not the means of the leaves below (a loss or criterion other than the squared "
        "error, or a constraint); they are recomputed from the leaves",
        stacklevel=2,
    )
    trees = tuple(
        tree.with_mean_values() if i in failing else tree for i, tree in enumerate(ensemble.trees)
    )
    return replace(ensemble, trees=trees, constant=_constant(trees, ensemble.scale))


@singledispatch
def _read(model: Any) -> TreeEnsemble:
    what = f"{type(model).__name__} is not supported"
    if isinstance(model, ClassifierMixin):
        what += ": classifiers cannot be read"
    elif isinstance(model, type):
        what = f"the class {model.__name__} itself was given"
    raise InvalidInput(f"model must be a fitted {SUPPORTED}; {what}")


@_read.register(TreeEnsemble)
def _read_again(model: TreeEnsemble) -> TreeEnsemble:
    return model


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
    _require_readable(model)
    trees = list(model.estimators_)
    return _ensemble(model, trees, np.full(len(trees), 1.0 / len(trees)))


@_read.register(GradientBoostingRegressor)
def _read_boosting(model: Any) -> TreeEnsemble:
    _require_readable(model)
    trees = list(model.estimators_[:, 0])
    init = None if isinstance(model.init_, str) else model.init_  # "zero" or an estimator
    return _ensemble(model, trees, np.full(len(trees), float(model.learning_rate)), init)


@_read.register(DecisionTreeRegressor)
def _read_tree(model: Any) -> TreeEnsemble:
    _require_readable(model)
    return _ensemble(model, [model], np.ones(1))


def _read_list(trees: Sequence[Any], weights: npt.ArrayLike | None) -> TreeEnsemble:
    if len(trees) == 0:
        raise InvalidInput("model must hold at least one tree, got an empty list")
    for i, tree in enumerate(trees):
        if not isinstance(tree, DecisionTreeRegressor):
            raise InvalidInput(
                f"model[{i}] must be a fitted DecisionTreeRegressor, not {type(tree).__name__}"
            )
        _require_readable(tree, f"model[{i}]")
        for what in ("n_features_in_", "n_outputs_", "feature_names_in_"):
            own, first = (getattr(one, what, "unknown") for one in (tree, trees[0]))
            if not np.array_equal(own, first):
                raise InvalidInput(f"model[{i}] has {what} = {own}, model[0] has {first}")
    scale = np.full(len(trees), 1.0 / len(trees))
    if weights is not None:
        scale = finite_floats("weights", weights)
        if scale.shape != (len(trees),):
            raise InvalidInput(f"weights must have shape ({len(trees)},), got {scale.shape}")
    ensemble = _ensemble(trees[0], list(trees), scale)
    return replace(ensemble, allow_nan=all(map(_takes_missing, trees)))


def _require_readable(model: Any, name: str = "model") -> None:
    try:
        check_is_fitted(model)
    except NotFittedError:
        raise InvalidInput(
            f"{name} must be fitted before it is pruned; this {type(model).__name__} is not"
        ) from None
    if not type(model).predict.__module__.startswith("sklearn."):
        raise InvalidInput(
            f"{name} must predict as scikit-learn's own class does; {type(model).__name__} "
            "has a predict of its own, which pruning would not follow"
        )


def _ensemble(
    model: Any, estimators: list[Any], scale: FloatArray, init: Any = None
) -> TreeEnsemble:
    trees = tuple(_tree(estimator.tree_) for estimator in estimators)
    names = getattr(model, "feature_names_in_", None)
    return TreeEnsemble(
        trees=trees,
        scale=frozen(scale),
        constant=_constant(trees, scale),
        init=init,
        n_features=int(model.n_features_in_),
        feature_names=None if names is None else tuple(map(str, names)),
        source=type(model).__name__,
        allow_nan=_takes_missing(model),
    )


def _constant(trees: Sequence[Tree], scale: FloatArray) -> FloatArray:
    return np.asarray(frozen(scale @ np.stack([tree.value[0] for tree in trees])))


def _takes_missing(model: BaseEstimator) -> bool:
    return bool(get_tags(model).input_tags.allow_nan)


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
