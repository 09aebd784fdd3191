"""The figures of `case`: the trees that are left, and how α was chosen."""

from __future__ import annotations

import tempfile
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from forestprune import PrunedEnsemble, plot_trees
from studies.case.cell import CaseCell
from studies.reporting.style import COLOURS, INK, new_figure, number, plain
from studies.running.records import Row

# Small letters in a picture of many trees want more dots than others.
_DPI = 150


def draw_trees(cell: CaseCell, row: Row) -> Figure:
    """Draw the trees that are left."""
    import matplotlib.pyplot as plt

    figure = plot_trees(model_of(row), cell.trees).get_figure(root=True)
    assert figure is not None
    plt.close(figure)
    figure.set_dpi(_DPI)
    return figure


def model_of(row: Row) -> PrunedEnsemble:
    """Return the model of a row."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        path.write_text(row["model"], encoding="utf-8")
        return PrunedEnsemble.load(path)


def draw_choice(cell: CaseCell, row: Row) -> Figure:
    """Draw the error of the few trees against their nodes, with the models beside them."""
    figure = new_figure(7.0, 4.2)
    panel = figure.subplots()
    points = sorted(row["points"], key=lambda point: point["nodes"])
    for place, part in enumerate(("validation", "test")):
        panel.plot(
            [point["nodes"] for point in points],
            [point[f"{part}_rmse"] for point in points],
            color=COLOURS[place],
            marker="os"[place],
            markersize=4,
            linewidth=1.5,
            label=f"best {cell.trees} trees, {part} rows",
        )
    chosen = row["points"][row["chosen"]]
    panel.plot(
        [chosen["nodes"]],
        [chosen["test_rmse"]],
        marker="o",
        markersize=12,
        markerfacecolor="none",
        markeredgecolor=INK,
        markeredgewidth=1.8,
        linestyle="",
        label=f"chosen: α = {row['alpha']:.3g}, {chosen['nodes']:,} nodes",
    )
    for key, name, colour, marker in (
        ("one", "best single tree of the forest", COLOURS[3], "v"),
        ("cart", f"single tree of depth {cell.instance.depth}", COLOURS[4], "^"),
        ("cart_nodes", "single tree, nodes of the chosen", COLOURS[5], "D"),
    ):
        model = row["models"][key]
        panel.plot(
            [model["nodes"]],
            [model["test_rmse"]],
            color=colour,
            marker=marker,
            markersize=8,
            linestyle="",
            label=f"{name}, test rows",
        )
    full = row["models"]["full"]
    panel.axhline(
        full["test_rmse"],
        color=INK,
        linestyle=":",
        linewidth=1.3,
        label=f"full model ({full['trees']:,} trees), test rows",
    )
    panel.axvline(cell.most_nodes, color="#999999", linestyle="--", linewidth=1.0)
    panel.set_xscale("log")
    panel.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=12))
    panel.xaxis.set_minor_locator(NullLocator())
    panel.yaxis.set_major_locator(MaxNLocator(nbins=6))
    for axis in (panel.xaxis, panel.yaxis):
        axis.set_major_formatter(FuncFormatter(number))
    panel.set_xlabel(
        f"nodes (dashed: {cell.most_nodes:,}, as many as may be left)", color=INK, fontsize=9
    )
    panel.set_ylabel("RMSE", color=INK, fontsize=9)
    title = f"{cell.instance.kind}, {cell.instance.grid}"
    panel.set_title(title, loc="left", color=INK, fontsize=10, fontweight="bold")
    panel.tick_params(labelsize=8)
    panel.legend(frameon=False, fontsize=8, labelcolor=INK)
    plain(panel)
    return figure
