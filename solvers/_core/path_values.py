"""Parameters that a path can follow, and the values that it takes by default."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from formulations import (
    ChoiceFormulation,
    CoefficientFormulation,
    Formulation,
    InvalidInput,
    JointPruning,
    JointSubtreePruning,
    Polishing,
)
from formulations.arrays import FloatArray, finite_floats
from formulations.kernels.coefficients import column_products
from formulations.weights import largest_ratio

_COUNT = 50
_SIGN = {"alpha": "α", "alpha2": "α₂"}
# A default path spans this ratio; neither the full model nor least squares need be reached.
_SPAN = 1e-4
_RIDGE_SPAN = 1e-8

# A centred column whose square is this part of the uncentred one is constant.
_CONSTANT = 1e-12


def path_parameters(problem: Formulation) -> tuple[str, ...]:
    """Return the parameters of a problem that `solve_path` can follow."""
    if isinstance(problem, JointPruning | JointSubtreePruning):
        return ("alpha", "alpha2")
    if isinstance(problem, Polishing):
        if problem.rho == 2:
            return ("alpha2",)
        return ("n_trees",) if problem.n_trees is not None else ("n_trees", "alpha2")
    return ("alpha",)


def path_values(
    problem: Formulation, over: str, values: int | npt.ArrayLike | None
) -> npt.NDArray[Any]:
    """Return the values of a path, from the smallest model to the largest.

    Parameters
    ----------
    problem
        What is solved.
    over
        One of its `path_parameters`.
    values
        How many, the values themselves, or None; see `solve_path`.

    Raises
    ------
    InvalidInput
        When the problem has no such parameter, or it does not take a value.

    Warns
    -----
    UserWarning
        When there are fewer trees than asked for.
    """
    accepted = path_parameters(problem)
    if over not in accepted:
        names = " or ".join(f'"{name}"' for name in accepted)
        raise InvalidInput(f"over must be {names} for {problem!r}, not {over!r}")
    if isinstance(values, bool):
        raise InvalidInput(f"values must be a count or an array, not {values!r}")
    if isinstance(values, int | np.integer) and values < 1:
        raise InvalidInput(f"values must be at least 1, got {values}")
    if over == "n_trees":
        assert isinstance(problem, Polishing)
        return _numbers(problem, values)
    if values is None or isinstance(values, int | np.integer):
        return _spaced(problem, over, _COUNT if values is None else int(values))
    given_values = np.unique(np.atleast_1d(finite_floats("values", values)).ravel())[::-1]
    if len(given_values) == 0 or given_values[-1] < 0.0:
        raise InvalidInput(f"values must hold at least one {_SIGN[over]}, none of them negative")
    return given_values


def _spaced(problem: Formulation, over: str, count: int) -> FloatArray:
    span = _SPAN
    if isinstance(problem, ChoiceFormulation):
        top = problem.alpha_max_certified()
    elif isinstance(problem, JointSubtreePruning):
        if over == "alpha2" and problem.rho == 2:
            top, span = 100.0 * problem.largest_squares, _RIDGE_SPAN
        else:
            top = problem.price_of_nothing(over)
    else:
        assert isinstance(problem, JointPruning | Polishing)
        if over == "alpha2" and problem.rho == 2:
            top, span = 100.0 * _sum_of_squares(problem), _RIDGE_SPAN
        else:
            top = _price_of_nothing(problem, over)
    if top == 0.0:  # nothing lowers the loss, or nothing costs anything
        return np.zeros(1)
    return np.geomspace(top, top * span, count) if count > 1 else np.array([top])


def _numbers(
    problem: Polishing, values: int | npt.ArrayLike | None
) -> npt.NDArray[np.integer[Any]]:
    kept = problem.n_columns
    if values is None:
        return np.arange(1, min(_COUNT, kept) + 1)
    if isinstance(values, int | np.integer):
        numbers = np.arange(1, int(values) + 1)
    else:
        numbers = np.unique(np.asarray(values))
        if numbers.dtype.kind not in "iu" or len(numbers) == 0 or numbers[0] < 1:
            raise InvalidInput("values must hold integers of at least 1 for n_trees")
    if numbers[-1] > kept:
        warnings.warn(
            f"n_trees={numbers[-1]} is above the number of kept trees: the path ends at {kept}",
            stacklevel=4,
        )
    return np.unique(np.minimum(numbers, kept))


def _sum_of_squares(problem: CoefficientFormulation) -> float:
    """Return Σ_i max_k ‖P_ik‖²: a ridge as large as this at least halves every prediction."""
    largest = np.zeros(problem.data.n_trees)
    np.maximum.at(largest, problem.column_tree, problem.rule.square)
    return float(largest.sum())


def _price_of_nothing(problem: CoefficientFormulation, over: str) -> float:
    """Return an α, or α₂ of ρ = 0, from which on using no tree is optimal.

    One tree gains at most g_c = ⟨r0,P_c⟩² / (‖P_c‖² + λ) / m, and several at most the whole
    loss ‖r0‖² / m. With prices cost = base + u · parameter none of them is worth it from

        max( max_c (g_c − base_c) / u_c ,  (‖r0‖² / m − base′) / u′ )

    on, where base′ and u′ are sums of the smallest of two trees. Columns that are free at any
    value (u_c = 0) are left out.
    """
    rule = problem.with_value(over, 0.0).rule
    unit = max(problem.data.target_square, np.finfo(float).tiny)  # differences keep their digits
    price = (problem.with_value(over, unit).rule.cost - rule.cost) / unit
    gain, loss = _gains(problem)
    top = largest_ratio(gain - rule.cost, price)
    least = [np.full(problem.data.n_trees, np.inf) for _ in range(2)]
    for array, given in zip(least, (rule.cost, price), strict=True):
        np.minimum.at(array, problem.column_tree, given)
    two = [float(np.sort(array)[:2].sum()) for array in least]
    if 0.0 < two[1] < np.inf:
        top = max(top, (loss - two[0]) / two[1])
    return top


def _gains(problem: CoefficientFormulation) -> tuple[FloatArray, float]:
    """Return what each column alone takes off the loss, and the loss without any."""
    data, rule = problem.data, problem.rule
    residual = problem.residual(np.zeros((len(data.leaf_node), data.n_outputs)))
    products = np.empty(problem.n_columns)
    column_products(rule, data.trees, residual, products)
    if rule.nonnegative:
        products = np.maximum(products, 0.0)
    square = np.array(rule.square)
    if problem.centred:
        for output in range(data.n_outputs):
            ones, sums = np.zeros_like(residual), np.empty(problem.n_columns)
            ones[:, output] = data.row_weight
            column_products(rule, data.trees, ones, sums)
            square -= sums**2 / data.total_weight
    gain = np.zeros(problem.n_columns)
    usable = square > _CONSTANT * rule.square
    gain[usable] = products[usable] ** 2 / (square[usable] + rule.ridge) / data.total_weight
    # The residual carries the row weights once.
    loss = float((residual**2 / data.row_weight[:, None]).sum()) / data.total_weight
    return gain, loss
