"""How figures look: colours, ink and numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

# Okabe and Ito (2008): distinct for all common forms of colour blindness.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "D", "^", "v", "P")
# Every how many powers of ten there is a tick, for as many as double precision has.
STRIDES = (1, 2, 5, 10, 20, 50)
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


def log_ticks(axis: Axis, apart: float = 0.06) -> None:
    """Give a logarithmic axis ticks at 1, 2 and 5 times powers of ten, or fewer.

    Parameters
    ----------
    axis
        Everything has been drawn on it.
    apart
        As of `set_ticks`.
    """
    low, high = axis.get_view_interval()
    several = [decades(low, high, subs) for subs in ((1.0, 2.0, 5.0), (1.0, 3.0))]
    powers = [decades(low, high, every=every) for every in STRIDES]
    set_ticks(axis, [*several, *powers], apart)


def decades(low: float, high: float, subs: Sequence[float] = (1.0,), every: int = 1) -> list[float]:
    """Return multiples of powers of ten, or of every so many, within positive limits."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    powers = [power for power in range(first, last + 1) if power % every == 0]
    found = [sub * 10.0**power for power in powers for sub in subs]
    return [value for value in found if low <= value <= high]


def set_ticks(axis: Axis, choices: Iterable[Sequence[float]], apart: float) -> None:
    """Give an axis the first of these ticks that are at least three and do not crowd.

    Where there are none such, ticks are evenly spaced numbers, three of them at least.

    Parameters
    ----------
    axis
        Everything has been drawn on it.
    choices
        Ascending values, the finest first.
    apart
        Least distance of two ticks, as a share of the axis.
    """
    low, high = sorted(axis.get_view_interval())
    transform = axis.get_transform()
    start, end = transform.transform([low, high])
    # A step is at most 2.5 times the tenth of an axis: with ten there are always three.
    even = (MaxNLocator(bins, steps=[1, 2, 5, 10]).tick_values(low, high) for bins in (5, 10))
    for choice in (*choices, *even):
        ticks = [float(value) for value in choice if low <= value <= high]
        gaps = np.diff(transform.transform(ticks)) if len(ticks) >= 3 else np.zeros(1)
        if gaps.min() >= apart * (end - start):
            break
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(number))
