"""`solve_path`: a problem along the values of a parameter, each start warm."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from formulations import ChoiceFormulation, Formulation, InvalidInput, Polishing
from solvers._core.arguments import checked_limit
from solvers._core.base import Callback
from solvers._core.path_values import path_values
from solvers._core.pooling import pooled, with_later_bounds
from solvers._core.result import Result, Termination
from solvers._core.solve import solve

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class Path:
    """Results along a path, from the smallest model to the largest.

    Attributes
    ----------
    over
        The parameter: ``"alpha"``, ``"alpha2"`` or ``"n_trees"``.
    values
        (k,) its values: decreasing, but a rising number of trees.
    results
        One result a value. When the path was cut short by its time limit or Ctrl-C, those
        values not reached have no result and ``values`` ends with the last one reached.
    problem
        The problem of the path.
    """

    over: str
    values: npt.NDArray[Any]
    results: tuple[Result, ...]
    problem: Formulation

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    def __getitem__(self, index: int) -> Result:
        return self.results[index]

    def problem_at(self, index: int) -> Formulation:
        """Return the problem that the result at an index solves."""
        return self.problem.with_value(self.over, self.values[index].item())

    @property
    def seconds(self) -> float:
        """Time of all solves together."""
        return float(sum(result.solve_seconds for result in self.results))

    def to_frame(self, full: bool = True) -> pd.DataFrame:
        """Return one row a value, and by default a last one for the full model.

        Parameters
        ----------
        full
            Whether to add the full model, every tree whole and of weight 1, labelled ``full``
            in the column ``solver``; for `Polishing` the trees as they were pruned, labelled
            ``unpolished``. The parameter is NaN there, and the objective is the loss.

        Returns
        -------
        DataFrame
            Columns: the parameter, objective, bound, gap, loss, trees, nodes (where node
            counts are known), guarantee, termination, solve_seconds, solver.
        """
        import pandas as pd  # takes longer to import than a small path to solve

        rows = [
            {self.over: value, "solver": result.solver}
            | self._figures(self.problem_at(index), result.choice, result.beta)
            | {
                "objective": result.objective,
                "bound": result.bound,
                "gap": result.gap,
                "guarantee": str(result.guarantee),
                "termination": str(result.termination),
                "solve_seconds": result.solve_seconds,
            }
            for index, (value, result) in enumerate(zip(self.values, self.results, strict=True))
        ]
        if full:
            problem, label = self.problem, "full"
            if isinstance(problem, Polishing):
                problem, label = problem.with_value("n_trees", None), "unpolished"
            choice = problem.full()
            fixed = isinstance(problem, ChoiceFormulation)
            beta = None if fixed else problem.keeps(choice).astype(np.float64)
            rows.append({self.over: np.nan, "solver": label})
            rows[-1] |= self._figures(problem, choice, beta)
            rows[-1]["objective"] = rows[-1]["loss"]
        return pd.DataFrame(rows)

    @staticmethod
    def _figures(
        problem: Formulation,
        choice: npt.NDArray[Any] | None,
        beta: npt.NDArray[Any] | None,
    ) -> dict[str, Any]:
        if choice is None:
            return {}
        figures = {
            "loss": problem.loss(choice, beta),
            "trees": problem.kept_trees(choice, beta),
        }
        if problem.data.node_counts_known:
            figures["nodes"] = problem.kept_nodes(choice, beta)
        return figures

    def __repr__(self) -> str:
        return (
            f"Path({len(self)} values of {self.over} from {self.values[0]:.4g} to "
            f"{self.values[-1]:.4g}, {self.seconds:.3g} s)"
        )


def solve_path(
    problem: Formulation,
    over: str = "alpha",
    values: int | npt.ArrayLike | None = None,
    solver: str = "cbcd",
    *,
    time_limit: float | None = 60.0,
    pool: bool = True,
    callback: Callback | None = None,
    **options: Any,
) -> Path:
    """Solve a problem along a parameter, each value from the solution before (FP §3.2).

    The path goes from the smallest model to the largest: α and α₂ fall, the number of trees
    rises. So no optimum is above the one before: a bound of a later one holds for all before
    it, and is carried back.

    Parameters
    ----------
    problem
        A formulation; its own value of the parameter does not matter.
    over
        The parameter: ``"alpha"`` of all but `Polishing`, ``"alpha2"`` of `JointPruning`,
        `JointSubtreePruning` and `Polishing`, ``"n_trees"`` of `Polishing` with ρ = 0.
    values
        The values, or how many. Numbers of trees are 1…``values``, by default up to 50. Values
        of α and α₂ are at least 0; 50 by default, and evenly spaced in the logarithm,

        - for α and for α₂ of ρ = 0 from where the empty model is proven optimal down to 1e-4 of
          it;
        - for α₂ of ρ = 2 from 1e2 to 1e-6 times the sum of the trees' squared lengths ‖P_i‖².
    solver
        A name or label, as for `solve`.
    time_limit
        Seconds for the whole path, or None. The path is cut short there.
    pool
        Whether to try the solutions of the whole path at every value and keep the best. A
        heuristic's objective may rise along the path; the optimum cannot, and pooling mends
        it.
    callback
        Called with every `TraceEntry` of every solve; a true answer ends the path.
    **options
        Further arguments of `solve`.

    Raises
    ------
    InvalidInput
        When the problem has no such parameter, or it does not take a value.

    Warns
    -----
    UserWarning
        When there are fewer trees than the path should use; it ends where all are used.
    """
    wanted = path_values(problem, over, values)
    left = checked_limit(time_limit)
    if not isinstance(pool, bool):
        raise InvalidInput(f"pool must be True or False, not {pool!r}")
    results: list[Result] = []
    for value in wanted:
        # Along the path what was feasible before is feasible now.
        before = results[-1] if results and results[-1].choice is not None else None
        result = solve(
            problem.with_value(over, value.item()),
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
    gap = float(options.get("gap", 1e-6))
    wanted = wanted[: len(results)]
    if pool:
        results = pooled(problem, over, wanted, results, gap)
    return Path(over, wanted, tuple(with_later_bounds(problem, results, gap)), problem)
