"""How objective and bound developed over the time of a solve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from forestprune.pictures.style import COLOURS, new_axes, open_frame
from formulations import InvalidInput
from formulations.arrays import FloatArray
from solvers import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_convergence(
    results: Result | Sequence[Result] | Mapping[str, Result], ax: Axes | None = None
) -> Axes:
    """Draw the objective, and the proven bound below it, against time.

    Every result has one colour: the objective is a full line, the bound a dashed one, and what
    is between them is shaded. The marks are what was returned; where nothing was recorded on the
    way they stand alone. Nothing is drawn of an objective or a bound that is infinite.

    Parameters
    ----------
    results
        What `solve` returned: one or several for the same problem, or a mapping from their
        labels, by default the names of the solvers.
    ax
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
        The axes, with seconds on a logarithmic scale.

    Raises
    ------
    InvalidInput
        When there is no result, or something else among them.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    labelled = _labelled(results)
    if ax is None:
        ax = new_axes(7.0, 4.2)
    for number, (label, result) in enumerate(labelled):
        colour = COLOURS[number % len(COLOURS)]
        seconds, objective, bound = _steps(result)
        known = np.isfinite(objective) & np.isfinite(bound)
        ax.fill_between(
            seconds, bound, objective, where=known, step="post", color=colour, alpha=0.12, lw=0
        )
        end: dict[str, Any] = {
            "markevery": [len(seconds) - 1],
            "markersize": 5,
            "drawstyle": "steps-post",
        }
        ax.plot(seconds, _finite(objective), color=colour, marker="o", label=label, **end)
        ax.plot(seconds, _finite(bound), color=colour, marker="^", linestyle="--", lw=1.1, **end)
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0), numticks=9))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda seconds, _: f"{seconds:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_xlabel("seconds")
    ax.set_ylabel("objective, and bound below (units of y²)")
    ax.legend(frameon=False, loc="best")
    open_frame(ax, "both")
    return ax


def _labelled(results: object) -> list[tuple[str, Result]]:
    if isinstance(results, Result):
        results = [results]
    if isinstance(results, Mapping):
        pairs = [(str(label), result) for label, result in results.items()]
    elif isinstance(results, Sequence) and all(isinstance(one, Result) for one in results):
        pairs = [(result.solver, result) for result in results]
    else:
        pairs = [("", results)]
    if not pairs or not all(isinstance(result, Result) for _, result in pairs):
        raise InvalidInput(
            "results must be one or several results of solve, or a mapping of such, not "
            f"{type(results).__name__}"
        )
    return pairs


def _steps(result: Result) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return seconds, objectives and bounds of a trace that ends with what was returned."""
    entries = [(entry.seconds, entry.objective, entry.bound) for entry in result.trace]
    last = max([result.solve_seconds, *(seconds for seconds, _, _ in entries)])
    steps = np.array([*entries, (last, result.objective, result.bound)], dtype=np.float64)
    steps[:, 0] = np.maximum(steps[:, 0], 1e-6)  # a logarithmic axis has no zero
    return steps[:, 0], steps[:, 1], steps[:, 2]


def _finite(values: FloatArray) -> FloatArray:
    return np.where(np.isfinite(values), values, np.nan)
