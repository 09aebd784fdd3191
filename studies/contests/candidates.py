"""Models along the path of ForestPrune, plain and polished with several ridges."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from forestprune import PrunedEnsemble, compete_path
from forestprune.recipe import Recipe
from formulations.arrays import FloatArray
from studies.running.prepared import Prepared

# The ridge of the published experiments, that of scikit-learn's Ridge for a response of variance 1.
PUBLISHED_RIDGE = 0.01

# None is for models that are not polished. With the published ridge weights overfit where trees
# are deep: heavier ones shrink them.
RIDGES = (None, PUBLISHED_RIDGE, 0.1, 1.0)


class Candidate(NamedTuple):
    """A model on the path, its α, and α₂ of its ridge; None where it is not polished."""

    alpha: float
    alpha2: float | None
    model: PrunedEnsemble


def candidates(
    found: Prepared,
    alphas: FloatArray,
    ridges: Iterable[float | None],
    *,
    shape: str = "depth",
    time_limit: float | None = None,
) -> Iterator[Candidate]:
    """Yield models from the largest α to the smallest, at each α one for each ridge.

    Parameters
    ----------
    found
        The ensemble and its rows.
    alphas
        (values,) of a standardised response.
    ridges
        α₂, and None for the model that is not polished.
    shape
        ``"depth"`` or ``"subtree"``, as `forestprune.prune` takes it.
    time_limit
        Seconds after which the path is cut short, or None.
    """
    every = tuple(ridges)
    path = compete_path(
        "forestprune",
        found.ensemble,
        *found.parts["train"],
        values=alphas,
        time_limit=time_limit,
        shape=shape,
        polish=None,
    )
    for alpha, pruned in path:
        for ridge in every:
            yield Candidate(alpha, ridge, weighed(found, pruned, ridge))


def weighed(found: Prepared, pruned: PrunedEnsemble, ridge: float | None) -> PrunedEnsemble:
    """Return a model polished with a ridge, or as it is where that is None."""
    return pruned if ridge is None else Recipe(alpha2=ridge).weighed(pruned, found.data, {})


def alphas_of(top: float, end: float, values: int) -> FloatArray:
    """Return (values,) α, evenly spaced in log from the largest to the smallest."""
    return np.asarray(np.geomspace(top, end, values), dtype=np.float64)
