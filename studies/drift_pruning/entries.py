"""The finished cells of a run, put together over seeds, and their prunings by phase."""

from __future__ import annotations

import statistics
from bisect import bisect_right
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from studies.drift_pruning.cell import PruneCell
from studies.drift_pruning.kind import PruneRun
from studies.running.records import Row

Point = dict[str, Any]

# Objectives that differ by less, relatively, are the same.
SAME = 1e-9

PHASES = (
    "before the drift",
    "when it begins",
    "first after it",
    "second after it",
    "before the next drift",
)


@dataclass(frozen=True)
class Entry:
    """How much is pruned, on a stream, over all seeds.

    Attributes
    ----------
    cells
        Finished.
    drifts
        By cell, the known drifts, [begin, end] each.
    """

    cells: tuple[tuple[PruneCell, Row], ...]
    drifts: tuple[list[list[int]], ...]

    @property
    def stream(self) -> str:
        """The stream's name."""
        instance = self.cells[0][0].instance
        return f"{instance.kind}, {instance.grid}"

    @property
    def size(self) -> str:
        """How much is pruned."""
        return self.cells[0][0].name

    @property
    def prunings(self) -> list[Point]:
        """All prunings."""
        return [one for _, row in self.cells for one in row["prunings"]]

    def accuracy(self, model: str) -> float | None:
        """Return the mean accuracy of a model over seeds; None where there is no such model."""
        found = [row["models"].get(model) for _, row in self.cells]
        known = [model["accuracy"] for model in found if model is not None]
        return statistics.mean(known) if known else None

    def recoveries(self, model: str) -> list[int | None]:
        """Return the recoveries of a model from all drifts, None where there was none."""
        return [one for _, row in self.cells for one in row["models"][model]["recovery"]]

    def phases(self) -> dict[str, list[Point]]:
        """Return the prunings next to drifts, by phase.

        A pruning holds until the next one. Before a drift: the last that has ended when it
        begins. Then the one that holds when it begins, the next two, and the last that has
        ended before the next drift begins.
        """
        found: dict[str, list[Point]] = {name: [] for name in PHASES}
        for (_, row), drifts in zip(self.cells, self.drifts, strict=True):
            starts = [one["row"] for one in row["prunings"]]
            begins = [begin for begin, _ in drifts]
            for begin, end in zip(begins, [*begins[1:], row["rows"]], strict=True):
                holds = bisect_right(starts, begin) - 1
                last = bisect_right([*starts[1:], row["rows"]], end) - 1
                if 1 <= holds < last - 2:
                    places = (holds - 1, holds, holds + 1, holds + 2, last)
                    for name, place in zip(PHASES, places, strict=True):
                        found[name].append(row["prunings"][place])
        return found


def entries_of(run: PruneRun) -> list[Entry]:
    """Return the finished cells by stream and by how much is pruned, in the order of running."""
    done = [(cell, row) for cell, row in run.cells if row["status"] == "ok"]
    streams = list(dict.fromkeys(cell.instance.kind for cell, _ in run.cells))
    sizes = list(dict.fromkeys(cell.name for cell, _ in run.cells))

    def key(pair: tuple[PruneCell, Row]) -> tuple[int, int]:
        return streams.index(pair[0].instance.kind), sizes.index(pair[0].name)

    found = []
    for _, group in groupby(sorted(done, key=key), key=key):
        members = tuple(group)
        drifts = tuple(run.preparations[cell.instance]["drifts"] for cell, _ in members)
        found.append(Entry(members, drifts))
    return found


def by_stream(entries: list[Entry]) -> list[tuple[str, list[Entry]]]:
    """Return the entries of each stream under its name."""
    return [(s, list(own)) for s, own in groupby(entries, key=lambda entry: entry.stream)]


def ratio(point: Point) -> float | None:
    """Return the time of a descent with a warm start over that without; None without one."""
    if point["warm_seconds"] is None:
        return None
    return float(point["warm_seconds"] / max(point["cold_seconds"], 1e-9))


def compared(points: list[Point]) -> tuple[int, int, int]:
    """Return how often a warm start led to a lower, the same, and a higher objective."""
    lower = same = higher = 0
    for point in points:
        if point["warm_objective"] is not None:
            change = point["warm_objective"] - point["objective"]
            close = abs(change) <= SAME * abs(point["objective"])
            same += close
            lower += change < 0.0 and not close
            higher += change > 0.0 and not close
    return lower, same, higher


def median_of(points: list[Point], name: str) -> float | None:
    """Return the median of a value over prunings; None where there is none."""
    known = [point[name] for point in points if point[name] is not None]
    return statistics.median(known) if known else None
