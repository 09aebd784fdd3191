"""Random forests pruned to an allowed rise of the error, and competitors (FP §4, Figure 4)."""

from __future__ import annotations

from dataclasses import dataclass

from studies.bagging.figure import draw_bagging
from studies.bagging.measure import VARIANTS
from studies.bagging.notes import conclusion, notes
from studies.bagging.outcomes import entry_lines, outcomes
from studies.bagging.published import published_comparisons, published_tables
from studies.bagging.tables import data_set_table, methods_table, sizes_table
from studies.comparing.wording import without_published
from studies.contests.cell import Contest
from studies.contests.choosing import SOUND, checked_models, folds_of, left_out, protocol_of
from studies.contests.fold import FOLDS
from studies.contests.kind import ContestRun, contests
from studies.contests.methods import SUBTREES
from studies.reporting.report import Report
from studies.spec import Protocol, Request
from studies.study import Study

# How much the validation error may rise above the full model's; FP §4.
PHIS = (0.01, 0.025, 0.05)

# The largest and the smallest α and their number, for a response of variance 1. Where the trees
# are few and shallow, models at larger α than the published ones may still be good enough.
ALPHAS: dict[Protocol, tuple[float, float, int]] = {
    "sound": (10.0**2.5, 10.0**-2, 64),
    "published": (10.0**1.5, 10.0**-2, 50),
}

# The published search keeps the trees' 1/n where a method does not find weights by itself.
MODELS: dict[Protocol, tuple[str, ...]] = {
    "sound": (
        SUBTREES,
        "first_k",
        "lasso",
        "lasso[refit=True]",
        "bsts",
        "ccp",
        "depth_cap",
        "rule_lasso",
    ),
    "published": ("first_k[average=False]", "lasso[columns=source]", "bsts", "ccp"),
}


@dataclass(frozen=True)
class Size:
    """What is measured.

    Attributes
    ----------
    rows
        Most rows of a data set.
    trees, depth
        Of the forest.
    folds
        How many of the five.
    search_limit
        Seconds for a search, where the user does not say otherwise.
    """

    rows: int
    trees: int
    depth: int
    folds: int
    search_limit: float


_SIZES = {
    "small": Size(2000, 50, 20, 2, 2.0),
    "medium": Size(25_000, 100, 20, FOLDS, 5.0),
    "full": Size(1_000_000, 100, 20, FOLDS, 60.0),
    "full-500": Size(1_000_000, 500, 20, FOLDS, 60.0),
}


def size_cells(size: Size, request: Request) -> list[Contest]:
    """Return the cells of a size, one a fold."""
    folds = folds_of(request, size.rows, size.folds, "forest", size.trees, size.depth)
    protocol = protocol_of(request)
    models = checked_models(request, MODELS[protocol], VARIANTS[protocol])
    limit = size.search_limit if request.time_limit is None else request.time_limit
    return [
        Contest(fold, models, PHIS, *ALPHAS[protocol], limit, request.threads) for fold in folds
    ]


def report(run: ContestRun) -> Report:
    """Return the tables, the figure and the conclusion."""
    found = outcomes(run)
    sizes, methods = sizes_table(found), methods_table(found)
    return Report(
        tables=(sizes, methods, data_set_table(found), *published_tables(found)),
        shown=(sizes, without_published(methods)),
        notes=tuple(notes(run, found)),
        figures={"bagging": draw_bagging(found)},
        conclusion=conclusion(found),
        published=published_comparisons(found),
    )


BAGGING = Study(
    name="bagging",
    title="Random forests at an allowed rise of the error, and other methods as small (Figure 4)",
    sizes=tuple(_SIZES),
    cells=lambda request: size_cells(_SIZES[request.size], request),
    report=report,
    defaults={"protocol": SOUND},
    kind=contests("studies.bagging.measure:measure", entry_lines),
    without=("solvers", "ensemble", "alpha", "repeats"),
    notices=left_out,
)
