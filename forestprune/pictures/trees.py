"""Drawings of the trees that were kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from forestprune.exporting.wording import Wording, tree_numbers
from forestprune.pictures.tree_canvas import Canvas
from forestprune.pictures.tree_layout import block
from forestprune.pruned import PrunedEnsemble
from formulations import InvalidInput
from formulations.arrays import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Names longer than this lose their middle.
_LONGEST_NAME = 32


def plot_trees(
    pruned: PrunedEnsemble,
    trees: int | Sequence[int] = 10,
    ax: Axes | None = None,
    *,
    digits: int = 3,
) -> Axes:
    """Draw kept trees, to be read.

    A tree grows from left to right. A box says where a row goes up: to the upper branch when
    the condition holds, to the lower one otherwise; below it are the mean response of the rows
    of the node and their share. A leaf is the bluer the more it adds to the prediction, and the
    more orange the more it takes off; of several classes it has the colour of the one that it
    raises most. The line at the foot says how the trees make a prediction.

    Parameters
    ----------
    pruned
        What `prune` returned.
    trees
        How many: those that change predictions most, in the order of the source. Or which:
        their numbers in the source.
    ax
        Where to draw, in the size that fits; by default a new figure, which grows with the trees.
    digits
        Significant digits of means and weights; thresholds have one more.

    Returns
    -------
    Axes
        The axes, in points from the upper left corner.

    Raises
    ------
    InvalidInput
        When ``trees`` is neither a number of at least 1 nor numbers of kept trees, or it is not
        a pruned ensemble that is given.
    """
    if not isinstance(pruned, PrunedEnsemble):
        raise InvalidInput(
            f"pruned must be what prune returned, not {type(pruned).__name__}; "
            "prune the model first"
        )
    wording = Wording(pruned.model, digits, minus="−", at_most="≤", longest=_LONGEST_NAME)
    shown = _shown(pruned, trees)
    numbers = tree_numbers(pruned)
    titles = [wording.title(numbers[i], i) for i in shown]
    blocks = []
    for i, title in zip(shown, titles, strict=True):
        tree = pruned.model.trees[i]
        blocks.append(block(tree.left, tree.layer, wording.boxes(i), title))
    caption = [wording.sum_of_trees()]
    if shown:
        left_out = f"; {len(shown)} of {pruned.n_trees} trees are drawn"
        caption.append(
            "upper branch: the condition holds; in grey and at the leaves: mean · share of the rows"
            + (left_out if len(shown) < pruned.n_trees else "")
        )
    canvas = Canvas(blocks, caption, ax)
    strongest = max((np.abs(_added(pruned, i)).max() for i in shown), default=0.0) or 1.0
    for place, (i, title) in enumerate(zip(shown, titles, strict=True)):
        tree, only = pruned.model.trees[i], wording.only_output(pruned.model.trees[i])
        added = _added(pruned, i) / strongest
        canvas.draw(
            place,
            tree,
            added if only is None else added[:, [only]],
            wording.boxes(i),
            title,
            pruned.model.classes is not None,
        )
    return canvas.ax


def _shown(pruned: PrunedEnsemble, trees: Any) -> list[int]:
    """Return positions among the kept trees."""
    numbers = tree_numbers(pruned)
    if isinstance(trees, int | np.integer) and not isinstance(trees, bool):
        if trees < 1:
            raise InvalidInput(f"trees must be at least 1, got {trees}")
        changes = [_change(pruned, i) for i in range(pruned.n_trees)]
        most = np.argsort(changes, kind="stable")[::-1][:trees]
        return sorted(most.tolist())
    wanted = None if isinstance(trees, str | bool) else _listed(trees)
    if not wanted or any(isinstance(one, bool) or one not in numbers for one in wanted):
        told = ", ".join(map(str, numbers[:20])) + (" …" if len(numbers) > 20 else "")
        raise InvalidInput(
            f"trees must be how many, or numbers of kept trees ({told or 'none'}), not {trees!r}"
        )
    return [numbers.index(number) for number in wanted]


def _listed(trees: Any) -> list[Any] | None:
    return list(trees) if isinstance(trees, Sequence | np.ndarray) else None


def _added(pruned: PrunedEnsemble, i: int) -> FloatArray:
    """Return (nodes, q) what tree i adds to the prediction of a row that stops at a node."""
    tree = pruned.model.trees[i]
    return np.asarray(pruned.model.scale[i] * (tree.value - tree.value[0]))


def _change(pruned: PrunedEnsemble, i: int) -> float:
    """Return the mean square of what tree i adds, over the training rows."""
    tree = pruned.model.trees[i]
    squares = (_added(pruned, i)[tree.leaves] ** 2).sum(axis=1)
    cover = tree.cover[tree.leaves]
    return float(cover @ squares / cover.sum()) if cover.sum() > 0.0 else float(squares.mean())
