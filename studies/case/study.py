"""A few readable trees from a large forest (FP §5, Figure 6)."""

from __future__ import annotations

from dataclasses import dataclass

from matplotlib.figure import Figure

from studies.case.cell import CaseCell
from studies.case.figures import draw_choice, draw_trees
from studies.case.kind import FOREST, CaseRun
from studies.case.notes import conclusion, notes
from studies.case.published import comparisons
from studies.case.tables import alpha_table, case_table
from studies.errors import StudyError
from studies.reporting.report import Report
from studies.spec import Instance, Request
from studies.study import Study

# As many trees as in the paper, of on average seven splits each.
TREES, MOST_NODES = 10, 150

# Where only the strongest splits are left, up to where ten trees have hundreds of nodes.
VALUES, SPAN = 30, 1e-3

DATA = ("diamonds", "abalone")


@dataclass(frozen=True)
class Size:
    """What is measured.

    Attributes
    ----------
    rows
        Training rows; half as many are for validation, and half as many for testing.
    trees, depth
        Of the forest.
    time_limit
        Seconds, where the user does not say otherwise.
    """

    rows: int
    trees: int
    depth: int
    time_limit: float


_SIZES = {
    "small": Size(2000, 500, 6, 60.0),
    "medium": Size(10_000, 500, 6, 300.0),
    "full": Size(25_000, 500, 6, 1800.0),
}


def size_cells(size: Size, request: Request) -> list[CaseCell]:
    """Return the cells of a size, one for a data set.

    Raises
    ------
    StudyError
        When a target comes without the data set that has it.
    """
    if request.ensemble is None:
        raise ValueError("a request for case has an ensemble")
    if request.target is not None and request.data is None:
        raise StudyError("--target goes with --data: the study's own data sets have theirs")
    limit = size.time_limit if request.time_limit is None else request.time_limit
    instances = [
        Instance(
            name,
            size.rows,
            size.trees,
            request.ensemble,
            size.depth,
            request.seed,
            request.target,
            request.data_dir,
            held_out=size.rows // 2,
        )
        for name in (DATA if request.data is None else (request.data,))
    ]
    return [
        CaseCell(instance, TREES, MOST_NODES, request.alpha, VALUES, SPAN, limit, request.threads)
        for instance in instances
    ]


def report(run: CaseRun) -> Report:
    """Return the tables, the figures and the conclusion."""
    table = case_table(run)
    cases = [(cell, row) for cell, row in run.cells if row.get("model")]
    figures: dict[str, Figure] = {"choice": draw_choice(cases)}
    for cell, row in cases:
        figures[f"trees-{FOREST.data_name(cell.instance)}"] = draw_trees(cell, row)
    return Report(
        tables=(table, alpha_table(run)),
        shown=(table,),
        notes=tuple(notes(run)),
        figures=figures,
        conclusion=conclusion(run),
        published=comparisons(run),
    )


CASE = Study(
    name="case",
    title="A few readable trees from a large forest",
    sizes=tuple(_SIZES),
    cells=lambda request: size_cells(_SIZES[request.size], request),
    report=report,
    defaults={"ensemble": "forest"},
    kind=FOREST,
    without=("solvers", "models", "repeats", "protocol"),
)
