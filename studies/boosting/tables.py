"""The tables of `boosting`: the best models of the paths, budgets, and every data set."""

from __future__ import annotations

import math
from collections.abc import Iterable

import pandas as pd

from studies.boosting.outcomes import Outcomes
from studies.comparing.methods import PLAIN, PUBLISHED_NAMES, method_name
from studies.comparing.published import published_line
from studies.comparing.rises import better_on, median_rise, over_folds
from studies.reporting.formats import change
from studies.reporting.published import Compared, Comparison
from studies.reporting.tables import NOT_RUN, Group, Table

_SAME = "Medians over the data sets at hand that have published figures."


def best_table(found: Outcomes) -> Table:
    """Return the model of least error on each path: medians over folds."""
    header = ("", "test MSE over full %", "over ForestPrune %", "nodes", "trees", "better on")
    rows = []
    for method in found.methods:
        lines = found.best[found.best["method"] == method]
        rises = found.rises(found.best, method)
        rows.append(
            (
                method_name(method),
                change((lines["test"] / lines["full_test"]).median()),
                NOT_RUN if method == found.own else median_rise(rises),
                f"{lines['nodes'].median():,.0f}",
                f"{lines['trees'].median():,.0f}",
                NOT_RUN if method == found.own else better_on([rises]),
            )
        )
    caption = (
        "The best model on each path: medians over folds, over ForestPrune's over data sets, and "
        "on how many of these a method is better"
    )
    return Table(caption, header, (Group("", tuple(rows)),))


def budget_table(found: Outcomes) -> Table:
    """Return how much worse than ForestPrune other methods are within budgets of nodes."""
    header = (
        "",
        *(f"{budget:,g} nodes" for budget in found.budgets),
        *(f"published, {budget:,g}" for budget in found.budgets),
        "better on",
    )
    rows = []
    for method in found.methods[1:]:
        rises = [found.rises(found.within[budget], method) for budget in found.budgets]
        told = [published_rise(found, method, budget) for budget in found.budgets]
        rows.append(
            (
                method_name(method),
                *(median_rise(rise) for rise in rises),
                *(NOT_RUN if rise is None else change(1.0 + rise) for rise in told),
                better_on(rises),
            )
        )
    caption = (
        "Test MSE over ForestPrune's in %, within budgets of nodes: medians over data sets, and "
        "on how many data sets and budgets a method is better"
    )
    return Table(caption, header, (Group("", tuple(rows)),))


def published_rise(found: Outcomes, method: str, budget: float) -> float | None:
    """Return the published median rise over ForestPrune of the data sets at hand, or None."""
    name = PUBLISHED_NAMES.get(method)
    lines = [
        line
        for data in found.data
        if (line := published_line("boosting_budget", dataset=found.told[data], budget=budget))
    ]
    if name is None or not lines or f"{name}_mse" not in lines[0]:
        return None
    return float(
        pd.Series([line[f"{name}_mse"] / line["forestprune_mse"] for line in lines]).median() - 1.0
    )


def data_set_tables(found: Outcomes) -> tuple[Table, Table]:
    """Return the mean test errors on every data set of every method that has all its folds.

    At best, and by budget.
    """
    header = ("", "full", *(method_name(method) for method in found.methods))
    best = Group("", tuple(_data_rows(found, found.best)))
    groups = [
        Group(f"{budget:,g} nodes", tuple(_data_rows(found, found.within[budget])))
        for budget in found.budgets
    ]
    return (
        Table("Test MSE of the best model on each path, means over folds", header, (best,)),
        Table("Test MSE within budgets of nodes, means over folds", header, tuple(groups)),
    )


def _data_rows(found: Outcomes, lines: pd.DataFrame) -> Iterable[tuple[str, ...]]:
    if not found.data:
        return
    by_method = lines.groupby(["data", "method"])["test"]
    means, folds = by_method.mean(), by_method.count()
    full = lines[lines["method"] == found.own].groupby("data")["full_test"].mean()
    for data in found.data:
        # Means over other folds than ForestPrune's are no better or worse than its.
        errors = [
            float(means[data, method])
            if folds.get((data, method)) == folds[data, found.own]
            else math.nan
            for method in found.methods
        ]
        written = [NOT_RUN if math.isnan(error) else f"{error:.4f}" for error in errors]
        yield data, f"{full[data]:.4f}", *written


def published_comparisons(found: Outcomes) -> tuple[Comparison, ...]:
    """Return published errors and sizes beside ours, for every data set at hand."""
    if not found.methods:
        return ()
    comparisons = []
    for method, told in ((found.own, "polished"), (PLAIN, "pruned")):
        lines = found.best[found.best["method"] == method]
        errors, nodes = [], []
        for data in found.data:
            line = published_line("boosting_path", dataset=found.told[data]) or {}
            own = lines[lines["data"] == data]
            mse, spread = line.get(f"{told}_mse"), line.get(f"{told}_mse_sd")
            errors.append(over_folds(data, mse, own["test"], spread))
            size = line.get(f"{told}_nodes")
            nodes.append(over_folds(data, size, own["nodes"], better=None))
        name = method_name(method)
        comparisons += [
            Comparison(f"boosting, best on the path: test MSE of {name}", tuple(errors)),
            Comparison(f"boosting, best on the path: nodes of {name}", tuple(nodes)),
        ]
    for budget in found.budgets:
        comparisons += [_at_budget(found, budget), _rises(found, budget)]
    return tuple(comparisons)


def _at_budget(found: Outcomes, budget: float) -> Comparison:
    lines = found.within[budget]
    own = lines[lines["method"] == found.own]
    rows = []
    for data in found.data:
        line = published_line("boosting_budget", dataset=found.told[data], budget=budget) or {}
        tests = own[own["data"] == data]["test"]
        rows.append(over_folds(data, line.get("forestprune_mse"), tests))
    return Comparison(f"boosting, {budget:,g} nodes: test MSE of ForestPrune", tuple(rows))


def _rises(found: Outcomes, budget: float) -> Comparison:
    rows = []
    for method in found.methods[1:]:
        told = published_rise(found, method, budget)
        if told is not None:
            rises = found.rises(found.within[budget], method)
            ours = 100.0 * float(rises.median()) if len(rises) else None
            rows.append(
                Compared(method_name(method), 100.0 * told, ours, unit="%", better=None, note=_SAME)
            )
    title = f"boosting, {budget:,g} nodes: test MSE of others over ForestPrune"
    return Comparison(title, tuple(rows))
