"""SCIP through Pyomo: the quadratic problem as it is."""

from __future__ import annotations

from solvers._coefficient_mip import CoefficientSCIP
from solvers._mip import QuadraticMIP


class SCIP(QuadraticMIP):
    """SCIP, by the wheel of pyscipopt."""

    summary = CoefficientSCIP.summary
    engines = CoefficientSCIP.engines
    engine = CoefficientSCIP.engine
    for_coefficients = CoefficientSCIP
