"""What the few trees are compared with: the full model, and single trees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeRegressor

from forestprune import TreeEnsemble
from formulations import Polishing
from solvers import solve
from studies.running.prepared import Prepared
from studies.spec import Instance


@dataclass(frozen=True)
class Model:
    """What is asked of a model that is compared: see `PrunedEnsemble`."""

    predict: Callable[[Any], Any]
    n_trees: int
    n_nodes: int
    n_features_used: int


def full_model(found: Prepared) -> Model:
    """Return the forest as it was fitted."""
    return _model_of(found.ensemble)


def best_single(found: Prepared, seed: int) -> Model:
    """Return the best subset of one whole tree, weighed anew, on the training rows."""
    ensemble = found.ensemble
    problem = Polishing(found.data, found.data.depths, 0.0, rho=0, n_trees=1)
    result = solve(problem, "cbcd", seed=seed)
    assert result.choice is not None
    assert result.beta is not None
    kept = np.flatnonzero(result.beta)
    return _model_of(
        replace(
            ensemble,
            trees=tuple(ensemble.trees[i] for i in kept),
            scale=(ensemble.scale * result.beta)[kept],
            constant=ensemble.constant + problem.intercept_of(result.choice, result.beta),
        )
    )


def grown_trees(found: Prepared, instance: Instance, nodes: int) -> dict[str, Model]:
    """Return single trees that scikit-learn grows on the training rows.

    ``cart`` has the depth of the forest's trees; ``cart_nodes`` as many nodes as are given,
    where they serve best.
    """
    leaves = max((nodes + 1) // 2, 2)
    limits = {"cart": {"max_depth": instance.depth}, "cart_nodes": {"max_leaf_nodes": leaves}}
    return {
        name: _grown(found, DecisionTreeRegressor(**limit, random_state=instance.seed))
        for name, limit in limits.items()
    }


def _model_of(ensemble: TreeEnsemble) -> Model:
    features = {feature for tree in ensemble.trees for feature in tree.features}
    return Model(ensemble.predict, ensemble.n_trees, ensemble.n_nodes, len(features))


def _grown(found: Prepared, tree: DecisionTreeRegressor) -> Model:
    tree.fit(*found.parts["train"])
    inner = tree.tree_.feature[tree.tree_.feature >= 0]
    return Model(tree.predict, 1, int(tree.tree_.node_count), len(np.unique(inner)))
