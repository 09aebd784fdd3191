"""SCIP through Pyomo: the quadratic problem as it is."""

from __future__ import annotations

from solvers._coefficient_mip import CoefficientSCIP
from solvers._mip import EngineSearch, MIPSolver
from solvers._pyomo import scip_settings, solve_quadratic
from solvers._result import Termination


class SCIP(MIPSolver):
    """One mixed-integer program with a convex quadratic row t ≥ v² for each residual."""

    summary = "mixed-integer quadratic program by SCIP, in factor form"
    engines = ("pyomo", "pyscipopt")
    engine = CoefficientSCIP.engine
    for_coefficients = CoefficientSCIP

    def search(self, search: EngineSearch) -> Termination:
        """Solve one program."""
        settings = scip_settings(search.control.seed)
        answer = search.call(solve_quadratic, search.selected, self.engine, settings)
        if answer is None:
            return search.control.stop() or Termination.TIME_LIMIT
        search.accept(answer, search.residual_error())
        if search.finished:
            return Termination.GAP_REACHED
        reason = search.control.stop() or (Termination.TIME_LIMIT if answer.timed_out else None)
        return reason or Termination.INACCURATE
