"""Measure one cell: a solver and a method on an instance, in a process of its own."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from formulations import Formulation, PruningData
from solvers import (
    MissingEngine,
    Result,
    Termination,
    UnsupportedProblem,
    predicted_memory,
)
from studies.running.child import Outcome, Save
from studies.running.machine import free_bytes, now, peak_megabytes
from studies.running.methods import Solved, first_problem, solve_along, solve_one
from studies.running.points import points_of
from studies.spec import Cell

if TYPE_CHECKING:
    from studies.running.held_out import HeldOut

# Calls that take longer are not repeated: what they vary is little beside what they take.
WARM_SECONDS = 3.0

# Starting an engine beyond a second goes off its time (see `solvers.solve`), and on a busy
# machine may take most of it: a first call that had less than this share is no measurement.
FAIR_SHARE = 0.75

# Longest trace that is kept.
TRACE_ENTRIES = 200

# A prediction may be too low, and others use the machine too.
MEMORY_SHARE = 0.5


@dataclass(frozen=True)
class Sample:
    """One call: its results (of each step, at each α of a path) and its wall time."""

    results: list[Result]
    wall_seconds: float
    time_limit: float
    solved: list[Solved] = field(default_factory=list)

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
    further call is made only while all of them together stay within `WARM_SECONDS`, or when
    the first one did not have its time (see `FAIR_SHARE`).

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
    held_out = _held_out(request["path"]) if cell.instance.held_out else None
    alpha = cell.alpha * data.y_variance
    samples: list[Sample] = []
    try:
        require_memory(first_problem(data, cell.method, alpha), cell)
        while True:
            samples.append(_call(first_problem(replace(data), cell.method, alpha), cell))
            save(summary(samples, cell, held_out))
            if len(samples) > cell.repeats or not _worth_another(samples):
                return
    except (MissingEngine, UnsupportedProblem, NotEnoughMemory) as refusal:
        save({"status": "skipped", "reason": str(refusal)})


def _held_out(data_path: str) -> HeldOut:
    # What it needs takes longer to import than most cells to measure.
    from studies.running.held_out import HeldOut

    return HeldOut.read(Path(data_path))


class NotEnoughMemory(Exception):
    """A solver would need more memory than there is."""


def require_memory(problem: Formulation, cell: Cell) -> None:
    """Raise NotEnoughMemory when a solver is predicted to need over half of what is free."""
    needed, free = predicted_memory(problem, cell.solver), free_bytes()
    if needed is not None and free is not None and needed > MEMORY_SHARE * free:
        raise NotEnoughMemory(
            f"needs about {needed / 1e9:.1f} GB of memory; a solver may have "
            f"{MEMORY_SHARE:.0%} of the {free / 1e9:.1f} GB that are free"
        )


def summary(samples: list[Sample], cell: Cell, held_out: HeldOut | None) -> Outcome:
    """Return the outcome of the calls so far as plain values.

    ``cold`` has the first call, ``warm`` the others; numbers that do not exist are None.
    For a path, ``gap`` is the largest of its gaps, ``objective`` is None, and ``path`` has a
    point for each α.
    """
    cold, warm, last = samples[0], samples[1:], samples[-1]
    single = cell.task == "solve"
    problem, result = last.solved[-1].last
    kept = result.choice if single else None
    return {
        "status": "over_limit" if last.over_limit else "ok",
        "label": result.solver,
        "cold": _times(cold),
        "warm": [_times(sample) for sample in warm],
        "points": len(last.solved),
        "path": [] if single else points_of(last.solved, cell.method, held_out),
        "objective": _finite(result.objective) if single else None,
        "bound": _finite(result.bound) if single else None,
        "bound_source": _common(str(item.bound_source) for item in last.results),
        "gap": _finite(max(item.gap for item in last.results)),
        "guarantee": _common(str(item.guarantee) for item in last.results),
        "termination": _common(str(item.termination) for item in last.results),
        "search_nodes": result.extra.get("nodes") if single else None,
        "trace": trace_of(result, last.seconds) if single else [],
        "kept_trees": None if kept is None else problem.kept_trees(kept, result.beta),
        "kept_nodes": None if kept is None else problem.kept_nodes(kept, result.beta),
        "peak_mb": peak_megabytes(*(r.extra.get("engine_peak_bytes") for r in last.results)),
        "versions": result.versions,
        "finished": now(),
    }


def trace_of(result: Result, seconds: float) -> list[list[float | None]]:
    """Return how objective and bound developed: [seconds, objective, bound], None for none.

    Entries that change nothing are left out, and of the others all but `TRACE_ENTRIES`,
    evenly. The last one is the result as it was judged, at the end.

    Parameters
    ----------
    seconds
        Build and solve time.
    """
    entries = [(entry.seconds, entry.objective, entry.bound) for entry in result.trace]
    if not entries or entries[-1][1:] != (result.objective, result.bound):
        end = max([seconds, *(entry[0] for entry in entries)])
        entries.append((end, result.objective, result.bound))
    changed = entries[:1] + [new for old, new in pairwise(entries) if new[1:] != old[1:]]
    kept = np.linspace(0, len(changed) - 1, min(len(changed), TRACE_ENTRIES)).astype(int)
    return [[_finite(number) for number in changed[k]] for k in kept]


_TASKS: dict[str, Callable[..., list[Solved]]] = {"solve": solve_one, "path": solve_along}


def _call(problem: Formulation, cell: Cell) -> Sample:
    begin = perf_counter()
    solved = _TASKS[cell.task](problem, cell)
    wall = perf_counter() - begin
    results = [result for item in solved for result in item.results]
    return Sample(results, wall, cell.time_limit, solved)


def _worth_another(samples: list[Sample]) -> bool:
    """Return whether a further call is affordable, or the first one needs it."""
    last = samples[-1]
    if last.over_limit:
        return len(samples) == 1 and last.seconds < FAIR_SHARE * last.time_limit
    return sum(sample.seconds for sample in [*samples, last]) <= WARM_SECONDS


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
