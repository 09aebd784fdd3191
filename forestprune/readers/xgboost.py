"""XGBoost's models, from the JSON that `Booster.save_raw` documents."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np

from forestprune.ensemble import TreeEnsemble
from forestprune.links import Link
from forestprune.readers.common import (
    compared,
    constant_of,
    in_column,
    not_fitted,
    require_own_methods,
)
from forestprune.rows import RowRules
from forestprune.trees import Tree
from formulations import InvalidInput
from formulations.arrays import FloatArray, frozen

_LINKS = {
    **dict.fromkeys(
        (
            "reg:squarederror",
            "reg:squaredlogerror",
            "reg:pseudohubererror",
            "reg:absoluteerror",
            "reg:quantileerror",
        ),
        "identity",
    ),
    **dict.fromkeys(("count:poisson", "reg:gamma", "reg:tweedie"), "log"),
    **dict.fromkeys(("binary:logistic", "reg:logistic"), "logistic"),
    **dict.fromkeys(("multi:softprob", "multi:softmax"), "softmax"),
}

_NEARLY = np.float32(1e-6)

# XGBoost sums in float32; relative to the sum of the largest values of all trees.
_TOLERANCE = 1e-5


def read_model(model: Any) -> TreeEnsemble:
    """Read an XGBRegressor or XGBClassifier; errors as `read_ensemble`."""
    if not model.__sklearn_is_fitted__():
        raise not_fitted(model)
    require_own_methods(model, "xgboost")
    booster = model.get_booster()
    try:
        rounds = model.best_iteration + 1
    except AttributeError:  # no early stopping: all of them
        rounds = None
    ensemble = _read(booster, type(model).__name__, rounds, model.missing)
    classes = getattr(model, "classes_", None)
    if (classes is None) != (ensemble.classes is None):
        raise InvalidInput(
            f"model must have an objective for its kind; the {type(model).__name__} has "
            f"{_objective(_content(booster))!r}"
        )
    return ensemble if classes is None else replace(ensemble, classes=frozen(np.asarray(classes)))


def read_booster(booster: Any) -> TreeEnsemble:
    """Read a Booster with all its trees; its classes are numbered from 0."""
    return _read(booster, type(booster).__name__, None, np.nan)


def _content(booster: Any) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(booster.save_raw("json"))["learner"]
    return content


def _objective(learner: dict[str, Any]) -> str:
    return str(learner["objective"]["name"])


def _read(booster: Any, source: str, rounds: int | None, missing: float) -> TreeEnsemble:
    learner = _content(booster)
    objective = _objective(learner)
    if objective not in _LINKS:
        raise InvalidInput(
            f"model has the objective {objective!r}, whose scores have no least squares: "
            f"accepted are {', '.join(_LINKS)}"
        )
    link = Link(_LINKS[objective])
    gradient = learner["gradient_booster"]
    drop = gradient.get("weight_drop")
    forest = gradient.get("gbtree", gradient).get("model", {})
    if "trees" not in forest:
        raise InvalidInput(f"model must boost trees, not {gradient['name']!r}")
    if "c" in learner["feature_types"]:
        raise InvalidInput(
            "model has categorical features, which are not read from XGBoost: encode them as "
            "numbers or indicators before the fit"
        )
    parameters = learner["learner_model_param"]
    outputs = max(int(parameters["num_class"]), int(parameters.get("num_target", 1)), 1)
    if objective == "reg:quantileerror" and outputs > 1:
        raise InvalidInput(
            "model predicts several quantiles of one response: fit one model for each"
        )
    count = int(parameters["num_feature"])
    pointer = forest["iteration_indptr"]
    end = pointer[-1 if rounds is None else rounds]
    trees = tuple(
        _tree(tree, column, outputs)
        for tree, column in zip(forest["trees"][:end], forest["tree_info"][:end], strict=True)
    )
    if not trees:
        raise InvalidInput("model has no trees")
    scale = frozen(np.ones(end) if drop is None else np.array(drop[:end], dtype=np.float64))
    classes = None
    if link.kind == "softmax" or objective == "binary:logistic":
        classes = frozen(np.arange(max(outputs, 2)))
    names = tuple(learner["feature_names"])
    ensemble = TreeEnsemble(
        trees=trees,
        scale=scale,
        constant=constant_of(trees, scale, _base(parameters["base_score"], link, outputs)),
        init=None,
        n_features=count,
        feature_names=names or None,
        source=source,
        allow_nan=True,
        classes=classes,
        link=link,
        rules=RowRules(
            "float32",
            allow_infinite=True,
            sparse="missing",
            sparse_missing=True,
            missing=float(missing),
        ),
    )
    rows = np.vstack([np.zeros(count), np.full(count, np.nan), np.full(count, 1.0)])
    raw = booster.inplace_predict(
        rows,
        iteration_range=(0, 0 if rounds is None else rounds),
        predict_type="margin",
        validate_features=False,
    )
    bare = replace(ensemble, rules=replace(ensemble.rules, missing=np.nan))
    compared(bare, rows, raw, _TOLERANCE)
    return ensemble


def _base(text: str, link: Link, outputs: int) -> FloatArray:
    """Return (outputs,) raw scores of the base score, which is stored as a response."""
    base = np.atleast_1d(np.array(json.loads(text), dtype=np.float32))
    one = np.float32(1.0)
    if link.kind == "log":
        base = np.log(base)
    elif link.kind == "logistic":
        # Of a response that is 0, or 1, in all rows XGBoost keeps off by that much; what single
        # precision makes of the logarithm near 1 is off by more than its sums.
        base = np.where(base <= 0.0, _NEARLY, np.where(base >= one, one - _NEARLY, base))
        base = -np.log(one / base - one)
    return np.broadcast_to(base.astype(np.float64), outputs)


def _tree(tree: dict[str, Any], column: int, columns: int) -> Tree:
    if int(tree["tree_param"]["size_leaf_vector"]) > 1:
        raise InvalidInput(
            'model has vectors in its leaves (multi_strategy="multi_output_tree"), which are '
            "not read: fit one output per tree"
        )
    left = np.array(tree["left_children"])
    # Rows and splits are float32, and what is below a split goes left.
    split = np.array(tree["split_conditions"], dtype=np.float32)
    return Tree.from_leaves(
        left,
        right=np.array(tree["right_children"]),
        feature=np.array(tree["split_indices"]),
        threshold=np.nextafter(split, np.float32(-np.inf)).astype(np.float64),
        missing_left=np.array(tree["default_left"]) != 0,
        value=in_column(split.astype(np.float64), column, columns),
        cover=np.array(tree["sum_hessian"], dtype=np.float64),
    )
