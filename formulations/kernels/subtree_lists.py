"""Lists of the rooted subtrees of one tree, as sets of splits."""

from __future__ import annotations

import numpy as np

from formulations.arrays import BoolArray, FloatArray, IntArray
from formulations.kernels.compiled import kernel


def count_subtrees(parent: IntArray) -> float:
    """Return the number of rooted subtrees of a tree with splits below ``parent`` (splits,).

    Splits come after those above them; −1 at the root's. A float, since it can be large.
    """
    counts = np.ones(len(parent) + 1)
    with np.errstate(over="ignore"):  # inf says it too
        for s in range(len(parent) - 1, -1, -1):
            counts[parent[s]] *= 1.0 + counts[s]  # the last entry belongs to −1, the tree
    return float(counts[-1])


def subtrees_within(
    parent: IntArray, gradient: FloatArray, excess: float, most: int
) -> BoolArray | None:
    """Return all subtrees whose linear value is at most ``excess`` above the least one.

    Parameters
    ----------
    parent
        (splits,) the split above each, −1 at the root's; splits come after those above them.
    gradient
        (splits,) what each split adds to the linear value.
    excess
        At least 0; inf for all subtrees.
    most
        How many there may be.

    Returns
    -------
    ndarray or None
        (c, splits) which splits each makes, the smallest subtree first; None where there are
        more than ``most``.
    """
    found = np.zeros((1, len(parent)), dtype=np.bool_)
    while True:
        count = list_subtrees(parent, gradient, excess, found)
        if count <= len(found):
            return found[:count]
        if len(found) >= most:
            return None
        found = np.zeros((min(16 * len(found), most), len(parent)), dtype=np.bool_)


@kernel
def list_subtrees(parent: IntArray, gradient: FloatArray, excess: float, found: BoolArray) -> int:
    """Write subtrees to ``found`` as `subtrees_within` has them; return how many there are.

    Counting ends one above the room in ``found``. The splits are decided in order. A split
    may be made where the one above is; the least value below it is known, so a branch is left
    when even the best way to go on exceeds what is allowed.
    """
    splits = parent.shape[0]
    least = gradient.copy()  # of making the split, with the best below
    for s in range(splits - 1, -1, -1):
        if parent[s] >= 0 and least[s] < 0.0:
            least[parent[s]] += least[s]
    made = np.zeros(splits, dtype=np.bool_)
    tried = np.zeros(splits, dtype=np.int8)
    spent = np.zeros(splits + 1)
    count = 0
    s = 0
    while s >= 0:
        if s == splits:
            if count < found.shape[0]:
                found[count] = made
            count += 1
            if count > found.shape[0]:
                return count
            s -= 1
            continue
        tried[s] += 1
        if tried[s] == 3:
            tried[s] = 0
            made[s] = False
            s -= 1
            continue
        possible = parent[s] < 0 or made[parent[s]]
        making = tried[s] == 2
        if making and not possible:
            continue
        made[s] = making
        step = 0.0
        if possible:
            step = least[s] - min(least[s], 0.0) if making else -min(least[s], 0.0)
        spent[s + 1] = spent[s] + step
        if spent[s + 1] <= excess:
            s += 1
    return count
