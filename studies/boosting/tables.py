"""The tables of `boosting`: the best models of the paths, budgets, and every data set."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable

import pandas as pd

from studies.boosting.outcomes import Outcomes
from studies.comparing.published import Told, published_line, published_median, published_rise
from studies.comparing.rises import better_on, median_rise, over_folds, rise_beside
from studies.contests.methods import PLAIN, POLISHED, PUBLISHED_NAMES, TUNED, method_name
from studies.reporting.formats import change, plural
from studies.reporting.published import Comparison
from studies.reporting.tables import NOT_RUN, Group, Table


def best_table(found: Outcomes) -> Table:
    """Return the model of least error on each path: medians over folds."""
    header = ("", "test MSE over full %", "over ForestPrune %", "nodes", "trees", "lower on")
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
        f"The best model on each path: medians over {found.extent}, over ForestPrune's over the "
        "data sets, and on how many of these the error is lower"
    )
    return Table(caption, header, (Group("", tuple(rows)),))


def budget_table(found: Outcomes) -> Table:
    """Return how much worse than ForestPrune other methods are within budgets of nodes."""
    header = (
        "",
        *(f"{budget:,g} nodes" for budget in found.budgets),
        *(f"published, {budget:,g}" for budget in found.budgets),
        "lower on",
    )
    rows = []
    for method in found.methods[1:]:
        rises = [found.rises(found.within[budget], method) for budget in found.budgets]
        told = [published_rise_of(found.told.values(), method, budget) for budget in found.budgets]
        rows.append(
            (
                method_name(method),
                *(median_rise(rise) for rise in rises),
                *(NOT_RUN if rise is None else change(1.0 + rise) for rise in told),
                better_on(rises),
            )
        )
    caption = (
        "Test MSE over ForestPrune's in %, within budgets of nodes: medians over "
        f"{plural(len(found.data), 'data set')}, and on how many data sets and budgets the error "
        f"is lower; BSTS had {found.search_limit:g} s a budget"
    )
    return Table(caption, header, (Group("", tuple(rows)),))


def published_rise_of(told: Collection[Told], method: str, budget: float) -> float | None:
    """Return the published median rise over ForestPrune of these data sets, or None."""
    name = PUBLISHED_NAMES.get(method, "")
    return published_rise("boosting_budget", told, name, budget=budget)


def published_size_of(told: Collection[Told], method: str) -> float | None:
    """Return the published median size of the best models on these data sets, or None."""
    own = {TUNED: "polished", POLISHED: "polished", PLAIN: "pruned"}
    name = own.get(method) or PUBLISHED_NAMES.get(method, "")
    return published_median("boosting_path", told, f"{name}_nodes")


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
    """Return published errors and sizes beside ours for every data set at hand, if any has some."""
    if not found.methods or not found.is_published:
        return ()
    where = _where(found)
    comparisons = []
    for method, told in ((found.own, "polished"), (PLAIN, "pruned")):
        lines = found.best[found.best["method"] == method]
        errors, nodes = [], []
        for data in found.data:
            line = published_line("boosting_path", dataset=found.told[data].name) or {}
            own = lines[lines["data"] == data]
            mse, spread = line.get(f"{told}_mse"), line.get(f"{told}_mse_sd")
            errors.append(over_folds(data, found.told[data], mse, own["test"], spread))
            size = line.get(f"{told}_nodes")
            nodes.append(over_folds(data, found.told[data], size, own["nodes"], better=None))
        name = method_name(method)
        comparisons += [
            Comparison(
                f"{where}, best on the path: test MSE of {name}",
                tuple(errors),
            ),
            Comparison(
                f"{where}, best on the path: nodes of {name}",
                tuple(nodes),
            ),
        ]
    for budget in found.budgets:
        comparisons += [_at_budget(found, budget), _rises(found, budget)]
    return tuple(comparisons)


def _where(found: Outcomes) -> str:
    return f"boosting, {found.protocol} protocol"


def _at_budget(found: Outcomes, budget: float) -> Comparison:
    lines = found.within[budget]
    own = lines[lines["method"] == found.own]
    rows = []
    for data in found.data:
        line = published_line("boosting_budget", dataset=found.told[data].name, budget=budget) or {}
        tests = own[own["data"] == data]["test"]
        rows.append(over_folds(data, found.told[data], line.get("forestprune_mse"), tests))
    return Comparison(
        f"{_where(found)}, {budget:,g} nodes: test MSE of ForestPrune",
        tuple(rows),
    )


def _rises(found: Outcomes, budget: float) -> Comparison:
    rows = []
    for method in found.methods[1:]:
        told = published_rise_of(found.told.values(), method, budget)
        if told is not None:
            rows.append(rise_beside(method, told, found.rises(found.within[budget], method)))
    title = f"{_where(found)}, {budget:,g} nodes: test MSE of others over ForestPrune"
    return Comparison(title, tuple(rows))
