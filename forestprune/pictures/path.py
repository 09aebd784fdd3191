"""Pictures of paths: objective and bound against the parameter, errors against size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from forestprune.pictures.path_errors import errors_on
from forestprune.pictures.style import COLOURS, new_axes, open_frame
from formulations import InvalidInput, Polishing
from solvers import Path

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


def plot_path(
    path: Path,
    ax: Axes | None = None,
    *,
    against: str = "parameter",
    test: tuple[Any, Any, npt.ArrayLike] | None = None,
) -> Axes:
    """Draw a path: what it proves against its parameter, or errors against the size.

    Parameters
    ----------
    path
        What `solve_path` returned.
    ax
        Where to draw; a new figure by default.
    against
        ``"parameter"``: objective, proven bound and loss, and on a twin axis on the right the
        kept nodes, or kept trees where node counts are not known. What has no proven bound has
        no gap. ``"nodes"`` or ``"trees"``: the error against the number that was kept, and that
        of the full model as a line.
    test
        Model, rows and response ``(model, X, y)`` for errors on other rows than those of the
        problem: the model that the problem comes from. Only against nodes or trees.

    Returns
    -------
    Axes
        The axes.

    Raises
    ------
    InvalidInput
        When the number of nodes is not known, or ``test`` is about another model.
    """
    if against not in ("parameter", "nodes", "trees"):
        raise InvalidInput(f'against must be "parameter", "nodes" or "trees", not {against!r}')
    if against == "parameter":
        if test is not None:
            raise InvalidInput('test is for errors: give against="nodes" or "trees"')
        return _draw_proof(path, new_axes(7.0, 4.2) if ax is None else ax)
    frame = path.to_frame()
    if against not in frame:
        raise InvalidInput('this path knows no numbers of nodes: give against="trees"')
    errors = None if test is None else errors_on(path, test)
    return _draw_errors(path, frame, against, errors, new_axes(7.0, 4.2) if ax is None else ax)


def _draw_errors(path: Path, frame: pd.DataFrame, size: str, errors: Any, ax: Axes) -> Axes:
    from matplotlib.ticker import MaxNLocator

    full = frame.iloc[-1]
    kept = frame.iloc[:-1]
    word = "unpolished model" if isinstance(path.problem, Polishing) else "full model"
    lines = [("training rows" if errors is not None else "", kept["loss"], full["loss"])]
    if errors is not None:
        lines.append(("test rows", errors[:-1], errors[-1]))
    order = np.argsort(kept[size].to_numpy(), kind="stable")
    for number, (rows, values, line) in enumerate(lines):
        colour, on = COLOURS[number], f" on {rows}" if rows else ""
        ax.plot(
            kept[size].to_numpy()[order],
            np.asarray(values)[order],
            color=colour,
            marker="o",
            markersize=4,
            label=f"pruned{on}",
        )
        ax.axhline(line, color=colour, linestyle="--", lw=1.2, label=f"{word}{on}")
    if size == "nodes":
        ax.set_xscale("symlog", linthresh=10.0)
        ax.set_xlim(left=0.0)
    else:
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_ylim(bottom=0.0)
    ax.set_xlabel(f"kept {size} (the {word} has {int(full[size]):,})")
    ax.set_ylabel("mean squared error (units of y²)")
    ax.legend(frameon=False, loc="best")
    open_frame(ax, "both")
    return ax


def _draw_proof(path: Path, ax: Axes) -> Axes:
    from matplotlib.ticker import MaxNLocator

    frame = path.to_frame(full=False)
    frame = frame.replace([np.inf, -np.inf], np.nan)  # nothing found, nothing proven: no line
    values = frame[path.over]
    size = "nodes" if "nodes" in frame else "trees"
    ax.fill_between(
        values, frame["bound"], frame["objective"], color=COLOURS[0], alpha=0.25, label="gap"
    )
    ax.plot(values, frame["objective"], color=COLOURS[0], label="objective")
    ax.plot(values, frame["loss"], color=COLOURS[2], linestyle="--", label="loss")
    twin = ax.twinx()
    twin.plot(values, frame[size], color=COLOURS[1], linestyle=":", label=f"kept {size}")
    if path.over == "n_trees":
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    elif (values > 0.0).all():
        ax.set_xscale("log")
    twin.set_yscale("symlog", linthresh=1.0)
    twin.set_ylim(bottom=0.0)
    ax.set_ylim(bottom=0.0)
    ax.set_xlabel(_label(path))
    ax.set_ylabel("objective, loss (units of y²)")
    twin.set_ylabel(f"kept {size}")
    lines, labels = ax.get_legend_handles_labels()
    more, names = twin.get_legend_handles_labels()
    ax.legend(lines + more, labels + names, loc="center left", frameon=False)
    ax.spines["top"].set_visible(False)
    twin.spines["top"].set_visible(False)
    return ax


def _label(path: Path) -> str:
    if path.over == "n_trees":
        return "trees that may be used"
    if path.over == "alpha":
        return "α (units of y²)"
    return "α₂ of the ridge" if getattr(path.problem, "rho", 0) == 2 else "α₂ (units of y²)"
