"""How pictures look: colours, ink and numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito (2008): distinct for all common forms of colour blindness.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
INK, PALE, GRID = "#333333", "#c9cdd1", "#dddddd"


def new_axes(width: float, height: float) -> Axes:
    """Return the axes of a new figure of a size in inches."""
    import matplotlib.pyplot as plt

    _, ax = plt.subplots(figsize=(width, height), layout="constrained")
    return ax


def open_frame(ax: Axes, grid: str | None = None) -> None:
    """Take the frame away at the top and on the right; draw a light grid along an axis."""
    ax.spines[["top", "right"]].set_visible(False)
    if grid is not None:
        ax.grid(axis=grid, color=GRID, linewidth=0.7)  # type: ignore[arg-type]
        ax.set_axisbelow(True)


def number(value: float, digits: int = 3) -> str:
    """Write a number with so many significant digits, and a true minus sign."""
    return f"{value:.{digits}g}".replace("-", "−")
