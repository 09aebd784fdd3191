"""Boosted trees along whole paths, and competitors within budgets (FP §4, Figure 5)."""

from __future__ import annotations

from dataclasses import dataclass

from studies.boosting.figures import draw_budgets, draw_paths
from studies.boosting.notes import conclusion, notes
from studies.boosting.outcomes import outcomes, point_lines
from studies.boosting.tables import best_table, budget_table, data_set_tables, published_comparisons
from studies.comparing.wording import without_published
from studies.contests.cell import Contest
from studies.contests.choosing import SOUND, checked_models, folds_of, left_out, protocol_of
from studies.contests.fold import FOLDS
from studies.contests.kind import ContestRun, contests
from studies.contests.methods import JOINT, PLAIN, POLISHED, SUBTREES, TUNED
from studies.reporting.report import Report
from studies.spec import Protocol, Request
from studies.study import Study

# Nodes; FP §4.
BUDGETS = (50.0, 100.0, 1000.0, 5000.0)

# The α of the published experiments, for a response of variance 1.
TOP, END = 10.0**2.5, 10.0**-6

# ForestPrune itself, which is measured in any case, and parts of its path.
OWN = (TUNED, POLISHED, PLAIN)

MODELS: dict[Protocol, tuple[str, ...]] = {
    "sound": (
        SUBTREES,
        JOINT,
        "first_k",
        "lasso",
        "lasso[refit=True]",
        "bsts",
        "rule_lasso",
    ),
    "published": ("first_k", "lasso", "bsts"),
}


@dataclass(frozen=True)
class Size:
    """What is measured.

    Attributes
    ----------
    rows
        Most rows of a data set.
    trees, depth
        Of the ensemble.
    folds
        How many of the five.
    values
        Number of α.
    search_limit
        Seconds for a search, where the user does not say otherwise.
    """

    rows: int
    trees: int
    depth: int
    folds: int
    values: int
    search_limit: float


_SIZES = {
    "small": Size(2000, 50, 5, 2, 30, 2.0),
    "medium": Size(25_000, 250, 5, FOLDS, 50, 3.0),
    "full": Size(1_000_000, 250, 5, FOLDS, 100, 60.0),
}


def size_cells(size: Size, request: Request) -> list[Contest]:
    """Return the cells of a size, one a fold."""
    folds = folds_of(request, size.rows, size.folds, "boosting", size.trees, size.depth)
    models = checked_models(request, MODELS[protocol_of(request)], OWN)
    limit = size.search_limit if request.time_limit is None else request.time_limit
    return [
        Contest(fold, models, BUDGETS, TOP, END, size.values, limit, request.threads)
        for fold in folds
    ]


def report(run: ContestRun) -> Report:
    """Return the tables, the figures and the conclusion."""
    found = outcomes(run)
    best, budgets = best_table(found), budget_table(found)
    return Report(
        tables=(best, budgets, *data_set_tables(found)),
        shown=(best, without_published(budgets)),
        notes=tuple(notes(run, found)),
        figures={"paths": draw_paths(found), "budgets": draw_budgets(found)},
        conclusion=conclusion(found),
        published=published_comparisons(found),
    )


BOOSTING = Study(
    name="boosting",
    title="Boosted trees along whole paths, and other methods within budgets (Figure 5)",
    sizes=tuple(_SIZES),
    cells=lambda request: size_cells(_SIZES[request.size], request),
    report=report,
    defaults={"protocol": SOUND},
    kind=contests("studies.boosting.measure:measure", point_lines),
    without=("solvers", "ensemble", "alpha", "repeats"),
    notices=left_out,
)
