"""Follow every method's path on the boosted trees of a fold, from small models to large ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from forestprune import compete_path
from studies.comparing.candidates import PUBLISHED_RIDGE, RIDGES, alphas_of, candidates
from studies.comparing.cell import Contest
from studies.comparing.points import Point, attempt, outcome_of, point_of
from studies.running.child import Save
from studies.running.prepared import Prepared

# Methods whose trees are polished with several ridges, by the shape that they leave.
SHAPES = {"forestprune": "depth", "forestprune[shape=subtree]": "subtree"}

# A path may take this many times the limit of a search; what it has by then is small models.
_SEARCHES_OF_A_PATH = 4.0

# Of subtrees a path of as many α as for layers would take most of the time.
_SPARSER = 2


def measure(request: dict[str, Any], save: Save) -> None:
    """Follow the paths and report errors on validation and test rows; save after each.

    Parameters
    ----------
    request
        ``cell``: the cell as plain values; ``path``: what `prepare` wrote.
    save
        Takes the outcome so far.
    """
    cell = Contest.from_dict(request["cell"])
    found = Prepared.read(Path(request["path"]))
    full = point_of(found, found.ensemble)
    empty = point_of(found, replace(found.ensemble, trees=(), scale=np.zeros(0)))
    paths: dict[str, Point] = {}
    measured = {"full": full, "empty": empty, "paths": paths}
    for place, name in enumerate(("forestprune", *cell.models)):
        paths[name] = attempt(lambda of=name: {"points": _points(found, cell, of)})  # type: ignore[misc]
        save(outcome_of(measured, cell.models[place:]))


def _points(found: Prepared, cell: Contest, name: str) -> list[Point]:
    """Return the points of a path, from the smallest model to the largest."""
    limit = _SEARCHES_OF_A_PATH * cell.search_limit
    shape = SHAPES.get(name)
    if shape is not None:
        values = cell.values if shape == "depth" else cell.values // _SPARSER
        alphas = alphas_of(cell.top, cell.end, values)
        ridges = RIDGES if cell.instance.protocol == "sound" else (None, PUBLISHED_RIDGE)
        along = candidates(found, alphas, ridges, shape=shape, time_limit=limit)
        return [
            {"value": alpha, "alpha2": ridge, **point_of(found, model)}
            for alpha, ridge, model in along
        ]
    path = compete_path(
        name,
        found.ensemble,
        *found.parts["train"],
        values=_values(cell, name),
        time_limit=cell.search_limit if name.startswith("bsts") else limit,
    )
    return [{"value": value, **point_of(found, model)} for value, model in path]


def _values(cell: Contest, name: str) -> Any:
    """Return what a method's path takes: α, budgets of nodes, or how many points."""
    if name.startswith("forestprune"):
        return alphas_of(cell.top, cell.end, cell.values)
    if name.startswith("bsts"):
        return list(cell.marks)
    return cell.values
