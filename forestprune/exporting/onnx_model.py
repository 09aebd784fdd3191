"""A pruned ensemble as an ONNX model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from forestprune.ensemble import TreeEnsemble
from forestprune.exporting.extras import extra
from forestprune.exporting.onnx_link import link_nodes
from forestprune.exporting.values import (
    base_values,
    require_numerical,
    require_plain_rows,
    trees_and_values,
)
from formulations.arrays import FloatArray

if TYPE_CHECKING:
    from forestprune.pruned import PrunedEnsemble

# The first versions that say all that is said here: any runtime since 2022 knows them.
_OPSETS, _IR_VERSION = {"": 15, "ai.onnx.ml": 3}, 8


def to_onnx(pruned: PrunedEnsemble) -> Any:
    """Return an `onnx.ModelProto` that predicts the same, in single precision.

    Its input ``X`` has a row of features as float32 or, where the source compares them in double
    precision, as float64. Rows take the same ways through the trees, with missing values too: a
    threshold is rounded down to the next float32, which is the same for features in float32. What
    is added up on the way is float32, so predictions agree to about six digits.

    Outputs are ``prediction`` (m, q), or ``label`` (m,) and ``probabilities`` (m, classes).

    Parameters
    ----------
    pruned
        What `prune` returned.

    Returns
    -------
    ModelProto
        To be written by `onnx.save`.

    Raises
    ------
    InvalidInput
        When onnx is not installed, or its trees cannot say it: with categorical splits, zeros or
        another number for missing values, or a start that is not constant.
    """
    onnx = extra("onnx", "to_onnx")
    model = pruned.model
    require_plain_rows(model, "ONNX's trees")
    require_numerical(model, "ONNX's trees")
    helper, kinds = onnx.helper, onnx.TensorProto
    double = model.rules.dtype == "float64"
    rows = kinds.DOUBLE if double else kinds.FLOAT
    trees = helper.make_node(
        "TreeEnsembleRegressor",
        ["X"],
        ["scores"],
        domain="ai.onnx.ml",
        n_targets=model.n_outputs,
        aggregate_function="SUM",
        post_transform="NONE",
        **_attributes(onnx, model, double),
    )
    nodes, constants, outputs = link_nodes(onnx, model)
    graph = helper.make_graph(
        [trees, *nodes],
        "forestprune",
        [helper.make_tensor_value_info("X", rows, [None, model.n_features])],
        outputs,
        constants,
    )
    opsets = [helper.make_opsetid(domain, version) for domain, version in _OPSETS.items()]
    made = helper.make_model(
        graph, opset_imports=opsets, ir_version=_IR_VERSION, producer_name="forestprune"
    )
    onnx.checker.check_model(made)
    return made


def _attributes(onnx: Any, model: TreeEnsemble, double: bool) -> dict[str, Any]:
    """Return the trees as ONNX lists them: nodes of all trees, and weights of leaves."""
    trees, values = trees_and_values(model)
    nodes: dict[str, list[Any]] = {name: [] for name in _NODES}
    targets: dict[str, list[Any]] = {name: [] for name in ("treeids", "nodeids", "ids")}
    thresholds, weights = [], []
    for i, (tree, value) in enumerate(zip(trees, values, strict=True)):
        inner = tree.left >= 0
        nodes["treeids"] += [i] * tree.n_nodes
        nodes["nodeids"] += range(tree.n_nodes)
        nodes["featureids"] += np.where(inner, tree.feature, 0).tolist()
        nodes["modes"] += ["BRANCH_LEQ" if split else "LEAF" for split in inner.tolist()]
        nodes["truenodeids"] += np.where(inner, tree.left, 0).tolist()
        nodes["falsenodeids"] += np.where(inner, tree.left + 1, 0).tolist()
        nodes["missing_value_tracks_true"] += (tree.missing_left & inner).astype(int).tolist()
        thresholds.append(tree.threshold)
        leaves = tree.leaves.tolist()
        targets["treeids"] += [i] * len(leaves) * model.n_outputs
        targets["nodeids"] += np.repeat(leaves, model.n_outputs).tolist()
        targets["ids"] += list(range(model.n_outputs)) * len(leaves)
        weights.append(value[tree.leaves].ravel())
    numbers = {
        "nodes_values": np.concatenate(thresholds),
        "target_weights": np.concatenate(weights),
        "base_values": base_values(model),
    }
    if double:
        tensors = {
            f"{name}_as_tensor": onnx.numpy_helper.from_array(array, f"{name}_as_tensor")
            for name, array in numbers.items()
        }
    else:
        numbers["nodes_values"] = _rounded_down(numbers["nodes_values"])
        tensors = {name: array.tolist() for name, array in numbers.items()}
    return (
        {f"nodes_{name}": listed for name, listed in nodes.items()}
        | {f"target_{name}": listed for name, listed in targets.items()}
        | tensors
    )


_NODES = (
    "treeids",
    "nodeids",
    "featureids",
    "modes",
    "truenodeids",
    "falsenodeids",
    "missing_value_tracks_true",
)


def _rounded_down(threshold: FloatArray) -> FloatArray:
    """Return the largest float32 that are not above the thresholds."""
    with np.errstate(over="ignore"):
        near = threshold.astype(np.float32)
    below = np.nextafter(near, np.float32(-np.inf))
    return np.where(near.astype(np.float64) > threshold, below, near).astype(np.float64)
