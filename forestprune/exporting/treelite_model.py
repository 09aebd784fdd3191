"""A pruned ensemble as a model of treelite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from forestprune.ensemble import TreeEnsemble
from forestprune.exporting.extras import extra
from forestprune.exporting.values import base_values, require_plain_rows, trees_and_values
from forestprune.exporting.wording import categories_left
from forestprune.trees import Tree
from formulations import InvalidInput
from formulations.arrays import FloatArray

if TYPE_CHECKING:
    from forestprune.pruned import PrunedEnsemble

# What treelite calls what makes predictions of sums: of one output, and of one a class.
_ONE = {
    "identity": "identity",
    "logistic": "sigmoid",
    "log": "exponential",
    "signed_square": "signed_square",
}
_EACH_CLASS = {
    "identity": "identity_multiclass",
    "softmax": "softmax",
    "one_vs_all": "multiclass_ova",
}


def to_treelite(pruned: PrunedEnsemble) -> Any:
    """Return a `treelite.Model` that predicts the same, in double precision.

    It takes the source's rows as numbers: in single precision (``X.astype(numpy.float32)``) where
    the source compares them so, as scikit-learn's trees do, since treelite casts nothing; and with
    codes in place of the labels of categories. A classifier predicts probabilities, of two classes
    the second one's; a frequency that pruning has moved out of [0, 1] stays there.

    Parameters
    ----------
    pruned
        What `prune` returned.

    Raises
    ------
    InvalidInput
        When treelite is not installed, or cannot say it: zeros or another number for missing
        values, a start that is not constant, or a link that it does not have.
    """
    builder = extra("treelite.model_builder", "to_treelite")
    model = pruned.model
    require_plain_rows(model, "treelite")
    base = base_values(model)
    trees, values = trees_and_values(model)
    outputs, classes = model.n_outputs, model.classes
    each_class = classes is not None and outputs > 1
    made = builder.ModelBuilder(
        threshold_type="float64",
        leaf_output_type="float64",
        metadata=builder.Metadata(
            num_feature=model.n_features,
            task_type=_task(model),
            average_tree_output=False,
            num_target=1 if each_class else outputs,
            num_class=[outputs] if each_class else [1] * outputs,
            leaf_vector_shape=(1, outputs) if each_class else (outputs, 1),
        ),
        tree_annotation=builder.TreeAnnotation(
            num_tree=len(trees),
            target_id=[0 if each_class or outputs == 1 else -1] * len(trees),
            class_id=[-1 if each_class else 0] * len(trees),
        ),
        postprocessor=_postprocessor(builder, model),
        base_scores=base.tolist(),
    )
    for tree, value in zip(trees, values, strict=True):
        _add(made, tree, value)
    return made.commit()


def _task(model: TreeEnsemble) -> str:
    if model.classes is None:
        return "kRegressor"
    return "kBinaryClf" if model.n_outputs == 1 else "kMultiClf"


def _postprocessor(builder: Any, model: TreeEnsemble) -> Any:
    names = _EACH_CLASS if model.classes is not None and model.n_outputs > 1 else _ONE
    kind = model.link.kind
    if kind not in names:
        raise InvalidInput(f"treelite has nothing for a link {kind!r} of {model.n_outputs} outputs")
    if kind in ("logistic", "one_vs_all"):
        return builder.PostProcessorFunc(names[kind], sigmoid_alpha=model.link.factor)
    return builder.PostProcessorFunc(names[kind])


def _add(made: Any, tree: Tree, value: FloatArray) -> None:
    made.start_tree()
    for node in range(tree.n_nodes):
        made.start_node(node)
        left = int(tree.left[node])
        if left < 0:
            leaf = value[node].tolist()
            made.leaf(leaf[0] if len(leaf) == 1 else leaf)
        else:
            ways = {
                "default_left": bool(tree.missing_left[node]),
                "left_child_key": left,
                "right_child_key": left + 1,
            }
            feature = int(tree.feature[node])
            if np.isnan(tree.threshold[node]):
                made.categorical_test(
                    feature,
                    category_list=categories_left(tree, node),
                    category_list_right_child=False,
                    **ways,
                )
            else:
                made.numerical_test(feature, float(tree.threshold[node]), opname="<=", **ways)
        made.end_node()
    made.end_tree()
