"""Prune a forest to a few readable trees, in a process of its own."""

from __future__ import annotations

import math
import pickle
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from forestprune import PrunedEnsemble
from formulations import LayerPruning, Polishing
from solvers import Termination, solve, solve_path
from studies.case.cell import CaseCell
from studies.case.prepare import Prepared
from studies.case.rivals import Model, single_trees
from studies.running.child import Save
from studies.running.machine import now, peak_megabytes

SOLVER = "cbcd"


def measure(request: dict[str, Any], save: Save) -> None:
    """Choose α and the trees on validation rows, and report on test rows.

    Parameters
    ----------
    request
        ``cell``: the cell as plain values; ``path``: what `prepare` wrote.
    save
        Takes the outcome.
    """
    cell = CaseCell.from_dict(request["cell"])
    with Path(request["path"]).open("rb") as file:
        found: Prepared = pickle.load(file)
    begin = perf_counter()
    pruned, whole = _pruned(found, cell)
    few = list(_fewer(found, cell, pruned, cell.trees, begin))
    one = list(_fewer(found, cell, pruned, 1, begin))
    if not few or not one:
        save({"status": "over_limit", "reason": "no model of few trees within the time limit"})
        return
    points = [_point(found, model) for model in few]
    readable = [p for p, model in zip(points, few, strict=True) if model.n_nodes <= cell.most_nodes]
    # A user's α counts as it is.
    at = points.index(_best(readable or points[:1]))
    chosen = few[at]
    single = min(one, key=lambda model: _rmse(found, model, "validation"))
    before = next(model for model in pruned if model.alpha == chosen.alpha)
    models: dict[str, Model | PrunedEnsemble] = {
        "full": _full(found),
        "pruned": before,
        "few": chosen,
        "one": single,
    } | single_trees(found, cell.instance, chosen.n_nodes)
    assert chosen.polishing is not None
    save(
        {
            "status": "ok" if whole else "over_limit",
            "alpha": _alpha(found, chosen),
            "pruning_gap": _finite(chosen.result.gap),
            "subset_gap": _finite(chosen.polishing.gap),
            "models": {name: _account(found, model) for name, model in models.items()},
            "features": [str(name) for name in chosen.features_used],
            "points": points,
            "chosen": at,
            "model": _text_of(chosen),
            "seconds": perf_counter() - begin,
            "peak_mb": peak_megabytes(),
            "finished": now(),
        }
    )


def _pruned(found: Prepared, cell: CaseCell) -> tuple[list[PrunedEnsemble], bool]:
    """Return the pruned forests with a tree, smallest first, and whether the limit was kept."""
    problem = LayerPruning(found.data, 1.0)
    if cell.alpha is not None:
        alphas = np.array([cell.alpha * found.data.y_variance])
    else:
        top = problem.alpha_max_certified()
        alphas = np.geomspace(top, cell.span * top, cell.values) if top > 0.0 else np.zeros(1)
    path = solve_path(
        problem,
        values=alphas,
        solver=SOLVER,
        time_limit=cell.time_limit,
        threads=cell.threads,
        seed=cell.instance.seed,
    )
    along = [
        PrunedEnsemble.cut(found.ensemble, result, float(alpha))
        for alpha, result in zip(path.values, path.results, strict=True)
        if result.choice is not None
    ]
    whole = len(path) == len(alphas) and path[-1].termination is not Termination.TIME_LIMIT
    return [model for model in along if model.n_trees], whole


def _fewer(
    found: Prepared, cell: CaseCell, pruned: list[PrunedEnsemble], trees: int, begin: float
) -> Iterator[PrunedEnsemble]:
    """Yield the best few trees of each pruned forest, weighed anew, while there is time."""
    for model in pruned:
        left = cell.time_limit - (perf_counter() - begin)
        if left <= 0.0:
            return
        most = min(trees, model.n_trees)
        problem = Polishing(found.data, model.depths, 0.0, rho=0, n_trees=most)
        result = solve(
            problem, SOLVER, time_limit=left, threads=cell.threads, seed=cell.instance.seed
        )
        if result.choice is not None:
            yield model.polished(problem, result)


def _point(found: Prepared, model: PrunedEnsemble) -> dict[str, Any]:
    return {
        "alpha": _alpha(found, model),
        "trees": model.n_trees,
        "nodes": model.n_nodes,
        "features": model.n_features_used,
        "validation_rmse": _rmse(found, model, "validation"),
        "test_rmse": _rmse(found, model, "test"),
    }


def _best(points: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the point of least validation error, the smaller of equals; test rows have no say."""
    return min(points, key=lambda point: (point["validation_rmse"], point["nodes"]))


def _alpha(found: Prepared, model: PrunedEnsemble) -> float:
    """Return the α of a model in units of the variance of y."""
    assert model.alpha is not None
    variance = found.data.y_variance
    return model.alpha / variance if variance > 0.0 else model.alpha


def _full(found: Prepared) -> Model:
    ensemble = found.ensemble
    features = {j for tree in ensemble.trees for j in tree.features}
    return Model(ensemble.predict, ensemble.n_trees, ensemble.n_nodes, len(features))


def _account(found: Prepared, model: Model | PrunedEnsemble) -> dict[str, Any]:
    return {
        "trees": model.n_trees,
        "nodes": model.n_nodes,
        "features": model.n_features_used,
        **{f"{part}_rmse": _rmse(found, model, part) for part in found.parts},
    }


def _rmse(found: Prepared, model: Model | PrunedEnsemble, part: str) -> float:
    X, y = found.parts[part]
    return float(np.sqrt(np.mean((y - model.predict(X)) ** 2)))


def _text_of(model: PrunedEnsemble) -> str:
    """Return a model as the text of its file, which a report can draw it from."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save(path)
        return path.read_text(encoding="utf-8")


def _finite(number: float) -> float | None:
    return float(number) if math.isfinite(number) else None
