"""How much each feature is used by the splits of an ensemble."""

from __future__ import annotations

import numpy as np

from forestprune.ensemble import TreeEnsemble
from formulations.arrays import FloatArray


def feature_importances(ensemble: TreeEnsemble) -> FloatArray:
    """Return the share of each feature in the variance that the splits explain.

    A split of tree i counts with γ_i² times the sum, over its two children, of their cover
    times the squared step of the value from the split to the child, outputs added up. For a
    regression tree that is the decrease of impurity, on the scale of the ensemble: trees of
    small weight count little.

    Parameters
    ----------
    ensemble
        A source ensemble or a pruned one.

    Returns
    -------
    ndarray
        (features,) non-negative numbers that sum to 1, or zeros where there is no split.
    """
    total = np.zeros(ensemble.n_features)
    for scale, tree in zip(ensemble.scale, ensemble.trees, strict=True):
        parent, cover = tree.parent[1:], tree.cover
        step = ((tree.value[1:] - tree.value[parent]) ** 2).sum(axis=1)
        gain = scale**2 * cover[1:] * step / max(float(cover[0]), 1.0)
        np.add.at(total, tree.feature[parent], gain)
    largest = total.sum()
    return total / largest if largest > 0.0 else total
