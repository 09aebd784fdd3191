"""Depth layers against subtrees along a path: what each leaves, how well it predicts, its time."""

from __future__ import annotations

from dataclasses import dataclass

from studies.drawing.curve_figure import draw_curves
from studies.paths import path_cells
from studies.reporting.curves import brief_columns, budget_table, curves_of, point_table
from studies.reporting.report import Report, Run
from studies.reporting.tables import columns_of
from studies.shapes.findings import conclusion
from studies.shapes.notes import notes
from studies.shapes.pairs import named, pairs_of
from studies.shapes.proofs import contradictions
from studies.shapes.tables import BRIEF_PAIRS, pair_table, proof_table
from studies.spec import PRUNED, Call, Cell, Instance, Method, Request
from studies.study import Study

# Parts of the full model's nodes.
BUDGETS = (0.01, 0.05, 0.2, 1.0)

# The paper's α₂ of a ridge.
RIDGE = 0.01

# Ten times as far as paths go by default: what is left at the end is most of the full model.
SPAN = 1e-5

METHODS = (
    PRUNED,
    Method(shape="subtree"),
    Method("ridge", alpha2=RIDGE),
    Method("ridge", alpha2=RIDGE, shape="subtree"),
)

# Descent is compared, and the bounds of the other are better than its own.
SOLVER, PROVER = "cbcd", "relaxation"


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
        Trees and depth of each kind of ensemble.
    values
        Number of α of each path.
    repeats, time_limit
        As in `Cell`, where the user does not say otherwise.
    """

    data: tuple[str, ...]
    rows: int
    ensembles: dict[str, tuple[int, int]]
    values: int
    repeats: int
    time_limit: float


_SIZES = {
    "small": Size(
        data=("diamonds",),
        rows=600,
        ensembles={"forest": (20, 8), "boosting": (50, 5)},
        values=11,
        repeats=0,
        time_limit=10.0,
    ),
    "medium": Size(
        data=("diamonds", "abalone"),
        rows=4000,
        ensembles={"forest": (100, 10), "boosting": (250, 5)},
        values=16,
        repeats=0,
        time_limit=60.0,
    ),
    "full": Size(
        data=("diamonds", "abalone"),
        rows=15000,
        ensembles={"forest": (100, 12), "boosting": (250, 5)},
        values=26,
        repeats=2,
        time_limit=1200.0,
    ),
}


def size_cells(size: Size, request: Request) -> list[Cell]:
    """Return the cells of a size; see `path_cells`."""
    instances = [
        Instance(name, size.rows, trees, ensemble, depth, held_out=size.rows // 2)
        for name in (size.data if request.data is None else (request.data,))
        for ensemble, (trees, depth) in size.ensembles.items()
    ]
    runs = [(solver, method) for solver in request.solvers or (SOLVER,) for method in METHODS]
    if not request.solvers:
        runs += [(PROVER, method) for method in METHODS if method.polish is None]
    calls = [
        Call(solver, "path", method=method, values=size.values, span=SPAN)
        for solver, method in runs
    ]
    return path_cells(request, "shapes", instances, calls, size.repeats, size.time_limit)


def report(run: Run) -> Report:
    """Return the tables, the figure, the conclusion, and bounds that cannot be."""
    curves = curves_of(run)
    compared = named(curves)
    pairs = pairs_of(compared)
    budgets, equal = budget_table(compared, BUDGETS), pair_table(pairs)
    proofs = proof_table(curves)
    return Report(
        tables=(equal, proofs, budgets, point_table(curves)),
        shown=(
            columns_of(equal, BRIEF_PAIRS),
            proofs,
            columns_of(budgets, brief_columns(BUDGETS)),
        ),
        notes=tuple(notes(run, curves)),
        figures={"shapes": draw_curves(compared)},
        conclusion=conclusion(curves, pairs),
        violations=tuple(contradictions(curves)),
    )


SHAPES = Study(
    name="shapes",
    title="Depth layers against subtrees: test error by the size of what is left",
    sizes=tuple(_SIZES),
    cells=lambda request: size_cells(_SIZES[request.size], request),
    report=report,
)
