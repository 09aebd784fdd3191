"""Follow every method's path on the boosted trees of a fold, from small models to large ones."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from forestprune import Termination, compete, compete_path, make_competitor
from studies.contests.candidates import PUBLISHED_RIDGE, RIDGES, alphas_of, candidates
from studies.contests.cell import Contest
from studies.contests.methods import SUBTREES, TUNED
from studies.contests.points import Point, attempt, outcome_of, point_of, point_without_trees
from studies.running.child import Save
from studies.running.prepared import Prepared

# Methods whose trees are polished with several ridges, by the shape that they leave.
SHAPES = {TUNED: "depth", SUBTREES: "subtree"}

# A path may take this many times the limit of a search; what it has by then is small models.
_SEARCHES_OF_A_PATH = 4.0

# Of subtrees a path of as many α as for layers would take most of the time.
_SPARSER = 2

# At each α there are several models; other paths have more points instead.
_DENSER = 2


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
    paths: dict[str, Point] = {}
    measured = {"full": full, "empty": point_without_trees(found), "paths": paths}
    for place, name in enumerate((TUNED, *cell.models)):
        paths[name] = attempt(partial(_path, found, cell, name))
        save(outcome_of(measured, cell.models[place:]))


def _path(found: Prepared, cell: Contest, name: str) -> Point:
    """Return the ``points`` of a path, from the smallest model to the largest.

    ``cut_short`` is whether a time limit has ended it, or one of its searches.
    """
    limit = _SEARCHES_OF_A_PATH * cell.search_limit
    if name in SHAPES:
        return _own_path(found, cell, SHAPES[name], limit)
    over = make_competitor(name, {})[1].over
    values = _values(found, cell, over)
    path = compete_path(
        name,
        found.ensemble,
        *found.parts["train"],
        values=values,
        time_limit=cell.search_limit if over == "nodes" else limit,
    )
    points, ended = [], False
    for value, model in path:
        points.append({"value": value, **point_of(found, model)})
        ended |= model.result.termination is Termination.TIME_LIMIT
    if over == "lambda":
        # Between two λ of the path there may be one that meets a budget better.
        points += [_within(found, cell, name, int(budget)) for budget in cell.marks]
        points.sort(key=lambda point: -point["value"])
    asked = values if isinstance(values, int) else len(values)
    return {"points": points, "cut_short": ended or (over != "trees" and len(points) < asked)}


def _own_path(found: Prepared, cell: Contest, shape: str, limit: float) -> Point:
    values = cell.values if shape == "depth" else cell.values // _SPARSER
    alphas = alphas_of(cell.top, cell.end, values)
    ridges = RIDGES if cell.instance.protocol == "sound" else (None, PUBLISHED_RIDGE)
    points = [
        {"value": alpha, "alpha2": ridge, **point_of(found, model)}
        for alpha, ridge, model in candidates(found, alphas, ridges, shape=shape, time_limit=limit)
    ]
    return {"points": points, "cut_short": len(points) < len(alphas) * len(ridges)}


def _within(found: Prepared, cell: Contest, name: str, budget: int) -> Point:
    X, y = found.parts["train"]
    limit = cell.search_limit
    model = compete(name, found.ensemble, X, y, max_nodes=budget, time_limit=limit)
    return {"value": model.alpha, **point_of(found, model)}


def _values(found: Prepared, cell: Contest, over: str) -> Any:
    """Return what a path over something takes: values, or how many points."""
    if over == "alpha":
        return alphas_of(cell.top, cell.end, cell.values)
    if over == "nodes":
        return list(cell.marks)
    return found.ensemble.n_trees if over == "trees" else _DENSER * cell.values
