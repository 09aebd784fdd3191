"""Clarabel: an interior-point method for quadratic objectives (Goulart and Chen 2024)."""

from __future__ import annotations

from solvers._choices.conic import ConicSolver
from solvers._coefficients.conic import CoefficientClarabel


class Clarabel(ConicSolver):
    """The relaxation as a quadratic program."""

    summary = "convex relaxation as a quadratic program, rounded"
    engines = ("cvxpy", "clarabel")
    engine = CoefficientClarabel.engine
    settings = CoefficientClarabel.settings
    for_coefficients = CoefficientClarabel
