"""What an ensemble starts from, where that is a constant."""

from __future__ import annotations

import numpy as np
from sklearn.dummy import DummyRegressor

from forestprune.ensemble import TreeEnsemble
from formulations import InvalidInput
from formulations.arrays import FloatArray


def starts_constant(model: TreeEnsemble) -> bool:
    """Return whether what the ensemble starts from is known to be the same for all rows."""
    # All strategies of a DummyRegressor are, but not those of a class derived from it.
    return model.init is None or type(model.init) is DummyRegressor


def start_values(model: TreeEnsemble) -> FloatArray:
    """Return the (q,) constants that the ensemble's ``init`` predicts for every row.

    Raises
    ------
    InvalidInput
        When ``init`` is an estimator that may predict different values for different rows.
    """
    if model.init is None:
        return np.zeros(model.n_outputs)
    if starts_constant(model):
        return np.asarray(model.init.constant_, dtype=np.float64).reshape(model.n_outputs)
    raise InvalidInput(
        f"the {model.source} starts from the predictions of a {type(model.init).__name__}, and "
        "only trees and constants can be written: boost the residuals of that estimator instead, "
        "or keep this model as it is with joblib"
    )
