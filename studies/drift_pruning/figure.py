"""The figure: accuracy, nodes and gap of a forest and what is left of it along each stream."""

from __future__ import annotations

import math
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from studies.drawing.stream_panels import MARK, dress, mark
from studies.drawing.style import COLOURS, INK, new_figure, number
from studies.drift_pruning.entries import Entry, by_stream
from studies.drift_pruning.tables import MODEL_NAMES, MODELS
from studies.running.records import Row

_COLUMNS = 2
_HEIGHTS = (2.2, 1.1, 1.1)

# An axis that spans more than this ratio has powers of ten alone.
_WIDE = 50.0

# Colour, line and width of each model.
_STYLES: dict[str, tuple[str, Literal["-", ":"], float]] = {
    "reference": ("#777777", ":", 1.4),
    "live": (COLOURS[5], "-", 1.2),
    "full": (COLOURS[0], "-", 1.6),
    "pruned": (COLOURS[1], "-", 1.6),
}


def draw(entries: list[Entry]) -> Figure:
    """Draw three panels a stream, of its first seed and the first size that it is pruned to."""
    streams = by_stream(entries)
    columns = min(_COLUMNS, max(len(streams), 1))
    lines = max(math.ceil(len(streams) / columns), 1)
    parts = len(_HEIGHTS)
    figure = new_figure(5.2 * columns, 5.2 * lines + 0.8)
    panels = figure.subplots(
        parts * lines,
        columns,
        squeeze=False,
        gridspec_kw={"height_ratios": list(_HEIGHTS) * lines},
    )
    for place in range(lines * columns):
        line, column = divmod(place, columns)
        own = [panels[parts * line + k, column] for k in range(parts)]
        if place >= len(streams):
            for panel in own:
                panel.set_visible(False)
            continue
        name, members = streams[place]
        _draw_stream(own, members[0])
        own[0].set_title(f"{name}, {members[0].size}", color=INK, fontsize=10, fontweight="bold")
    shown = [name for name in MODELS if any(entry.accuracy(name) for entry in entries)]
    handles = [
        Line2D([], [], color=c, linestyle=s, linewidth=w, label=MODEL_NAMES[name])
        for name in shown
        for c, s, w in (_STYLES[name],)
    ]
    if any(drifts for entry in entries for drifts in entry.drifts):
        handles.append(Line2D([], [], color=MARK, linestyle="--", label="drift"))
    figure.legend(
        handles=handles, loc="outside lower center", ncols=3, frameon=False, labelcolor=INK
    )
    return figure


def _draw_stream(panels: list[Axes], entry: Entry) -> None:
    cell, row = entry.cells[0]
    _accuracy(panels[0], row)
    panels[0].set_ylabel(f"accuracy %,\nlast {cell.window:,} rows", color=INK, fontsize=9)
    # Each pruning holds until the next one, the last until the end.
    prunings = [*row["prunings"], row["prunings"][-1]]
    at = [*(one["row"] for one in row["prunings"]), row["rows"]]
    for model, name in (("full", "nodes"), ("pruned", "kept_nodes")):
        colour, style, width = _STYLES[model]
        values = [max(one[name], 1) for one in prunings]
        panels[1].step(at, values, where="post", color=colour, linestyle=style, linewidth=width)
    panels[1].set_yscale("log")
    panels[1].set_ylabel("nodes", color=INK, fontsize=9)
    gaps = [100 * one["gap"] for one in prunings]
    panels[2].step(at, gaps, where="post", color=COLOURS[1], linewidth=1.4)
    panels[2].set_ylim(bottom=0)
    panels[2].set_ylabel("gap %", color=INK, fontsize=9)
    panels[2].set_xlabel("rows", color=INK, fontsize=9)
    for panel in panels:
        dress(panel, row["rows"])
        for begin, end in entry.drifts[0]:
            mark(panel, begin, end)
        if panel is not panels[2]:
            panel.sharex(panels[2])
            panel.tick_params(labelbottom=False)
    low, high = panels[1].get_ylim()
    subs = (1.0,) if high > _WIDE * low else (1.0, 2.0, 5.0)
    panels[1].yaxis.set_major_locator(LogLocator(subs=subs))
    panels[1].yaxis.set_minor_formatter(NullFormatter())
    panels[1].yaxis.set_major_formatter(FuncFormatter(number))


def _accuracy(panel: Axes, row: Row) -> None:
    for name, (colour, style, width) in _STYLES.items():
        if name in row["models"]:
            at, values = zip(*row["models"][name]["rolling"], strict=True)
            panel.plot(
                at, [100 * v for v in values], color=colour, linestyle=style, linewidth=width
            )
