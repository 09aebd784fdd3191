"""Which features the splits use, before and after pruning."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from forestprune.exporting.wording import Wording
from forestprune.pictures.source import source_trees
from forestprune.pictures.style import COLOURS, PALE, new_axes, open_frame
from forestprune.pruned import PrunedEnsemble
from forestprune.trees import Tree
from formulations import InvalidInput
from formulations.arrays import IntArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_features(
    pruned: PrunedEnsemble, source: Any = None, ax: Axes | None = None, *, most: int = 20
) -> Axes:
    """Draw the share of splits that use each feature, with the numbers of splits.

    Parameters
    ----------
    pruned
        What `prune` returned.
    source
        The model that was pruned; without it only the kept splits are drawn.
    ax
        Where to draw; a new figure by default, as high as there are features.
    most
        How many features, at least 1: those with most of the kept splits, then those with most
        of the source's. The others are put together.

    Returns
    -------
    Axes
        The axes, with one bar of each colour for a feature.

    Raises
    ------
    InvalidInput
        When ``source`` is another model, or ``most`` is not such a number.
    """
    if isinstance(most, bool) or not isinstance(most, int | np.integer) or most < 1:
        raise InvalidInput(f"most must be an integer of at least 1, not {most!r}")
    wording = Wording(pruned.model, 3, longest=32)
    width = pruned.model.n_features
    after = _splits(pruned.model.trees, width)
    before = None if source is None else _splits(source_trees(pruned, source), width)
    used = after if before is None else before
    order = np.lexsort((-used, -after))
    order = order[(used + after)[order] > 0]
    names = [wording.feature(int(j)) for j in order[:most]]
    groups = [np.array([j]) for j in order[:most]]
    if len(order) > most:
        names.append(f"{len(order) - most} others")
        groups.append(order[most:])
    if ax is None:
        ax = new_axes(7.0, 1.1 + (0.24 if before is None else 0.38) * max(len(names), 1))
    _bars(ax, names, [int(after[group].sum()) for group in groups], after.sum(), before, groups)
    ax.set_xlabel("share of the splits, %")
    open_frame(ax, "x")
    return ax


def _bars(
    ax: Axes,
    names: list[str],
    after: list[int],
    total: int,
    before: IntArray | None,
    groups: list[IntArray],
) -> None:
    place = np.arange(len(names))
    kept = 100.0 * np.array(after) / max(total, 1)
    height = 0.6 if before is None else 0.38
    up = 0.0 if before is None else height / 2.0
    bars = ax.barh(place - up, kept, height, color=COLOURS[0], label=f"after: {total} splits")
    ax.bar_label(bars, [str(count) for count in after], padding=3, fontsize=8)
    if before is not None:
        counts = [int(before[group].sum()) for group in groups]
        shares = 100.0 * np.array(counts) / max(before.sum(), 1)
        label = f"before: {before.sum()} splits"
        bars = ax.barh(place + up, shares, height, color=PALE, label=label)
        ax.bar_label(bars, [str(count) for count in counts], padding=3, fontsize=8, color="#777777")
    ax.set_yticks(place, names)
    for tick in ax.get_yticklabels():
        tick.set_parse_math(False)
    ax.set_ylim(max(len(names), 1) - 0.5, -0.5)
    ax.margins(x=0.12)
    ax.tick_params(axis="y", length=0)
    ax.legend(frameon=False, ncols=2, loc="lower right", bbox_to_anchor=(1.0, 1.0))
    if not names:
        ax.set_xlim(0.0, 100.0)


def _splits(trees: Iterable[Tree], n_features: int) -> IntArray:
    """Return (features,) the number of splits that use each feature."""
    counts = np.zeros(n_features, dtype=np.int64)
    for tree in trees:
        counts += np.bincount(tree.feature[tree.left >= 0], minlength=n_features)
    return counts
