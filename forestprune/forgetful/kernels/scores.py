"""minG: the best boundary between the rows of a node, whatever the criterion."""

from __future__ import annotations

import math

import numpy as np

from forestprune.forgetful.kernels.draws import below
from forestprune.forgetful.kernels.layout import (
    CLASSES,
    CRITERION,
    ENTROPY,
    MAX_FEATURES,
    MIN_DECREASE,
    MIN_LEAF,
    MIN_STATISTIC,
    SQUARED_ERROR,
    Room,
    Rules,
    Trees,
)
from forestprune.forgetful.kernels.two_classes import scan_two_classes
from formulations.arrays import FloatArray, IntArray
from formulations.kernels.compiled import view_kernel

# One unit of the table of n log₂ n.
ENTROPY_UNIT = 2.0**-28
LOG_2 = math.log(2.0)


@view_kernel
def worth_splitting(
    gain: float,
    value: FloatArray,
    total: float,
    root_total: float,
    rows: IntArray,
    tree: Trees,
    rules: Rules,
) -> bool:
    """Decide whether the best split of a node is made: the one place for stopping rules.

    Parameters
    ----------
    gain
        Decrease of the impurity (Gini, entropy in bits, or squared error), summed over rows.
    value, total
        Class weights, or mean, and weight of the node.
    root_total
        Weight of the root.
    rows
        Rows of the node, sorted by the feature of the split.
    """
    if gain < rules.real[MIN_DECREASE] * root_total:
        return False
    least = rules.real[MIN_STATISTIC]
    if least <= 0.0:
        return True
    if rules.whole[CRITERION] == ENTROPY:
        return bool(2.0 * LOG_2 * gain >= least)
    if rules.whole[CRITERION] == SQUARED_ERROR:
        squares = 0.0
        for slot in rows:
            d = tree.target[slot] - value[0]
            squares += tree.weight[slot] * d * d
        return bool(gain * total >= least * squares)
    squares = 0.0
    for c in range(value.shape[0]):
        squares += value[c] * value[c]
    return bool(gain >= least * (1.0 - squares / (total * total)))


@view_kernel
def scan_deviations(
    rows: IntArray,
    x: FloatArray,
    y: FloatArray,
    weight: IntArray,
    mean: float,
    total: float,
    min_leaf: int,
) -> tuple[float, int]:
    """Return the largest d² / (n_left · n_right) and how many rows lie left of that boundary.

    d is the sum of weight · (y − mean) on the left, in the order of the rows. Where no boundary
    is allowed the first number is −1.
    """
    best, count = -1.0, 0
    d = left = 0.0
    for j in range(rows.shape[0] - 1):
        slot = rows[j]
        left += weight[slot]
        d += weight[slot] * (y[slot] - mean)
        right = total - left
        if x[slot] != x[rows[j + 1]] and left >= min_leaf and right >= min_leaf:
            score = d * d / (left * right)
            if score > best:
                best, count = score, j + 1
    return best, count


@view_kernel
def scan_gini(
    rows: IntArray,
    x: FloatArray,
    label: IntArray,
    weight: IntArray,
    value: FloatArray,
    total: float,
    min_leaf: int,
    on_left: FloatArray,
) -> tuple[float, int]:
    """Return the largest Σ l² / n_left + Σ r² / n_right, l and r the counts of the classes.

    The fraction has one division of whole numbers, so that equal scores are equal exactly.
    """
    best, count = -1.0, 0
    left = left_squares = right_squares = 0.0
    for c in range(value.shape[0]):
        on_left[c] = 0.0
        right_squares += value[c] * value[c]
    for j in range(rows.shape[0] - 1):
        slot = rows[j]
        c, w = label[slot], np.float64(weight[slot])
        left_squares += w * (2.0 * on_left[c] + w)
        right_squares -= w * (2.0 * (value[c] - on_left[c]) - w)
        on_left[c] += w
        left += w
        right = total - left
        if x[slot] != x[rows[j + 1]] and left >= min_leaf and right >= min_leaf:
            score = (left_squares * right + right_squares * left) / (left * right)
            if score > best:
                best, count = score, j + 1
    return best, count


@view_kernel
def scan_entropy(
    rows: IntArray,
    x: FloatArray,
    label: IntArray,
    weight: IntArray,
    value: FloatArray,
    total: float,
    min_leaf: int,
    on_left: FloatArray,
    table: IntArray,
) -> tuple[float, int]:
    """Do the same for Σ T(l) − T(n_left) + Σ T(r) − T(n_right) + T(n), T(n) = n log₂ n.

    T(n) makes it positive.
    """
    best, count = np.int64(-1), 0
    n = np.int64(total)
    left = left_sum = right_sum = np.int64(0)
    for c in range(value.shape[0]):
        on_left[c] = 0.0
        right_sum += table[np.int64(value[c])]
    for j in range(rows.shape[0] - 1):
        slot = rows[j]
        c, w = label[slot], np.int64(weight[slot])
        before = np.int64(on_left[c])
        after = np.int64(value[c]) - before
        left_sum += table[before + w] - table[before]
        right_sum += table[after - w] - table[after]
        on_left[c] = before + w
        left += w
        right = n - left
        if x[slot] != x[rows[j + 1]] and left >= min_leaf and right >= min_leaf:
            score = left_sum + right_sum - table[left] - table[right] + table[n]
            if score > best:
                best, count = score, j + 1
    return np.float64(best), count


@view_kernel
def scan_features(
    order: IntArray,
    low: int,
    high: int,
    features: IntArray,
    value: FloatArray,
    total: float,
    tree: Trees,
    rules: Rules,
    on_left: FloatArray,
) -> tuple[float, int, int]:
    """Find the best boundary by some features, which ascend; see `min_g`."""
    weight, label, min_leaf = tree.weight, tree.label, rules.whole[MIN_LEAF]
    best, feature, count = -1.0, -1, 0
    for f in features:
        rows, x = order[f, low:high], tree.X[f]
        if rules.whole[CRITERION] == SQUARED_ERROR:
            score, left = scan_deviations(rows, x, tree.target, weight, value[0], total, min_leaf)
        elif rules.whole[CRITERION] == ENTROPY:
            score, left = scan_entropy(
                rows, x, label, weight, value, total, min_leaf, on_left, rules.entropy
            )
        else:
            score, left = scan_gini(rows, x, label, weight, value, total, min_leaf, on_left)
        if score > best:
            best, feature, count = score, f, left
    return best, feature, count


@view_kernel
def gain_of(score: float, value: FloatArray, total: float, rules: Rules) -> float:
    """Return the decrease of impurity, summed over the rows, that a score means."""
    if rules.whole[CRITERION] == SQUARED_ERROR:
        return score * total
    if rules.whole[CRITERION] == ENTROPY:
        own = 0.0
        for c in range(value.shape[0]):
            own += rules.entropy[np.int64(value[c])]
        return (score - own) * ENTROPY_UNIT
    if rules.whole[CLASSES] == 2:
        return 2.0 * score / total
    own = 0.0
    for c in range(value.shape[0]):
        own += value[c] * value[c]
    return score - own / total


@view_kernel
def draw_features(features: IntArray, begin: int, end: int, key: np.uint64) -> None:
    """Exchange entries ``begin`` … ``end`` − 1 with entries drawn from those not used yet."""
    for j in range(begin, end):
        other = j + below(key, np.uint64(j), features.shape[0] - j)
        features[j], features[other] = features[other], features[j]
    for j in range(begin + 1, end):
        i = j
        while i > begin and features[i] < features[i - 1]:
            features[i], features[i - 1] = features[i - 1], features[i]
            i -= 1


@view_kernel
def min_g(
    order: IntArray,
    low: int,
    high: int,
    value: FloatArray,
    total: float,
    key: np.uint64,
    tree: Trees,
    rules: Rules,
    room: Room,
) -> tuple[float, int, int, int]:
    """Find the best split of the rows at ``low`` … ``high`` of the orders by each feature.

    Ties go to the first feature and its lowest threshold. With ``max_features`` so many are
    drawn for the node, and further ones while none of them has a boundary.

    Returns
    -------
    score, feature, rows, tally
        The score, −1 where no split is allowed, the number of rows that go left, and for two
        classes their tally.
    """
    n = 0
    for f in range(order.shape[0]):
        room.features[n] = f
        n += tree.usable[f]
    features = room.features[:n]
    wanted = rules.whole[MAX_FEATURES]
    score, feature, count, tally = -1.0, -1, 0, 0
    begin, end = 0, min(n, wanted)
    while feature < 0 and begin < end:
        if wanted < n:
            draw_features(features, begin, end, key)
        tried = features[begin:end]
        if tree.coded.shape[0] > 0:
            score, feature, count, tally = scan_two_classes(
                order,
                low,
                high,
                tree.X,
                tried,
                tree.coded,
                total,
                value[value.shape[0] - 1],
                np.float64(rules.whole[MIN_LEAF]),
                rules.entropy,
                room.prefix,
            )
        else:
            score, feature, count = scan_features(
                order, low, high, tried, value, total, tree, rules, room.sums
            )
        begin, end = end, min(n, end + 1)
    return score, feature, count, tally
