"""scikit-learn's histogram gradient boosting."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from pandas import isna

from forestprune.ensemble import TreeEnsemble
from forestprune.links import Link
from forestprune.readers.common import in_column
from forestprune.readers.scikit_learn import ensemble_of, require_readable
from forestprune.rows import RowRules
from forestprune.trees import Tree
from formulations.arrays import IntArray

# Losses whose raw score is not the response.
_LOGARITHMIC = ("gamma", "poisson")


def read_histogram(model: Any) -> TreeEnsemble:
    """Read a HistGradientBoostingRegressor or HistGradientBoostingClassifier.

    Leaf values have the learning rate in them. Splits are compared in float64 with the values
    that the bins stand for, as its own predict does.
    """
    require_readable(model)
    outputs = int(model.n_trees_per_iteration_)
    features, categories = _features(model)
    trees = [
        _tree(predictor, features, column, outputs)
        for stage in model._predictors
        for column, predictor in enumerate(stage)
    ]
    rules = RowRules("float64", allow_infinite=True, sparse="refused", categories=tuple(categories))
    start = np.asarray(model._baseline_prediction, dtype=np.float64).ravel()
    return ensemble_of(model, trees, np.ones(len(trees)), start, link=_link(model), rules=rules)


def _link(model: Any) -> Link:
    if hasattr(model, "classes_"):
        return Link("logistic" if model.n_trees_per_iteration_ == 1 else "softmax")
    return Link("log" if model.loss in _LOGARITHMIC else "identity")


def _features(model: Any) -> tuple[IntArray, list[npt.NDArray[Any] | None]]:
    """Return which feature of X each feature of the trees is, and the labels of each of X.

    Inside, categorical features come first, as codes; the codes are places in sorted labels.
    """
    count = int(model.n_features_in_)
    if model._preprocessor is None:
        return np.arange(count), []
    categorical = np.asarray(model.is_categorical_, dtype=np.bool_)
    labels: list[npt.NDArray[Any] | None] = [None] * count
    encoder = model._preprocessor.named_transformers_["encoder"]
    places = np.flatnonzero(categorical)
    for place, known in zip(places.tolist(), encoder.categories_, strict=True):
        labels[place] = np.asarray(known)[~isna(known)]  # what is missing has no code
    return np.concatenate([places, np.flatnonzero(~categorical)]), labels


def _tree(predictor: Any, features: IntArray, column: int, columns: int) -> Tree:
    nodes = predictor.nodes
    leaf = nodes["is_leaf"].astype(np.bool_)
    by_category = nodes["is_categorical"].astype(np.bool_) & ~leaf
    bits = None
    if by_category.any():
        words = predictor.raw_left_cat_bitsets.view(np.uint64)  # 8 × 32 bits, little end first
        bits = np.zeros((len(nodes), words.shape[1]), dtype=np.uint64)
        bits[by_category] = words[nodes["bitset_idx"][by_category]]
    return Tree.from_leaves(
        np.where(leaf, -1, nodes["left"].astype(np.int64)),
        right=np.where(leaf, -1, nodes["right"].astype(np.int64)),
        feature=features[np.where(leaf, 0, nodes["feature_idx"].astype(np.int64))],
        threshold=np.where(by_category, np.nan, nodes["num_threshold"]),
        missing_left=nodes["missing_go_to_left"].astype(np.bool_),
        value=in_column(nodes["value"], column, columns),
        cover=nodes["count"].astype(np.float64),
        categories=bits,
    )
