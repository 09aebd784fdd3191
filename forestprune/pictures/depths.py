"""How deep the trees are, before and after pruning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from forestprune.pictures.source import source_trees
from forestprune.pictures.style import COLOURS, PALE, new_axes, open_frame
from forestprune.pruned import PrunedEnsemble
from forestprune.trees import Tree
from formulations import InvalidInput
from formulations.arrays import FloatArray, IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# More bars than this are too narrow to be told apart.
_MOST_BARS = 60


def plot_depths(
    pruned: PrunedEnsemble, source: Any = None, ax: Axes | None = None, *, kind: str = "auto"
) -> Axes:
    """Draw the depth of every tree before and after pruning, or how many have each depth.

    Where subtrees were chosen a tree has two depths: that of its deepest leaf, and the mean over
    its leaves, which is drawn too.

    Parameters
    ----------
    pruned
        What `prune` returned.
    source
        The model that was pruned; without it only what was kept is drawn.
    ax
        Where to draw; a new figure by default.
    kind
        ``"trees"``: one bar a tree. ``"histogram"``: trees of each depth. ``"auto"``: bars for up
        to 60 trees.

    Returns
    -------
    Axes
        The axes.

    Raises
    ------
    InvalidInput
        When ``source`` is another model, or ``kind`` none of the three.
    """
    if kind not in ("auto", "trees", "histogram"):
        raise InvalidInput(f'kind must be "auto", "trees" or "histogram", not {kind!r}')
    before = None
    if source is not None:
        before = np.array([tree.depth for tree in source_trees(pruned, source)])
    mean = None if pruned.by_depth else _mean_depths(pruned)
    if ax is None:
        ax = new_axes(7.0, 3.4)
    bars = kind == "trees" or (kind == "auto" and len(pruned.depths) <= _MOST_BARS)
    draw = _draw_bars if bars else _draw_histogram
    draw(ax, before, pruned.depths, mean)
    ax.legend(frameon=False, ncols=3, loc="lower right", bbox_to_anchor=(1.0, 1.0))
    open_frame(ax, "y")
    return ax


def _mean_depths(pruned: PrunedEnsemble) -> FloatArray:
    """Return (n,) the mean depth of the leaves of what is left of each tree."""
    mean = np.zeros(len(pruned.depths))
    mean[pruned.depths > 0] = [_leaf_depth(tree) for tree in pruned.model.trees]
    return mean


def _leaf_depth(tree: Tree) -> float:
    return float(tree.layer[tree.leaves].mean())


def _draw_bars(ax: Axes, before: IntArray | None, after: IntArray, mean: FloatArray | None) -> None:
    from matplotlib.ticker import MaxNLocator

    place = np.arange(len(after))
    if before is not None:
        ax.bar(place, before, 0.8, color=PALE, label="before")
    label = "after" if mean is None else "after: deepest leaf"
    ax.bar(place, after, 0.8 if before is None else 0.5, color=COLOURS[0], label=label)
    if mean is not None:
        kept = mean > 0.0
        ax.plot(
            place[kept],
            mean[kept],
            "D",
            color=COLOURS[4],
            markeredgecolor="white",
            markersize=5,
            label="after: mean over the leaves",
        )
    ax.set_xlim(-0.7, len(after) - 0.3)
    deepest = max(int(after.max(initial=0)), 1 if before is None else int(before.max()))
    ax.set_ylim(0.0, deepest * 1.03)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel(f"tree ({int((after == 0).sum())} of {len(after)} dropped)")
    ax.set_ylabel("depth")


def _draw_histogram(
    ax: Axes, before: IntArray | None, after: IntArray, mean: FloatArray | None
) -> None:
    from matplotlib.ticker import MaxNLocator

    deepest = int(max(after.max(initial=0), 1 if before is None else before.max()))
    depths = np.arange(deepest + 1)
    groups: list[tuple[str, Any, str]] = []
    if before is not None:
        groups.append(("before", before, PALE))
    groups.append(("after" if mean is None else "after: deepest leaf", after, COLOURS[0]))
    if mean is not None:
        rounded = np.rint(mean).astype(np.int64)
        groups.append(("after: mean over the leaves, rounded", rounded, COLOURS[4]))
    width = 0.84 / len(groups)
    for number, (label, values, colour) in enumerate(groups):
        counts = np.bincount(values, minlength=deepest + 1)
        shift = (number - (len(groups) - 1) / 2.0) * width
        bars = ax.bar(depths + shift, counts, width, color=colour, label=label)
        ax.bar_label(bars, [str(c) if c > 0 else "" for c in counts], fontsize=8, padding=2)
    if deepest <= 15:
        ax.set_xticks(depths, ["0\ndropped", *map(str, depths[1:])])
    else:
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    ax.margins(y=0.1)
    ax.set_xlabel("depth")
    ax.set_ylabel("trees")
