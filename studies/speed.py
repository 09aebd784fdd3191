"""How fast this software is, as ratios of times measured in one run.

Absolute times depend on the machine and on what else it does; a ratio of two medians taken
in turn depends on it much less. The unit of comparison is what users know: the time that
the source model needs for ``apply`` or ``fit`` on the same rows with one core.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from rich.console import Console
from sklearn.ensemble import RandomForestRegressor

from forestprune import LayerPruning, pruning_data, solve, solve_path
from formulations.arrays import FloatArray
from formulations.kernels.trees import sum_leaves
from studies import datasets
from studies.reporting.formats import seconds
from studies.reporting.tables import Group, Table
from studies.running.machine import peak_megabytes


@dataclass(frozen=True)
class Setting:
    """A random forest on rows of the diamonds data, log price standardised.

    Attributes
    ----------
    rows, trees, depth
        Size of the instance.
    repeats
        Calls of which the median is taken.
    path
        Whether to time a path of 50 α.
    """

    rows: int
    trees: int
    depth: int
    repeats: int
    path: bool


SETTINGS = (
    Setting(1145, 100, 6, 25, True),
    Setting(50164, 100, 6, 9, True),
    Setting(15000, 500, 20, 3, False),
    Setting(50164, 1000, 6, 3, True),
)


LABELS = ("cbcd[local_search=False]", "cbcd", "relaxation")


@dataclass(frozen=True)
class Figure:
    """One measurement: seconds, and how they compare.

    Attributes
    ----------
    what
        What was measured.
    seconds
        Median; None where it is no time.
    compared
        For people: the ratio to something measured in the same run, a gap, or "".
    """

    what: str
    seconds: float | None
    compared: str = ""


def speed_table(settings: Iterable[Setting], console: Console) -> Table:
    """Measure some settings one after the other, with a line on what is being done."""
    groups = []
    for setting in settings:
        title = f"{setting.rows:,} rows × {setting.trees:,} trees of depth {setting.depth}"
        with console.status(f"measuring {title}"):
            figures = measure_setting(setting)
        rows = [
            (item.what, "" if item.seconds is None else seconds(item.seconds), item.compared)
            for item in figures
        ]
        groups.append(Group(title, tuple(rows)))
    caption = "Random forests on diamonds, log price standardised, α = 1; medians, one thread"
    return Table(caption, ("", "seconds", "compared"), tuple(groups))


def measure_setting(setting: Setting, alpha: float = 1.0) -> list[Figure]:
    """Measure one setting; kernels are compiled before anything is timed."""
    X, y = diamonds_rows(setting.rows)
    model = RandomForestRegressor(setting.trees, max_depth=setting.depth, random_state=0)
    fit, _ = _timed(lambda: model.fit(X, y), 1)
    _warm_up(model, X, y, alpha)
    build, data = _timed(lambda: pruning_data(model, X, y), min(3, setting.repeats))
    scatter, _ = _timed(lambda: _scatter_all(data), setting.repeats)
    problem = LayerPruning(data, alpha)
    bound, _ = _timed(lambda: problem.linear_bound(problem.point(problem.full())), setting.repeats)
    solved = [(label, *_solved(problem, label, setting.repeats)) for label in LABELS]
    path = solve_path(_fresh(problem), values=50, time_limit=None) if setting.path else None
    peak = peak_megabytes()  # before the source's apply, which holds 8 bytes per row and tree
    apply, _ = _timed(lambda: model.apply(X), min(3, setting.repeats))
    per_visit = 1e9 * scatter / (setting.rows * setting.trees)
    figures = [
        Figure("fit the forest", fit),
        Figure("model.apply(X)", apply),
        Figure("build the pruning data", build, f"{build / apply:.2f} × apply"),
        Figure(
            "scatter-add of all codes: the limit of a sweep",
            scatter,
            f"{per_visit:.2f} ns a row and tree",
        ),
        Figure("Frank–Wolfe bound at a point", bound, f"{bound / scatter:.1f} × limit"),
    ]
    for label, took, gap in solved:
        compared = f"{took / apply:.2f} × apply, gap {100 * gap:.2g} %"
        figures.append(Figure(f"{label}, with bound", took, compared))
    if path is not None:
        compared = f"{path.seconds / fit:.2f} × fit"
        figures.append(Figure("cbcd, path of 50 α", path.seconds, compared))
    megabytes = f"codes {data.codes.nbytes / 1e6:.0f} MB, {data.codes.itemsize} byte a row and tree"
    figures.append(
        Figure("memory", None, megabytes + f"; peak {peak:.0f} MB" if peak else megabytes)
    )
    return figures


def diamonds_rows(count: int) -> tuple[FloatArray, FloatArray]:
    """Return some rows of the diamonds data with their log price, standardised."""
    data_set = datasets.load("diamonds")
    rows = np.random.default_rng(0).permutation(len(data_set.y))[:count]
    y = data_set.y[rows]
    return data_set.X.to_numpy()[rows], (y - y.mean()) / y.std()


def _solved(problem: LayerPruning, label: str, repeats: int) -> tuple[float, float]:
    """Return the median time of build and solve, and the gap of the first result."""
    results = [solve(_fresh(problem), label, time_limit=None) for _ in range(repeats)]
    return median(item.build_seconds + item.solve_seconds for item in results), results[0].gap


def _warm_up(model: Any, X: Any, y: Any, alpha: float) -> None:
    """Compile the kernels for codes of the size that this model needs."""
    data = pruning_data(model, X[:50], y[:50])
    _scatter_all(data)
    small = LayerPruning(data, alpha)
    small.linear_bound(small.point(small.full()))
    for label in LABELS:
        solve(small, label)


def _fresh(problem: LayerPruning) -> LayerPruning:
    """Return the problem without caches, so that a solve does all its work."""
    copy: LayerPruning = pickle.loads(pickle.dumps(problem))
    return copy


def _scatter_all(data: Any) -> None:
    """Add the residual up over the leaves of every tree, and nothing else."""
    residual = np.array(data.target)
    for i in range(data.n_trees):
        sums = np.empty((int(data.leaf_start[i + 1] - data.leaf_start[i]), data.n_outputs))
        sum_leaves(data.codes[i], residual, sums)


def _timed(call: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """Return the median time of some calls, and what the last one returned."""
    seconds = []
    for _ in range(repeats):
        begin = perf_counter()
        outcome = call()
        seconds.append(perf_counter() - begin)
    return median(seconds), outcome
