"""The model that a pruned one comes from, for pictures of before and after."""

from __future__ import annotations

import warnings
from typing import Any

from forestprune.pruned import PrunedEnsemble
from forestprune.readers import read_ensemble
from forestprune.trees import Tree
from formulations import InvalidInput


def source_trees(pruned: PrunedEnsemble, source: Any) -> tuple[Tree, ...]:
    """Return the trees of the source, before pruning.

    Raises
    ------
    InvalidInput
        When it cannot be read, or has other numbers of trees, nodes or features.
    """
    with warnings.catch_warnings():
        # Recomputed inner values, which the user has been told of, are of no use here.
        warnings.filterwarnings("ignore", ".*inner values are not the means")
        model = read_ensemble(source)
    own = _sizes(len(pruned.depths), pruned.source_nodes, pruned.model.n_features)
    given = _sizes(model.n_trees, model.n_nodes, model.n_features)
    if own != given:
        raise InvalidInput(f"source must be the model that was pruned, with {own}, not {given}")
    return model.trees


def _sizes(trees: int, nodes: int, features: int) -> str:
    return f"{trees} trees, {nodes} nodes and {features} features"
