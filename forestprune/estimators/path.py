"""Ensembles pruned along α on some rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from forestprune.ensemble import TreeEnsemble
from forestprune.pruned import PrunedEnsemble
from forestprune.readers import read_ensemble
from forestprune.recipe import Recipe
from formulations import InvalidInput
from formulations.arrays import FloatArray, finite_floats
from solvers import EngineFailure, Termination, solve_path


@dataclass(frozen=True)
class PrunedPath:
    """An ensemble pruned at several α.

    Attributes
    ----------
    source
        The whole ensemble.
    alphas
        (k,) decreasing, for a standardised response.
    pruned
        What is left at each.
    asked
        How many α there would be had no time limit cut the path short.
    """

    source: TreeEnsemble
    alphas: FloatArray
    pruned: list[PrunedEnsemble]
    asked: int


def checked_alphas(given: int | npt.ArrayLike) -> int | FloatArray:
    """Return a number of α, or their values (k,), decreasing and each once.

    Raises
    ------
    InvalidInput
        When there is none, or one is negative or not finite.
    """
    if isinstance(given, bool):
        raise InvalidInput(f"alphas must be a count or an array, not {given!r}")
    if isinstance(given, int | np.integer):
        if given < 1:
            raise InvalidInput(f"alphas must be at least 1, got {given}")
        return int(given)
    values = np.unique(np.atleast_1d(finite_floats("alphas", given)))[::-1]
    if len(values) == 0 or values[-1] < 0.0:
        raise InvalidInput("alphas must hold at least one α, none of them negative")
    return values


def prune_path(
    model: Any,
    X: Any,
    y: npt.ArrayLike,
    weight: FloatArray | None,
    recipe: Recipe,
    alphas: int | FloatArray,
    options: dict[str, Any],
) -> PrunedPath:
    """Prune a fitted ensemble at every α, each from the solution before.

    Parameters
    ----------
    model, X, y, weight
        A fitted ensemble and the rows to prune it on.
    recipe
        What is asked for.
    alphas
        How many, or decreasing values, for a standardised response.
    options
        Arguments of `solve_path`.

    Raises
    ------
    InvalidInput, SolverError
        As `prune`.
    KeyboardInterrupt
        When Ctrl-C has ended the path.
    """
    source = read_ensemble(model)
    data = source.pruning_data(X, y, weight)
    variance = data.y_variance
    values = alphas if isinstance(alphas, int) else alphas * variance
    problem = recipe.problem(data, 1.0)
    path = solve_path(problem, values=values, solver=recipe.solver, **options)
    if path.results[-1].termination is Termination.INTERRUPTED:
        raise KeyboardInterrupt
    pruned = []
    for value, result in zip(path.values, path.results, strict=True):
        if result.choice is None:
            raise EngineFailure(f"{result.solver} found no choice ({result.termination})")
        cut = PrunedEnsemble.cut(source, result, float(value))
        pruned.append(recipe.weighed(cut, data, options))
    if isinstance(alphas, int):
        if path.values[0] == 0.0:  # no α is large, where nothing can be explained
            return PrunedPath(source, np.zeros(1), pruned, 1)
        return PrunedPath(source, path.values / variance, pruned, alphas)
    # A constant response makes all values 0: then all α share one model.
    place = np.searchsorted(-path.values, -alphas * variance)
    left = place[place < len(path)]
    return PrunedPath(source, alphas[: len(left)], [pruned[i] for i in left], len(alphas))
