"""Fit an instance's ensemble and build what the problems need, once for all its cells."""

from __future__ import annotations

import pickle
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor

from forestprune import TreeEnsemble, read_ensemble
from studies import datasets
from studies.running.child import Save
from studies.running.held_out import HeldOut, Part
from studies.running.machine import now, peak_megabytes
from studies.running.prepared import Prepared
from studies.spec import Instance

LEARNING_RATE = 0.1


def prepare(request: dict[str, Any], save: Save) -> None:
    """Write an instance's pruning data to a file, and what is held out; save times and errors.

    Parameters
    ----------
    request
        ``instance``: the instance as plain values; ``path``: the file to write.
    save
        Takes the outcome.
    """
    instance = Instance(**request["instance"])
    parts = rows_of(instance)
    model = new_model(instance.ensemble, instance.trees, instance.depth, instance.seed)
    found, seconds = Prepared.fitted(model, parts, partial(repeated, copies=instance.copies))
    data = found.data
    with Path(request["path"]).open("wb") as file:
        pickle.dump(data, file, pickle.HIGHEST_PROTOCOL)
    full: dict[str, float] = {}
    held_out = HeldOut(
        found.ensemble, {name: part for name, part in parts.items() if name != "train"}
    )
    if held_out.parts:
        held_out.write(Path(request["path"]))
        full = held_out.errors(found.ensemble)
    save(
        {
            "status": "ok",
            **seconds,
            "fit_threads": getattr(model, "n_jobs", None) or 1,
            "nodes": int(data.node_start[-1]),
            "trees": data.n_trees,
            "mean_depth": float(data.depths.mean()),
            "full": full,
            "peak_mb": peak_megabytes(),
            "finished": now(),
        }
    )


def repeated(model: Any, copies: int) -> TreeEnsemble:
    """Return a fitted ensemble in which each tree occurs so often, with the same predictions."""
    ensemble = read_ensemble(model)
    return replace(
        ensemble,
        trees=ensemble.trees * copies,
        scale=np.tile(ensemble.scale / copies, copies),
    )


def rows_of(instance: Instance) -> dict[str, Part]:
    """Return the instance's rows (m, features) and responses (m,) by the names of the parts.

    The response has mean 0 and variance 1 on the training rows, as in the ForestPrune paper;
    one that is constant is only centred. Other rows are no part of that: their response is
    shifted and scaled by what the training rows say.

    Returns
    -------
    dict
        ``train``, and ``validation`` and ``test`` where rows are held out.
    """
    parts, _ = parts_of(instance)
    train = parts["train"][1]
    mean, deviation = float(train.mean()), float(train.std())
    return {
        name: (X, (y - mean) / (deviation if deviation > 0.0 else 1.0))
        for name, (X, y) in parts.items()
    }


def parts_of(instance: Instance) -> tuple[dict[str, Part], list[str]]:
    """Return what `rows_of` does, but with the response as it is, and the features' names."""
    data = datasets.load(instance.data, target=instance.target, data_dir=instance.data_dir)
    sizes = {"train": instance.rows, "validation": instance.held_out, "test": instance.held_out}
    order = np.random.default_rng(instance.seed).permutation(len(data.y))
    places = np.split(order, np.cumsum(list(sizes.values())))
    X, y = np.asarray(data.X), np.asarray(data.y, dtype=np.float64)
    parts = {
        name: (X[place], y[place]) for name, place in zip(sizes, places, strict=False) if len(place)
    }
    return parts, [str(column) for column in data.X.columns]


def new_model(
    ensemble: str, trees: int, depth: int | None, seed: int
) -> RandomForestRegressor | GradientBoostingRegressor:
    """Return an unfitted ensemble; forests are fitted on all cores that this process may use."""
    if ensemble == "forest":
        return RandomForestRegressor(
            trees, max_depth=depth, random_state=seed, n_jobs=joblib.cpu_count()
        )
    return GradientBoostingRegressor(
        n_estimators=trees, max_depth=depth, learning_rate=LEARNING_RATE, random_state=seed
    )
