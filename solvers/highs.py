"""HiGHS through Pyomo: outer approximation by MILPs, or one MILP with all products."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formulations.rewritings.linearised import count_products
from solvers._choices.mip import EngineSearch, MIPOptions, MIPSolver
from solvers._coefficients.mip import CoefficientHiGHS
from solvers._core.base import require_one_of
from solvers._core.errors import UnsupportedProblem
from solvers._core.result import Termination
from solvers._engines.pyomo import FEASIBILITY, HIGHS, solve_outer, solve_products

_MOST_PRODUCTS = 10_000

# Distance of the first tangents; residuals lie between −1 and 1.
_SPACING = 0.25


@dataclass(frozen=True)
class HiGHSOptions(MIPOptions):
    """Options of `HiGHS`.

    Attributes
    ----------
    form
        ``"outer"``: squares of residuals are cut by tangents, and cut again at every
        solution. ``"products"``: a variable for each product of columns of two trees; for
        small problems.
    """

    form: str = "outer"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_one_of("form", self.form, ("outer", "products"))


class HiGHS(MIPSolver):
    """HiGHS has no quadratic objective with integers: both forms are MILPs."""

    summary = "mixed-integer linear programs by HiGHS: outer approximation, or products"
    engines = ("pyomo", "highspy")
    engine = HIGHS
    for_coefficients = CoefficientHiGHS
    Options = HiGHSOptions
    options: HiGHSOptions

    def search(self, search: EngineSearch) -> Termination:
        """Solve one MILP after the other, or one with products."""
        return self._products(search) if self.options.form == "products" else self._outer(search)

    def _outer(self, search: EngineSearch) -> Termination:
        """Add tangents at each solution until its objective is the MILP's, within the gap."""
        form = search.form
        rows, points = form.first_tangents(_SPACING)
        seen: set[bytes] = set()
        while True:
            answer = search.call(solve_outer, rows, points, search.selected)
            if answer is None:
                return search.control.stop() or Termination.TIME_LIMIT
            selected = search.accept(answer, search.residual_error())
            reason = _reason(search, answer.timed_out)
            if reason is not None:
                return reason
            if selected is None or selected.tobytes() in seen:
                return Termination.INACCURATE  # its tangents are there: tolerances are met
            seen.add(selected.tobytes())
            rows = np.append(rows, np.arange(form.n_rows))
            points = np.append(points, form.residuals(selected))

    def _products(self, search: EngineSearch) -> Termination:
        count = count_products(search.form.start)
        if count > _MOST_PRODUCTS:
            raise UnsupportedProblem(
                f"highs[form=products] takes at most {_MOST_PRODUCTS} products of columns, this "
                f"problem has {count}"
                + ("" if self.options.presolve else " without presolve")
                + "; highs[form=outer] can take it"
            )
        answer = search.call(solve_products, search.selected)
        if answer is None:
            return search.control.stop() or Termination.TIME_LIMIT
        # Each product may be off by 2 ε, and reduced costs by ε on variables of range 1.
        products = search.form.products()
        slopes = float(np.abs(products.coefficient).sum())
        search.accept(answer, FEASIBILITY * (2.0 * slopes + search.form.n_columns + count))
        return _reason(search, answer.timed_out) or Termination.INACCURATE


def _reason(search: EngineSearch, timed_out: bool) -> Termination | None:
    if search.finished:
        return Termination.GAP_REACHED
    return search.control.stop() or (Termination.TIME_LIMIT if timed_out else None)
