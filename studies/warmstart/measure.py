"""Follow a path of α in one way, in a process of its own."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from formulations import LayerPruning, PruningData
from solvers import Result, Termination, solve
from studies.running.child import Save
from studies.running.machine import now, peak_megabytes
from studies.warmstart.cell import STARTS, StartCell

# Paths that take longer are not followed again: what they vary is little beside what they take.
REPEATED_SECONDS = 20.0


def measure(request: dict[str, Any], save: Save) -> None:
    """Follow the path up to ``repeats`` times more than once; save after each time.

    Parameters
    ----------
    request
        ``cell``: the cell as plain values; ``path``: the file with the pruning data.
    save
        Takes the outcome so far.
    """
    cell = StartCell.from_dict(request["cell"])
    with Path(request["path"]).open("rb") as file:
        data: PruningData = pickle.load(file)
    seconds: list[float] = []
    while True:
        # Data without caches, so that every path's time has the same parts.
        points, whole = follow(replace(data), cell)
        seconds.append(sum(point["seconds"] for point in points))
        save(
            {
                "status": "ok" if whole else "over_limit",
                "path": points,
                "seconds": median(seconds),
                "followed": len(seconds),
                "peak_mb": peak_megabytes(),
                "finished": now(),
            }
        )
        if not whole or len(seconds) > cell.repeats or sum(seconds) > REPEATED_SECONDS:
            return


def follow(data: PruningData, cell: StartCell) -> tuple[list[dict[str, Any]], bool]:
    """Return a point for each α, the largest first, and whether the limit was kept.

    No solution is taken from another α of the path, as `solve_path` would: every point is what
    its own start led to.
    """
    start = STARTS[cell.start]
    top = LayerPruning(replace(data), 1.0).alpha_max_certified()
    alphas = np.geomspace(top, cell.span * top, cell.values) if top > 0.0 else np.zeros(1)
    problem = LayerPruning(data, float(alphas[0]))
    points: list[dict[str, Any]] = []
    before: Result | None = None
    left = cell.time_limit
    for alpha in alphas:
        result = solve(
            problem.with_alpha(float(alpha)),
            start.solver,
            warm_start=before if start.warm else None,
            time_limit=max(left, 0.0),
            threads=cell.threads,
            seed=cell.instance.seed,
        )
        left -= result.build_seconds + result.solve_seconds
        if result.choice is None or result.termination is Termination.TIME_LIMIT or left <= 0.0:
            return points, False
        points.append(_point(problem, float(alpha), result))
        before = result
    return points, True


def _point(problem: LayerPruning, alpha: float, result: Result) -> dict[str, Any]:
    assert result.choice is not None
    variance = problem.data.y_variance
    return {
        "alpha": alpha / variance if variance > 0.0 else alpha,
        "objective": result.objective,
        "bound": result.bound if math.isfinite(result.bound) else None,
        "sweeps": result.extra.get("sweeps"),
        "guarantee": str(result.guarantee),
        "trees": problem.kept_trees(result.choice),
        "nodes": problem.kept_nodes(result.choice),
        "seconds": result.build_seconds + result.solve_seconds,
    }
