"""ECOS: an interior-point method for second-order cones (Domahidi et al. 2013)."""

from __future__ import annotations

from solvers._choices.conic import ConicSolver
from solvers._coefficients.conic import CoefficientECOS


class ECOS(ConicSolver):
    """The relaxation as a second-order cone program. ECOS has no time limit of its own."""

    summary = "convex relaxation as a second-order cone program, rounded"
    engines = ("cvxpy", "ecos")
    engine = CoefficientECOS.engine
    settings = CoefficientECOS.settings
    for_coefficients = CoefficientECOS
