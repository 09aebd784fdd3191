"""What a reader of the tables of `bagging` must know, and what came out."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from studies.bagging.outcomes import Outcomes
from studies.bagging.published import Beside, beside, published_rise_of
from studies.comparing.wording import (
    agreement,
    differences,
    failures,
    fold_notes,
    order_note,
    ridge_words,
)
from studies.contests.kind import ContestRun
from studies.contests.methods import method_name
from studies.reporting.formats import change, percent
from studies.reporting.report import machine_note, reasons

# Methods that keep whole trees.
_WHOLE = (
    "first_k",
    "first_k[average=False]",
    "lasso",
    "lasso[columns=source]",
    "lasso[refit=True]",
    "bsts",
)


def conclusion(found: Outcomes) -> str:
    """Return in a few sentences what pruning costs and saves, and which methods do better."""
    if not found.phis:
        return ""
    phi = found.phis[0]
    own = found.of(method=found.own, phi=phi)
    ratio = (own["full_nodes"] / own["nodes"].clip(lower=1)).median()
    rise = (own["test"] / own["full_test"]).median()
    said = [
        f"At φ = {phi:g} the median forest becomes {ratio:,.3g} times smaller for "
        f"{change(rise)} % of test error."
    ]
    better = {
        method: [f"{p:g}" for p in found.phis if found.rises(method, p).median() < 0.0]
        for method in found.rivals
    }
    ahead = [
        f"{method_name(method)} (φ = {', '.join(phis)})" for method, phis in better.items() if phis
    ]
    said.append(
        f"Within as many nodes the median error is lower by {', '.join(ahead)}."
        if ahead
        else "No other method has a lower median error within as many nodes."
    )
    return " ".join(said)


def notes(run: ContestRun, found: Outcomes) -> list[str]:
    """Return a sentence or so for each thing to know."""
    if not found.phis:
        return ["No fold has finished yet.", *reasons(run)]
    cell = run.cells[0][0]
    how = (
        f"of all models along the path, plain and with each ridge α₂ of {ridge_words()}, and the "
        "full one, the smallest is taken whose validation error is at most φ above the full "
        "model's, after a finer look between two α"
        if found.protocol == "sound"
        else "the first model along the falling α, polished with a ridge of 0.01, is taken whose "
        "validation error is at most φ above the full model's, or that of least validation error"
    )
    published = beside(found).values()
    ridges = (
        "Of subtrees, too, validation rows choose the ridge. Others choose nothing by them. "
        if found.protocol == "sound"
        else ""
    )
    return [
        *fold_notes(run),
        f"φ is an absolute rise of the MSE of a response of variance 1. ForestPrune: {how}; α: "
        f"{cell.values} from {cell.top:.3g} to {cell.end:g}. Its number of nodes is the limit of "
        f"all other methods. {ridges}ForestPrune's path has no time limit; a search of another "
        f"method has {cell.search_limit:g} s, and what it has found by then counts.",
        *_agreement(published),
        *differences(one.at_nodes for one in published),
        *_orders(found),
        *failures((one["name"], one) for _, row in run.cells for one in row.get("entries", ())),
        machine_note(run, "process"),
        *reasons(run),
    ]


def _agreement(every: Collection[Beside]) -> list[str]:
    """Return how many of our errors and sizes are as good as the published ones."""
    return agreement(
        {
            "test errors": [one.errors for one in every],
            "test errors within the published numbers of nodes": [one.at_nodes for one in every],
            "sizes, at most the published ones": [one.nodes for one in every],
        }
    )


def _orders(found: Outcomes) -> list[str]:
    """Return where the other methods come in another order than published, and why."""
    said = [
        order_note(
            f"From the best on, φ = {phi:g}",
            found.rivals,
            partial(published_rise_of, found.told.values(), phi=phi),
            partial(found.rises, phi=phi),
        )
        for phi in found.phis
    ]
    whole = found.points[found.points["method"].isin(_WHOLE)]
    if len(whole) and any(said):
        none = float((whole["trees"] == 0).mean())
        one = float((whole["trees"] == 1).mean())
        said.append(
            f"Within ForestPrune's nodes no whole tree fits in {percent(none)} % of the cases, and "
            f"just one in {percent(one)} %: methods of whole trees then all are the mean or one "
            "tree. Where the published models were larger, more trees had a place."
        )
    return [sentence for sentence in said if sentence]
