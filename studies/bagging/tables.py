"""The tables of `bagging`: sizes of the pruned forests, other methods, and every data set."""

from __future__ import annotations

import math

import pandas as pd

from studies.bagging.outcomes import Outcomes
from studies.comparing.methods import PUBLISHED_NAMES, method_name
from studies.comparing.published import published, published_line
from studies.comparing.rises import better_on, median_rise, over_folds
from studies.reporting.formats import change
from studies.reporting.published import Compared, Comparison
from studies.reporting.tables import NOT_RUN, Group, Table

# Medians that the paper's text states, by φ: test errors over ForestPrune's, as ratios less 1.
PUBLISHED_RISES = {
    "baseline": {0.01: 2.2, 0.025: 2.5, 0.05: 2.5},
    "lasso": {0.01: 1.3, 0.025: 1.9, 0.05: 2.2},
    "bsts": {0.01: 0.05, 0.025: 0.4, 0.05: 0.8},
    "ccp": {0.01: 0.78, 0.025: 0.78, 0.05: 1.1},
}

_FEWER = (
    f"The published medians are over {len({line['dataset'] for line in published('bagging')})} "
    "data sets, ours over those at hand."
)


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
    return Table("ForestPrune at each allowed rise φ: medians over folds", header, tuple(groups))


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
        "better on",
    )
    rows = []
    for method in found.rivals:
        rises = [found.rises(method, phi) for phi in found.phis]
        told = PUBLISHED_RISES.get(PUBLISHED_NAMES.get(method, ""), {})
        rows.append(
            (
                method_name(method),
                *(median_rise(rise) for rise in rises),
                *(change(1.0 + told[phi]) if phi in told else NOT_RUN for phi in found.phis),
                better_on(rises),
            )
        )
    caption = (
        "Test MSE over ForestPrune's in %, within its number of nodes: medians over data sets, "
        "and on how many data sets and φ a method is better"
    )
    return Table(caption, header, (Group("", tuple(rows)),))


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


def published_comparisons(found: Outcomes) -> tuple[Comparison, ...]:
    """Return published errors and sizes beside ours, for every data set at hand."""
    comparisons = []
    for phi in found.phis:
        errors, nodes = [], []
        for data in found.data:
            lines = found.of(method=found.own, phi=phi, data=data)
            told = published_line("bagging", dataset=found.told[data], phi=phi) or {}
            mse, spread = told.get("forestprune_mse"), told.get("forestprune_mse_sd")
            errors.append(over_folds(data, mse, lines["test"], spread))
            nodes.append(over_folds(data, told.get("node_budget"), lines["nodes"]))
        comparisons += [
            Comparison(f"bagging, φ = {phi:g}: test MSE of ForestPrune", tuple(errors)),
            Comparison(f"bagging, φ = {phi:g}: nodes of ForestPrune", tuple(nodes)),
            _rises(found, phi),
        ]
    return tuple(comparisons)


def _rises(found: Outcomes, phi: float) -> Comparison:
    """Return the median rises of the paper's competitors beside the published ones."""
    rows = []
    for method in found.rivals:
        told = PUBLISHED_RISES.get(PUBLISHED_NAMES.get(method, ""), {})
        if phi in told:
            rises = found.rises(method, phi)
            ours = 100.0 * float(rises.median()) if len(rises) else None
            rows.append(
                Compared(
                    method_name(method), 100.0 * told[phi], ours, unit="%", better=None, note=_FEWER
                )
            )
    title = f"bagging, φ = {phi:g}: test MSE of others over ForestPrune, medians over data sets"
    return Comparison(title, tuple(rows))
