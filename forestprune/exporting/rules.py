"""Pruned ensembles as text, and as a table of rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from forestprune.exporting.start import starts_constant
from forestprune.exporting.values import base_values
from forestprune.exporting.wording import Wording, categories_left, tree_numbers
from forestprune.trees import Tree

if TYPE_CHECKING:
    import pandas as pd

    from forestprune.pruned import PrunedEnsemble

_INDENT = "    "


def to_text(pruned: PrunedEnsemble, digits: int | None = 4, *, missing: bool = False) -> str:
    """Return the trees as nested conditions, to be read.

    The first line says how a prediction is made. Every tree has its number in the source and
    its weight; every node the mean response of its rows and their share of the tree's rows.

    Parameters
    ----------
    pruned
        What `prune` returned.
    digits
        Significant digits, one more for thresholds. None for as many as it takes to read the
        same numbers again.
    missing
        Whether to say where missing values go.

    Raises
    ------
    InvalidInput
        When ``digits`` is not an integer from 1 to 17.
    """
    wording = Wording(pruned.model, digits)
    lines = [wording.sum_of_trees()]
    for i, number in enumerate(tree_numbers(pruned)):
        lines += ["", wording.title(number, i) + f", root {_figures(wording, i, 0)}"]
        _nested(wording, i, 0, "", missing, lines)
    return "\n".join(lines) + "\n"


def _nested(
    wording: Wording, i: int, root: int, indent: str, missing: bool, lines: list[str]
) -> None:
    """Add the lines of a node's branches, deepest last, without recursion: trees may be deep."""
    tree = wording.model.trees[i]
    waiting: list[tuple[int, bool, str]] = []  # a split, the branch to write, its indent

    def enter(node: int, indent: str) -> None:
        if tree.left[node] >= 0:
            waiting.extend([(node, False, indent), (node, True, indent)])

    enter(root, indent)
    while waiting:
        node, to_left, indent = waiting.pop()
        child = int(tree.left[node]) + (not to_left)
        word = "else"
        if to_left:
            word = f"if {wording.condition(tree, node)}"
            if missing:
                word += " or missing" if tree.missing_left[node] else " and not missing"
        lines.append(f"{indent}{word}: {_figures(wording, i, child)}")
        enter(child, indent + _INDENT)


def _figures(wording: Wording, i: int, node: int) -> str:
    tree = wording.model.trees[i]
    share = wording.share(tree, node)
    return wording.values(tree, tree.value[node]) + (f" ({share} of rows)" if share else "")


def rules(pruned: PrunedEnsemble, digits: int | None = 4, *, missing: bool = False) -> pd.DataFrame:
    """Return one row for each leaf: when it applies, and what it adds to a prediction.

    A prediction is what is predicted without trees plus what the rules add that apply, one of
    each tree. What is predicted without trees is in ``attrs["base"]``, one number an output, but
    for ensembles that start from an estimator which does not predict a constant. Conditions on
    one feature are merged to one.

    Parameters
    ----------
    pruned
        What `prune` returned.
    digits
        Significant digits of the thresholds in ``rule``, but one; None for all. The numbers in
        the other columns are not rounded.
    missing
        Whether to say in ``rule`` where missing values go.

    Returns
    -------
    DataFrame
        Columns: ``tree``, the number in the source; ``rule``; ``share`` of the training rows,
        NaN where it is not known; ``weight`` of the tree; ``mean`` at the leaf; and ``adds``,
        weight × (mean − mean at the root). With several outputs the last two are there for each,
        as ``mean[setosa]``.

    Raises
    ------
    InvalidInput
        When ``digits`` is not an integer from 1 to 17.
    """
    import pandas as pd

    wording = Wording(pruned.model, digits)
    tags = [f"[{name}]" if name else "" for name in wording.outputs]
    found: list[dict[str, Any]] = []
    for i, number in enumerate(tree_numbers(pruned)):
        tree, weight = pruned.model.trees[i], float(pruned.model.scale[i])
        total = float(tree.cover[0])
        for leaf in _leaves_from_left(tree):
            row: dict[str, Any] = {
                "tree": number,
                "rule": _rule(wording, tree, leaf, missing),
                "share": float(tree.cover[leaf]) / total if total > 0.0 else np.nan,
                "weight": weight,
            }
            row |= {f"mean{tag}": float(tree.value[leaf, o]) for o, tag in enumerate(tags)}
            adds = weight * (tree.value[leaf] - tree.value[0])
            row |= {f"adds{tag}": float(adds[o]) for o, tag in enumerate(tags)}
            found.append(row)
    columns = ["tree", "rule", "share", "weight"]
    columns += [f"mean{tag}" for tag in tags] + [f"adds{tag}" for tag in tags]
    # Told, since a model without trees has no rows to tell by.
    kinds = dict.fromkeys(columns, np.float64) | {"tree": np.int64, "rule": object}
    frame = pd.DataFrame(found, columns=columns).astype(kinds)
    if starts_constant(pruned.model):
        frame.attrs["base"] = base_values(pruned.model).tolist()
    return frame


def _leaves_from_left(tree: Tree) -> list[int]:
    found, waiting = [], [0]
    while waiting:
        node = waiting.pop()
        first = int(tree.left[node])
        if first < 0:
            found.append(node)
        else:
            waiting += [first + 1, first]
    return found


def _rule(wording: Wording, tree: Tree, leaf: int, missing: bool) -> str:
    """Return the conditions on the way to a leaf, one a feature, in the order of the way."""
    way: list[tuple[int, bool]] = []
    node = leaf
    while node > 0:
        above = int(tree.parent[node])
        way.append((above, node == tree.left[above]))
        node = above
    splits: dict[int, list[tuple[int, bool]]] = {}
    for split, left in reversed(way):
        splits.setdefault(int(tree.feature[split]), []).append((split, left))
    told = []
    for feature, steps in splits.items():
        text = _merged(wording, tree, feature, steps)
        if missing and all(bool(tree.missing_left[split]) == left for split, left in steps):
            text += " or missing"
        elif missing:
            text += " and not missing"
        told.append(f"({text})" if missing and len(splits) > 1 else text)
    return " and ".join(told)


def _merged(wording: Wording, tree: Tree, feature: int, steps: list[tuple[int, bool]]) -> str:
    """Return one condition for all steps on one feature: an interval, and sets of categories."""
    sets = [(s, left) for s, left in steps if np.isnan(tree.threshold[s])]
    bounds = [(s, left) for s, left in steps if not np.isnan(tree.threshold[s])]
    told = []
    if bounds:
        low = max((float(tree.threshold[s]) for s, left in bounds if not left), default=None)
        high = min((float(tree.threshold[s]) for s, left in bounds if left), default=None)
        text = wording.feature(feature)
        if low is not None and high is not None:
            text = f"{wording.bound(low)} < {text}"
        elif low is not None:
            text += f" > {wording.bound(low)}"
        if high is not None:
            text += f" {wording.at_most} {wording.bound(high)}"
        told.append(text)
    inside = [set(categories_left(tree, s)) for s, left in sets if left]
    outside = [set(categories_left(tree, s)) for s, left in sets if not left]
    name = wording.feature(feature)
    if inside:
        kept = set.intersection(*inside).difference(*outside)
        told.append(f"{name} in {wording.category_set(feature, sorted(kept))}")
    elif outside:
        told.append(f"{name} not in {wording.category_set(feature, sorted(set.union(*outside)))}")
    return " and ".join(told)
