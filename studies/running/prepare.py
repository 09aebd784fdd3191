"""Fit an instance's ensemble and build what the problems need, once for all its cells."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor

from forestprune import pruning_data
from studies import datasets
from studies.running.child import Save
from studies.running.machine import now, peak_megabytes
from studies.spec import Instance

LEARNING_RATE = 0.1


def prepare(request: dict[str, Any], save: Save) -> None:
    """Write an instance's pruning data to a file; save the times it took.

    Parameters
    ----------
    request
        ``instance``: the instance as plain values; ``path``: the file to write.
    save
        Takes the outcome.
    """
    instance = Instance(**request["instance"])
    X, y = training_rows(instance)
    model = new_model(instance.ensemble, instance.trees, instance.depth, instance.seed)
    begin = perf_counter()
    model.fit(X, y)
    fitted = perf_counter()
    data = pruning_data(model, X, y)
    built = perf_counter()
    with Path(request["path"]).open("wb") as file:
        pickle.dump(data, file, pickle.HIGHEST_PROTOCOL)
    save(
        {
            "status": "ok",
            "fit_seconds": fitted - begin,
            "fit_threads": getattr(model, "n_jobs", None) or 1,
            "build_seconds": built - fitted,
            "nodes": int(data.node_start[-1]),
            "peak_mb": peak_megabytes(),
            "finished": now(),
        }
    )


def training_rows(
    instance: Instance,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the instance's rows (m, features) and standardised response (m,).

    The response has mean 0 and variance 1 on these rows, as in the ForestPrune paper; one
    that is constant is only centred.
    """
    data = datasets.load(instance.data, target=instance.target, data_dir=instance.data_dir)
    order = np.random.default_rng(instance.seed).permutation(len(data.y))[: instance.rows]
    y = np.asarray(data.y, dtype=np.float64)[order]
    deviation = float(y.std())
    return np.asarray(data.X)[order], (y - y.mean()) / (deviation if deviation > 0.0 else 1.0)


def new_model(
    ensemble: str, trees: int, depth: int | None, seed: int
) -> RandomForestRegressor | GradientBoostingRegressor:
    """Return an unfitted ensemble; forests are fitted on all cores."""
    if ensemble == "forest":
        return RandomForestRegressor(
            trees, max_depth=depth, random_state=seed, n_jobs=os.cpu_count()
        )
    return GradientBoostingRegressor(
        n_estimators=trees, max_depth=depth, learning_rate=LEARNING_RATE, random_state=seed
    )
