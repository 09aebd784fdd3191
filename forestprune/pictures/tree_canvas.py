"""Axes in points on which trees are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from forestprune.pictures.style import COLOURS, INK
from forestprune.pictures.tree_layout import (
    FONT_SIZE,
    LEAF_HEIGHT,
    SPLIT_HEIGHT,
    Block,
    shelves,
    text_width,
)
from forestprune.trees import Tree
from formulations.arrays import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# In points: margins, space between trees, and how wide a new figure may become for several.
_MARGIN, _BETWEEN, _WIDEST = 12.0, 30.0, 1250.0
_CAPTION_LINE = 12.0

# Width over height that a new figure should not be far from.
_SHAPE = 1.5

_LINE_COLOUR, _PALE_INK = "#9aa0a6", "#666666"


class Canvas:
    """Axes in points, with a place for each block and the caption at the foot."""

    def __init__(self, blocks: Sequence[Block], caption: Sequence[str], ax: Axes | None) -> None:
        self.blocks = blocks
        sizes = [(one.width, one.height) for one in blocks]
        foot = (max(map(text_width, caption)), _CAPTION_LINE * len(caption))
        if ax is None:
            # The least long side, but no wider than it must be or may become.
            options = [_places(sizes, rows, foot) for rows in _arrangements(sizes)]
            widest = max(_WIDEST, min(width for _, width, _ in options))
            options = [option for option in options if option[1] <= widest]
            self.places, width, height = min(
                options, key=lambda option: max(option[1] / _SHAPE, option[2])
            )
            self.ax, self.scale = _exact_axes(width, height), 1.0
        else:
            box = ax.get_window_extent()
            dots = ax.figure.dpi / 72.0
            room = box.width / dots, box.height / dots
            options = [_places(sizes, rows, foot) for rows in _arrangements(sizes)]
            scales = [min(room[0] / width, room[1] / height) for _, width, height in options]
            best = int(np.argmax(scales))
            self.places, width, height = options[best]
            self.ax, self.scale = ax, scales[best]
        self.ax.set_axis_off()
        self.ax.set_aspect("equal", anchor="NW")
        self.ax.set_xlim(0.0, width)
        self.ax.set_ylim(height, 0.0)
        for number, line in enumerate(reversed(caption)):
            self._write(_MARGIN, height - _MARGIN - _CAPTION_LINE * number, line, _PALE_INK)

    def draw(
        self,
        place: int,
        tree: Tree,
        added: FloatArray,
        boxes: Sequence[Sequence[str]],
        title: str,
        classes: bool,
    ) -> None:
        """Draw a tree whose nodes add so much (nodes, q), as a share of the most of all."""
        from matplotlib.collections import LineCollection
        from matplotlib.patches import FancyBboxPatch

        laid = self.blocks[place]
        x, y = laid.x + self.places[place][0], laid.y + self.places[place][1]
        self._write(self.places[place][0], self.places[place][1] + 7.0, title, weight="bold")
        inner = np.flatnonzero(tree.left >= 0)
        edges = []
        for node in inner.tolist():
            for child in (int(tree.left[node]), int(tree.left[node]) + 1):
                turn = x[child] - 9.0
                start = x[node] + laid.box[node]
                edges.append(
                    [(start, y[node]), (turn, y[node]), (turn, y[child]), (x[child], y[child])]
                )
        self.ax.add_collection(
            LineCollection(edges, colors=_LINE_COLOUR, linewidths=0.9 * self.scale, zorder=1)
        )
        for node, lines in enumerate(boxes):
            leaf = tree.left[node] < 0
            height = LEAF_HEIGHT if leaf else SPLIT_HEIGHT
            self.ax.add_artist(  # which need not find out how far it reaches
                FancyBboxPatch(
                    (x[node], y[node] - height / 2.0),
                    laid.box[node],
                    height,
                    boxstyle="round,pad=0,rounding_size=2.5",
                    facecolor=_tint(added[node], classes) if leaf else "#ffffff",
                    edgecolor=_LINE_COLOUR,
                    linewidth=0.6 * self.scale,
                    zorder=2,
                )
            )
            offsets = (0.0,) if leaf else (-4.8, 4.8)
            for number, (line, offset) in enumerate(zip(lines, offsets, strict=True)):
                colour = INK if number == 0 else _PALE_INK
                self._write(x[node] + 3.5, y[node] + offset, line, colour=colour)

    def _write(self, x: float, y: float, text: str, colour: str = INK, **options: Any) -> None:
        self.ax.text(
            x,
            y,
            text,
            fontsize=FONT_SIZE * self.scale,
            color=colour,
            ha="left",
            va="center_baseline",
            parse_math=False,
            zorder=3,
            **options,
        )


def _exact_axes(width: float, height: float) -> Axes:
    """Return axes that fill a new figure of a size in points."""
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(width / 72.0, height / 72.0))
    return figure.add_axes((0.0, 0.0, 1.0, 1.0))


def _arrangements(sizes: Sequence[tuple[float, float]]) -> list[list[list[int]]]:
    """Return one arrangement for each width at which another tree fits into the first row."""
    widths = np.cumsum([wide + _BETWEEN for wide, _ in sizes])
    widest = max((wide for wide, _ in sizes), default=0.0)
    return [shelves(sizes, max(width, widest), _BETWEEN) for width in widths] or [[[]]]


def _places(
    sizes: Sequence[tuple[float, float]], rows: Sequence[Sequence[int]], foot: tuple[float, float]
) -> tuple[list[tuple[float, float]], float, float]:
    """Return the corner of each block, and width and height of the whole."""
    places: list[tuple[float, float]] = []
    top, widest = _MARGIN, foot[0]
    for row in rows:
        x = _MARGIN
        for i in row:
            places.append((x, top))
            x += sizes[i][0] + _BETWEEN
        widest = max(widest, x - _BETWEEN - _MARGIN)
        top += max((sizes[i][1] for i in row), default=0.0) + _BETWEEN / 2.0
    return places, widest + 2.0 * _MARGIN, top + foot[1] + _MARGIN / 2.0


def _tint(share: FloatArray, classes: bool) -> tuple[float, ...]:
    """Return the colour of a leaf that adds so much, as shares of the most that any leaf adds."""
    from matplotlib.colors import to_rgb

    colour, amount = COLOURS[0], 0.0
    if len(share) == 1:
        colour, amount = COLOURS[0 if share[0] > 0.0 else 1], abs(float(share[0]))
    elif classes:
        output = int(np.argmax(share))
        colour, amount = COLOURS[output % (len(COLOURS) - 1)], max(float(share[output]), 0.0)
    return tuple(1.0 - 0.6 * amount * (1.0 - part) for part in to_rgb(colour))
