"""Pictures of results: matplotlib axes in, axes out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from formulations import JointPruning, Polishing
from solvers import Path

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_path(path: Path, ax: Axes | None = None) -> Axes:
    """Draw objective and proven bound along a path, and the size of the pruned ensemble.

    Parameters
    ----------
    path
        What `solve_path` returned.
    ax
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
        The axes with objective, bound and loss; its twin on the right has the kept nodes, or
        the kept trees where node counts are not known. What has no proven bound has no gap.
    """
    import matplotlib.pyplot as plt
    from matplotlib.ticker import MaxNLocator

    frame = path.to_frame(full=False)
    if ax is None:
        _, ax = plt.subplots(figsize=(7.0, 4.2), layout="constrained")
    frame = frame.replace([np.inf, -np.inf], np.nan)  # nothing found, nothing proven: no line
    values = frame[path.over]
    size = "nodes" if "nodes" in frame else "trees"
    ax.fill_between(
        values, frame["bound"], frame["objective"], color="#0072b2", alpha=0.25, label="gap"
    )
    ax.plot(values, frame["objective"], color="#0072b2", label="objective")
    ax.plot(values, frame["loss"], color="#009e73", linestyle="--", label="loss")
    twin = ax.twinx()
    twin.plot(values, frame[size], color="#d55e00", linestyle=":", label=f"kept {size}")
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
    assert isinstance(path.problem, JointPruning | Polishing)
    return "α₂ of the ridge" if path.problem.rho == 2 else "α₂ (units of y²)"
