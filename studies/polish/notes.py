"""What a reader of the tables of `polish` must know."""

from __future__ import annotations

from studies.reporting.curves import BUDGET_NOTE, Curve
from studies.reporting.report import Run, machine_note, reasons
from studies.spec import Method


def notes(run: Run, curves: list[Curve]) -> list[str]:
    """Return a sentence or so for each thing to know."""
    if not curves:
        return ["No path has finished yet.", *reasons(run)]
    depths = ", ".join(map(str, sorted({curve.instance.depth for curve in curves})))
    methods = dict.fromkeys(curve.cell.method for curve in curves)
    explained = [said for method in methods if (said := _explained(method))]
    return [
        f"Ensembles of depth {depths} on training rows, boosting with learning rate 0.1; one "
        "split, half as many rows for validation and as many for testing: "
        + "; ".join(
            f"{instance.kind} {instance.rows:,}, {instance.held_out:,} and {instance.held_out:,}"
            for instance in dict.fromkeys(curve.instance for curve in curves)
        )
        + ". The response is shifted and scaled by the mean and variance of the training rows, "
        "and so are all errors.",
        "Every method follows the same α, from where the empty model is proven optimal for "
        "Problem (1) down to 1/10,000 of it, with node weights. " + " ".join(explained),
        f"{BUDGET_NOTE} Polishing to a few trees makes models smaller, and joint pruning ends at "
        "other sizes, so methods are compared at budgets, not at α.",
        "Objective, bound and gap: of the last problem solved at an α, in units of the variance "
        "of y; pruning gap: of the first. Where there is no ridge, or a weak one, descent may "
        "have no better bound than 0, and the gap is 100 %; exact solvers have one (--solver). "
        "Path s: build and solve at all α, all steps together, in a process of its own.",
        machine_note(run),
        *reasons(run),
    ]


def _explained(method: Method) -> str:
    if method.polish is None:
        return ""
    if method.polish == "ridge":
        return f"{method.name.capitalize()}: α₂ = {method.alpha2:g}."
    if method.n_trees is None:
        return f"{method.name.capitalize()}: each tree costs {method.alpha2:g}."
    return f"{method.name.capitalize()}: at most {method.n_trees}, without a ridge."
