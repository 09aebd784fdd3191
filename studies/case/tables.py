"""The tables of `case`: the ten trees beside the full model and single trees."""

from __future__ import annotations

from studies.case.kind import CaseRun
from studies.reporting import formats
from studies.reporting.tables import NOT_RUN, Group, Table
from studies.running.records import Row

# FP §5: census, 50,000 × 295, forest of 500 trees of depth 6, α = 15. RMSE in percent.
PUBLISHED: dict[str, tuple[float, int, int | None]] = {
    "full model": (7.54, 500, None),
    "best ten": (8.47, 10, 14),
    "single tree": (10.6, 1, None),
}

_PUBLISHED_TITLE = "published (ForestPrune, §5: census data, RMSE in %), another data set"

_NAMES = {
    "full": "full model",
    "pruned": "pruned, all its trees",
    "few": "best ten of them",
    "one": "best tree of the forest",
    "cart": "single tree, same depth",
    "cart_nodes": "single tree, same nodes",
}


def case_table(run: CaseRun) -> Table:
    """Return errors and sizes of all models, with the published ones of another data set."""
    header = ("", "trees", "nodes", "features", "validation RMSE", "test RMSE", "above full %")
    groups = [
        Group(f"{cell.instance.kind}, {cell.instance.grid}", tuple(_rows(row)))
        for cell, row in run.cells
        if row.get("models")
    ]
    full = PUBLISHED["full model"][0]
    published = tuple(
        (
            name,
            f"{trees:,}",
            NOT_RUN,
            NOT_RUN if features is None else f"{features}",
            NOT_RUN,
            f"{error:g}",
            formats.change(error / full),
        )
        for name, (error, trees, features) in PUBLISHED.items()
    )
    return Table(
        "A forest, the ten trees that are left of it, and single trees",
        header,
        (*groups, Group(_PUBLISHED_TITLE, published)),
    )


def _rows(row: Row) -> list[tuple[str, ...]]:
    models = row["models"]
    full = models["full"]["test_rmse"]
    return [
        (
            name,
            f"{models[key]['trees']:,}",
            f"{models[key]['nodes']:,}",
            f"{models[key]['features']:,}",
            f"{models[key]['validation_rmse']:#.4g}",
            f"{models[key]['test_rmse']:#.4g}",
            formats.change(models[key]["test_rmse"] / full) if full > 0.0 else NOT_RUN,
        )
        for key, name in _NAMES.items()
    ]


def alpha_table(run: CaseRun) -> Table:
    """Return the ten trees at every α."""
    header = ("α", "trees", "nodes", "features", "validation RMSE", "test RMSE", "chosen")
    groups = [
        Group(
            f"{cell.instance.kind}, {cell.instance.grid}",
            tuple(
                (
                    f"{point['alpha']:.3g}",
                    f"{point['trees']:,}",
                    f"{point['nodes']:,}",
                    f"{point['features']:,}",
                    f"{point['validation_rmse']:#.4g}",
                    f"{point['test_rmse']:#.4g}",
                    "✓" if place == row["chosen"] else "",
                )
                for place, point in enumerate(row["points"])
            ),
        )
        for cell, row in run.cells
        if row.get("points")
    ]
    return Table("The best ten trees at each α", header, tuple(groups))
