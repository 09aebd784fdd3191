"""Weights of layers and of nodes in the penalty (FP §2.2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from formulations.arrays import FloatArray, IntArray, finite_floats, frozen
from formulations.data import PruningData
from formulations.errors import InvalidInput

LayerWeights = str | Sequence[npt.ArrayLike]
NodeWeights = str | Sequence[npt.ArrayLike]


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
    arrays = _checked_arrays(weights, data.depths, "layer")
    return arrays, float(sum(array.sum() for array in arrays))


def prefix_shares(data: PruningData, weights: LayerWeights) -> FloatArray:
    """Return Σ_{l≤k} w_il / K for every prefix k = 0…d_i of every tree, (prefixes,)."""
    arrays, normaliser = layer_weights(data, weights)
    sums = np.zeros(data.prefix_start[-1])
    for begin, array in zip(data.prefix_start[:-1], arrays, strict=True):
        sums[begin + 1 : begin + 1 + len(array)] = np.cumsum(array)
    return np.asarray(frozen(sums / normaliser if normaliser > 0.0 else sums))


def largest_ratio(gain: FloatArray, share: FloatArray) -> float:
    """Return the largest gain per share where the share is above 0, itself at least 0.

    Prefixes of zero weight cost nothing at any α and are left out.
    """
    priced = share > 0.0
    return max(float((gain[priced] / share[priced]).max(initial=0.0)), 0.0)


def largest_ratio_by_prices(best: Callable[[float], tuple[float, float]]) -> float:
    """Return the largest gain per share over choices that are too many to list.

    Dinkelbach's iteration: the price of a share rises to the ratio of what is best at the
    price, until nothing is worth more.

    Parameters
    ----------
    best
        Called with a price; gain and share of the choice of largest gain − price · share,
        zeros when none is above 0.
    """
    price = 0.0
    while True:
        gain, share = best(price)
        if share <= 0.0 or gain <= price * share * (1.0 + 1e-12):
            return price
        price = gain / share


def node_weights(data: PruningData, weights: NodeWeights) -> FloatArray:
    """Return the weight of every node (nodes,), 0 at roots.

    Parameters
    ----------
    data
        The ensemble.
    weights
        As `SubtreePruning` takes them.

    Raises
    ------
    InvalidInput
        When the name is unknown, or arrays do not fit.
    """
    root = data.parent < 0
    if isinstance(weights, str):
        if weights == "nodes":
            return np.where(root, 0.0, 1.0)
        if weights == "leaves":
            begins = np.repeat(data.node_start[:-1], np.diff(data.node_start))
            above = np.where(root, 0, data.parent + begins)
            siblings = np.bincount(above[~root], minlength=len(root))[above]
            # c children replace one leaf by c; the first ones of a tree replace none.
            replaced = np.where(root[above], 0.0, 1.0)
            return np.where(root, 0.0, 1.0 - replaced / np.maximum(siblings, 1))
        raise InvalidInput(
            f'weights must be "nodes", "leaves" or one array per tree, not {weights!r}'
        )
    arrays = _checked_arrays(weights, np.diff(data.node_start), "node")
    return np.where(root, 0.0, np.concatenate(arrays))


def _checked_arrays(given: Sequence[npt.ArrayLike], sizes: IntArray, part: str) -> list[FloatArray]:
    """Return one array of weights a tree, with one for each of its layers or nodes."""
    if not isinstance(given, Sequence | np.ndarray):
        raise InvalidInput(f"weights must be a name or one array per tree, not {given!r}")
    if len(given) != len(sizes):
        raise InvalidInput(
            f"weights must hold one array for each of the {len(sizes)} trees, got {len(given)}"
        )
    arrays = [finite_floats(f"weights[{i}]", one) for i, one in enumerate(given)]
    for i, (array, size) in enumerate(zip(arrays, sizes, strict=True)):
        if array.shape != (size,):
            raise InvalidInput(
                f"weights[{i}] must have shape ({size},), one a {part}, got {array.shape}"
            )
        if np.any(array < 0.0):
            raise InvalidInput(f"weights[{i}] must not be negative; found {array.min():g}")
    return arrays
