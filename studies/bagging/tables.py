"""The tables of `bagging`: sizes of the pruned forests, other methods, and every data set."""

from __future__ import annotations

import math

import pandas as pd

from solvers import Termination
from studies.bagging.outcomes import Outcomes
from studies.bagging.published import published_rise_of
from studies.comparing.rises import better_on, median_rise
from studies.contests.methods import method_name
from studies.reporting.formats import change, percent, plural
from studies.reporting.tables import NOT_RUN, Group, Table


def sizes_table(found: Outcomes) -> Table:
    """Return how large the pruned forests are and how much worse than the full ones, by φ."""
    header = (
        "",
        "full nodes ÷ nodes",
        "nodes",
        "trees",
        "mean depth",
        "test MSE over full %",
        "proven within %",
    )
    groups = []
    for method in found.variants:
        rows = [_size_row(found.of(method=method, phi=phi), phi) for phi in found.phis]
        groups.append(Group(method_name(method), tuple(rows)))
    caption = (
        "ForestPrune, where the validation MSE may rise by φ (of a response of variance 1): "
        f"medians over {found.extent}"
    )
    return Table(caption, header, tuple(groups))


def _size_row(lines: pd.DataFrame, phi: float) -> tuple[str, ...]:
    ratio = (lines["full_nodes"] / lines["nodes"].clip(lower=1)).median()
    gap = lines["gap"].astype(float).median()
    return (
        f"φ = {phi:g}",
        f"{ratio:,.3g}",
        f"{lines['nodes'].median():,.0f}",
        f"{lines['trees'].median():,.0f}",
        f"{lines['mean_depth'].median():.1f}",
        change((lines["test"] / lines["full_test"]).median()),
        NOT_RUN if math.isnan(gap) else f"{100.0 * gap:.2g}",
    )


def methods_table(found: Outcomes) -> Table:
    """Return how much worse than ForestPrune other methods are within as many nodes."""
    header = (
        "",
        *(f"φ = {phi:g}" for phi in found.phis),
        *(f"published, {phi:g}" for phi in found.phis),
        "lower on",
        "no tree %",
        "cut short %",
    )
    rows = []
    for method in found.rivals:
        rises = [found.rises(method, phi) for phi in found.phis]
        told = [published_rise_of(found.told.values(), method, phi) for phi in found.phis]
        rows.append(
            (
                method_name(method),
                *(median_rise(rise) for rise in rises),
                *(NOT_RUN if rise is None else change(1.0 + rise) for rise in told),
                better_on(rises),
                *_shares(found.of(method=method)),
            )
        )
    caption = (
        "Test MSE over ForestPrune's in %, within its number of nodes: medians over "
        f"{plural(len(found.data), 'data set')}; on how many data sets and φ the error is lower; "
        "how many models have no tree, since none fits; how many searches "
        f"the limit of {found.search_limit:g} s cut short"
    )
    return Table(caption, header, (Group("", tuple(rows)),))


def _shares(lines: pd.DataFrame) -> tuple[str, str]:
    """Return which part of the models has no tree, and which part is of searches cut short."""
    made = lines[lines["nodes"].notna()]
    if len(made) == 0:
        return NOT_RUN, NOT_RUN
    cut = made["termination"] == str(Termination.TIME_LIMIT)
    return percent(float((made["trees"] == 0).mean())), percent(float(cut.mean()))


def data_set_table(found: Outcomes) -> Table:
    """Return the mean test error on every data set of every method that has all its folds."""
    methods = [found.own, *found.rivals] if found.methods else []
    header = (
        "",
        "full",
        "full nodes",
        "nodes",
        *(method_name(method) for method in methods),
    )
    groups = []
    for phi in found.phis:
        rows = []
        for data in found.data:
            own = found.of(method=found.own, phi=phi, data=data)
            tests = [found.of(method=method, phi=phi, data=data)["test"] for method in methods]
            # Means over other folds than ForestPrune's are no better or worse than its.
            errors = [test.mean() if test.count() == len(own) else math.nan for test in tests]
            rows.append(
                (
                    data,
                    f"{own['full_test'].mean():.4f}",
                    f"{own['full_nodes'].mean():,.0f}",
                    f"{own['nodes'].mean():,.0f}",
                    *(NOT_RUN if math.isnan(error) else f"{error:.4f}" for error in errors),
                )
            )
        groups.append(Group(f"φ = {phi:g}", tuple(rows)))
    return Table("Test MSE, means over folds, at ForestPrune's nodes", header, tuple(groups))
