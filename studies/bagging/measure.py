"""Prune the forest of a fold to several allowed errors, and make it as small by other methods."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from forestprune import PrunedEnsemble, TreeEnsemble, compete
from formulations.arrays import FloatArray
from studies.bagging.selection import Choice
from studies.contests.candidates import PUBLISHED_RIDGE, RIDGES, alphas_of, candidates, weighed
from studies.contests.cell import Contest
from studies.contests.methods import POLISHED, SUBTREES, TUNED
from studies.contests.points import (
    Point,
    attempt,
    error,
    outcome_of,
    point_of,
    point_without_trees,
)
from studies.running.child import Save
from studies.running.prepared import Prepared

# α₂ that are tried, by protocol and variant.
VARIANTS: dict[str, dict[str, tuple[float | None, ...]]] = {
    "sound": {TUNED: RIDGES, POLISHED: (PUBLISHED_RIDGE,)},
    "published": {POLISHED: (PUBLISHED_RIDGE,)},
}

# How many α are tried between two of the path.
_FINER = 7


class _Model(NamedTuple):
    """A model that may be taken, and its place on the path; α is 0 for the whole one."""

    model: PrunedEnsemble | TreeEnsemble
    nodes: int
    validation: float
    place: int
    alpha: float
    alpha2: float | None
    gap: float | None


# By variant and φ.
_Choices = dict[tuple[str, float], Choice[_Model]]


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
    choices = {
        (name, phi): Choice[_Model](full["validation"] + phi, cell.instance.protocol)
        for name in VARIANTS[cell.instance.protocol]
        for phi in cell.marks
    }
    path = _offer(found, cell, full, choices)
    entries = [
        {"phi": phi, "name": name, **_account(found, choice.taken)}
        for (name, phi), choice in choices.items()
    ]
    measured = {
        "full": full,
        "empty": point_without_trees(found),
        "path": path,
        "path_seconds": perf_counter() - begin,
        "entries": entries,
    }
    budgets = {entry["phi"]: entry["nodes"] for entry in reversed(entries)}
    save(outcome_of(measured, cell.models))
    for place, name in enumerate(cell.models, 1):
        for phi in cell.marks:
            entry = attempt(partial(_rival, found, cell, name, budgets[phi]))
            entries.append({"phi": phi, "name": name, **entry})
        save(outcome_of(measured, cell.models[place:]))


def _offer(found: Prepared, cell: Contest, full: Point, choices: _Choices) -> list[Point]:
    """Offer the models of the path to all choices; to sound ones the whole ensemble, too.

    Returned are the points of all that were on offer but for the whole one, by falling α.

    From one α of the path to the next sizes differ by a fifth or so: a smaller model that is
    allowed may lie between one that is taken and the one before, so sound ones look there.
    """
    alphas = alphas_of(cell.top, cell.end, cell.values)
    path = _offer_path(found, cell, alphas, choices)
    whole = _Model(found.ensemble, full["nodes"], full["validation"], 0, 0.0, None, 0.0)
    if cell.instance.protocol == "sound":
        for choice in choices.values():
            choice.offer(whole)
        places = {choice.taken.place for (name, _), choice in choices.items() if name == TUNED}
        for place in sorted(places - {0}):
            finer = np.geomspace(alphas[place - 1], alphas[place], _FINER + 2)[1:-1]
            path += _offer_path(found, cell, finer, choices)
    return sorted(path, key=lambda point: -point["value"])


def _offer_path(
    found: Prepared, cell: Contest, alphas: FloatArray, choices: _Choices
) -> list[Point]:
    variants = VARIANTS[cell.instance.protocol]
    ridges = dict.fromkeys(ridge for own in variants.values() for ridge in own)
    along = candidates(found, alphas, ridges)
    points: list[Point] = []
    for place, one in enumerate(along):
        gap = one.model.result.gap
        model = _Model(
            one.model,
            one.model.n_nodes,
            error(found, one.model, "validation"),
            place // len(ridges),
            one.alpha,
            one.alpha2,
            gap if math.isfinite(gap) else None,
        )
        for (name, _), choice in choices.items():
            if one.alpha2 in variants[name]:
                choice.offer(model)
        points.append(
            {
                "value": model.alpha,
                "alpha2": model.alpha2,
                "nodes": model.nodes,
                "validation": model.validation,
                "test": error(found, model.model, "test"),
            }
        )
    return points


def _account(found: Prepared, taken: _Model) -> Point:
    own = {"alpha": taken.alpha, "alpha2": taken.alpha2, "gap": taken.gap}
    return {**own, **point_of(found, taken.model)}


def _rival(found: Prepared, cell: Contest, name: str, nodes: int) -> Point:
    """Return what another method makes of the forest within as many nodes."""
    models = _models(found, cell, name, nodes)
    model = min(models, key=lambda one: error(found, one, "validation"))
    return {
        **point_of(found, model),
        "guarantee": str(model.result.guarantee),
        "termination": str(model.result.termination),
    }


def _models(found: Prepared, cell: Contest, name: str, nodes: int) -> Iterator[PrunedEnsemble]:
    """Yield the models of a method, of which validation rows choose.

    Where the protocol is sound subtrees have weights with several ridges, as layers have; sizes
    are the same for all.
    """
    make = partial(
        compete,
        name,
        found.ensemble,
        *found.parts["train"],
        max_nodes=nodes,
        time_limit=cell.search_limit,
    )
    if name == SUBTREES and cell.instance.protocol == "sound":
        pruned = make(polish=None)
        for ridge in RIDGES:
            yield weighed(found, pruned, ridge)
    else:
        yield make()
