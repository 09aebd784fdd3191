"""`forestprune solve`: fit an ensemble to a file and prune it with each solver asked for."""

from __future__ import annotations

from collections.abc import Iterable
from time import perf_counter

from rich.console import Console

from forestprune import LayerPruning, Result, pruning_data, solve
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


def solve_file(
    console: Console,
    source: str,
    target: str | None,
    labels: Iterable[str],
    *,
    data_dir: str | None,
    ensemble: str,
    trees: int,
    depth: int,
    alpha: float,
    time_limit: float,
    seed: int,
    threads: int,
) -> None:
    """Fit, build, solve with each solver, and print a table.

    Parameters
    ----------
    source, target, data_dir
        As `studies.datasets.load` takes them.
    labels
        Solvers.
    alpha
        In units of the variance of y.

    Raises
    ------
    StudyError
        When no solver gave an answer.
    StudyInterrupted
        On Ctrl-C, after the table of what is there.
    """
    problem = _problem(console, source, target, data_dir, ensemble, trees, depth, alpha, seed)
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
        caption = f"Layer pruning, α = {alpha:g} × variance of y"
        console.print(terminal_table(Table(caption, _COLUMNS, (Group("", tuple(rows)),))))
    if interrupted:
        raise StudyInterrupted("the table has the best choice and bound found until then")
    if not rows:
        raise StudyError("no solver gave an answer; " + "; ".join(refusals))
    for refusal in refusals:
        console.print(f"no answer from {refusal}", style="red", markup=False)


def _problem(
    console: Console,
    source: str,
    target: str | None,
    data_dir: str | None,
    ensemble: str,
    trees: int,
    depth: int,
    alpha: float,
    seed: int,
) -> LayerPruning:
    """Load, fit and build, and say how that went."""
    dataset = datasets.load(source, target=target, data_dir=data_dir)
    model = new_model(ensemble, trees, depth, seed)
    kind = f"{ENSEMBLE_NAMES[ensemble]} of {plural(trees, 'tree')}"
    begin = perf_counter()
    with console.status(f"fitting a {kind} to {plural(len(dataset.y), 'row')}"):
        model.fit(dataset.X, dataset.y)
    fitted = perf_counter()
    data = pruning_data(model, dataset.X, dataset.y)
    problem = LayerPruning(data, alpha * data.y_variance)
    built = perf_counter() - fitted
    console.print(
        f"{dataset.name}: {plural(len(dataset.y), 'row')}, {kind}, "
        f"{problem.kept_nodes(problem.full()):,} nodes; fitted in {seconds(fitted - begin)} s, "
        f"data built in {seconds(built)} s",
        highlight=False,
        markup=False,
    )
    return problem


def _row(problem: LayerPruning, result: Result) -> tuple[str, ...]:
    kept = result.choice
    return (
        result.solver,
        objective(None if kept is None else result.objective),
        objective(result.bound if result.bound > float("-inf") else None),
        percent(result.gap if result.gap < float("inf") else None),
        "✓" if result.guarantee == "optimal" else "",
        NOT_RUN if kept is None else f"{problem.kept_trees(kept):,}",
        NOT_RUN if kept is None else f"{problem.kept_nodes(kept):,}",
        seconds(result.build_seconds),
        seconds(result.solve_seconds),
        str(result.termination).replace("_", " "),
    )
