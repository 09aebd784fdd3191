"""Prune the forest of a fold to several allowed errors, and make it as small by other methods."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from forestprune import PrunedEnsemble, TreeEnsemble, compete
from formulations.arrays import FloatArray
from studies.bagging.selection import chosen
from studies.comparing.candidates import PUBLISHED_RIDGE, RIDGES, alphas_of, candidates
from studies.comparing.cell import Contest
from studies.comparing.points import Point, attempt, error, outcome_of, point_of
from studies.running.child import Save
from studies.running.prepared import Prepared

# ForestPrune's names here: α₂ chosen along with α, and α₂ as in the published experiments.
TUNED, AS_PUBLISHED = "forestprune", f"forestprune[alpha2={PUBLISHED_RIDGE:g}]"

_VARIANTS: dict[str, dict[str, tuple[float | None, ...]]] = {
    "sound": {TUNED: (None, *RIDGES), AS_PUBLISHED: (PUBLISHED_RIDGE,)},
    "published": {AS_PUBLISHED: (PUBLISHED_RIDGE,)},
}

# How many α are tried between two of the path.
_FINER = 7


class _Model(NamedTuple):
    """A model that may be taken; α is 0 for the whole one."""

    model: PrunedEnsemble | TreeEnsemble
    nodes: int
    validation: float
    alpha: float
    alpha2: float | None
    gap: float | None


def measure(request: dict[str, Any], save: Save) -> None:
    """Choose by validation rows, report on test rows; save after every method.

    Parameters
    ----------
    request
        ``cell``: the cell as plain values; ``path``: what `prepare` wrote.
    save
        Takes the outcome so far.
    """
    cell = Contest.from_dict(request["cell"])
    found = Prepared.read(Path(request["path"]))
    begin = perf_counter()
    full = point_of(found, found.ensemble)
    alphas = alphas_of(cell.top, cell.end, cell.values)
    whole = _Model(found.ensemble, full["nodes"], full["validation"], 0.0, None, 0.0)
    models = [*_models(found, alphas), whole]
    if cell.instance.protocol == "sound":
        models += _between(found, cell, models, alphas, full["validation"])
    entries = [
        {"phi": phi, "name": name, **_taken(found, cell, models, ridges, full["validation"] + phi)}
        for name, ridges in _VARIANTS[cell.instance.protocol].items()
        for phi in cell.marks
    ]
    measured = {"full": full, "path_seconds": perf_counter() - begin, "entries": entries}
    budgets = {entry["phi"]: entry["nodes"] for entry in reversed(entries)}
    save(outcome_of(measured, cell.models))
    for place, name in enumerate(cell.models, 1):
        for phi in cell.marks:
            entry = attempt(lambda n=name, b=budgets[phi]: _rival(found, n, b, cell.search_limit))  # type: ignore[misc]
            entries.append({"phi": phi, "name": name, **entry})
        save(outcome_of(measured, cell.models[place:]))


def _models(found: Prepared, alphas: FloatArray) -> list[_Model]:
    """Return the models along falling α, at each α several ridges."""
    return [
        _Model(
            one.model,
            one.model.n_nodes,
            error(found, one.model, "validation"),
            one.alpha,
            one.alpha2,
            one.model.result.gap if math.isfinite(one.model.result.gap) else None,
        )
        for one in candidates(found, alphas)
    ]


def _between(
    found: Prepared, cell: Contest, models: list[_Model], alphas: FloatArray, full: float
) -> list[_Model]:
    """Return models between the α that a path takes and the one before, for each allowed error.

    From one α of the path to the next sizes differ by a fifth or so: a smaller model that is
    allowed may lie between them.
    """
    taken = {chosen(models, full + phi, "sound").alpha for phi in cell.marks}
    finer = [
        np.geomspace(before, alpha, _FINER + 2)[1:-1]
        for before, alpha in pairwise(alphas.tolist())
        if alpha in taken
    ]
    return _models(found, np.concatenate(finer)) if finer else []


def _taken(
    found: Prepared,
    cell: Contest,
    models: list[_Model],
    ridges: tuple[float | None, ...],
    most: float,
) -> Point:
    own = [one for one in models if one.alpha2 in ridges or one.alpha == 0.0]
    taken = chosen(own, most, cell.instance.protocol)
    return {
        "alpha": taken.alpha,
        "alpha2": taken.alpha2,
        "gap": taken.gap,
        **point_of(found, taken.model),
    }


def _rival(found: Prepared, name: str, nodes: int, limit: float) -> Point:
    """Return what another method makes of the forest within as many nodes."""
    X, y = found.parts["train"]
    model = compete(name, found.ensemble, X, y, max_nodes=nodes, time_limit=limit)
    return {
        **point_of(found, model),
        "guarantee": str(model.result.guarantee),
        "termination": str(model.result.termination),
    }
