"""CatBoost's models, from the JSON that `CatBoost.save_model` writes."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from forestprune.ensemble import TreeEnsemble
from forestprune.links import Link
from forestprune.readers.common import compared, constant_of, not_fitted, require_own_methods
from forestprune.rows import RowRules
from forestprune.trees import Tree
from formulations import InvalidInput
from formulations.arrays import frozen

_LINKS = {
    **dict.fromkeys(
        (
            "RMSE",
            "MAE",
            "Quantile",
            "Expectile",
            "Huber",
            "LogCosh",
            "Lq",
            "MAPE",
            "MultiRMSE",
        ),
        "identity",
    ),
    **dict.fromkeys(("Poisson", "Tweedie"), "log"),
    **dict.fromkeys(("Logloss", "CrossEntropy"), "logistic"),
    "MultiClass": "softmax",
    "MultiClassOneVsAll": "one_vs_all",
}

# Of the sums of the largest values: sums of float64 in another order.
_TOLERANCE = 1e-12


def read_model(model: Any) -> TreeEnsemble:
    """Read a CatBoost, CatBoostRegressor or CatBoostClassifier; errors as `read_ensemble`."""
    if not model.is_fitted():
        raise not_fitted(model)
    require_own_methods(model, "catboost")
    link = _link(model)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        dump = json.loads(path.read_text(encoding="utf-8"))
    features = dump["features_info"]
    if set(features) - {"float_features"}:
        kinds = ", ".join(sorted(set(features) - {"float_features"}))
        raise InvalidInput(
            f"model has features that are not numbers ({kinds}); their splits depend on "
            "statistics that CatBoost does not write out: encode them before the fit"
        )
    floats = features["float_features"]
    flat = {one["feature_index"]: one["flat_feature_index"] for one in floats}
    missing_right = {
        one["feature_index"] for one in floats if one["nan_value_treatment"] == "AsTrue"
    }
    scale, bias = dump["scale_and_bias"]
    start = np.array(bias, dtype=np.float64)
    outputs = len(start)
    build = _oblivious if "oblivious_trees" in dump else _branching
    trees = tuple(
        build(tree, outputs, flat, missing_right)
        for tree in dump.get("oblivious_trees", dump.get("trees"))
    )
    if not trees:
        raise InvalidInput("model has no trees")
    count = len(model.feature_names_)
    names = tuple(map(str, model.feature_names_))
    classes = None
    if link.kind in ("softmax", "one_vs_all") or model.classes_.size:
        classes = frozen(np.asarray(model.classes_))
    # Of a plain CatBoost, which predicts scores, nobody asks for labels.
    limit = getattr(model, "get_probability_threshold", lambda: None)()
    if limit is not None and classes is not None and len(classes) == 2 and limit != 0.5:
        raise InvalidInput(
            f"model has a probability threshold of {limit:g} for its second class; pruned models "
            "predict the more probable class: compare predict_proba with the threshold instead"
        )
    scales = frozen(np.full(len(trees), float(scale)))
    ensemble = TreeEnsemble(
        trees=trees,
        scale=scales,
        constant=constant_of(trees, scales, start),
        init=None,
        n_features=count,
        feature_names=None if names == tuple(map(str, range(count))) else names,
        source=type(model).__name__,
        allow_nan=True,
        classes=classes,
        link=link,
        rules=RowRules("float32", allow_infinite=True, sparse_missing=True),
    )
    rows = np.vstack([np.zeros(count), np.full(count, np.nan), np.full(count, 1.0)])
    raw = model.predict(rows, prediction_type="RawFormulaVal")
    return compared(ensemble, rows, raw, _TOLERANCE)


def _link(model: Any) -> Link:
    if "params" not in dict(model.get_metadata().items()):
        raise InvalidInput(
            "model has no parameters that tell its loss, as sums of models have none: prune each "
            "of them"
        )
    loss = model.get_all_params().get("loss_function", "custom")
    name = str(loss).split(":")[0]
    if name not in _LINKS:
        raise InvalidInput(
            f"model has the loss {name!r}, whose scores have no least squares: accepted are "
            f"{', '.join(_LINKS)}"
        )
    return Link(_LINKS[name])


def _oblivious(
    tree: dict[str, Any], outputs: int, flat: dict[int, int], missing_right: set[int]
) -> Tree:
    """Return a tree whose nodes of a layer all have the same split, the first at the root."""
    splits = [_split(split, flat, missing_right) for split in tree["splits"]]
    depth = len(splits)
    nodes = 2 ** (depth + 1) - 1
    layer = np.floor(np.log2(np.arange(nodes) + 1)).astype(np.int64)
    inner = layer < depth
    left = np.where(inner, 2 * np.arange(nodes) + 1, -1)
    # Bit k of a leaf's number says whether the row went right at split k; in level order the
    # first split is the highest bit instead.
    number = np.zeros(2**depth, dtype=np.int64)
    for k in range(depth):
        number |= ((np.arange(2**depth) >> (depth - 1 - k)) & 1) << k
    value, cover = np.zeros((nodes, outputs)), np.zeros(nodes)
    value[~inner] = np.array(tree["leaf_values"]).reshape(-1, outputs)[number]
    cover[~inner] = np.array(tree["leaf_weights"], dtype=np.float64)[number]
    own = np.array([*splits, (-1, 0.0, False)])[layer]
    return Tree.from_leaves(
        left,
        right=np.where(inner, left + 1, -1),
        feature=own[:, 0].astype(np.int64),
        threshold=own[:, 1],
        missing_left=own[:, 2].astype(np.bool_),
        value=value,
        cover=cover,
    )


def _branching(
    tree: dict[str, Any], outputs: int, flat: dict[int, int], missing_right: set[int]
) -> Tree:
    """Return a tree that was grown leaf by leaf or with splits of their own."""
    found, left = [tree], []
    for node in found:
        left.append(len(found) if "split" in node else -1)
        if "split" in node:
            found += [node["left"], node["right"]]
    children = np.array(left)
    own = np.array(
        [
            _split(node["split"], flat, missing_right) if "split" in node else (-1, 0.0, False)
            for node in found
        ]
    )
    values = [np.broadcast_to(node.get("value", 0.0), outputs) for node in found]
    return Tree.from_leaves(
        children,
        right=np.where(children < 0, -1, children + 1),
        feature=own[:, 0].astype(np.int64),
        threshold=own[:, 1],
        missing_left=own[:, 2].astype(np.bool_),
        value=np.array(values, dtype=np.float64),
        cover=np.array([node.get("weight", 0.0) for node in found], dtype=np.float64),
    )


def _split(
    split: dict[str, Any], flat: dict[int, int], missing_right: set[int]
) -> tuple[int, float, bool]:
    """Return feature, threshold and whether a missing value goes left."""
    if split["split_type"] != "FloatFeature":
        raise InvalidInput(f"model has splits of type {split['split_type']!r}, which are not read")
    feature = split["float_feature_index"]
    return flat[feature], float(np.float32(split["border"])), feature not in missing_right
