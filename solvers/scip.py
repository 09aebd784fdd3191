"""SCIP through Pyomo: the quadratic problem as it is."""

from __future__ import annotations

from solvers._choices.mip import QuadraticMIP
from solvers._coefficients.mip import CoefficientSCIP


class SCIP(QuadraticMIP):
    """SCIP, by the wheel of pyscipopt."""

    summary = CoefficientSCIP.summary
    engines = CoefficientSCIP.engines
    engine = CoefficientSCIP.engine
    for_coefficients = CoefficientSCIP
