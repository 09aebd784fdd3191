"""What a reader of the tables of `boosting` must know, and what came out."""

from __future__ import annotations

from collections import Counter
from functools import partial

from studies.boosting.outcomes import Outcomes
from studies.boosting.tables import published_comparisons, published_rise_of
from studies.comparing.wording import agreement, failures, fold_notes, order_note, ridge_words
from studies.contests.kind import ContestRun
from studies.contests.methods import method_name
from studies.contests.points import Point
from studies.reporting.formats import change, plural
from studies.reporting.report import machine_note, reasons


def conclusion(found: Outcomes) -> str:
    """Return in a few sentences how small the best models are, and which methods do better."""
    if not found.data:
        return ""
    own = found.best[found.best["method"] == found.own]
    rise = (own["test"] / own["full_test"]).median()
    said = [
        f"The median best pruned model has {own['nodes'].median():,.0f} nodes and "
        f"{change(rise)} % of test error over the full one."
    ]
    for budget in found.budgets:
        rises = {
            method: float(found.rises(found.within[budget], method).median())
            for method in found.methods[1:]
        }
        ahead = sorted((rise, method) for method, rise in rises.items() if rise < 0.0)
        if ahead:
            named = ", ".join(f"{method_name(m)} ({change(1.0 + r)} %)" for r, m in ahead)
            said.append(f"Within {budget:,g} nodes the median error is lower by {named}.")
        else:
            said.append(f"Within {budget:,g} nodes no other method has a lower median error.")
    return " ".join(said)


def notes(run: ContestRun, found: Outcomes) -> list[str]:
    """Return a sentence or so for each thing to know."""
    if not found.data:
        return ["No fold has finished yet.", *reasons(run)]
    cell = run.cells[0][0]
    paths = [pair for _, row in run.cells for pair in row.get("paths", {}).items()]
    how = (
        "Of each path, and within each budget, the model of least validation error is taken; "
        "ForestPrune's path has at each α the plain model and one for each ridge α₂ of "
        f"{ridge_words()}"
        if found.protocol == "sound"
        else "Of each path the model of least error on the very rows that are reported is taken, "
        "and within a budget that of the smallest penalty, as in the published experiments"
    )
    return [
        *fold_notes(run),
        f"{how}. α: {cell.values} from {cell.top:.4g} to {cell.end:g}, half as many for subtrees. "
        f"A search of BSTS may take {cell.search_limit:g} s, a path four times as long, after "
        "which it is cut short: large models may be missing then. Where nothing fits a budget, "
        "the model without trees counts.",
        *agreement({"test errors": published_comparisons(found)}),
        *_orders(found),
        *_cut_short(paths, len(run.cells)),
        *failures(paths),
        machine_note(run, "process"),
        *reasons(run),
    ]


def _orders(found: Outcomes) -> list[str]:
    """Return where the other methods come in another order than published."""
    said = [
        order_note(
            f"From the best on, {budget:,g} nodes",
            found.methods[1:],
            partial(published_rise_of, found.told.values(), budget=budget),
            partial(found.rises, found.within[budget]),
        )
        for budget in found.budgets
    ]
    return [sentence for sentence in said if sentence]


def _cut_short(paths: list[tuple[str, Point]], folds: int) -> list[str]:
    """Return on how many folds a limit has cut paths short, or searches of a path."""
    counts = Counter(name for name, path in paths if path.get("cut_short"))
    told = ", ".join(f"{method_name(name)} ({count})" for name, count in counts.items())
    return [f"Of {plural(folds, 'fold')} limits cut short: {told}."] if told else []
