"""`forestprune solve`: fit an ensemble to a file and prune it with each solver asked for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from rich.console import Console

from forestprune import LayerPruning, Result, load_problem, pruning_data, solve
from formulations import Formulation
from solvers import EngineFailure, MissingEngine, Termination, UnsupportedProblem
from studies import datasets
from studies.errors import StudyError, StudyInterrupted
from studies.reporting.formats import objective, percent, plural, seconds
from studies.reporting.render import terminal_table
from studies.reporting.tables import NOT_RUN, Group, Table
from studies.running.prepare import new_model
from studies.spec import ENSEMBLE_NAMES

_COLUMNS = (
    "solver",
    "objective",
    "lower bound",
    "gap %",
    "optimal",
    "trees",
    "nodes",
    "build s",
    "solve s",
    "ended",
)


@dataclass(frozen=True)
class Source:
    """Where a problem comes from: an ensemble fitted to a table, or a saved problem.

    Attributes
    ----------
    data, target, data_dir
        As `studies.datasets.load` takes them; or ``data`` alone, a saved problem (``.npz``).
    ensemble, trees, depth, seed
        What to fit.
    alpha
        In units of the variance of y.
    """

    data: str
    target: str | None
    data_dir: str | None
    ensemble: str
    trees: int
    depth: int
    alpha: float
    seed: int

    @property
    def saved(self) -> bool:
        """Whether it is a saved problem, for which nothing is fitted."""
        return Path(self.data).suffix == ".npz"

    @property
    def title(self) -> str:
        """What problem it is."""
        if self.saved:
            return f"The problem in {self.data}"
        return f"Layer pruning, α = {self.alpha:g} × variance of y"

    def problem(self, console: Console) -> Formulation:
        """Load the problem, or load the table, fit and build; and say how that went."""
        if self.saved:
            problem = load_problem(self.data)
            console.print(f"{self.data}: {problem!r}", highlight=False, markup=False)
            return problem
        return self._fitted(console)

    def _fitted(self, console: Console) -> LayerPruning:
        dataset = datasets.load(self.data, target=self.target, data_dir=self.data_dir)
        model = new_model(self.ensemble, self.trees, self.depth, self.seed)
        kind = f"{ENSEMBLE_NAMES[self.ensemble]} of {plural(self.trees, 'tree')}"
        begin = perf_counter()
        with console.status(f"fitting a {kind} to {plural(len(dataset.y), 'row')}"):
            model.fit(dataset.X, dataset.y)
        fitted = perf_counter()
        data = pruning_data(model, dataset.X, dataset.y)
        problem = LayerPruning(data, self.alpha * data.y_variance)
        built = perf_counter() - fitted
        dropped = f" ({dataset.dropped:,} without target left out)" if dataset.dropped else ""
        console.print(
            f"{dataset.name}: {plural(len(dataset.y), 'row')}{dropped}, {kind}, "
            f"{problem.kept_nodes(problem.full()):,} nodes; fitted in {seconds(fitted - begin)} s, "
            f"data built in {seconds(built)} s",
            highlight=False,
            markup=False,
        )
        return problem


def solve_file(
    console: Console,
    source: Source,
    labels: Iterable[str],
    *,
    time_limit: float,
    seed: int,
    threads: int,
) -> None:
    """Build, solve with each solver, and print a table.

    Parameters
    ----------
    source
        The problem.
    labels
        Solvers.

    Raises
    ------
    StudyError
        When no solver gave an answer.
    StudyInterrupted
        On Ctrl-C, after the table of what is there.
    """
    problem = source.problem(console)
    rows: list[tuple[str, ...]] = []
    refusals: list[str] = []
    interrupted = False
    for label in labels:
        try:
            with console.status(f"solving with {label}"):
                result = solve(problem, label, time_limit=time_limit, seed=seed, threads=threads)
        except (UnsupportedProblem, MissingEngine, EngineFailure) as error:
            refusals.append(f"{label}: {error}")
            continue
        rows.append(_row(problem, result))
        interrupted = result.termination is Termination.INTERRUPTED
        if interrupted:
            break
    if rows:
        console.print(terminal_table(Table(source.title, _COLUMNS, (Group("", tuple(rows)),))))
    if interrupted:
        raise StudyInterrupted("the table has the best choice and bound found until then")
    if not rows:
        raise StudyError("no solver gave an answer; " + "; ".join(refusals))
    for refusal in refusals:
        console.print(f"no answer from {refusal}", style="red", markup=False)


def _row(problem: Formulation, result: Result) -> tuple[str, ...]:
    kept, beta = result.choice, result.beta
    return (
        result.solver,
        objective(None if kept is None else result.objective),
        objective(result.bound if result.bound > float("-inf") else None),
        percent(result.gap if result.gap < float("inf") else None),
        "✓" if result.guarantee == "optimal" else "",
        NOT_RUN if kept is None else f"{problem.kept_trees(kept, beta):,}",
        NOT_RUN
        if kept is None or not problem.data.node_counts_known
        else f"{problem.kept_nodes(kept, beta):,}",
        seconds(result.build_seconds),
        seconds(result.solve_seconds),
        str(result.termination).replace("_", " "),
    )
