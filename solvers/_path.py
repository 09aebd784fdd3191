"""`solve_path`: a problem along decreasing values of a parameter, each start warm."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from formulations import Formulation, InvalidInput
from formulations.arrays import FloatArray, finite_floats
from solvers._base import Callback
from solvers._result import Guarantee, Result, Termination
from solvers._solve import solve

if TYPE_CHECKING:
    import pandas as pd

# A default path spans this ratio of α; the full model need not be reached.
_SPAN = 1e-4


@dataclass(frozen=True, eq=False, repr=False)
class Path:
    """Results along a path, from the largest value of the parameter to the smallest.

    Attributes
    ----------
    over
        The parameter: ``"alpha"``.
    values
        (k,) its values, decreasing.
    results
        One result a value. When the path was cut short by its time limit or Ctrl-C, those
        values not reached have no result and ``values`` ends with the last one reached.
    problem
        The problem of the path.
    """

    over: str
    values: FloatArray
    results: tuple[Result, ...]
    problem: Formulation

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    def __getitem__(self, index: int) -> Result:
        return self.results[index]

    @property
    def seconds(self) -> float:
        """Time of all solves together."""
        return float(sum(result.solve_seconds for result in self.results))

    def to_frame(self, full: bool = True) -> pd.DataFrame:
        """Return one row a value, and by default a last one for the full model.

        Parameters
        ----------
        full
            Whether to add the full model, labelled ``full`` in the column ``solver``. Its
            α is NaN, and its objective is its loss.

        Returns
        -------
        DataFrame
            Columns: alpha, objective, bound, gap, loss, trees, nodes (where node counts are
            known), guarantee, termination, solve_seconds, solver.
        """
        import pandas as pd  # takes longer to import than a small path to solve

        rows = [
            self._row(value, result.solver, result.choice)
            | {
                "objective": result.objective,
                "bound": result.bound,
                "gap": result.gap,
                "guarantee": str(result.guarantee),
                "termination": str(result.termination),
                "solve_seconds": result.solve_seconds,
            }
            for value, result in zip(self.values, self.results, strict=True)
        ]
        if full:
            rows.append(self._row(np.nan, "full", self.problem.full()))
            rows[-1]["objective"] = rows[-1]["loss"]
        return pd.DataFrame(rows)

    def _row(self, value: float, label: str, choice: npt.NDArray[Any] | None) -> dict[str, Any]:
        row: dict[str, Any] = {self.over: value, "solver": label}
        if choice is not None:
            row["loss"] = self.problem.loss(choice)
            row["trees"] = self.problem.kept_trees(choice)
            if self.problem.data.node_counts_known:
                row["nodes"] = self.problem.kept_nodes(choice)
        return row

    def __repr__(self) -> str:
        return (
            f"Path({len(self)} values of {self.over} from {self.values[0]:.4g} to "
            f"{self.values[-1]:.4g}, {self.seconds:.3g} s)"
        )


def solve_path(
    problem: Formulation,
    over: str = "alpha",
    values: int | npt.ArrayLike = 50,
    solver: str = "cbcd",
    *,
    time_limit: float | None = 60.0,
    pool: bool = True,
    callback: Callback | None = None,
    **options: Any,
) -> Path:
    """Solve a problem along decreasing values of α, each from the solution before (FP §3.2).

    Parameters
    ----------
    problem
        A formulation; its own α does not matter.
    over
        The parameter: ``"alpha"``.
    values
        Values of α, at least 0; or how many, spaced evenly in the logarithm from the α at
        which the empty model is proven optimal down to 1e-4 of it.
    solver
        A name or label, as for `solve`.
    time_limit
        Seconds for the whole path, or None. The path is cut short there.
    pool
        Whether to try the solutions of the whole path at every α and keep the best. A
        heuristic's objective may rise as α falls; the optimum cannot, and pooling mends it.
    callback
        Called with every `TraceEntry` of every solve; a true answer ends the path.
    **options
        Further arguments of `solve`.

    Raises
    ------
    InvalidInput
        When ``over`` is unknown or a value is negative.
    """
    if over != "alpha":
        raise InvalidInput(f'over must be "alpha", not {over!r}')
    alphas = _alphas(problem, values)
    left = np.inf if time_limit is None else float(time_limit)
    results: list[Result] = []
    for alpha in alphas:
        before = results[-1] if results and results[-1].choice is not None else None
        result = solve(
            problem.with_alpha(float(alpha)),
            solver,
            time_limit=None if np.isinf(left) else left,
            warm_start=before,
            callback=callback,
            **options,
        )
        results.append(result)
        left -= result.build_seconds + result.solve_seconds
        if left <= 0.0 or result.termination in (
            Termination.INTERRUPTED,
            Termination.CALLBACK,
            Termination.TIME_LIMIT,
        ):
            break
    alphas = alphas[: len(results)]
    if pool:
        results = _pooled(problem, alphas, results, float(options.get("gap", 1e-6)))
    return Path(over, alphas, tuple(results), problem)


def _alphas(problem: Formulation, values: int | npt.ArrayLike) -> FloatArray:
    if isinstance(values, int | np.integer) and not isinstance(values, bool):
        if values < 1:
            raise InvalidInput(f"values must be at least 1, got {values}")
        top = problem.alpha_max_certified()
        if top == 0.0:  # no layer lowers the loss, or none costs anything
            return np.zeros(1)
        return np.geomspace(top, top * _SPAN, int(values)) if values > 1 else np.array([top])
    alphas = np.unique(np.atleast_1d(finite_floats("values", values)).ravel())[::-1]
    if len(alphas) == 0 or alphas[-1] < 0.0:
        raise InvalidInput("values must hold at least one α, none of them negative")
    return alphas


def _pooled(
    problem: Formulation, alphas: FloatArray, results: list[Result], gap: float
) -> list[Result]:
    """Give every α the best of all choices of the path; the objective is affine in α."""
    choices = [result.choice for result in results if result.choice is not None]
    if not choices:
        return results
    unit = problem.with_alpha(1.0)
    losses = np.array([problem.loss(choice) for choice in choices])
    sizes = np.array([unit.penalty(choice) for choice in choices])
    pooled = []
    for alpha, result in zip(alphas, results, strict=True):
        best = int(np.argmin(losses + alpha * sizes))
        at_alpha = problem.with_alpha(float(alpha))
        objective = at_alpha.objective(choices[best])
        if objective < result.objective - at_alpha.tolerance:
            closed = objective - result.bound <= gap * max(abs(objective), 1e-12)
            result = replace(
                result,
                choice=choices[best],
                beta=np.ones(problem.data.n_trees),
                objective=objective,
                guarantee=Guarantee.OPTIMAL if closed else Guarantee.FEASIBLE,
                extra=result.extra | {"pooled": True},
            )
        pooled.append(result)
    return pooled
