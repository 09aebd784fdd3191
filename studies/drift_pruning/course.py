"""A forest along a stream: predict each batch with what there is, learn it, prune now and then."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from time import perf_counter, process_time
from typing import Any

import numpy as np

from forestprune import (
    LayerPruning,
    PrunedEnsemble,
    PruningData,
    Result,
    TreeEnsemble,
    pruning_data,
    read_ensemble,
    solve,
)
from forestprune.budget import BudgetSearch
from formulations.arrays import IntArray
from studies.drift_pruning.cell import PruneCell
from studies.streams.stream import Rows

# Local search takes most of the time of a descent, wherever that begins.
_PLAIN = "cbcd[local_search=False]"


class Out(Exception):
    """The stream took longer than it may."""


@dataclass(frozen=True)
class Pruning:
    """A pruning of the forest as it was after so many rows.

    Attributes
    ----------
    row
        Rows learnt before.
    nodes, kept_nodes, kept_trees
        Of the forest, and of what is left.
    objective, bound, gap
        Of the choice without a warm start; the bound is the best of all solves.
    warm_objective
        None without a choice to start from.
    build_seconds
        What the pruning data take.
    cold_seconds, warm_seconds, bound_seconds
        Build and solve by descent, without and with a warm start, and by the relaxation.
    plain_ratio
        The same of descent without local search, with a warm start divided by without.
    learn_seconds
        CPU time of the forest for the batches since the last pruning.
    """

    row: int
    nodes: int
    kept_nodes: int
    kept_trees: int
    objective: float
    bound: float
    gap: float
    warm_objective: float | None
    build_seconds: float
    cold_seconds: float
    warm_seconds: float | None
    bound_seconds: float
    plain_ratio: float | None
    learn_seconds: float


@dataclass
class Course:
    """What came of a stream.

    Attributes
    ----------
    live, full, pruned
        (rows,) classes that the forest predicts, that it predicted as it was when it was last
        pruned, and that what is left of it predicts; −1 where there is none yet.
    """

    live: IntArray
    full: IntArray
    pruned: IntArray
    prunings: list[Pruning] = field(default_factory=list)


def run_course(cell: PruneCell, forest: Any, rows: Rows) -> Course:
    """Run a forest along a stream.

    Parameters
    ----------
    forest
        An unfitted classifier with ``partial_fit`` that `read_ensemble` takes.

    Raises
    ------
    Out
        After the cell's time limit.
    """
    begun = perf_counter()
    live, full, pruned = np.full((3, len(rows.y)), -1, dtype=np.int64)
    course = Course(live, full, pruned)
    classes = np.arange(len(rows.classes))
    models: tuple[TreeEnsemble, PrunedEnsemble] | None = None
    depths: IntArray | None = None
    learn_seconds, first = 0.0, max(cell.cold // cell.batch, 1)
    for number, start in enumerate(range(0, len(rows.y), cell.batch)):
        part = slice(start, start + cell.batch)
        X, y = rows.X[part], rows.y[part]
        if number >= first and (number - first) % cell.every == 0:
            ensemble = read_ensemble(forest)
            found, result = _prune(cell, forest, start, depths, learn_seconds)
            course.prunings.append(found)
            models = ensemble, PrunedEnsemble.cut(ensemble, result, 1.0)
            depths, learn_seconds = result.choice, 0.0
        if number:
            course.live[part] = forest.predict(X)
        if models is not None:
            course.full[part], course.pruned[part] = (model.predict(X) for model in models)
        clock = process_time()
        forest.partial_fit(X, y, classes=classes)
        learn_seconds += process_time() - clock
        if perf_counter() - begun > cell.time_limit:
            raise Out
    return course


def without_drift(
    forest: Callable[[], Any], rows: Rows, concepts: dict[int, Rows], batch: int
) -> IntArray:
    """Return what a forest predicts that has only ever seen the concept a row is from.

    Parameters
    ----------
    forest
        Makes an unfitted classifier with ``partial_fit``.
    concepts
        By concept, other rows of it that its forest learns first.

    Returns
    -------
    array
        (rows,) classes; each row is predicted before it is learnt, batch by batch.
    """
    predicted = np.full(len(rows.y), -1, dtype=np.int64)
    classes = np.arange(len(rows.classes))
    for concept, before in concepts.items():
        model = forest()
        for start in range(0, len(before.y), batch):
            part = slice(start, start + batch)
            model.partial_fit(before.X[part], before.y[part], classes=classes)
        own = np.flatnonzero(rows.concept == concept)
        for start in range(0, len(own), batch):
            places = own[start : start + batch]
            predicted[places] = model.predict(rows.X[places])
            model.partial_fit(rows.X[places], rows.y[places], classes=classes)
    return predicted


def _prune(
    cell: PruneCell, forest: Any, row: int, depths: IntArray | None, learn_seconds: float
) -> tuple[Pruning, Result]:
    """Prune a forest without and with a warm start, and bound what can be reached."""
    clock = perf_counter()
    data = pruning_data(forest)
    build_seconds = perf_counter() - clock
    problem = LayerPruning(data, (cell.alpha or 0.0) * data.y_variance)
    if cell.budget is None:
        cold, cold_seconds = _timed(cell, data, lambda p: solve(p, "cbcd"), problem.alpha)
    else:
        most = max(int(cell.budget * data.node_start[-1]), 1)
        problem, cold, cold_seconds = _within(cell, data, most)
    assert cold.choice is not None
    warm, warm_seconds, plain_ratio = None, None, None
    if depths is not None and cell.budget is None:
        # A tree that has become shallower is kept whole where more of it was kept.
        start = np.minimum(depths, data.depths)
        warm, warm_seconds = _timed(
            cell, data, lambda p: solve(p, "cbcd", warm_start=start), problem.alpha
        )
        _, plain = _timed(cell, data, lambda p: solve(p, _PLAIN), problem.alpha)
        _, again = _timed(cell, data, lambda p: solve(p, _PLAIN, warm_start=start), problem.alpha)
        plain_ratio = again / max(plain, 1e-9)
    proof, bound_seconds = _timed(cell, data, lambda p: solve(p, "relaxation"), problem.alpha)
    bound = max(r.bound for r in (cold, warm, proof) if r is not None)
    gap = (cold.objective - bound) / cold.objective if cold.objective > 0.0 else 0.0
    return (
        Pruning(
            row=row,
            nodes=int(data.node_start[-1]),
            kept_nodes=problem.kept_nodes(cold.choice),
            kept_trees=problem.kept_trees(cold.choice),
            objective=cold.objective,
            bound=bound,
            gap=max(gap, 0.0),
            warm_objective=None if warm is None else warm.objective,
            build_seconds=build_seconds,
            cold_seconds=cold_seconds,
            warm_seconds=warm_seconds,
            bound_seconds=bound_seconds,
            plain_ratio=plain_ratio,
            learn_seconds=learn_seconds,
        ),
        cold,
    )


def _timed(
    cell: PruneCell, data: PruningData, call: Callable[[LayerPruning], Result], alpha: float
) -> tuple[Result, float]:
    """Return a result, and the median of its build and solve seconds on data without caches."""
    results = [call(LayerPruning(replace(data), alpha)) for _ in range(cell.repeats)]
    return results[0], statistics.median(r.build_seconds + r.solve_seconds for r in results)


def _within(cell: PruneCell, data: PruningData, most: int) -> tuple[LayerPruning, Result, float]:
    """Return the problem whose α leaves at most so many nodes, its result, and the time."""

    def solved(problem: LayerPruning, **options: Any) -> Result:
        return solve(problem, "cbcd", **options)

    times = []
    for _ in range(cell.repeats):
        clock = perf_counter()
        alpha, result = BudgetSearch(LayerPruning(replace(data), 1.0), most, solved, {}).run()
        times.append(perf_counter() - clock)
    return LayerPruning(data, alpha), result, statistics.median(times)
