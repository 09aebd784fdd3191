"""Weights of the layers in the penalty (FP §2.2)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from formulations.arrays import FloatArray, finite_floats
from formulations.data import PruningData
from formulations.errors import InvalidInput

LayerWeights = str | Sequence[npt.ArrayLike]


def layer_weights(data: PruningData, weights: LayerWeights) -> tuple[list[FloatArray], float]:
    """Return the weight of every layer of every tree and their normaliser K.

    Parameters
    ----------
    data
        The ensemble.
    weights
        ``"nodes"``: the number of nodes in the layer, K their sum. ``"depth"``: 1, and K the
        number of trees times the largest depth. Or one (d_i,) array of non-negative numbers
        per tree, K their sum.

    Raises
    ------
    InvalidInput
        When the name is unknown, node counts are not known, or arrays do not fit.
    """
    if isinstance(weights, str):
        if weights == "nodes":
            if not data.node_counts_known:
                raise InvalidInput(
                    'weights="nodes" needs the trees, but this data comes from plain D arrays; '
                    'accepted here: "depth", or one array of layer weights per tree'
                )
            counts = [sizes.astype(np.float64) for sizes in data.layer_sizes]
            return counts, float(sum(count.sum() for count in counts))
        if weights == "depth":
            ones = [np.ones(depth) for depth in data.depths]
            return ones, float(data.n_trees * data.depths.max())
        raise InvalidInput(
            f'weights must be "nodes", "depth" or one array per tree, not {weights!r}'
        )
    if len(weights) != data.n_trees:
        raise InvalidInput(
            f"weights must hold one array for each of the {data.n_trees} trees, got {len(weights)}"
        )
    arrays = [finite_floats(f"weights[{i}]", given) for i, given in enumerate(weights)]
    for i, (array, depth) in enumerate(zip(arrays, data.depths, strict=True)):
        if array.shape != (depth,):
            raise InvalidInput(
                f"weights[{i}] must have shape ({depth},), one a layer, got {array.shape}"
            )
        if np.any(array < 0.0):
            raise InvalidInput(f"weights[{i}] must not be negative; found {array.min():g}")
    return arrays, float(sum(array.sum() for array in arrays))
