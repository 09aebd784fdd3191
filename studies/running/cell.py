"""Measure one cell: a solver on an instance, in a process of its own."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

from formulations import LayerPruning, PruningData
from solvers import (
    MissingEngine,
    Result,
    Termination,
    UnsupportedProblem,
    predicted_memory,
    solve,
    solve_path,
)
from studies.running.child import Outcome, Save
from studies.running.machine import free_bytes, now, peak_megabytes
from studies.spec import PATH_VALUES, Cell

# Calls that take longer are not repeated: what they vary is little beside what they take.
WARM_SECONDS = 3.0

# A prediction may be too low, and others use the machine too.
MEMORY_SHARE = 0.5


@dataclass(frozen=True)
class Sample:
    """One call: its results (one, or one for each α of a path) and its wall time."""

    results: list[Result]
    wall_seconds: float
    time_limit: float

    @property
    def build_seconds(self) -> float:
        """Return the build time of all results."""
        return sum(result.build_seconds for result in self.results)

    @property
    def solve_seconds(self) -> float:
        """Return the solve time of all results."""
        return sum(result.solve_seconds for result in self.results)

    @property
    def seconds(self) -> float:
        """Return the build and solve time."""
        return self.build_seconds + self.solve_seconds

    @property
    def over_limit(self) -> bool:
        """Return whether the call ran into its time limit."""
        return self.seconds >= self.time_limit or any(
            result.termination is Termination.TIME_LIMIT for result in self.results
        )


def measure(request: dict[str, Any], save: Save) -> None:
    """Call the solver once cold and up to ``repeats`` times warm; save after each call.

    Every call gets a problem without caches, so that its build time is the whole of it. A
    further call is made only while all of them together stay within `WARM_SECONDS`.

    Parameters
    ----------
    request
        ``cell``: the cell as plain values; ``path``: the file with the pruning data.
    save
        Takes the outcome so far.
    """
    cell = Cell.from_dict(request["cell"])
    with Path(request["path"]).open("rb") as file:
        data: PruningData = pickle.load(file)
    alpha = cell.alpha * data.y_variance
    samples: list[Sample] = []
    try:
        require_memory(LayerPruning(data, alpha), cell)
        while True:
            samples.append(_call(LayerPruning(replace(data), alpha), cell))
            save(summary(LayerPruning(data, alpha), samples))
            if samples[-1].over_limit or len(samples) > cell.repeats:
                return
            if sum(sample.seconds for sample in [*samples, samples[-1]]) > WARM_SECONDS:
                return
    except (MissingEngine, UnsupportedProblem, NotEnoughMemory) as refusal:
        save({"status": "skipped", "reason": str(refusal)})


class NotEnoughMemory(Exception):
    """A solver would need more memory than there is."""


def require_memory(problem: LayerPruning, cell: Cell) -> None:
    """Raise NotEnoughMemory when a solver is predicted to need over half of what is free."""
    needed, free = predicted_memory(problem, cell.solver), free_bytes()
    if needed is not None and free is not None and needed > MEMORY_SHARE * free:
        raise NotEnoughMemory(
            f"needs about {needed / 1e9:.1f} GB of memory; a solver may have "
            f"{MEMORY_SHARE:.0%} of the {free / 1e9:.1f} GB that are free"
        )


def summary(problem: LayerPruning, samples: list[Sample]) -> Outcome:
    """Return the outcome of the calls so far as plain values.

    ``cold`` has the first call, ``warm`` the others; numbers that do not exist are None.
    For a path, ``gap`` is the largest of its gaps and ``objective`` is None.
    """
    cold, warm, last = samples[0], samples[1:], samples[-1]
    result = last.results[-1]
    single = len(last.results) == 1
    kept = result.choice if single else None
    return {
        "status": "over_limit" if last.over_limit else "ok",
        "label": result.solver,
        "cold": _times(cold),
        "warm": [_times(sample) for sample in warm],
        "points": len(last.results),
        "objective": _finite(result.objective) if single else None,
        "bound": _finite(result.bound) if single else None,
        "gap": _finite(max(item.gap for item in last.results)),
        "guarantee": _common(str(item.guarantee) for item in last.results),
        "termination": _common(str(item.termination) for item in last.results),
        "kept_trees": None if kept is None else problem.kept_trees(kept),
        "kept_nodes": None if kept is None else problem.kept_nodes(kept),
        "peak_mb": peak_megabytes(*(r.extra.get("engine_peak_bytes") for r in last.results)),
        "versions": result.versions,
        "finished": now(),
    }


def _solve(problem: LayerPruning, cell: Cell) -> list[Result]:
    return [solve(problem, cell.solver, time_limit=cell.time_limit, threads=cell.threads)]


def _path(problem: LayerPruning, cell: Cell) -> list[Result]:
    path = solve_path(
        problem,
        over="alpha",
        values=PATH_VALUES,
        solver=cell.solver,
        time_limit=cell.time_limit,
        threads=cell.threads,
    )
    return list(path.results)


_TASKS: dict[str, Callable[[LayerPruning, Cell], list[Result]]] = {"solve": _solve, "path": _path}


def _call(problem: LayerPruning, cell: Cell) -> Sample:
    begin = perf_counter()
    results = _TASKS[cell.task](problem, cell)
    return Sample(results, perf_counter() - begin, cell.time_limit)


def _times(sample: Sample) -> dict[str, float]:
    return {
        "wall": sample.wall_seconds,
        "build": sample.build_seconds,
        "solve": sample.solve_seconds,
    }


def _finite(number: float) -> float | None:
    return float(number) if math.isfinite(number) else None


def _common(words: Any) -> str:
    """Return the word, or all different ones."""
    return ", ".join(dict.fromkeys(words))
