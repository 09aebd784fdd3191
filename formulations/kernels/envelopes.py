"""What the best subtree of a tree is worth at every coefficient: envelopes of parabolas.

For a coefficient β, a subtree T of tree i with ends v changes the objective by

    p_T(β) = Σ_v ( β² a_v² N_v − 2 β a_v S_v ) / m + cost(T)
           = q_T β² − 2 g_T β + c_T

beside the ridge. As for a fixed β, the least over all T comes from the leaves up,

    F_v(β) = min( p_v(β),  Σ over children u of F_u(β) + cost(u) ),

but here F_v is a function: the lower envelope of parabolas, held by its pieces. So the root's
envelope has, for every β, g, q and c of the best subtree; and the least of F(β) + λ β² / m over
β is the least of c − g² / (q + λ / m) over its pieces.

With a rule whose squares are 0 the pieces are lines. Then a split that is worth making at some
β > 0 is at every larger one, since h = Σ F_u + cost(u) − p_v is concave with h(0) ≥ 0: on either
side of 0 the subtrees are nested, as in CART's sequence, and there are at most as many as splits.
With the squares this fails. The number of pieces then has no such bound; of boosted trees with
60 splits it was 11 on average and at most about 100.
"""

from __future__ import annotations

import numpy as np

from formulations.arrays import FloatArray
from formulations.kernels.compiled import kernel
from formulations.kernels.subtrees import SubtreeRule
from formulations.kernels.trees import Trees

# Columns of an array of pieces: where a piece begins, and its parabola q β² − 2 g β + c.
BEGIN, G, Q, C = 0, 1, 2, 3


@kernel
def add_pieces(
    one: FloatArray,
    ones: int,
    other: FloatArray,
    begin: int,
    others: int,
    cost: float,
    total: FloatArray,
) -> int:
    """Write the sum of two envelopes and a cost to ``total``; return its number of pieces.

    The first are the ``ones`` pieces at the start of ``one``, the second the ``others`` pieces
    of ``other`` from ``begin`` on.
    """
    a, b, count = 0, begin, 0
    here = -np.inf
    while True:
        total[count, BEGIN] = here
        total[count, G] = one[a, G] + other[b, G]
        total[count, Q] = one[a, Q] + other[b, Q]
        total[count, C] = one[a, C] + other[b, C] + cost
        count += 1
        after = one[a + 1, BEGIN] if a + 1 < ones else np.inf
        beyond = other[b + 1, BEGIN] if b + 1 < begin + others else np.inf
        here = min(after, beyond)
        if here == np.inf:
            return count
        a += after == here
        b += beyond == here


@kernel
def least_pieces(
    pieces: FloatArray,
    size: int,
    g: float,
    q: float,
    price: float,
    least: FloatArray,
    begin: int,
) -> int:
    """Write the lower of an envelope and q β² − 2 g β to ``least`` from ``begin`` on.

    The envelope has ``size`` pieces; its constants are multiplied by ``price``. Ties: the
    parabola. Returns where the pieces end.
    """
    count = begin
    cut = False  # whether the last piece written is the parabola
    for k in range(size):
        left = pieces[k, BEGIN]
        right = pieces[k + 1, BEGIN] if k + 1 < size else np.inf
        # The difference a β² − 2 b β + c changes its sign at two points, one, or none.
        a, b, c = pieces[k, Q] - q, pieces[k, G] - g, price * pieces[k, C]
        first, second = np.inf, np.inf
        square = b * b - a * c
        if square > 0.0:
            root = b + np.sqrt(square) if b >= 0.0 else b - np.sqrt(square)
            first, second = c / root, (root / a if a != 0.0 else np.inf)
            first, second = min(first, second), max(first, second)
        above = False  # whether the last piece written is this one
        for turn in range(3):
            end = right
            if turn < 2:
                end = min(first if turn == 0 else second, right)
            if not end > left:
                continue
            middle = 0.5 * (left + end)
            if left == -np.inf:
                middle = end - abs(end) - 1.0 if end < np.inf else 0.0
            elif end == np.inf:
                middle = left + abs(left) + 1.0
            if (a * middle - 2.0 * b) * middle + c < 0.0:
                if not above:
                    least[count, BEGIN] = left
                    least[count, G], least[count, Q] = pieces[k, G], pieces[k, Q]
                    least[count, C] = pieces[k, C]
                    count += 1
                above, cut = True, False
            else:
                if not cut:
                    least[count, BEGIN] = left
                    least[count, G], least[count, Q], least[count, C] = g, q, 0.0
                    count += 1
                above, cut = False, True
            left = end
    return count


@kernel
def with_room(pieces: FloatArray, used: int, more: int) -> FloatArray:
    """Return an array of pieces that has room for some more than are used."""
    if used + more <= pieces.shape[0]:
        return pieces
    longer = np.empty((2 * pieces.shape[0] + more, 4))
    longer[:used] = pieces[:used]
    return longer


@kernel
def root_pieces(
    rule: SubtreeRule, trees: Trees, i: int, slope: FloatArray, price: float
) -> FloatArray:
    """Return the pieces (p, 4) of tree i's envelope over β, in the order of β.

    ``slope`` (nodes,) is −2 a_v S_v / m; the squares are those of the rule. Costs count
    ``price`` times in the comparisons, and once in the pieces.
    """
    begin, nodes = trees.node_start[i], slope.shape[0]
    child = rule.child[begin : begin + nodes]
    parent = trees.parent[begin : begin + nodes]
    cost = rule.cost[begin : begin + nodes]
    nothing = np.zeros((1, 4))
    nothing[0, BEGIN] = -np.inf
    below = np.empty((nodes + 1, 4))
    total = np.empty((nodes + 1, 4))
    held = np.empty((4 * nodes + 4, 4))
    place = np.empty(nodes + 1, dtype=np.int64)  # in ``held``, from the last node to the first
    place[nodes] = 0
    for node in range(nodes - 1, -1, -1):
        g = -0.5 * slope[node]
        q = rule.square[begin + node] / trees.total_weight
        start = place[node + 1]
        here = child[node]
        if here < 0:
            held = with_room(held, start, 1)
            held[start, BEGIN], held[start, G] = -np.inf, g
            held[start, Q], held[start, C] = q, 0.0
            place[node] = start + 1
            continue
        size = 0
        while here < nodes and parent[here] == node:
            first, own = place[here + 1], place[here] - place[here + 1]
            total = with_room(total, 0, size + own)
            if size == 0:
                size = add_pieces(nothing, 1, held, first, own, cost[here], total)
            else:
                size = add_pieces(below, size, held, first, own, cost[here], total)
            below, total = total, below
            here += 1
        held = with_room(held, start, 3 * size)
        place[node] = least_pieces(below, size, g, q, price, held, start)
    return held[place[1] : place[0]].copy()
