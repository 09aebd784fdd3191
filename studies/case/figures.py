"""The figures of `case`: the trees that are left, and how α was chosen."""

from __future__ import annotations

import tempfile
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from forestprune import PrunedEnsemble, plot_trees
from studies.case.cell import CaseCell
from studies.drawing.style import COLOURS, INK, new_figure, number, plain
from studies.running.records import Row

# Small letters in a picture of many trees want more dots than others.
_DPI = 150

_SINGLE = {
    "one": "best tree of the forest",
    "cart": "single tree, same depth",
    "cart_nodes": "single tree, same nodes",
}


def draw_trees(cell: CaseCell, row: Row) -> Figure:
    """Draw the trees that are left."""
    import matplotlib.pyplot as plt

    with plt.rc_context({"figure.dpi": _DPI}):
        figure = plot_trees(model_of(row), cell.trees).get_figure(root=True)
    assert figure is not None
    plt.close(figure)
    return figure


def model_of(row: Row) -> PrunedEnsemble:
    """Return the model of a row."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        path.write_text(row["model"], encoding="utf-8")
        return PrunedEnsemble.load(path)


def draw_choice(cases: list[tuple[CaseCell, Row]]) -> Figure:
    """Draw the error of the few trees against their nodes, and the other models beside them."""
    figure = new_figure(5.2 * max(len(cases), 1), 4.6)
    if not cases:
        return figure
    panels = figure.subplots(1, len(cases), squeeze=False).ravel()
    for (cell, row), panel in zip(cases, panels, strict=True):
        _draw_errors(panel, cell, row)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=2 if len(cases) < 2 else 3,
        frameon=False,
        fontsize=8,
        labelcolor=INK,
    )
    return figure


def _draw_errors(panel: Axes, cell: CaseCell, row: Row) -> None:
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
        label="chosen on validation rows",
    )
    for place, (key, name) in enumerate(_SINGLE.items()):
        panel.plot(
            [row["models"][key]["nodes"]],
            [row["models"][key]["test_rmse"]],
            color=COLOURS[3 + place],
            marker="v^D"[place],
            markersize=8,
            linestyle="",
            label=f"{name}, test rows",
        )
    error = row["models"]["full"]["test_rmse"]
    panel.axhline(error, color=INK, linestyle=":", linewidth=1.3, label="full model, test rows")
    panel.axvline(cell.most_nodes, color="#999999", linestyle="--", linewidth=1.0)
    panel.set_xscale("log")
    panel.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=12))
    panel.xaxis.set_minor_locator(NullLocator())
    panel.yaxis.set_major_locator(MaxNLocator(nbins=6))
    for axis in (panel.xaxis, panel.yaxis):
        axis.set_major_formatter(FuncFormatter(number))
    label = f"nodes (dashed: {cell.most_nodes:,}, as many as may be left)"
    panel.set_xlabel(label, color=INK, fontsize=9)
    panel.set_ylabel("RMSE", color=INK, fontsize=9)
    title = f"{cell.instance.kind}, {cell.instance.grid}"
    panel.set_title(title, loc="left", color=INK, fontsize=10, fontweight="bold")
    panel.tick_params(labelsize=8)
    plain(panel)
