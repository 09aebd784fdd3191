"""Prune a forest to a few readable trees, in a process of its own."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from forestprune import PrunedEnsemble
from formulations import LayerPruning, Polishing
from solvers import Result, Termination, solve, solve_path
from studies.case.cell import CaseCell
from studies.case.rivals import Model, best_single, full_model, grown_trees
from studies.running.child import Save
from studies.running.machine import now, peak_megabytes
from studies.running.prepared import Prepared

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
    found = Prepared.read(Path(request["path"]))
    pruned, whole = _pruned(found, cell)
    if not pruned and whole:
        save({"status": "failed", "reason": "no tree is left at any α; a smaller one keeps more"})
        return
    few, cut = _fewer(found, cell, pruned)
    if not few:
        save({"status": "over_limit", "reason": "no model of few trees within the time limit"})
        return
    points = [_point(found, model) for model in few]
    at = _best(points, cell.most_nodes)
    chosen = few[at]
    assert chosen.polishing is not None
    before = next(model for model in pruned if model.alpha == chosen.alpha)
    models: dict[str, Model | PrunedEnsemble] = {
        "full": full_model(found),
        "pruned": before,
        "few": chosen,
        "one": best_single(found, cell.instance.seed),
        **grown_trees(found, cell.instance, chosen.n_nodes),
    }
    save(
        {
            "status": "ok" if whole and len(few) == len(pruned) else "over_limit",
            "alpha": points[at]["alpha"],
            "pruning_gap": _finite(chosen.result.gap),
            "subsets_cut": cut,
            "models": {name: _account(found, model) for name, model in models.items()},
            "features": [str(name) for name in chosen.features_used],
            "points": points,
            "chosen": at,
            "model": _text_of(chosen),
            "seconds": sum(
                _seconds(result)
                for model in few
                for result in (model.result, model.polishing)
                if result is not None
            ),
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
    found: Prepared, cell: CaseCell, pruned: list[PrunedEnsemble]
) -> tuple[list[PrunedEnsemble], int]:
    """Return the best few trees of each pruned forest, weighed anew, while there is time.

    Each search may take its part of the time that is left; how many were ended by that is
    returned, too.
    """
    few: list[PrunedEnsemble] = []
    cut = 0
    # Compiling kernels for the first time is no part of it.
    left = cell.time_limit - sum(_seconds(model.result) for model in pruned)
    for place, model in enumerate(pruned):
        if left <= 0.0:
            break
        most = min(cell.trees, model.n_trees)
        result = solve(
            problem := Polishing(found.data, model.depths, 0.0, rho=0, n_trees=most),
            SOLVER,
            time_limit=left / (len(pruned) - place),
            threads=cell.threads,
            seed=cell.instance.seed,
        )
        left -= _seconds(result)
        cut += result.termination is Termination.TIME_LIMIT
        if result.choice is not None:
            few.append(model.polished(problem, result))
    return few, cut


def _point(found: Prepared, model: PrunedEnsemble) -> dict[str, Any]:
    assert model.alpha is not None
    variance = found.data.y_variance
    return {
        "alpha": model.alpha / variance if variance > 0.0 else model.alpha,
        "trees": model.n_trees,
        "nodes": model.n_nodes,
        "features": model.n_features_used,
        "validation_rmse": _rmse(found, model, "validation"),
        "test_rmse": _rmse(found, model, "test"),
    }


def _best(points: list[dict[str, Any]], most_nodes: int) -> int:
    """Return the place of the readable point of least validation error; test rows have no say.

    Where none is readable, that of fewest nodes.
    """
    places = range(len(points))
    readable = [k for k in places if points[k]["nodes"] <= most_nodes]
    if not readable:
        return min(places, key=lambda k: points[k]["nodes"])
    return min(readable, key=lambda k: (points[k]["validation_rmse"], points[k]["nodes"]))


def _account(found: Prepared, model: Model | PrunedEnsemble) -> dict[str, Any]:
    return {
        "trees": model.n_trees,
        "nodes": model.n_nodes,
        "features": model.n_features_used,
        **{f"{part}_rmse": _rmse(found, model, part) for part in found.parts},
    }


def _rmse(found: Prepared, model: Model | PrunedEnsemble, part: str) -> float:
    return math.sqrt(found.mse(model, part))


def _text_of(model: PrunedEnsemble) -> str:
    """Return a model as the text of its file, which a report can draw it from."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save(path)
        return path.read_text(encoding="utf-8")


def _seconds(result: Result) -> float:
    return result.build_seconds + result.solve_seconds


def _finite(number: float) -> float | None:
    return float(number) if math.isfinite(number) else None
