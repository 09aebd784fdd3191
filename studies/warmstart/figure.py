"""The figure of `warmstart`: objective, proven gap and sweeps, way by way."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from studies.drawing.style import COLOURS, INK, new_figure, number, plain
from studies.reporting.formats import seconds
from studies.warmstart.cell import COMPARED, STARTS
from studies.warmstart.paths import Paths

_COLOURS = dict(zip(COMPARED, COLOURS, strict=False))
_MARKERS = dict(zip(COMPARED, "osD", strict=True))

# Smaller parts, in percent, are drawn at the foot.
_LEAST = 1e-4


def draw_starts(found: list[Paths]) -> Figure:
    """Draw three panels an instance."""
    figure = new_figure(10.5, 3.1 * max(len(found), 1) + 0.5)
    if not found:
        return figure
    panels = figure.subplots(len(found), 3, squeeze=False)
    for paths, (objective, gap, sweeps) in zip(found, panels, strict=True):
        title = f"{paths.instance.kind}, {paths.instance.grid}"
        objective.set_title(title, loc="left", color=INK, fontsize=10, fontweight="bold")
        for start in paths.compared:
            _draw_shares(objective, paths, start, paths.above(start), least=0.0)
            _draw_shares(gap, paths, start, paths.gaps(start), least=_LEAST)
        _dress(objective, "objective above the best, %")
        _dress(gap, "proven gap, %")
        _logarithmic(gap)
        _draw_sweeps(sweeps, paths)
    handles = [
        Line2D(
            [],
            [],
            color=_COLOURS[start],
            marker=_MARKERS[start],
            markersize=5,
            label=STARTS[start].name,
        )
        for start in COMPARED
    ]
    figure.legend(
        handles=handles, loc="outside lower center", ncols=3, frameon=False, labelcolor=INK
    )
    return figure


def _draw_shares(
    panel: Axes, paths: Paths, start: str, shares: Sequence[float | None], *, least: float
) -> None:
    known = [(a, 100.0 * s) for a, s in zip(paths.alphas, shares, strict=True) if s is not None]
    panel.plot(
        [alpha for alpha, _ in known],
        [max(share, least) for _, share in known],
        color=_COLOURS[start],
        marker=_MARKERS[start],
        markersize=3.5,
        linewidth=1.3,
        alpha=0.85,
        clip_on=False,
    )


def _draw_sweeps(panel: Axes, paths: Paths) -> None:
    """Draw how many α took so many sweeps, in classes that double."""
    most = max((max(paths.sweeps(start)) for start in paths.compared), default=1)
    classes = [2**k for k in range(max(int(most).bit_length(), 1))]
    width = 0.8 / max(len(paths.compared), 1)
    for place, start in enumerate(paths.compared):
        counts = np.bincount(
            [int(count).bit_length() - 1 for count in paths.sweeps(start)], minlength=len(classes)
        )
        at = np.arange(len(classes)) - 0.4 + width * (place + 0.5)
        taken = f"{seconds(paths.rows[start]['seconds'])} s"
        panel.bar(at, counts, width, color=_COLOURS[start], label=taken)
    panel.legend(
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=3,
        frameon=False,
        fontsize=8,
        labelcolor=INK,
        handlelength=1.0,
    )
    names = [f"≥ {low}" if low > 1 else "1" for low in classes]
    panel.set_xticks(np.arange(len(classes)), names)
    panel.set_xlabel("sweeps at one α (above: time of the path)", color=INK, fontsize=9)
    panel.set_ylabel("number of α", color=INK, fontsize=9)
    panel.yaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
    panel.tick_params(labelsize=8)
    panel.tick_params(axis="x", labelsize=7)
    plain(panel)
    panel.grid(visible=False, axis="x")


def _dress(panel: Axes, label: str) -> None:
    panel.set_xscale("log")
    panel.invert_xaxis()
    panel.set_ylim(bottom=0.0)
    panel.xaxis.set_major_locator(LogLocator(numticks=6))
    panel.xaxis.set_minor_locator(NullLocator())
    panel.yaxis.set_major_locator(MaxNLocator(nbins=5))
    for axis in (panel.xaxis, panel.yaxis):
        axis.set_major_formatter(FuncFormatter(number))
    panel.set_xlabel("α, in the order of the path", color=INK, fontsize=9)
    panel.set_ylabel(label, color=INK, fontsize=9)
    panel.tick_params(labelsize=8)
    plain(panel)


def _logarithmic(panel: Axes) -> None:
    """Give gaps an axis on which small ones can be told apart."""
    panel.set_yscale("log")
    panel.set_ylim(_LEAST, max(panel.get_ylim()[1], 10.0 * _LEAST))
    panel.yaxis.set_major_locator(LogLocator(numticks=8))
    panel.yaxis.set_minor_locator(NullLocator())
    panel.yaxis.set_major_formatter(FuncFormatter(_share))


def _share(value: float, _: object = None) -> str:
    return f"≤ {number(_LEAST)}" if value <= 1.5 * _LEAST else number(value)
