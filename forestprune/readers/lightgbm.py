"""LightGBM's models, from `Booster.dump_model`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from forestprune.ensemble import TreeEnsemble
from forestprune.links import Link
from forestprune.readers.common import (
    compared,
    constant_of,
    in_column,
    not_fitted,
    require_own_methods,
)
from forestprune.rows import ZERO, RowRules
from forestprune.trees import Tree
from formulations import InvalidInput
from formulations.arrays import frozen

_LINKS = {
    **dict.fromkeys(
        ("regression", "regression_l1", "huber", "fair", "quantile", "mape", "custom"), "identity"
    ),
    **dict.fromkeys(("poisson", "gamma", "tweedie"), "log"),
    **dict.fromkeys(("binary", "cross_entropy"), "logistic"),
    "multiclass": "softmax",
    "multiclassova": "one_vs_all",
}

# What stands for infinity in a dump.
_INFINITY = 1e300

# Of the sums of the largest values: sums of float64 in another order.
_TOLERANCE = 1e-12


def read_model(model: Any) -> TreeEnsemble:
    """Read an LGBMRegressor or LGBMClassifier; errors as `read_ensemble`."""
    if not model.__sklearn_is_fitted__():
        raise not_fitted(model)
    require_own_methods(model, "lightgbm")
    classes = getattr(model, "classes_", None)
    ensemble = read_booster(model.booster_)
    if classes is None and ensemble.classes is not None:
        raise InvalidInput(
            f"model must be an LGBMClassifier to predict classes, not {type(model).__name__}"
        )
    if classes is not None and ensemble.classes is None:
        raise InvalidInput(
            "an LGBMClassifier with an objective of one's own says nothing about how its scores "
            "make probabilities: it cannot be pruned"
        )
    if classes is not None:
        ensemble = replace(ensemble, classes=frozen(classes))
    return replace(ensemble, source=type(model).__name__)


def read_booster(booster: Any) -> TreeEnsemble:
    """Read a Booster up to its best iteration; its classes are numbered from 0."""
    dump = booster.dump_model()
    link = _link(dump)
    outputs = int(dump["num_tree_per_iteration"])
    count = int(dump["max_feature_idx"]) + 1
    missing = _Missing(count)
    trees = tuple(
        _tree(tree, i % outputs, outputs, missing) for i, tree in enumerate(dump["tree_info"])
    )
    # Trees of a random forest are averaged, all others summed.
    share = outputs / len(trees) if dump["average_output"] else 1.0
    scale = frozen(np.full(len(trees), share))
    names = tuple(dump["feature_names"])
    named = names != tuple(f"Column_{j}" for j in range(count))
    classes = None
    if link.kind in ("softmax", "one_vs_all") or dump["objective"].split(" ")[0] == "binary":
        classes = frozen(np.arange(max(outputs, 2)))
    ensemble = TreeEnsemble(
        trees=trees,
        scale=scale,
        constant=constant_of(trees, scale),
        init=None,
        n_features=count,
        feature_names=names if named else None,
        source=type(booster).__name__,
        allow_nan=True,
        classes=classes,
        link=link,
        rules=RowRules(
            "float64",
            allow_infinite=True,
            sparse_missing=True,
            zero_is_missing=frozen(missing.zero) if missing.zero.any() else None,
            categories=_labels(dump, count),
            spaces_replaced=True,
        ),
    )
    if any(label is not None for label in ensemble.rules.categories):
        return ensemble  # its rows are DataFrames
    rows = np.vstack([np.zeros(count), np.full(count, np.nan), np.full(count, 1.0)])
    raw = booster.predict(rows, raw_score=True)  # of a random forest the sum, not the mean
    return compared(ensemble, rows, share * raw, _TOLERANCE)


def _link(dump: dict[str, Any]) -> Link:
    words = str(dump.get("objective", "custom")).split(" ")
    dump["objective"] = " ".join(words)
    if words[0] not in _LINKS:
        raise InvalidInput(
            f"model has the objective {words[0]!r}, whose scores have no least squares: accepted "
            f"are {', '.join(_LINKS)}"
        )
    if words[0] == "regression" and "sqrt" in words[1:]:
        return Link("signed_square")
    options = dict(word.split(":") for word in words[1:] if ":" in word)
    return Link(_LINKS[words[0]], float(options.get("sigmoid", 1.0)))


class _Missing:
    """Which features have missing zeros: all splits of a feature must agree."""

    def __init__(self, features: int) -> None:
        self.zero = np.zeros(features, dtype=np.bool_)
        self.other = np.zeros(features, dtype=np.bool_)

    def see(self, feature: int, kind: str) -> None:
        """Note a split's kind of missing values."""
        (self.zero if kind == "Zero" else self.other)[feature] = True
        if self.zero[feature] and self.other[feature]:
            raise InvalidInput(
                f"model was trained in parts, in which zeros of feature {feature} are missing in "
                "one and not in another: it cannot be pruned"
            )


def _tree(info: dict[str, Any], column: int, columns: int, missing: _Missing) -> Tree:
    root = info["tree_structure"]
    found, place = [root], 0
    left = []
    while place < len(found):
        node = found[place]
        left.append(len(found) if "split_index" in node else -1)
        if "split_index" in node:
            found += [node["left_child"], node["right_child"]]
        elif node.get("leaf_coeff"):
            raise InvalidInput("model has linear functions in its leaves, which cannot be pruned")
        place += 1
    nodes = len(found)
    feature, threshold = np.full(nodes, -1), np.zeros(nodes)
    missing_left = np.zeros(nodes, dtype=np.bool_)
    sets: dict[int, list[int]] = {}
    for place, node in enumerate(found):
        if left[place] < 0:
            continue
        feature[place] = node["split_feature"]
        if node["decision_type"] == "==":
            sets[place] = [int(code) for code in node["threshold"].split("||")]
            threshold[place] = np.nan  # what is missing or unknown goes right
            continue
        threshold[place] = node["threshold"]
        missing.see(node["split_feature"], node["missing_type"])
        # Where no value was missing at the fit, one counts as 0.
        missing_left[place] = (
            threshold[place] >= 0.0 if node["missing_type"] == "None" else node["default_left"]
        )
    # The dump writes infinity as a number, JSON knowing none.
    threshold[np.abs(threshold) >= _INFINITY] *= np.inf
    # Numbers up to that count as 0 when LightGBM predicts: they are on one side of every split.
    small = np.abs(threshold) <= ZERO
    beyond = np.nextafter(-ZERO, -np.inf)
    threshold[small] = np.where(threshold[small] < 0.0, beyond, ZERO)
    return Tree.from_leaves(
        np.array(left),
        right=np.where(np.array(left) < 0, -1, np.array(left) + 1),
        feature=feature,
        threshold=threshold,
        missing_left=missing_left,
        value=in_column(np.array([node.get("leaf_value", 0.0) for node in found]), column, columns),
        # A tree of one leaf has no weight; its cover is the root's alone.
        cover=np.array([node.get("leaf_weight", node.get("leaf_count", 0.0)) for node in found]),
        categories=_bits(sets, nodes) if sets else None,
    )


def _bits(sets: dict[int, list[int]], nodes: int) -> npt.NDArray[np.uint64]:
    """Return `Tree.categories` of nodes whose categories that go left are listed."""
    words = max(max(codes) for codes in sets.values()) // 64 + 1
    bits = np.zeros((nodes, words), dtype=np.uint64)
    for node, codes in sets.items():
        for code in codes:
            bits[node, code // 64] |= np.uint64(1) << np.uint64(code % 64)
    return bits


def _labels(dump: dict[str, Any], count: int) -> tuple[npt.NDArray[Any] | None, ...]:
    """Return the labels of columns that were categorical in a DataFrame.

    LightGBM keeps their lists in the order of the columns, without saying which these are:
    they are those whose values are listed, and no others if the numbers agree.
    """
    lists = dump["pandas_categorical"]
    if not lists:
        return ()
    infos = dump["feature_infos"]
    places = [
        j for j, name in enumerate(dump["feature_names"]) if infos.get(name, {}).get("values")
    ]
    if len(places) != len(lists):
        raise InvalidInput(
            "model has categorical columns of a DataFrame of which some are ordered, or never "
            "vary: which list of labels belongs to which column is not in the model; give ordered "
            "ones as numbers, and drop constant ones"
        )
    labels: list[npt.NDArray[Any] | None] = [None] * count
    for place, known in zip(places, lists, strict=True):
        # Of several types they stay what they are: numpy would make texts of all.
        mixed = len({type(label) for label in known}) > 1
        labels[place] = np.array(known, dtype=object if mixed else None)
    return tuple(labels)
