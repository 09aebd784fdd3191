"""BuildSubTree and UpdateSubTree: the trees follow what is remembered, level by level."""

from __future__ import annotations

import numpy as np

from forestprune.forgetful.kernels.draws import mix
from forestprune.forgetful.kernels.layout import (
    CALLS,
    CHANGED_HIGH,
    CHANGED_LOW,
    CLASSES,
    FRESH,
    GONE,
    HEIGHT,
    HELD,
    HIGH,
    LOW,
    MARKED,
    MIN_DECREASE,
    MIN_LEAF,
    MIN_SPLIT,
    NODE,
    SEED,
    STALE,
    TAKEN_OVER,
    Batch,
    Room,
    Rules,
    Trees,
)
from forestprune.forgetful.kernels.memory import SPLITTING, forget, min_g_inc, settle
from forestprune.forgetful.kernels.nodes import build_subtree, make_leaf
from forestprune.forgetful.kernels.partition import (
    divide_changes,
    hand_down,
    separates_alike,
)
from forestprune.forgetful.kernels.scores import gain_of, min_g, worth_splitting
from forestprune.forgetful.kernels.two_classes import ONES_SHIFT, WEIGHT_MASK
from formulations.arrays import IntArray
from formulations.kernels.compiled import view_kernel


@view_kernel
def summarise(node: int, rows: IntArray, tree: Trees, rules: Rules) -> bool:
    """Write value and total of a node; return whether a split could gain anything.

    Sums run in the order of the given rows: for a child the order by the feature that its
    parent splits on, for the root the order by the first feature that the tree may use.
    """
    value, weight = tree.value[node], tree.weight
    value[:] = 0.0
    total = 0.0
    if rules.whole[CLASSES] == 0:
        y = tree.target
        lowest, highest = np.inf, -np.inf
        for slot in rows:
            total += weight[slot]
            value[0] += weight[slot] * y[slot]
            lowest, highest = min(lowest, y[slot]), max(highest, y[slot])
        if total > 0.0:
            value[0] /= total
        mixed = lowest < highest
    else:
        label = tree.label
        for slot in rows:
            total += weight[slot]
            value[label[slot]] += weight[slot]
        mixed = True
        for c in range(value.shape[0]):
            mixed = mixed and value[c] < total
    tree.total[node] = total
    return mixed and total >= max(rules.whole[MIN_SPLIT], 2 * rules.whole[MIN_LEAF])


@view_kernel
def share_tally(node: int, child: int, side: int, tally: int, tree: Trees, rules: Rules) -> bool:
    """Do the same for two classes, from the tally of the rows that go left."""
    value, last = tree.value[child], tree.value.shape[1] - 1
    total, ones = np.float64(tally & WEIGHT_MASK), np.float64(tally >> ONES_SHIFT)
    if side == 1:
        total = tree.total[node] - total
        ones = tree.value[node, last] - ones
    value[0] = total - ones
    value[last] = ones
    tree.total[child] = total
    least = max(rules.whole[MIN_SPLIT], 2 * rules.whole[MIN_LEAF])
    return bool(0.0 < ones < total and total >= least)


@view_kernel
def put(
    queue: IntArray,
    at: int,
    node: int,
    low: int,
    high: int,
    changed_low: int,
    changed_high: int,
    taken_over: bool,
) -> None:
    """Write one node into the queue of a level."""
    queue[NODE, at] = node
    queue[LOW, at], queue[HIGH, at] = low, high
    queue[CHANGED_LOW, at], queue[CHANGED_HIGH, at] = changed_low, changed_high
    queue[TAKEN_OVER, at] = taken_over


@view_kernel
def update_subtree(n_changed: int, height: int, tree: Trees, rules: Rules, room: Room) -> None:
    """Bring the tree up to date with its rows, from the root down.

    A node is looked at where rows came or went. While its best split separates the rows as it
    did, its children are taken over; else they are built anew from the rows they have.
    """
    state = tree.state
    first = 0
    while not tree.usable[first]:
        first += 1
    held = state[HELD]
    # Limits that hang on the whole tree may have moved where no row changed.
    look_everywhere = height != state[HEIGHT] or rules.real[MIN_DECREASE] > 0.0
    splittable = summarise(0, room.order[0, first, :held], tree, rules)
    if not splittable or height <= 0:
        make_leaf(0, tree)
    else:
        put(room.queue[0], 0, 0, 0, held, 0, n_changed, state[STALE] == 0)
        room.key[0, 0] = mix(np.uint64(state[SEED]), np.uint64(SPLITTING))
        n = 1
        for depth in range(1, height + 1):
            n = update_level(depth % 2, n, depth == height, look_everywhere, tree, rules, room)
            if n == 0:
                break
    state[HEIGHT], state[STALE] = height, 0


@view_kernel
def update_level(
    then: int,
    n: int,
    last: bool,
    look_everywhere: bool,
    tree: Trees,
    rules: Rules,
    room: Room,
) -> int:
    """Update n nodes of one level; return how many of their children are to be looked at."""
    now = 1 - then
    feature, threshold = tree.feature, tree.threshold
    order, changed, queue, key = (
        room.order[now],
        room.changed[now],
        room.queue[now],
        room.key[now],
    )
    next_changed, next_queue = room.changed[then], room.queue[then]
    root_total = tree.total[0]
    n_next = end = 0
    for i in range(n):
        node, low, high = queue[NODE, i], queue[LOW, i], queue[HIGH, i]
        value, total = tree.value[node], tree.total[node]
        score, f, count, tally = min_g(order, low, high, value, total, key[i], tree, rules, room)
        rows = order[max(0, f), low:high]
        if score < 0.0 or not worth_splitting(
            gain_of(score, value, total, rules), value, total, root_total, rows, tree, rules
        ):
            make_leaf(node, tree)
            continue
        x = tree.X[f]
        middle = low + count
        below, above = x[rows[count - 1]], x[rows[count]]
        cut = 0.5 * below + 0.5 * above
        if not cut < above:
            cut = below
        begin = parting = end
        same = (
            queue[TAKEN_OVER, i] != 0
            and feature[node] == f
            and separates_alike(rows, count, x, threshold[node], cut, room.flag[FRESH])
        )
        if same:
            parting, end = divide_changes(
                changed[queue[CHANGED_LOW, i] : queue[CHANGED_HIGH, i]],
                x,
                threshold[node],
                cut,
                next_changed,
                end,
            )
        else:
            build_subtree(node, tree)
        feature[node], threshold[node] = f, cut
        left = tree.left[node]
        children = 0
        for side in range(2):
            child = left + side
            from_, to = (begin, parting) if side == 0 else (parting, end)
            if same and from_ == to and not look_everywhere:
                continue
            child_low, child_high = (low, middle) if side == 0 else (middle, high)
            if tree.coded.shape[0] > 0:
                splittable = share_tally(node, child, side, tally, tree, rules)
            else:
                splittable = summarise(child, order[f, child_low:child_high], tree, rules)
            if not splittable or last:
                make_leaf(child, tree)
                continue
            children += 1 + side
            if children == 2:
                child_low, child_high = low, low + high - middle
            put(next_queue, n_next, child, child_low, child_high, from_, to, same)
            room.key[then, n_next] = mix(key[i], np.uint64(1 + side))
            n_next += 1
        if children > 0:
            hand_down(
                f,
                low,
                count,
                high,
                children,
                order,
                tree.usable,
                room.flag[MARKED],
                room.order[then],
            )
    return n_next


@view_kernel
def update_tree(
    t: int,
    batch: Batch,
    r_size: int,
    height: int,
    tree: Trees,
    rules: Rules,
    room: Room,
) -> None:
    """Forget, merge, and bring tree t up to date."""
    gone = room.flag[GONE]
    b = batch.X.shape[0]
    new = b
    if batch.weight.shape[0] > 0:
        new = 0
        for i in range(b):
            new += batch.weight[t, i] > 0
    before = tree.state[HELD]
    forget(new, r_size, tree, rules, gone)
    n_changed = settle(t, batch, tree, room)
    min_g_inc(before, batch, tree, room)
    for j in range(n_changed):
        gone[room.changed[0, j] >> 1] = 0
    update_subtree(n_changed, height, tree, rules, room)
    for i in range(b):
        if room.place[i] >= 0:
            room.flag[FRESH, room.place[i]] = 0
    tree.state[CALLS] += 1
