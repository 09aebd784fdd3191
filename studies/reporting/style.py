"""How figures look: colours, ink and numbers."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure

# Okabe and Ito (2008): distinct for all common forms of colour blindness.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "D", "^", "v", "P")
INK, GRID = "#333333", "#DDDDDD"


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of a size in inches."""
    figure = Figure(figsize=(width, height), dpi=160, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def plain(panel: Axes) -> None:
    """Give a panel a light grid and no frame."""
    panel.grid(color=GRID, linewidth=0.7)
    panel.set_axisbelow(True)
    panel.tick_params(colors=INK, which="both", length=0)
    for side in panel.spines.values():
        side.set_visible(False)


def for_text(colour: str) -> str:
    """Return a colour dark enough to be read on white."""
    red, green, blue = to_rgb(colour)
    return to_hex((0.78 * red, 0.78 * green, 0.78 * blue))


def number(value: float, _: object = None) -> str:
    """Write a number of an axis without an exponent."""
    return f"{value:,.10g}"
