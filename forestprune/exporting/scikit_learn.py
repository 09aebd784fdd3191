"""A pruned ensemble as a model of scikit-learn's own, which no longer needs this package."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from forestprune.ensemble import TreeEnsemble
from forestprune.exporting.scikit_learn_trees import classification_tree, regression_tree
from forestprune.exporting.values import (
    base_values,
    require_numerical,
    require_plain_rows,
    trees_and_values,
)
from forestprune.trees import Tree
from formulations import InvalidInput
from formulations.arrays import FloatArray, frozen

if TYPE_CHECKING:
    from forestprune.pruned import PrunedEnsemble


def to_scikit_learn(pruned: PrunedEnsemble) -> Any:
    """Return a fitted model of scikit-learn that predicts the same.

    - A response becomes a `RandomForestRegressor`: it predicts the mean of its trees, so each gets
      n times what the pruned tree adds, weight and all, plus what is predicted without trees.
    - Class frequencies become a `RandomForestClassifier`. Where pruning has moved a frequency out
      of [0, 1] it stays there, unlike in `predict_proba` here; the labels are the same.
    - Scores become a `StackingClassifier`: a forest for the scores, and a `LogisticRegression` of
      coefficient 1 that makes probabilities of them. For a response that is the exponential or
      the logistic function of a score, a `TransformedTargetRegressor` around the forest.

    Nodes keep the weight of their training rows, and impurities that give the right importances:
    those of the kept splits, for the model as it is weighed now. Without any tree the forest has
    one that is a single leaf.

    It takes dense rows, with missing values also where the source takes none. Its
    hyper-parameters say nothing about how it came about: `fit` on a clone grows another forest.

    Parameters
    ----------
    pruned
        What `prune` returned.

    Returns
    -------
    estimator
        It can be pickled, and needs nothing but scikit-learn to predict.

    Raises
    ------
    InvalidInput
        When scikit-learn's trees cannot say it: with categorical splits, zeros or another number
        for missing values, a start that is not constant, or another link.

    Warns
    -----
    UserWarning
        When the source compares features in double precision, scikit-learn's trees in single
        precision: a feature above a threshold goes the other way where the two are the same
        number in single precision.
    """
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    model = pruned.model
    require_plain_rows(model, "scikit-learn's trees")
    require_numerical(model, "scikit-learn's trees")
    if model.rules.dtype == "float64":
        warnings.warn(
            f"{model.source} compares features in double precision, scikit-learn's trees in "
            "single precision: a feature above a threshold goes the other way where the two are "
            "the same number in single precision",
            stacklevel=3,
        )
    base = base_values(model)
    trees, added = trees_and_values(model)
    if model.rules.dtype == "float64":
        trees = tuple(map(_in_single_precision, trees))
    values = [len(trees) * value + base for value in added]
    if model.classes is not None and model.link.is_identity:
        forest = RandomForestClassifier(n_estimators=len(trees))
        values = [_frequencies(value, len(model.classes)) for value in values]
        build: Any = classification_tree
        forest.classes_, forest.n_classes_ = np.array(model.classes), len(model.classes)
        forest.n_outputs_ = 1
    else:
        forest = RandomForestRegressor(n_estimators=len(trees))
        build, forest.n_outputs_ = regression_tree, model.n_outputs
    forest.estimators_ = [
        build(tree, value, model.n_features) for tree, value in zip(trees, values, strict=True)
    ]
    _name_features(forest, model)
    if model.link.is_identity:
        return forest
    return _transformed(forest, model) if model.classes is None else _stacked(forest, model)


def _in_single_precision(tree: Tree) -> Tree:
    """Return a tree for features in single precision.

    Rounding keeps the order: what is at most the threshold is at most the rounded one. Thresholds
    that are values of the data, as histograms have them, so stay on their side.
    """
    with np.errstate(over="ignore"):
        rounded = tree.threshold.astype(np.float32)
    return replace(tree, threshold=frozen(rounded, np.float64))


def _frequencies(value: FloatArray, classes: int) -> FloatArray:
    """Return (nodes, classes) frequencies; of two classes the model has the second's."""
    if value.shape[1] == classes:
        return value
    return np.column_stack([1.0 - value, value])


def _name_features(estimator: Any, model: TreeEnsemble) -> None:
    estimator.n_features_in_ = model.n_features
    if model.feature_names is not None:
        estimator.feature_names_in_ = np.array(model.feature_names, dtype=object)


def _stacked(forest: Any, model: TreeEnsemble) -> Any:
    """Return a classifier that makes probabilities of a forest's scores."""
    from sklearn.ensemble import StackingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import LabelEncoder

    assert model.classes is not None
    if model.link.kind not in ("logistic", "softmax") or len(model.classes) < 2:
        raise InvalidInput(
            f"scikit-learn has no model that makes probabilities of {len(model.classes)} classes "
            f"of scores by {model.link.kind!r}"
        )
    outputs = model.n_outputs
    logistic = LogisticRegression()
    logistic.classes_ = np.arange(len(model.classes))
    logistic.coef_ = model.link.factor * np.eye(outputs)
    logistic.intercept_ = np.zeros(outputs)
    logistic.n_features_in_ = outputs
    stacked = StackingClassifier(
        [("scores", forest)], logistic, stack_method="predict", cv="prefit"
    )
    stacked.estimators_, stacked.stack_method_ = [forest], ["predict"]
    stacked.named_estimators_ = {"scores": forest}
    stacked.final_estimator_ = logistic
    stacked.classes_ = np.array(model.classes)
    stacked._label_encoder = LabelEncoder()
    stacked._label_encoder.classes_ = np.array(model.classes)
    return stacked


def _transformed(forest: Any, model: TreeEnsemble) -> Any:
    """Return a regressor that makes a response of a forest's score."""
    from scipy.special import expit, logit
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.preprocessing import FunctionTransformer

    functions = {"log": (np.log, np.exp), "logistic": (logit, expit)}
    if model.link.kind not in functions or model.link.factor != 1.0:
        raise InvalidInput(
            f"scikit-learn has no model that makes a response of a score by {model.link.kind!r}"
            + (f" with factor {model.link.factor:g}" if model.link.factor != 1.0 else "")
        )
    there, back = functions[model.link.kind]
    regressor = TransformedTargetRegressor(forest, func=there, inverse_func=back)
    regressor.regressor_ = forest
    regressor.transformer_ = FunctionTransformer(there, back)
    regressor._training_dim = 1
    return regressor
