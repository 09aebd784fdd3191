"""Exact search for best subsets whose coefficients are all 1."""

from __future__ import annotations

import heapq
from time import perf_counter

import numpy as np

from forestprune.competitors._search.subsets import Found, Products
from formulations.arrays import BoolArray, FloatArray
from formulations.kernels.compiled import kernel
from solvers import Termination

# Steps of the search for the price of a limit, and sweeps at each price.
_PRICES = 40
_SWEEPS = 200


def best_fixed(problem: Products, time_limit: float, gap: float = 1e-6) -> Found:
    """Return the subset of least loss, all coefficients 1, or what is known in time.

    Branch and bound on the columns. At a node with some columns in and some out the bound is
    the Lagrangian one: a price is paid for what a limit is exceeded by, the columns may be in
    by parts, and the optimum of that is bounded from below by its linearisation.

    Parameters
    ----------
    problem
        What is searched.
    time_limit
        Seconds.
    gap
        Relative gap at which the search may end.
    """
    ends = perf_counter() + time_limit
    best = _exchanged(problem, np.zeros(problem.count, dtype=np.bool_))
    loss = _loss(problem, best)
    bound, inside = _bounded(problem, np.zeros(problem.count), np.ones(problem.count))
    queue = [(bound, 0, np.zeros(problem.count), np.ones(problem.count), inside)]
    made = 0
    termination = Termination.EXHAUSTED
    bound = np.inf
    while queue:
        bound, _, low, high, inside = heapq.heappop(queue)
        if bound >= problem.enough(loss, gap):
            break
        if perf_counter() > ends:
            termination = Termination.TIME_LIMIT
            break
        rounded = _exchanged(problem, _rounded(problem, low, inside))
        value = _loss(problem, rounded)
        if value < loss:
            best, loss = rounded, value
        open_columns = np.flatnonzero(low < high)
        if len(open_columns) == 0:
            continue
        split = open_columns[np.abs(inside[open_columns] - 0.5).argmin()]
        for value in (0.0, 1.0):
            below, above = low.copy(), high.copy()
            below[split] = above[split] = value
            chosen = below > 0.0
            if not problem.fits(chosen):
                continue
            left = problem.most_cost - float(problem.cost[chosen].sum())
            full = chosen.sum() >= problem.most
            above[~chosen & ((problem.cost > left) | full)] = 0.0
            lower, part = _bounded(problem, below, above)
            if lower < problem.enough(loss, gap):
                made += 1
                heapq.heappush(queue, (lower, made, below, above, part))
    bound = min(max(bound, 0.0), loss)
    if termination is Termination.EXHAUSTED:
        bound = problem.enough(loss, gap)
    return Found(np.flatnonzero(best), best.astype(np.float64), loss, bound, termination)


def _loss(problem: Products, chosen: BoolArray) -> float:
    z = chosen.astype(np.float64)
    return float(problem.square - 2.0 * problem.slopes @ z + z @ problem.gram @ z)


def _rounded(problem: Products, low: FloatArray, inside: FloatArray) -> BoolArray:
    """Return the columns of the largest parts that fit, those that must be in before them."""
    chosen = low > 0.0
    spent, used = float(problem.cost[chosen].sum()), int(chosen.sum())
    for column in np.argsort(-inside):
        if inside[column] <= 0.5 or used >= problem.most:
            break
        if not chosen[column] and spent + problem.cost[column] <= problem.most_cost:
            chosen[column] = True
            spent += float(problem.cost[column])
            used += 1
    return chosen


def _exchanged(problem: Products, start: BoolArray) -> BoolArray:
    """Return what the best additions, removals and exchanges lead to."""
    chosen = start.copy()
    gram, square = problem.gram, problem.gram.diagonal()
    slope = problem.slopes - gram @ chosen
    while True:
        room = problem.most_cost - float(problem.cost[chosen].sum())
        inner, outer = np.flatnonzero(chosen), np.flatnonzero(~chosen)
        # By how much the loss changes when a column comes, and when one goes.
        come = square[outer] - 2.0 * slope[outer]
        go = square[inner] + 2.0 * slope[inner]
        both = go[:, None] + come - 2.0 * gram[np.ix_(inner, outer)]
        both[problem.cost[outer] > room + problem.cost[inner][:, None]] = np.inf
        come = np.where((problem.cost[outer] > room) | (len(inner) >= problem.most), np.inf, come)
        least = [float(change.min(initial=np.inf)) for change in (come, go, both)]
        kind = int(np.argmin(least))
        if least[kind] >= -problem.tolerance:
            return chosen
        if kind != 1:
            into = outer[int(come.argmin() if kind == 0 else both.argmin() % len(outer))]
            chosen[into] = True
            slope = slope - gram[into]
        if kind != 0:
            out = inner[int(go.argmin() if kind == 1 else both.argmin() // len(outer))]
            chosen[out] = False
            slope = slope + gram[out]


def _bounded(problem: Products, low: FloatArray, high: FloatArray) -> tuple[float, FloatArray]:
    """Return a bound of the loss of subsets between two, and a relaxed point."""
    limits = [(problem.cost, problem.most_cost), (np.ones(problem.count), problem.most)]
    best, point = -np.inf, 0.5 * (low + high)
    for cost, limit in limits:
        if np.isfinite(limit) or (limit == np.inf and best == -np.inf):
            given = (problem.gram, problem.slopes, low, high, np.asarray(cost, dtype=np.float64))
            bound, inside = _priced(*given, float(min(limit, cost.sum())))
            if bound > best:
                best, point = bound, inside
    return problem.square + best, point


@kernel
def _priced(
    gram: FloatArray,
    slope: FloatArray,
    low: FloatArray,
    high: FloatArray,
    cost: FloatArray,
    limit: float,
) -> tuple[float, FloatArray]:
    """Return a bound of zᵀGz − 2 slopeᵀz with costᵀz ≤ limit, and the z of the best price."""
    count = slope.shape[0]
    z = high.copy()
    gradient = gram @ z - slope  # half of it
    best, point = -np.inf, z.copy()
    least, most, price = 0.0, -1.0, 0.0
    for _ in range(_PRICES):
        for _sweep in range(_SWEEPS):
            change = 0.0
            for i in range(count):
                if low[i] == high[i]:
                    continue
                step = -(gradient[i] + 0.5 * price * cost[i]) / gram[i, i]
                step = min(max(z[i] + step, low[i]), high[i]) - z[i]
                if step != 0.0:
                    z[i] += step
                    for j in range(count):
                        gradient[j] += step * gram[j, i]
                    change = max(change, gram[i, i] * step * step)
            if change <= 1e-9 * max(-best, 1e-300):
                break
        spent, value = 0.0, -price * limit
        for i in range(count):
            # zᵀGz − 2 slopeᵀz = zᵀ(gradient − slope); the linear minimum is at an end.
            value += z[i] * (gradient[i] - slope[i])
            value -= 2.0 * gradient[i] * z[i]
            total = 2.0 * gradient[i] + price * cost[i]
            value += total * (low[i] if total > 0.0 else high[i])
            spent += cost[i] * z[i]
        if value > best:
            best = value
            point[:] = z
        if spent <= limit:
            if price == 0.0:
                break
            most = price
        else:
            least = price
        if most < 0.0:
            scale = 0.0
            for i in range(count):
                scale = max(scale, abs(slope[i]) / cost[i])
            price = 1e-3 * scale if price == 0.0 else 4.0 * price
        else:
            price = 0.5 * (least + most)
        if most > 0.0 and most - least <= 1e-6 * most:
            break
    return best, point
