"""What a reader of the tables of `shapes` must know."""

from __future__ import annotations

from studies.reporting.curves import BUDGET_NOTE, Curve
from studies.reporting.report import Run, machine_note, reasons
from studies.shapes.pairs import named


def notes(run: Run, curves: list[Curve]) -> list[str]:
    """Return a sentence or so for each thing to know."""
    if not curves:
        return ["No path has finished yet.", *reasons(run)]
    compared = named(curves)
    solver = compared[0].cell.solver
    others = sorted({curve.cell.solver for curve in curves} - {solver})
    span = compared[0].cell.span
    prices = {c.cell.method.alpha2 for c in compared if c.cell.method.polish is not None}
    return [
        "Training rows, and half as many for validation and for testing: "
        + "; ".join(
            f"{i.kind} {i.rows:,}, {i.held_out:,} and {i.held_out:,}, trees of depth {i.depth}"
            for i in dict.fromkeys(curve.instance for curve in curves)
        )
        + ". Boosting has learning rate 0.1. The response is shifted and scaled by the mean and "
        "variance of the training rows, and so are all errors.",
        "Layers: every tree is cut at one depth. Subtrees: every branch where it serves best. "
        "Both cost the same for each node, and layers are subtrees too, so no optimum of "
        "subtrees is above that of layers; descent need not find it. Both follow the same α, "
        f"from where the empty model is proven optimal down to 1/{1 / span:,.0f} of it."
        + "".join(f" Ridge: α₂ = {price:g}, on what is left." for price in sorted(prices)),
        "At equal numbers of nodes: every model of subtrees but the empty one against the test "
        "error that layers have at its size, on a straight line between the two nearest models "
        "of layers, in the logarithms of nodes and of errors, as in the figure. Sizes that no "
        "two models of layers enclose are not compared. The change is the median over models.",
        BUDGET_NOTE,
        f"Compared are the paths of {solver}. Its own gap is by its own bound"
        + (f"; the proven gap is by the best of this and of {' and '.join(others)}" * bool(others))
        + ". Path s: build and solve at all α, with cutting and polishing where there is any, in "
        "a process of its own; the time ratio is of subtrees to layers.",
        machine_note(run),
        *reasons(run),
    ]
