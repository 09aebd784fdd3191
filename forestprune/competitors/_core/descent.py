"""Lasso on the products of columns, by scikit-learn's coordinate descent."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.linear_model import lasso_path

from formulations.arrays import FloatArray

# The most sweeps that the descent may take.
_SWEEPS = 100_000


def lasso_weights(
    matrix: FloatArray,
    target: FloatArray,
    products: FloatArray,
    slopes: FloatArray,
    penalties: Sequence[float],
    *,
    start: FloatArray | None = None,
    nonnegative: bool = False,
    tolerance: float = 1e-6,
) -> FloatArray:
    """Return the minimisers of ½ ‖target − matrix b‖² + λ ‖b‖₁ for falling λ, (λ, columns).

    Parameters
    ----------
    matrix, target, products, slopes
        (rows, columns), (rows,), matrixᵀmatrix and matrixᵀtarget.
    penalties
        The values of λ.
    start
        (columns,) where to begin.
    nonnegative
        Whether b ≥ 0.
    tolerance
        Duality gap, relative to ‖target‖², at which the descent ends.
    """
    if matrix.shape[1] == 0:
        return np.zeros((len(penalties), 0))
    _, found, _ = lasso_path(
        matrix,
        target,
        alphas=np.asarray(penalties) / len(target),  # scikit-learn has 1/(2 rows) for our ½
        precompute=products,
        Xy=slopes,
        copy_X=False,
        coef_init=None if start is None else start.copy(),  # it is written to
        positive=nonnegative,
        check_input=False,
        tol=tolerance,
        max_iter=_SWEEPS,
    )
    return np.asarray(found.T)
