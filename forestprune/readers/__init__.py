"""Reading fitted ensembles into plain arrays; one file a library or kind of model.

A reader is found by the names of a model's class and its package, so that no library is
imported but the one the model comes from.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy.typing as npt

from forestprune.ensemble import TreeEnsemble
from forestprune.forgetful.bridge import read_forgetful
from forestprune.readers import (
    bagging,
    boosting,
    catboost,
    histogram,
    lightgbm,
    scikit_learn,
    xgboost,
)
from forestprune.readers.common import constant_of
from formulations import InvalidInput
from formulations.arrays import frozen

SUPPORTED = (
    "decision tree, random forest, extra trees, bagging or gradient boosting of scikit-learn, "
    "LightGBM, XGBoost or CatBoost, a forgetful model, or a list of fitted DecisionTreeRegressor"
)

_READERS: dict[tuple[str, str], Callable[[Any], TreeEnsemble]] = {
    ("sklearn", "DecisionTreeRegressor"): scikit_learn.read_tree,
    ("sklearn", "DecisionTreeClassifier"): scikit_learn.read_tree,
    ("sklearn", "RandomForestRegressor"): scikit_learn.read_forest,
    ("sklearn", "RandomForestClassifier"): scikit_learn.read_forest,
    ("sklearn", "ExtraTreesRegressor"): scikit_learn.read_forest,
    ("sklearn", "ExtraTreesClassifier"): scikit_learn.read_forest,
    ("sklearn", "BaggingRegressor"): bagging.read_bagging,
    ("sklearn", "BaggingClassifier"): bagging.read_bagging,
    ("sklearn", "GradientBoostingRegressor"): boosting.read_regressor,
    ("sklearn", "GradientBoostingClassifier"): boosting.read_classifier,
    ("sklearn", "HistGradientBoostingRegressor"): histogram.read_histogram,
    ("sklearn", "HistGradientBoostingClassifier"): histogram.read_histogram,
    ("sklearn", "FrozenEstimator"): lambda model: _read(model.estimator),
    ("lightgbm", "LGBMModel"): lightgbm.read_model,
    ("lightgbm", "Booster"): lightgbm.read_booster,
    ("xgboost", "XGBModel"): xgboost.read_model,
    ("xgboost", "Booster"): xgboost.read_booster,
    ("catboost", "CatBoost"): catboost.read_model,
    ("forestprune", "ForgetfulClassifier"): read_forgetful,
    ("forestprune", "ForgetfulRegressor"): read_forgetful,
}

_MEDIAN = "predicts a weighted median of its trees, not a sum: it cannot be pruned by layers"
_REFUSED = {
    ("sklearn", "Pipeline"): (
        "model must not be a Pipeline: transform X with pipeline[:-1] and give pipeline[-1]"
    ),
    ("sklearn", "AdaBoostRegressor"): f"AdaBoostRegressor {_MEDIAN}",
    ("sklearn", "AdaBoostClassifier"): (
        "AdaBoostClassifier lets its trees vote: they do not sum to anything that could be "
        "pruned by least squares"
    ),
}


def read_ensemble(model: Any, weights: npt.ArrayLike | None = None) -> TreeEnsemble:
    """Read a fitted model into plain arrays.

    Depth pruning needs inner values that are the means of the leaves below. Where a library
    keeps no such values, or they belong to another loss, they are computed from the leaves, by
    the weight of the training rows as the model has it. For scikit-learn's regression trees
    they are expected and tested: where that fails (boosting with a loss other than the squared
    error, the absolute error as criterion, monotonic constraints) there is a warning. The full
    model stays the same.

    Forests of classifiers sum to class frequencies. Boosted classifiers, and regressors with a
    logarithmic link, sum to scores: see `TreeEnsemble.link`.

    Parameters
    ----------
    model
        A fitted model, also of a subclass or inside a FrozenEstimator: of scikit-learn
        DecisionTree, ExtraTree, RandomForest, ExtraTrees, Bagging (of these trees),
        GradientBoosting and HistGradientBoosting, each as Regressor and Classifier; of
        LightGBM, XGBoost and CatBoost their Regressor, Classifier and plain boosters; a forgetful
        model; or a list of fitted DecisionTreeRegressor. A `TreeEnsemble` that was read before
        stays as it is.
    weights
        (n,) scale of each tree of a list, 1/n each by default. Only for a list.

    Raises
    ------
    InvalidInput
        When the model is not fitted or cannot be pruned, with the reason.
    """
    if isinstance(model, list | tuple):
        ensemble = scikit_learn.read_list(model, weights)
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
    moved = constant_of(trees, ensemble.scale) - constant_of(ensemble.trees, ensemble.scale)
    return replace(ensemble, trees=trees, constant=frozen(ensemble.constant + moved))


def _read(model: Any) -> TreeEnsemble:
    return model if isinstance(model, TreeEnsemble) else find_reader(model)(model)


def find_reader(model: Any) -> Callable[[Any], TreeEnsemble]:
    """Return what reads models of this class, whether this one is fitted or not.

    Raises
    ------
    InvalidInput
        When such models cannot be pruned, with the reason.
    """
    for kind in type(model).__mro__:
        name = (kind.__module__.split(".")[0], kind.__name__)
        if name in _REFUSED:
            raise InvalidInput(_REFUSED[name])
        if name in _READERS:
            return _READERS[name]
    what = f"{type(model).__name__} is not supported"
    if hasattr(model, "pruned_"):
        what += ": give its estimator_, the ensemble that it pruned"
    if isinstance(model, type):
        what = f"the class {model.__name__} itself was given"
    raise InvalidInput(f"model must be a fitted {SUPPORTED}; {what}")
