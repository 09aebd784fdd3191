"""Errors of the models of a path on other rows."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from forestprune.pruned import PrunedEnsemble
from forestprune.readers import read_ensemble
from formulations import CoefficientFormulation, Formulation, InvalidInput, Polishing
from formulations.arrays import FloatArray
from solvers import Path, Result


def errors_on(path: Path, test: tuple[Any, Any, npt.ArrayLike]) -> FloatArray:
    """Return (k + 1,) mean squared errors on other rows: of each result, and of the full model.

    Parameters
    ----------
    path
        The path, of k results; where one found no choice the error is NaN.
    test
        Model, rows and response; the response as `TreeEnsemble.pruning_data` takes it.

    Raises
    ------
    InvalidInput
        When they do not fit, or the path is not about this model's own trees.
    """
    try:
        model, X, y = test
    except (TypeError, ValueError):
        raise InvalidInput(
            f"test must be a triple (model, X, y), not {type(test).__name__}"
        ) from None
    with warnings.catch_warnings():
        # Recomputed inner values, which the user has been told of, change no prediction.
        warnings.filterwarnings("ignore", ".*inner values are not the means")
        source = read_ensemble(model)
    rows = source.checked_rows(X)
    response = source.checked_response(rows, y)

    def error(prediction: FloatArray) -> float:
        return float(np.mean((response - prediction.reshape(response.shape)) ** 2))

    def pruned_error(problem: Formulation, result: Result) -> float:
        if result.choice is None:
            return np.nan
        pruned = PrunedEnsemble.cut(source, result, np.nan)
        if problem.kept_nodes(result.choice, result.beta) != pruned.n_nodes:
            raise InvalidInput(
                "test[0] must be the model that the path's problem comes from: its trees, pruned "
                "like the path's, do not have as many nodes"
            )
        prediction = pruned.raw_predict(rows).reshape(response.shape)
        if isinstance(problem, CoefficientFormulation):
            prediction = prediction + problem.intercept_of(result.choice, result.beta)
        return error(prediction)

    errors = [pruned_error(path.problem_at(index), one) for index, one in enumerate(path)]
    if isinstance(path.problem, Polishing):  # its full model are the trees as they were pruned
        problem = path.problem.with_value("n_trees", None)
        choice = problem.full()
        whole = replace(path[0], choice=choice, beta=(choice > 0).astype(np.float64))
        return np.array([*errors, pruned_error(problem, whole)])
    return np.array([*errors, error(source.raw_predict(rows))])
