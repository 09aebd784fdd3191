"""Sizes and errors of models, as plain values."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from forestprune import PrunedEnsemble, TreeEnsemble
from studies.running.child import Outcome
from studies.running.machine import now, peak_megabytes
from studies.running.prepared import Prepared

Point = dict[str, Any]


def point_of(found: Prepared, model: PrunedEnsemble | TreeEnsemble) -> Point:
    """Return nodes, trees, their mean depth, and mean squared errors on held-out rows."""
    ensemble = model.model if isinstance(model, PrunedEnsemble) else model
    depths = [tree.depth for tree in ensemble.trees if tree.depth > 0]
    return {
        "nodes": model.n_nodes,
        "trees": len(depths),
        "mean_depth": float(np.mean(depths)) if depths else 0.0,
        "validation": error(found, model, "validation"),
        "test": error(found, model, "test"),
    }


def point_without_trees(found: Prepared) -> Point:
    """Return the point of the model that is left where nothing fits a size."""
    return point_of(found, replace(found.ensemble, trees=(), scale=np.zeros(0)))


def error(found: Prepared, model: PrunedEnsemble | TreeEnsemble, part: str) -> float:
    """Return the mean squared error on a part.

    Raises
    ------
    ValueError
        When it is not finite.
    """
    mse = found.mse(model, part)
    if not math.isfinite(mse):
        raise ValueError(f"the error on the {part} rows is {mse}")
    return mse


def outcome_of(measured: dict[str, Any], left: Sequence[str]) -> Outcome:
    """Return what is measured so far as the outcome of a cell.

    Should the process be killed now, it is the last that is known: a failure, which the next
    run measures again, as long as methods are left.
    """
    ending = {"status": "ok"}
    if left:
        ending = {"status": "failed", "reason": f"the process ended before {left[0]} was measured"}
    return {**ending, **measured, "peak_mb": peak_megabytes(), "finished": now()}


def attempt(work: Callable[[], Point]) -> Point:
    """Return what work returns with its ``seconds``, or why it failed as ``reason``.

    One method that fails is no reason to lose the others. That nothing fits a size is a point
    without trees, so warnings of it are not needed.
    """
    begin = perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            point = work()
    except Exception as failure:
        return {"reason": " ".join(f"{type(failure).__name__}: {failure}".split())}
    return {**point, "seconds": perf_counter() - begin}
