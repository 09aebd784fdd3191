"""Single trees of scikit-learn's, made of arrays instead of fitted."""

from __future__ import annotations

from functools import cache
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.tree._tree import Tree as SklearnTree

from forestprune.trees import Tree
from formulations.arrays import FloatArray

# What scikit-learn writes at leaves.
_NO_FEATURE = -2


def regression_tree(tree: Tree, value: FloatArray, n_features: int) -> DecisionTreeRegressor:
    """Return a fitted regressor with the splits of a tree, and values (nodes, q) of its own."""
    outputs = value.shape[1]
    built = SklearnTree(n_features, np.ones(outputs, dtype=np.intp), outputs)
    built.__setstate__(_state(tree, value[:, :, None], value))
    return _fitted(DecisionTreeRegressor(), built, n_features, outputs)


def classification_tree(tree: Tree, value: FloatArray, n_features: int) -> DecisionTreeClassifier:
    """Return a fitted classifier with the splits of a tree, and class frequencies (nodes, c)."""
    classes = value.shape[1]
    built = SklearnTree(n_features, np.array([classes], dtype=np.intp), 1)
    built.__setstate__(_state(tree, value[:, None, :], value))
    estimator = _fitted(DecisionTreeClassifier(), built, n_features, 1)
    estimator.classes_, estimator.n_classes_ = np.arange(classes, dtype=np.float64), classes
    return estimator


def _fitted(estimator: Any, built: SklearnTree, n_features: int, outputs: int) -> Any:
    estimator.n_features_in_, estimator.n_outputs_ = n_features, outputs
    estimator.max_features_ = n_features
    estimator.tree_ = built
    return estimator


def _state(tree: Tree, shaped: npt.NDArray[np.float64], value: FloatArray) -> dict[str, Any]:
    nodes = np.zeros(tree.n_nodes, dtype=_node_type())
    inner = tree.left >= 0
    nodes["left_child"] = tree.left
    nodes["right_child"] = np.where(inner, tree.left + 1, -1)
    nodes["feature"] = np.where(inner, tree.feature, _NO_FEATURE)
    nodes["threshold"] = np.where(inner, tree.threshold, float(_NO_FEATURE))
    nodes["impurity"] = _impurity(tree, value)
    nodes["n_node_samples"] = np.rint(tree.cover)
    nodes["weighted_n_node_samples"] = tree.cover
    nodes["missing_go_to_left"] = tree.missing_left & inner
    return {
        "max_depth": tree.depth,
        "node_count": tree.n_nodes,
        "nodes": nodes,
        "values": np.ascontiguousarray(shaped, dtype=np.float64),
    }


@cache
def _node_type() -> np.dtype[Any]:
    """Return what scikit-learn stores of a node: its own affair, so an installed one is asked."""
    fitted = DecisionTreeRegressor().fit([[0.0]], [0.0])
    return cast("np.dtype[Any]", fitted.tree_.__getstate__()["nodes"].dtype)


def _impurity(tree: Tree, value: FloatArray) -> FloatArray:
    """Return (nodes,) the variance of the leaves' values below a node, mean over the outputs.

    The variance inside a leaf is not known; importances are differences, in which it is 0.
    """
    impurity = np.zeros(tree.n_nodes)
    starts = np.searchsorted(tree.layer, np.arange(tree.depth + 1))
    for begin, end in zip(starts[-2::-1], starts[:0:-1], strict=True):  # from the deepest splits
        splits = begin + np.flatnonzero(tree.left[begin:end] >= 0)
        children = tree.left[splits][:, None] + np.arange(2)
        weight = tree.cover[children]
        spread = ((value[children] - value[splits, None]) ** 2).mean(axis=2) + impurity[children]
        total = weight.sum(axis=1)
        share = weight / np.where(total > 0.0, total, 1.0)[:, None]
        impurity[splits] = (share * spread).sum(axis=1)
    return impurity
