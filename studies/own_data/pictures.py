"""Figures of the report, as parts of the page."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from forestprune import PrunedEnsemble, plot_depths, plot_features, plot_trees
from forestprune.estimators.picture import plot_errors
from forestprune.pictures.style import COLOURS, new_axes
from studies.own_data.choosing import Chosen, Curve
from studies.own_data.wording import number_words
from studies.reporting.html import Picture, svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# What can be read: so many trees, with so many nodes together.
_MOST_TREES, _MOST_NODES = 10, 140

_MOST_FEATURES = 15


def errors_picture(chosen: Chosen, measure: str) -> Picture:
    """Draw the error against nodes, with the whole ensemble and the kept model.

    It is that on the test rows; in validation, where there is one, the line is thin.

    Parameters
    ----------
    chosen
        With at least one curve.
    measure
        Name of the error.
    """
    *others, curve = chosen.curves
    full_nodes = chosen.source.n_nodes
    table, kept = curve.table, curve.table.iloc[curve.chosen]
    nodes = int(kept["nodes"])
    alt = (
        f"A line of the {measure} on {curve.rows} rows against the number of nodes, from "
        f"{int(table['nodes'].min()):,} to {int(table['nodes'].max()):,}. The kept model, "
        f"{nodes:,} nodes, has {kept['error']:.4g}; a dashed line marks the whole "
        f"ensemble, {full_nodes:,} nodes, at {curve.full:.4g}."
    )
    with _drawing():
        ax = new_axes(6.4, 3.7)
        plot_errors(table, curve.chosen, curve.full, full_nodes, f"{measure}, {curve.rows}", ax)
        for other in others:
            lines = other.table.sort_values(["nodes", "error"])
            ax.plot(
                lines["nodes"],
                lines["error"],
                color=COLOURS[2],
                linewidth=1.0,
                zorder=1.5,
                label=f"on {other.rows} rows",
            )
        ax.legend(loc="upper right", frameon=False)
        _zoom(ax, curve)
        return _picture(ax, alt)


def _zoom(ax: Axes, curve: Curve) -> None:
    """Show ratios of errors and of sizes; the empty model has none of the latter."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    some = curve.table[curve.table["nodes"] > 0]
    if some.empty or not 0.0 < curve.full < np.inf:
        return
    ax.set_xscale("log")
    ax.set_xlim(0.8 * some["nodes"].min(), 1.25 * max(some["nodes"].max(), 1))
    low, high = min(some["error"].min(), curve.full), some["error"].max()
    if low > 0.0:
        ax.set_yscale("log")
        ax.set_ylim(low / (high / low) ** 0.12, high * (high / low) ** 0.05)
        steps = LogLocator(subs=(1.0, 2.0, 5.0) if high < 100.0 * low else (1.0,))
        ax.yaxis.set_major_locator(steps)
        ax.yaxis.set_minor_formatter(NullFormatter())
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: number_words(value)))


def depths_picture(chosen: Chosen) -> Picture:
    """Draw the depths of the trees before and after."""
    before = np.array([tree.depth for tree in chosen.source.trees])
    after = chosen.pruned.depths
    kept = after[after > 0]
    mean = f"of mean depth {kept.mean():.1f}" if len(kept) else "left"
    alt = (
        f"Depths of {len(before)} trees: on average {before.mean():.1f} before; "
        f"{len(kept)} {mean} after, and {int((after == 0).sum())} dropped."
    )
    with _drawing():
        return _picture(plot_depths(chosen.pruned, chosen.source, new_axes(6.4, 3.0)), alt)


def features_picture(chosen: Chosen) -> Picture:
    """Draw how often the splits use each feature before and after."""
    used = set().union(*(tree.features for tree in chosen.source.trees))
    rows = min(len(used), _MOST_FEATURES + 1)
    names = chosen.pruned.features_used
    alt = (
        f"Shares of the splits that use each feature, before and after. {len(names)} of "
        f"{chosen.source.n_features} features are left: "
        + ", ".join(map(str, names[:_MOST_FEATURES]))
        + ("…" if len(names) > _MOST_FEATURES else ".")
    )
    with _drawing():
        ax = new_axes(6.4, 1.0 + 0.34 * max(rows, 1))
        plot_features(chosen.pruned, chosen.source, ax, most=_MOST_FEATURES)
        return _picture(ax, alt)


def trees_picture(chosen: Chosen) -> tuple[Picture | None, int]:
    """Draw the trees that change predictions most; return the picture and how many they are.

    As many as can be read, however these are chosen: None where already the largest tree has
    too many nodes.
    """
    pruned = chosen.pruned
    sizes = sorted((tree.n_nodes for tree in pruned.model.trees), reverse=True)[:_MOST_TREES]
    count = int((np.cumsum(sizes) <= _MOST_NODES).sum())
    if count == 0:
        return None, 0
    alt = (
        f"Drawings of {count} of {pruned.n_trees} kept trees with their conditions, means and "
        "weights; the file of the model has them all, and its method to_text says them in words."
    )
    with _drawing():
        return _picture(_one_below_the_other(pruned, count), alt), count


def _one_below_the_other(pruned: PrunedEnsemble, count: int) -> Axes:
    """Draw trees in their natural size on a narrow page."""
    import matplotlib.pyplot as plt

    width, height = 1.0, 1000.0  # no room beside a tree; the axes then say what they need
    for _ in range(2):
        ax = plt.figure(figsize=(width, height)).add_axes((0.0, 0.0, 1.0, 1.0))
        plot_trees(pruned, count, ax)
        width, height = ax.get_xlim()[1] / 72.0, ax.get_ylim()[0] / 72.0
    return ax


@contextmanager
def _drawing() -> Iterator[None]:
    """Draw for files alone, in the letters of the page; close what was drawn."""
    import matplotlib.pyplot as plt

    before = plt.get_fignums()
    try:
        with plt.rc_context({"font.size": 9.5}):
            yield
    finally:
        for number in plt.get_fignums():
            if number not in before:
                plt.close(number)


def _picture(ax: Axes, alt: str) -> Picture:
    figure = ax.get_figure(root=True)
    assert figure is not None
    return svg(figure, alt)
