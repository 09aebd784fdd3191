"""Folds of rows, and errors of pruned ensembles on rows that they have not seen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.metrics import check_scoring
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit, check_cv
from sklearn.utils import _safe_indexing

from forestprune.ensemble import TreeEnsemble
from forestprune.links import positions
from forestprune.pruned import PrunedEnsemble
from formulations import InvalidInput
from formulations.arrays import FloatArray, IntArray, finite_floats

if TYPE_CHECKING:
    from forestprune.estimators.base import BasePruner

Scorer = Callable[..., float]


@dataclass(frozen=True)
class FoldErrors:
    """Errors on the validation rows of one fold.

    Attributes
    ----------
    full
        Error of the whole ensemble.
    error, spread
        (k,) error at each α, and the standard error of that mean over rows; NaN for scorers.
    nodes
        (k,) nodes kept.
    """

    full: float
    error: FloatArray
    spread: FloatArray
    nodes: npt.NDArray[np.int64]


def checked_splitter(cv: Any, y: Any, classifies: bool, random_state: Any) -> Any:
    """Return the splitter that ``cv`` of `ForestPrunerCV` asks for.

    Parameters
    ----------
    y
        Response or labels of all rows.
    classifies
        Whether y are labels: then folds are stratified.
    random_state
        Of the one split where ``cv`` is a fraction.

    Raises
    ------
    ValueError
        When it is none, with a fraction outside (0, 1) or what scikit-learn rejects.
    """
    if isinstance(cv, float | np.floating):
        if not 0.0 < cv < 1.0:
            raise InvalidInput(f"cv as a fraction must lie between 0 and 1, got {cv}")
        kind = StratifiedShuffleSplit if classifies else ShuffleSplit
        return kind(1, test_size=float(cv), random_state=random_state)
    return check_cv(cv, y, classifier=classifies)


def checked_scorer(pruner: BasePruner, scoring: Any) -> Scorer | None:
    """Return the scorer that ``scoring`` of `ForestPrunerCV` asks for, None for none.

    Raises
    ------
    ValueError
        When it is not one scorer, or one that scikit-learn does not know.
    """
    if scoring is None:
        return None
    if not isinstance(scoring, str) and not callable(scoring):
        raise InvalidInput(
            f"scoring must be one scorer, its name or None, not {scoring!r}: α is chosen by one "
            "error"
        )
    scorer: Scorer = check_scoring(pruner, scoring)
    return scorer


def fold_errors(
    pruner: BasePruner,
    X: Any,
    y: Any,
    weight: FloatArray | None,
    train: IntArray,
    test: IntArray,
    alphas: FloatArray,
    options: dict[str, Any],
    scorer: Scorer | None,
) -> FoldErrors:
    """Fit and prune on the rows of training, and measure on those of validation.

    Parameters
    ----------
    pruner
        Not fitted.
    X, y, weight
        All rows, with their response or labels.
    train, test
        Positions of the rows of training and of validation.
    alphas
        (k,) decreasing, for a standardised response.
    options
        Arguments of `solve_path`.
    scorer
        Of scikit-learn, or None for `row_errors`.
    """

    def rows(of: Any, places: IntArray) -> Any:
        return None if of is None else _safe_indexing(of, places)

    seen = rows(X, train)
    fitted, path = pruner._fitted_path(seen, rows(y, train), rows(weight, train), alphas, options)
    unseen, response, share = (rows(one, test) for one in (X, y, weight))

    def measured(model: TreeEnsemble | PrunedEnsemble) -> tuple[float, float]:
        if scorer is None:
            return weighted_mean(row_errors(model, unseen, np.asarray(response)), share)
        kept = fitted
        if isinstance(model, PrunedEnsemble):
            kept = clone(pruner)._adopt(fitted, model, seen)
        weights = {} if share is None else {"sample_weight": share}
        score = float(scorer(kept, unseen, response, **weights))
        if np.isnan(score):
            raise InvalidInput("scoring must give a number on the validation rows of every fold")
        return -score, np.nan

    error, spread = np.array([measured(one) for one in path.pruned]).T
    nodes = np.array([one.n_nodes for one in path.pruned])
    return FoldErrors(measured(path.source)[0], error, spread, nodes)


def row_errors(ensemble: TreeEnsemble | PrunedEnsemble, X: Any, y: Any) -> FloatArray:
    """Return the squared error (m,) of each row.

    That is the mean over the outputs of a response. For classes it is the sum over them of
    the squares of probability minus indicator: the mean over rows is the Brier score. A class
    that the ensemble does not know has probability 0.
    """
    model = ensemble.model if isinstance(ensemble, PrunedEnsemble) else ensemble
    if model.classes is None:
        prediction = model.predict(X).reshape(-1, model.n_outputs)
        response = finite_floats("y", y).reshape(prediction.shape)
        return np.asarray(((prediction - response) ** 2).mean(axis=1))
    probability = model.predict_proba(X)
    known = np.isin(y, model.classes)
    place = positions(np.asarray(y)[known], model.classes, int(known.sum()))
    square = (probability**2).sum(axis=1) + 1.0
    square[known] -= 2.0 * probability[known, place]
    return np.asarray(square)


def weighted_mean(values: FloatArray, weight: FloatArray | None) -> tuple[float, float]:
    """Return the weighted mean of independent values, and its standard error.

        mean = Σ w e,   standard error² = Σ w² (e − mean)² / (1 − Σ w²),   with Σ w = 1

    For equal weights the latter is the usual s² / m; for one value it is NaN.

    Raises
    ------
    InvalidInput
        When all weights are 0.
    """
    share = np.ones(len(values)) if weight is None else weight
    total = float(share.sum())
    if total == 0.0:
        raise InvalidInput("sample_weight must be positive for a validation row of every fold")
    share = share / total
    mean = float(share @ values)
    left = 1.0 - float(share @ share)
    if left <= np.finfo(float).eps:
        return mean, np.nan
    return mean, float(np.sqrt(share**2 @ (values - mean) ** 2 / left))
