"""What the paper's Figure 2 says beside what was measured."""

from __future__ import annotations

from studies.reporting.published import Compared, Comparison
from studies.weights.chosen import Family
from studies.weights.figure import MARKED
from studies.weights.tables import PUBLISHED

_NOTE = (
    "Another forest on another data set, at a similar error there; here the models that are "
    f"chosen at φ = {MARKED:g}. Only the ratio of depth weights to node weights can be compared."
)


def comparisons(found: list[Family]) -> tuple[Comparison, ...]:
    """Return how depth weights compare with node weights, as a ratio of nodes and one of trees."""
    (nodes, trees), (more_nodes, fewer_trees) = PUBLISHED.values()
    rows = []
    for family in found:
        ratios = family.ratios(MARKED)
        if ratios is None:
            continue
        for what, published, ours in (
            ("nodes", more_nodes / nodes, ratios.nodes),
            ("trees", fewer_trees / trees, ratios.trees),
        ):
            name = f"{family.instance.kind}: {what}"
            rows.append(Compared(name, published, ours, better=None, note=_NOTE))
    return (Comparison("weights, Figure 2: depth weights ÷ node weights", tuple(rows)),)
