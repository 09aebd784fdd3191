"""Node weights against depth weights along a path (FP §2.2, Figure 2)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from studies.paths import path_cells
from studies.reporting.curves import curves_of, point_table
from studies.reporting.report import Report, Run
from studies.spec import PRUNED, Call, Cell, Instance, Method, Request
from studies.study import Study
from studies.weights.chosen import families
from studies.weights.figure import draw_weights
from studies.weights.notes import conclusion, notes
from studies.weights.published import comparisons
from studies.weights.tables import ratio_table, size_table

METHODS = (PRUNED, Method(weights="depth"))

# Far enough that what is left at the end is most of the full model, for either weights.
SPAN = 1e-6

SOLVER = "cbcd"


@dataclass(frozen=True)
class Size:
    """What is measured.

    Attributes
    ----------
    data
        Data sets, where the user names none.
    rows
        Training rows; half as many are for validation, and half as many for testing.
    ensembles
        Trees and depth of each kind of ensemble; only forests run unless boosting is asked for.
    values
        Number of α of each path.
    seeds
        How many, from the one asked for on.
    time_limit
        As in `Cell`, where the user does not say otherwise.
    """

    data: tuple[str, ...]
    rows: int
    ensembles: dict[str, tuple[int, int]]
    values: int
    seeds: int
    time_limit: float


_SIZES = {
    "small": Size(
        ("diamonds", "abalone"), 2000, {"forest": (100, 20), "boosting": (100, 5)}, 60, 1, 60.0
    ),
    "medium": Size(
        ("diamonds", "abalone"), 6000, {"forest": (100, 20), "boosting": (250, 5)}, 100, 3, 120.0
    ),
    "full": Size(
        ("diamonds", "abalone"), 20000, {"forest": (100, 20), "boosting": (250, 5)}, 150, 5, 1200.0
    ),
}


def size_cells(size: Size, request: Request) -> list[Cell]:
    """Return the cells of a size; see `path_cells`."""
    instances = [
        Instance(name, size.rows, trees, ensemble, depth, held_out=size.rows // 2)
        for name in (size.data if request.data is None else (request.data,))
        for ensemble, (trees, depth) in size.ensembles.items()
    ]
    calls = [
        Call(solver, "path", method=method, values=size.values, span=SPAN)
        for solver in request.solvers or (SOLVER,)
        for method in METHODS
    ]
    return [
        cell
        for place in range(size.seeds)
        for cell in path_cells(
            replace(request, seed=request.seed + place),
            "weights",
            instances,
            calls,
            0,
            size.time_limit,
        )
    ]


def report(run: Run) -> Report:
    """Return the tables, the figure and the conclusion; of several solvers the first counts."""
    every = curves_of(run)
    curves = [curve for curve in every if curve.cell.solver == every[0].cell.solver]
    found = list(families(curves))
    sizes, ratios = size_table(found), ratio_table(found)
    return Report(
        tables=(sizes, ratios, point_table(every)),
        shown=(sizes, ratios),
        notes=tuple(notes(run, found, curves)),
        figures={"weights": draw_weights(found)},
        conclusion=conclusion(found),
        published=comparisons(found),
    )


WEIGHTS = Study(
    name="weights",
    title="Node weights against depth weights: nodes, trees and depth at similar errors",
    sizes=tuple(_SIZES),
    cells=lambda request: size_cells(_SIZES[request.size], request),
    report=report,
    defaults={"ensemble": "forest"},
)
