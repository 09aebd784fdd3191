"""MOSEK: an interior-point method for cones, where it is licensed."""

from __future__ import annotations

from solvers._choices.conic import ConicSolver
from solvers._coefficients.conic import CoefficientMOSEK


class MOSEK(ConicSolver):
    """The relaxation as a cone program."""

    summary = "convex relaxation as a cone program by MOSEK, rounded"
    engines = ("cvxpy", "mosek")
    engine = CoefficientMOSEK.engine
    settings = CoefficientMOSEK.settings
    for_coefficients = CoefficientMOSEK
    caveat = "untested"
