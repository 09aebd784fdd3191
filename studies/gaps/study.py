"""How far coordinate descent is from the best, and which solver proves it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from studies.errors import StudyError
from studies.gaps.figures import draw_profile, draw_traces
from studies.gaps.problems import contradictions, problems_of
from studies.gaps.tables import (
    ON_TERMINAL,
    conclusion,
    detail_table,
    notes,
    problem_table,
    solver_table,
    unanswered_table,
)
from studies.reporting.report import Report, Run
from studies.reporting.tables import columns_of
from studies.spec import ENSEMBLE_NAMES, Call, Cell, Instance, Request
from studies.study import Study

# An engine that is not installed gets rows that say so.
_CALLS = (
    Call("cbcd[local_search=False]"),
    Call("cbcd"),
    Call("relaxation"),
    Call("branch_and_bound"),
    Call("highs"),
    Call("scip"),
)

# One is for problems of a few trees, `iht` is a second heuristic beside `cbcd`, two solve the
# same relaxation as `relaxation`, and `gurobi` and `mosek` need a licence, which few have.
_LEFT_OUT = ("brute_force", "clarabel", "ecos", "gurobi", "iht", "mosek")


@dataclass(frozen=True)
class Size:
    """What is measured.

    Attributes
    ----------
    data
        Data sets, where the user names none.
    grid
        (rows, trees) of ensembles of both kinds on every data set.
    hard
        Further instances, on the first data set only; their own data does not matter.
    alphas, hard_alphas
        In units of the variance of y, and those of the further instances.
    repeats, time_limit
        As in `Cell`, where the user does not say otherwise.
    """

    data: tuple[str, ...]
    grid: tuple[tuple[int, int], ...]
    hard: tuple[Instance, ...]
    alphas: tuple[float, ...]
    hard_alphas: tuple[float, ...]
    repeats: int
    time_limit: float


def _few_rows(rows: int, trees: int) -> Instance:
    """Fewer rows than there are choices, so that the products of columns are singular."""
    return Instance("", rows, trees, "boosting", name="few rows")


def _copies(rows: int, trees: int, copies: int) -> Instance:
    """Identical trees: many choices have the same objective."""
    return Instance("", rows, trees, "forest", copies=copies, name=f"each tree {copies} times")


_SIZES = {
    "small": Size(
        data=("diamonds",),
        grid=((300, 20),),
        hard=(_few_rows(40, 30), _copies(300, 5, 4)),
        alphas=(0.1,),
        hard_alphas=(0.1,),
        repeats=1,
        time_limit=2.0,
    ),
    "medium": Size(
        data=("diamonds", "abalone"),
        grid=((1145, 100),),
        hard=(_few_rows(60, 100), _copies(1145, 20, 5)),
        alphas=(10.0, 1.0, 0.1, 0.01),
        hard_alphas=(1.0, 0.1, 0.01),
        repeats=2,
        time_limit=5.0,
    ),
    "full": Size(
        data=("diamonds", "abalone"),
        grid=((1145, 100), (15437, 500), (50164, 1000)),
        hard=(_few_rows(60, 100), _few_rows(300, 500), _copies(1145, 20, 5)),
        alphas=(10.0, 1.0, 0.1, 0.01),
        hard_alphas=(1.0, 0.1, 0.01),
        repeats=2,
        time_limit=60.0,
    ),
}


def size_cells(size: Size, request: Request) -> list[Cell]:
    """Return the cells of a size, instance by instance and α by α.

    Raises
    ------
    StudyError
        When a target is given without the data set that has it.
    """
    if request.target is not None and request.data is None:
        raise StudyError("--target goes with --data: the study's own data sets have theirs")
    data = size.data if request.data is None else (request.data,)
    wanted = [
        (Instance(name, rows, trees, ensemble), size.alphas)
        for rows, trees in size.grid
        for name in data
        for ensemble in ENSEMBLE_NAMES
    ]
    wanted += [(replace(hard, data=data[0]), size.hard_alphas) for hard in size.hard]
    instances = [
        (replace(i, target=request.target, data_dir=request.data_dir, seed=request.seed), alphas)
        for i, alphas in wanted
        if request.ensemble in (None, i.ensemble)
    ]
    calls = request.calls(_CALLS, "every", _LEFT_OUT)
    return [
        request.cell(instance, alpha, call, size.repeats, size.time_limit)
        for instance, alphas in instances
        for alpha in (alphas if request.alpha is None else (request.alpha,))
        for call in calls
    ]


def report(run: Run) -> Report:
    """Return tables, figures, the conclusion, and bounds that cannot be."""
    problems = problems_of(run)
    known, solvers = problem_table(problems), solver_table(problems)
    unanswered = unanswered_table(problems)
    return Report(
        tables=(known, solvers, *unanswered, detail_table(problems)),
        shown=(columns_of(known, ON_TERMINAL), solvers, *unanswered),
        notes=tuple(notes(run, problems)),
        figures={"gaps": draw_traces(problems), "profile": draw_profile(problems)},
        conclusion=conclusion(problems),
        violations=tuple(contradictions(problems)),
    )


GAPS = Study(
    name="gaps",
    title="Layer pruning, Problem (1): how far each solver is from the optimum, proven",
    sizes=tuple(_SIZES),
    cells=lambda request: size_cells(_SIZES[request.size], request),
    report=report,
)
