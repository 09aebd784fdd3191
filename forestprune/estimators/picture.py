"""The picture of a cross-validated path: matplotlib axes in, axes out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from forestprune.pictures.style import COLOURS, INK, new_axes, open_frame

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


def plot_errors(
    table: pd.DataFrame,
    chosen: int,
    full_error: float,
    full_nodes: int,
    label: str,
    ax: Axes | None = None,
) -> Axes:
    """Draw validation error against nodes.

    Parameters
    ----------
    table
        ``path_`` of a `ForestPrunerCV`.
    chosen
        The row of the chosen model.
    full_error, full_nodes
        Error and size of the whole ensemble.
    label
        What the error is.
    ax
        Where to draw; a new figure by default.
    """
    if ax is None:
        ax = new_axes(7.0, 4.2)
    rows = table.iloc[np.lexsort([table["alpha"], table["nodes"]])]
    nodes, error = rows["nodes"].to_numpy(), rows["error"].to_numpy()
    spread = rows["standard_error"].to_numpy()
    ax.axhline(full_error, color=INK, linestyle="--", linewidth=1.0)
    ax.annotate(
        f"whole ensemble, {full_nodes:,} nodes",
        (0.01, full_error),
        xycoords=("axes fraction", "data"),
        xytext=(0, -3),
        textcoords="offset points",
        va="top",
        color=INK,
    )
    ax.fill_between(
        nodes, error - spread, error + spread, color=COLOURS[0], alpha=0.2, linewidth=0.0
    )
    ax.plot(nodes, error, color=COLOURS[0], marker="o", markersize=3.0, label="pruned, ± 1 SE")
    one = table.iloc[chosen]
    ax.plot(
        [one["nodes"]],
        [one["error"]],
        linestyle="none",
        marker="D",
        markersize=9.0,
        markerfacecolor="none",
        markeredgewidth=2.0,
        color=COLOURS[1],
        label=f"chosen: {int(one['nodes']):,} nodes, {int(one['trees'])} trees, "
        f"α = {one['alpha']:.3g}",
    )
    # The empty model has no nodes.
    smallest = nodes[nodes > 0].min(initial=full_nodes)
    decade = 10.0 ** np.floor(np.log10(max(int(smallest), 1)))
    ax.set_xscale("symlog", linthresh=decade, linscale=0.4)
    ax.set_xlim(left=0.0)
    ax.set_xlabel("nodes kept")
    ax.set_ylabel(label)
    ax.legend(loc="upper right", frameon=False)
    open_frame(ax, "y")
    return ax
