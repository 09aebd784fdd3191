"""What panels along a stream have in common: numbers of rows, and marks where it drifts."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from studies.drawing.style import GRID, number, plain

MARK = "#999999"


def dress(panel: Axes, rows: int) -> None:
    """Give a panel of so many rows few numbers, a light grid and no frame."""
    panel.set_xlim(0, rows)
    for axis in (panel.xaxis, panel.yaxis):
        axis.set_major_locator(MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10]))
        axis.set_major_formatter(FuncFormatter(number))
    panel.tick_params(labelsize=8)
    plain(panel)


def mark(panel: Axes, begin: int, end: int) -> None:
    """Mark a drift by a line, and by a band where it takes a while."""
    if end > begin:
        panel.axvspan(begin, end, color=GRID, alpha=0.6, linewidth=0, zorder=0)
    panel.axvline((begin + end) / 2, color=MARK, linestyle="--", linewidth=1.0, zorder=1)
