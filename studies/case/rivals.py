"""Single trees beside the few: grown for that by scikit-learn, and as large as all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeRegressor

from studies.case.prepare import Prepared
from studies.spec import Instance


@dataclass(frozen=True)
class Model:
    """What is asked of a model that is compared: see `PrunedEnsemble`."""

    predict: Callable[[Any], Any]
    n_trees: int
    n_nodes: int
    n_features_used: int


def single_trees(found: Prepared, instance: Instance, nodes: int) -> dict[str, Model]:
    """Return single trees fitted on the training rows.

    ``cart`` has the depth of the forest's trees; ``cart_nodes`` as many nodes as are given, at
    whatever depth they serve best.
    """
    leaves = max((nodes + 1) // 2, 2)
    return {
        "cart": _fitted(found, DecisionTreeRegressor(max_depth=instance.depth, random_state=instance.seed)),
        "cart_nodes": _fitted(
            found, DecisionTreeRegressor(max_leaf_nodes=leaves, random_state=instance.seed)
        ),
    }


def _fitted(found: Prepared, tree: DecisionTreeRegressor) -> Model:
    tree.fit(*found.parts["train"])
    inner = tree.tree_.feature[tree.tree_.feature >= 0]
    return Model(tree.predict, 1, int(tree.tree_.node_count), len(np.unique(inner)))
