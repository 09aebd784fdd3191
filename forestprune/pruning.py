"""From a fitted model to a pruned one."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from forestprune.pruned import PrunedEnsemble
from forestprune.readers import read_ensemble
from formulations import LayerPruning, PruningData
from formulations.arrays import non_negative_number
from formulations.weights import LayerWeights
from solvers import EngineFailure, solve


def pruning_data(
    model: Any,
    X: Any,
    y: npt.ArrayLike,
    sample_weight: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
) -> PruningData:
    """Return the data of pruning problems for a fitted ensemble.

    Parameters
    ----------
    model
        A fitted ensemble that `read_ensemble` takes.
    X
        (m, features) rows, usually those of the fit.
    y
        (m,) or (m, q) response.
    sample_weight
        (m,) weights of at least 0, 1 by default; a row of weight 0 counts as removed.
    weights
        (n,) scale of each tree, for a list of trees.

    Raises
    ------
    InvalidInput
        When the model cannot be pruned, or X or y do not fit.
    """
    return read_ensemble(model, weights).pruning_data(X, y, sample_weight)


def prune(
    model: Any,
    X: Any,
    y: npt.ArrayLike,
    *,
    alpha: float = 1.0,
    weights: LayerWeights = "nodes",
    solver: str = "cbcd",
    sample_weight: npt.ArrayLike | None = None,
    **solve_options: Any,
) -> PrunedEnsemble:
    """Prune the depth layers of a fitted ensemble (Problem (1)).

    Parameters
    ----------
    model
        A fitted ensemble that `read_ensemble` takes.
    X, y
        (m, features) rows and (m,) or (m, q) response to prune on, usually those of the fit.
    alpha
        Weight of the size of the pruned ensemble, at least 0, for a standardised response:
        it is multiplied by the weighted variance of y. The larger, the smaller the ensemble.
        A constant response has no variance: then size costs nothing, and of choices that fit
        equally well the one with the shallower trees is taken.
    weights
        ``"nodes"``, ``"depth"`` or an array per tree: see `LayerPruning`.
    solver
        Name or label of a solver.
    sample_weight
        (m,) weights of at least 0, 1 by default.
    **solve_options
        Further arguments of `solve`, such as ``time_limit``, ``gap`` or ``seed``.

    Returns
    -------
    PrunedEnsemble
        A model that predicts by itself.

    Raises
    ------
    InvalidInput, SolverError
        When the input does not fit, or the solver cannot be asked.
    """
    ensemble = read_ensemble(model)
    data = ensemble.pruning_data(X, y, sample_weight)
    scaled = non_negative_number("alpha", alpha) * data.y_variance
    result = solve(LayerPruning(data, scaled, weights), solver, **solve_options)
    if result.choice is None:
        raise EngineFailure(f"{result.solver} found no choice ({result.termination})")
    return PrunedEnsemble.cut(ensemble, result, scaled)
