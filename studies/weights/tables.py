"""The tables of `weights`: sizes at similar errors, and depth weights against node weights."""

from __future__ import annotations

from studies.reporting import formats
from studies.reporting.tables import NOT_RUN, Group, Table
from studies.weights.chosen import NAMES, RISES, Family, Model

# FP Figure 2: nodes and trees at a similar error.
PUBLISHED = {"nodes": (7247, 95), "depth": (21588, 62)}

_PUBLISHED_TITLE = "published (ForestPrune, Figure 2), another forest"


def size_table(found: list[Family]) -> Table:
    """Return what either weights leave of the trees at the allowed rises of the error."""
    header = ("", "φ", "trees", "nodes", "mean depth", "test MSE", "rise of test MSE %")
    groups = []
    for family in found:
        rows = [
            (name, f"{rise:g}", *_entries(family.model(weights, rise)))
            for rise in RISES
            for weights, name in NAMES.items()
        ]
        rows.append(("full model", NOT_RUN, *_entries(family.full)))
        groups.append(Group(_title(family), tuple(rows)))
    published = tuple(
        (name, "similar", f"{trees:,}", f"{nodes:,}", *[NOT_RUN] * 3)
        for name, (nodes, trees) in zip(NAMES.values(), PUBLISHED.values(), strict=True)
    )
    groups.append(Group(_PUBLISHED_TITLE, published))
    return Table(
        "The smallest models whose validation MSE is at most φ above the full model's",
        header,
        tuple(groups),
    )


def ratio_table(found: list[Family]) -> Table:
    """Return what depth weights leave, divided by what node weights do."""
    header = ("φ", "nodes", "trees", "mean depth", "test MSE %")
    groups = [
        Group(
            _title(family),
            tuple((f"{rise:g}", *_ratios(family.ratios(rise))) for rise in RISES),
        )
        for family in found
    ]
    (nodes, trees), (more_nodes, fewer_trees) = PUBLISHED.values()
    row = (
        "similar",
        formats.factor(more_nodes / nodes),
        formats.factor(fewer_trees / trees),
        *[NOT_RUN] * 2,
    )
    groups.append(Group(_PUBLISHED_TITLE, (row,)))
    return Table("Depth weights against node weights at similar errors", header, tuple(groups))


def _title(family: Family) -> str:
    return f"{family.instance.kind}, {family.instance.grid}"


def _entries(model: Model | None) -> tuple[str, ...]:
    if model is None:
        return (NOT_RUN,) * 5
    return (
        f"{model.trees:,.0f}",
        f"{model.nodes:,.0f}",
        f"{model.mean_depth:.1f}",
        f"{model.test_mse:#.4g}",
        formats.change(1.0 + model.rise),
    )


def _ratios(model: Model | None) -> tuple[str, ...]:
    if model is None:
        return (NOT_RUN,) * 4
    parts = (model.nodes, model.trees, model.mean_depth)
    return (*map(formats.factor, parts), formats.change(model.test_mse))
