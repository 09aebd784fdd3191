"""The figure: rolling accuracy, and what is remembered, along each stream."""

from __future__ import annotations

import math

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from studies.drawing.stream_panels import MARK, dress, mark
from studies.drawing.style import COLOURS, INK, new_figure
from studies.drift.kind import DriftRun
from studies.drift.systems import SYSTEMS
from studies.drift.tables import Entry, by_stream

_COLUMNS = 2


def draw(run: DriftRun, entries: list[Entry]) -> Figure:
    """Draw two panels a stream, of its first seed; drifts are grey lines, or bands."""
    streams = by_stream(entries)
    columns = min(_COLUMNS, max(len(streams), 1))
    lines = max(math.ceil(len(streams) / columns), 1)
    figure = new_figure(5.2 * columns, 4.0 * lines + 0.8)
    panels = figure.subplots(
        2 * lines, columns, squeeze=False, gridspec_kw={"height_ratios": [2.4, 1.0] * lines}
    )
    present = [name for name in SYSTEMS if any(entry.model == name for entry in entries)]
    # More lines than colours cannot be told apart.
    all_fit = len(present) <= len(COLOURS)
    drawn = [name for name in present if all_fit or SYSTEMS[name].drawn]
    colours = dict(zip(drawn, COLOURS, strict=False))
    for place, (stream, own) in enumerate(streams):
        line, column = divmod(place, columns)
        upper, lower = panels[2 * line, column], panels[2 * line + 1, column]
        shown = [entry for entry in own if entry.model in colours]
        _accuracy(upper, shown, colours)
        _held(lower, shown, colours)
        upper.set_title(stream, color=INK, fontsize=10, fontweight="bold")
        for panel in (upper, lower):
            dress(panel, own[0].rows[0]["rows"])
        upper.sharex(lower)
        upper.tick_params(labelbottom=False)
        preparation = run.preparations.get(own[0].cells[0][0].instance, {})
        for begin, end in preparation.get("drifts", ()):
            mark(upper, begin, end)
            mark(lower, begin, end)
    for place in range(len(streams), lines * columns):
        line, column = divmod(place, columns)
        panels[2 * line, column].set_visible(False)
        panels[2 * line + 1, column].set_visible(False)
    handles = [
        Line2D([], [], color=colours[name], linewidth=_width(name), label=_label(name))
        for name in drawn
    ]
    if any(preparation.get("drifts") for preparation in run.preparations.values()):
        handles.append(Line2D([], [], color=MARK, linestyle="--", label="drift"))
    figure.legend(
        handles=handles, loc="outside lower center", ncols=3, frameon=False, labelcolor=INK
    )
    return figure


def _label(name: str) -> str:
    system = SYSTEMS[name]
    return f"{system.title} ({'rows' if system.rowwise else 'batches'})"


def _width(name: str) -> float:
    return 2.0 if name.startswith("forgetful") else 1.1


def _accuracy(panel: Axes, entries: list[Entry], colours: dict[str, str]) -> None:
    for entry in entries:
        cell, row = entry.cells[0]
        at, values = zip(*row["rolling"], strict=True)
        panel.plot(
            at,
            [100 * value for value in values],
            color=colours[entry.model],
            linewidth=_width(entry.model),
            zorder=3 if entry.model.startswith("forgetful") else 2,
        )
        panel.set_ylabel(f"accuracy %,\nlast {cell.window:,} rows", color=INK, fontsize=9)


def _held(panel: Axes, entries: list[Entry], colours: dict[str, str]) -> None:
    # The first on top of a thicker second: trees and forests often remember as many rows.
    kept = [entry for entry in entries if entry.cells[0][1]["held"]]
    for place, entry in reversed(list(enumerate(kept))):
        at, held = zip(*entry.cells[0][1]["held"], strict=True)
        panel.plot(at, held, color=colours[entry.model], linewidth=2.8 if place == 1 else 1.3)
    panel.set_ylim(bottom=0)
    panel.set_xlabel("rows", color=INK, fontsize=9)
    panel.set_ylabel("rows\nremembered", color=INK, fontsize=9)
