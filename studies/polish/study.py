"""Pruned, then polished, against both at once: test error by size (FP §2.4, §3.4)."""

from __future__ import annotations

from dataclasses import dataclass

from studies.drawing.curve_figure import draw_curves
from studies.paths import path_cells
from studies.polish.findings import conclusion, contradictions
from studies.polish.notes import notes
from studies.reporting.curves import brief_columns, budget_table, curves_of, point_table
from studies.reporting.report import Report, Run
from studies.reporting.tables import columns_of
from studies.spec import ENSEMBLE_NAMES, PRUNED, Call, Cell, Instance, Method, Request
from studies.study import Study

# Parts of the full model's nodes.
BUDGETS = (0.01, 0.05, 0.2, 1.0)

# The paper's α₂ of a ridge. As a price of each tree it would leave one or two; this one leaves
# about as many as the best subset has.
RIDGE, PRICE = 0.01, 0.0001

METHODS = (
    PRUNED,
    Method("ridge", alpha2=RIDGE),
    Method("best_subset", n_trees=10),
    Method("ridge", joint=True, alpha2=RIDGE),
    Method("best_subset", joint=True, alpha2=PRICE),
)


@dataclass(frozen=True)
class Size:
    """What is measured.

    Attributes
    ----------
    data
        Data sets, where the user names none.
    rows, trees
        Training rows and trees of an ensemble of each kind; half as many rows are for
        validation, and half as many for testing.
    values
        Number of α of each path.
    repeats, time_limit
        As in `Cell`, where the user does not say otherwise.
    """

    data: tuple[str, ...]
    rows: int
    trees: int
    values: int
    repeats: int
    time_limit: float


_SIZES = {
    "small": Size(("diamonds",), 600, 20, values=6, repeats=0, time_limit=10.0),
    "medium": Size(("diamonds", "abalone"), 2000, 100, values=12, repeats=0, time_limit=60.0),
    "full": Size(("diamonds", "abalone"), 15000, 500, values=25, repeats=0, time_limit=1200.0),
}


def size_cells(size: Size, request: Request) -> list[Cell]:
    """Return the cells of a size; see `path_cells`."""
    instances = [
        Instance(name, size.rows, size.trees, ensemble, held_out=size.rows // 2)
        for name in (size.data if request.data is None else (request.data,))
        for ensemble in ENSEMBLE_NAMES
    ]
    calls = [
        Call(solver, "path", method=method, values=size.values)
        for solver in request.solvers or ("cbcd",)
        for method in METHODS
    ]
    return path_cells(request, "polish", instances, calls, size.repeats, size.time_limit)


def report(run: Run) -> Report:
    """Return the tables, the figure and the conclusion."""
    curves = curves_of(run)
    budgets = budget_table(curves, BUDGETS)
    return Report(
        tables=(budgets, point_table(curves)),
        shown=(columns_of(budgets, brief_columns(BUDGETS)),),
        notes=tuple(notes(run, curves)),
        figures={"polish": draw_curves(curves)},
        conclusion=conclusion(curves, BUDGETS),
        violations=tuple(contradictions(curves)),
    )


POLISH = Study(
    name="polish",
    title="Pruned, polished, or both at once: test error by the size of what is left",
    sizes=tuple(_SIZES),
    cells=lambda request: size_cells(_SIZES[request.size], request),
    report=report,
)
