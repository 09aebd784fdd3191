"""Competitors on a fitted ensemble: a model of a size, or a path of models."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from forestprune.competitors._core.base import Competitor, Limits, Point, Task, checked_values
from forestprune.competitors._core.registry import make_competitor
from forestprune.pruned import PrunedEnsemble
from forestprune.readers import read_ensemble
from formulations import InvalidInput
from solvers._core.arguments import checked_limit
from solvers._core.threads import limited_threads


def compete(
    name: str,
    model: Any,
    X: Any,
    y: npt.ArrayLike,
    *,
    max_nodes: int | None = None,
    max_trees: int | None = None,
    sample_weight: npt.ArrayLike | None = None,
    time_limit: float | None = 60.0,
    **options: Any,
) -> PrunedEnsemble:
    """Make a fitted ensemble smaller by a method of some name, down to a size.

    Parameters
    ----------
    name
        One of `available_competitors`, or such a name with options: ``"lasso[refit=True]"``.
    model
        A fitted ensemble that `read_ensemble` takes, or a `TreeEnsemble`.
    X, y
        (m, features) rows and (m,) or (m, q) response, usually those of the fit.
    max_nodes
        How many nodes may be left, roots of kept trees counted.
    max_trees
        How many trees may be left.
    sample_weight
        (m,) weights of at least 0, 1 by default.
    time_limit
        Seconds for the search, or None; what was found by then is returned.
    **options
        Options of the competitor, beside those in its name.

    Returns
    -------
    PrunedEnsemble
        Its ``result`` has the competitor's label, the loss on these rows as objective and,
        where something is proven, a bound.

    Raises
    ------
    InvalidInput
        When the name, an option, a limit or the input does not fit, or no limit is given.

    Warns
    -----
    UserWarning
        When no tree fits: the model predicts what it starts from.
    """
    limits = Limits(_limit("max_nodes", max_nodes), _limit("max_trees", max_trees))
    if max_nodes is None and max_trees is None:
        raise InvalidInput("give max_nodes or max_trees, or both")
    competitor, task = _ready(name, model, X, y, sample_weight, time_limit, options)
    with limited_threads(1):
        pruned = replace(competitor.within(task, limits), max_nodes=limits.max_nodes)
    if pruned.n_trees == 0:
        told = ", ".join(
            f"{limit}={given}"
            for limit, given in (("max_nodes", max_nodes), ("max_trees", max_trees))
            if given is not None
        )
        warnings.warn(
            f"{task.label} leaves no tree with {told}: the model predicts what it starts from; "
            f"the smallest tree of the source has {task.smallest_tree} nodes",
            stacklevel=2,
        )
    return pruned


def compete_path(
    name: str,
    model: Any,
    X: Any,
    y: npt.ArrayLike,
    *,
    values: int | npt.ArrayLike = 100,
    sample_weight: npt.ArrayLike | None = None,
    time_limit: float | None = 60.0,
    **options: Any,
) -> Iterator[Point]:
    """Make a fitted ensemble smaller by a method of some name, to many sizes.

    Models are made one by one as they are asked for, since many large ones together need much
    memory.

    Parameters
    ----------
    name, model, X, y, sample_weight, **options
        As `compete` takes them.
    values
        How many models there are at most, or values of the competitor's parameter: λ, α, a
        depth, a number of trees or of nodes. λ and α are in units of y², but for those of
        `ForestPrune`, which are for a standardised response.
    time_limit
        Seconds, or None: for each search of `Bsts`; for the whole path, which is cut short, of
        `ForestPrune` and `RuleLasso`. Others end soon.

    Returns
    -------
    iterator of Point
        ``value`` and ``pruned``, from the smallest model to the largest.

    Raises
    ------
    InvalidInput
        When the name, an option or the input does not fit.
    """
    wanted = checked_values(values)
    competitor, task = _ready(name, model, X, y, sample_weight, time_limit, options)
    return _one_by_one(competitor.path(task, wanted))


def _one_by_one(points: Iterator[Point]) -> Iterator[Point]:
    """Yield points; each is made on one thread, while what happens between them may take more."""
    while True:
        with limited_threads(1):
            point = next(points, None)
        if point is None:
            return
        yield point


def _ready(
    name: str,
    model: Any,
    X: Any,
    y: npt.ArrayLike,
    sample_weight: npt.ArrayLike | None,
    time_limit: float | None,
    options: dict[str, Any],
) -> tuple[Competitor, Task]:
    label, competitor = make_competitor(name, options)
    limit = checked_limit(time_limit)
    source = read_ensemble(model)
    return competitor, Task(source, source.pruning_data(X, y, sample_weight), label, limit)


def _limit(name: str, given: object) -> int | None:
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int | np.integer) or given < 0:
        raise InvalidInput(f"{name} must be an integer of at least 0, not {given!r}")
    return int(given)
