"""The study behind the ForestPrune paper's Table 1: how long solvers take (FP §4)."""

from __future__ import annotations

from dataclasses import dataclass

from studies.reporting.report import Report, Run
from studies.reporting.tables import columns_of
from studies.spec import Call, Cell, Instance, Request, Scope, solver_name
from studies.study import Study
from studies.table1.figure import draw_times
from studies.table1.published import comparisons
from studies.table1.tables import ON_TERMINAL, Grid, detail_table, notes, summary_table


@dataclass(frozen=True)
class Size:
    """A grid and what is run on it.

    Attributes
    ----------
    grid
        (rows, trees) of each instance.
    calls
        What is run.
    others
        Where solvers run that no call names.
    repeats, time_limit
        As in `Cell`, where the user does not say otherwise.
    """

    grid: tuple[tuple[int, int], ...]
    calls: tuple[Call, ...]
    others: Scope
    repeats: int
    time_limit: float


_SOLVERS = (
    Call("cbcd"),
    Call("cbcd[local_search=False]"),
    Call("cbcd", task="path"),
    Call("relaxation"),
    Call("clarabel"),
    Call("ecos"),
)

_SIZES = {
    "small": Size(
        grid=((300, 20), (1000, 20)),
        calls=_SOLVERS,
        others="smallest",
        repeats=2,
        time_limit=20.0,
    ),
    "medium": Size(
        grid=((1145, 100), (15437, 100), (50164, 100)),
        calls=(
            *_SOLVERS,
            Call("clarabel[form=rows]", scope="smallest"),
            Call("ecos[form=rows]", scope="smallest"),
        ),
        others="smallest",
        repeats=5,
        time_limit=20.0,
    ),
    "full": Size(
        grid=tuple((rows, trees) for trees in (100, 500, 1000) for rows in (1145, 15437, 50164)),
        calls=(
            *_SOLVERS,
            Call("clarabel[form=rows]"),
            Call("ecos[form=rows]"),
            Call("clarabel", task="path", scope="smallest"),
            Call("ecos", task="path", scope="smallest"),
            Call("ecos[form=rows]", task="path", scope="smallest"),
        ),
        others="every",
        repeats=5,
        time_limit=300.0,
    ),
}

# One is for problems of a few trees, and the others need a licence, which few have.
_LEFT_OUT = ("brute_force", "gurobi", "mosek")


def size_cells(size: Size, request: Request) -> list[Cell]:
    """Return the cells of a size, smallest instance first."""
    if request.data is None or request.ensemble is None or request.alpha is None:
        raise ValueError("a request for table1 has data, an ensemble and one α")
    instances = [
        Instance(
            data=request.data,
            rows=rows,
            trees=trees,
            ensemble=request.ensemble,
            seed=request.seed,
            target=request.target,
            data_dir=request.data_dir,
        )
        for rows, trees in sorted(size.grid, key=lambda grid: grid[0] * grid[1])
    ]
    named = [call for call in size.calls if solver_name(call.solver) in request.available]
    calls = request.calls(named, size.others, _LEFT_OUT)
    return [
        request.cell(instance, request.alpha, call, size.repeats, size.time_limit)
        for instance in instances
        for call in calls
        if call.scope == "every" or instance == instances[0]
    ]


def report(run: Run) -> Report:
    """Return the tables and the figure."""
    grid = Grid.of(run)
    summary, details = summary_table(grid), detail_table(grid)
    brief = columns_of(details, ON_TERMINAL)
    return Report(
        tables=(summary, details),
        shown=(brief, summary) if len(grid.instances) > 1 else (brief,),
        notes=tuple(notes(grid)),
        figures={"figure": draw_times(grid)},
        published=comparisons(grid),
    )


TABLE1 = Study(
    name="table1",
    title="Layer pruning, Problem (1): time, objective and proven gap of each solver",
    sizes=tuple(_SIZES),
    cells=lambda request: size_cells(_SIZES[request.size], request),
    report=report,
    defaults={"data": "diamonds", "ensemble": "forest", "alpha": 1.0},
)
