"""What a reader of the tables of `weights` must know, and what came out."""

from __future__ import annotations

from studies.reporting import formats
from studies.reporting.curves import Curve
from studies.reporting.report import Run, machine_note, reasons
from studies.weights.chosen import Family
from studies.weights.figure import MARKED
from studies.weights.tables import PUBLISHED


def conclusion(found: list[Family]) -> str:
    """Return in a sentence or two how depth weights compare at similar errors."""
    parts = []
    for family in found:
        ratios = family.ratios(MARKED)
        if ratios is not None:
            parts.append(
                f"{formats.factor(ratios.nodes)} the nodes in {formats.factor(ratios.trees)} the "
                f"trees on {family.instance.kind}"
            )
    if not parts:
        return ""
    (nodes, trees), (more_nodes, fewer_trees) = PUBLISHED.values()
    return (
        f"At a validation error {MARKED:g} above the full model's, depth weights leave, compared "
        f"with node weights, {'; '.join(parts)}. Published: "
        f"{formats.factor(more_nodes / nodes)} the nodes in "
        f"{formats.factor(fewer_trees / trees)} the trees."
    )


def notes(run: Run, found: list[Family], curves: list[Curve]) -> list[str]:
    """Return a sentence or so for each thing to know."""
    if not found:
        return ["No path has finished yet.", *reasons(run)]
    seeds = max(family.seeds for family in found)
    return [
        "Training rows, and half as many for validation and for testing: "
        + "; ".join(
            f"{family.instance.kind} {family.instance.rows:,}, {family.instance.held_out:,} and "
            f"{family.instance.held_out:,}, trees of depth {family.instance.depth} at most"
            for family in found
        )
        + f"; {formats.plural(seeds, 'seed')} of rows and fit"
        + (", medians over seeds" if seeds > 1 else "")
        + ". The response is shifted and scaled by the mean and variance of the training rows.",
        "Node weights: a layer costs as many units as it has nodes. Depth weights: each layer "
        "costs the same. Both are Problem (1), trees keep their weight; each follows its own α, "
        "from where its empty model is proven optimal down to "
        f"1/{1 / curves[0].cell.span:,.0f} of it, and all are in points.csv.",
        "Chosen is the model of fewest nodes whose MSE on the validation rows is at most φ above "
        "the full model's, in units of the variance of y; its error on the test rows, which had "
        "no say, is reported. A dash: no model of the path is as good, for at least one seed.",
        f"Published are {PUBLISHED['nodes'][0]:,} nodes in {PUBLISHED['nodes'][1]} trees for node "
        f"weights and {PUBLISHED['depth'][0]:,} nodes in {PUBLISHED['depth'][1]} trees for depth "
        "weights, at similar error: another data set and forest, so that only the ratios compare.",
        machine_note(run),
        *reasons(run),
    ]
