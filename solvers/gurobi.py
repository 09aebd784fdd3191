"""Gurobi through Pyomo: the quadratic problem as it is."""

from __future__ import annotations

from solvers._choices.mip import QuadraticMIP
from solvers._coefficients.mip import CoefficientGurobi


class Gurobi(QuadraticMIP):
    """Gurobi, where it is licensed; the licence in its wheel is for small problems."""

    summary = CoefficientGurobi.summary
    engines = CoefficientGurobi.engines
    engine = CoefficientGurobi.engine
    for_coefficients = CoefficientGurobi
    caveat = "tried on small problems only"
