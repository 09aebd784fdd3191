"""Where the boxes of a tree go, in points: root on the left, a line for each leaf.

Text runs from left to right, so a tree that grows in the same direction has room for long
names: every layer is a column as wide as its widest box, and every leaf a line of its own. A
split stands in the middle of its two children. Boxes of one column then are at least one line
apart, and 1.5 where one of them is a split, whatever the shape of the tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from formulations.arrays import FloatArray, IntArray

FONT_SIZE = 8.0

# A leaf has one line of text, a split two.
LINE = 13.5
LEAF_HEIGHT, SPLIT_HEIGHT = 11.5, 22.0
_PADDING, _GAP = 3.5, 22.0
_TITLE_HEIGHT = 18.0

# Glyphs are moved to whole pixels, which makes a line longer on a coarse screen.
_HINTED = 1.04


@dataclass(frozen=True)
class Block:
    """A tree with its title: places in points, x to the right and y down from its corner.

    Attributes
    ----------
    x, y
        (nodes,) left edge and middle line of each box.
    box
        (nodes,) width of each box.
    width, height
        Size of the whole, its title included.
    """

    x: FloatArray
    y: FloatArray
    box: FloatArray
    width: float
    height: float


def block(left: IntArray, layer: IntArray, texts: Sequence[Sequence[str]], title: str) -> Block:
    """Lay out a tree in level order.

    Parameters
    ----------
    left
        (nodes,) left child, −1 at a leaf; the right child is the next node.
    layer
        (nodes,) layer of each node.
    texts
        Per node the lines in its box.
    title
        What is written over the tree.
    """
    box = np.array([max(map(text_width, lines)) for lines in texts]) + 2.0 * _PADDING
    widths = np.zeros(layer[-1] + 1)
    np.maximum.at(widths, layer, box)
    starts = np.cumsum(np.concatenate([[0.0], widths[:-1] + _GAP]))
    line = _lines(left)
    inner = bool(left[0] >= 0)
    edge = _TITLE_HEIGHT + (SPLIT_HEIGHT if inner and len(left) == 3 else LEAF_HEIGHT) / 2.0
    y = edge + LINE * line
    return Block(
        x=starts[layer],
        y=y,
        box=box,
        width=max(float((starts[layer] + box).max()), text_width(title, bold=True)),
        height=float(y.max()) + SPLIT_HEIGHT / 2.0,
    )


def _lines(left: IntArray) -> FloatArray:
    """Return (nodes,) the line of each node: leaves from the top, splits between children."""
    line = np.zeros(len(left))
    waiting, free = [0], 0
    order = []
    while waiting:  # depth first, left before right
        node = waiting.pop()
        order.append(node)
        if left[node] >= 0:
            waiting += [left[node] + 1, left[node]]
        else:
            line[node] = free
            free += 1
    for node in reversed(order):
        if left[node] >= 0:
            line[node] = (line[left[node]] + line[left[node] + 1]) / 2.0
    return line


def shelves(sizes: Sequence[tuple[float, float]], width: float, gap: float) -> list[list[int]]:
    """Put blocks of ``(width, height)`` on shelves, in order, that are not wider than ``width``."""
    found: list[list[int]] = [[]]
    used = 0.0
    for i, (wide, _) in enumerate(sizes):
        if found[-1] and used + gap + wide > width:
            found.append([])
        used = wide if not found[-1] else used + gap + wide
        found[-1].append(i)
    return found


def text_width(text: str, *, bold: bool = False) -> float:
    """Return the width of a line of text in points, at `FONT_SIZE` in the font of now."""
    from matplotlib.font_manager import FontProperties, findfont

    return _width(text, findfont(FontProperties(weight="bold" if bold else "normal")))


@lru_cache(maxsize=4096)
def _width(text: str, font: str) -> float:
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    prop = FontProperties(fname=font, size=FONT_SIZE)
    width, _, _ = text_to_path.get_text_width_height_descent(text, prop, ismath=False)
    return _HINTED * float(width)
