"""The figures of `gaps`: gap against time, and performance profiles."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator, PercentFormatter

from studies.drawing.style import COLOURS, INK, MARKERS, new_figure, number, plain
from studies.gaps.problems import Attempt, Problem
from studies.gaps.statistics import performance_profile

# Gaps below this count as proven, and are drawn here: a logarithmic axis has no zero.
_PROVEN = 1e-6

Style = dict[str, tuple[str, str]]


def draw_traces(problems: list[Problem]) -> Figure:
    """Draw gap against time on logarithmic axes: instances down, α across, a line a solver."""
    instances = list(dict.fromkeys(problem.instance for problem in problems))
    alphas = sorted({problem.alpha for problem in problems}, reverse=True)
    rows, columns = max(len(instances), 1), max(len(alphas), 1)
    figure = new_figure(max(2.7 * columns, 5.0) + 0.6, 2.3 * rows + 1.1)
    panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    styles = _styles(problems)
    by_place = {(problem.instance, problem.alpha): problem for problem in problems}
    for instance, line in zip(instances, panels, strict=False):
        for alpha, panel in zip(alphas, line, strict=True):
            problem = by_place.get((instance, alpha))
            _draw_panel(panel, () if problem is None else problem.attempts, styles)
            if problem is None:
                panel.text(0.5, 0.5, "not run", transform=panel.transAxes, ha="center", color=INK)
        kind = instance.kind.replace(", ", "\n")
        line[0].set_ylabel(f"{kind}\n{instance.grid}\n\ngap, %", color=INK, fontsize=9)
    panels[0, 0].set_ylim(_PROVEN / 3.0, _next_decade(problems))
    for alpha, panel in zip(alphas, panels[0], strict=False):
        panel.set_title(f"α = {alpha:g}", color=INK, fontsize=10, fontweight="bold")
    panels[0, 0].annotate(
        "proven",
        (1.0, _PROVEN),
        xycoords=("axes fraction", "data"),
        xytext=(-3, 0),
        textcoords="offset points",
        ha="right",
        va="center",
        fontsize=8,
        color=INK,
    )
    for panel in panels[-1]:
        panel.set_xlabel("seconds", color=INK, fontsize=9)
    _legend(figure, styles)
    return figure


def _draw_panel(panel: Axes, attempts: Iterable[Attempt], styles: Style) -> None:
    panel.axhspan(_PROVEN / 3.0, _PROVEN * 1.6, color="#EEEEEE", linewidth=0.0, zorder=0)
    for attempt in attempts:
        points = [(t, g) for t, g in attempt.trace if math.isfinite(g)]
        if not points:
            continue
        points.append((max(points[-1][0], attempt.seconds), points[-1][1]))
        colour, marker = styles[attempt.solver]
        seconds = [max(t, 1e-4) for t, _ in points]
        gaps = [max(g, _PROVEN) for _, g in points]
        panel.plot(seconds, gaps, color=colour, linewidth=1.5, drawstyle="steps-post", alpha=0.9)
        panel.plot(
            seconds[-1],
            gaps[-1],
            linestyle="none",
            marker=marker,
            markersize=7.5,
            markerfacecolor=colour,
            markeredgecolor="white",
            markeredgewidth=0.8,
            clip_on=False,
            zorder=3,
        )
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.xaxis.set_major_locator(LogLocator(numticks=8))
    panel.xaxis.set_minor_locator(NullLocator())
    panel.yaxis.set_minor_locator(NullLocator())
    panel.xaxis.set_major_formatter(FuncFormatter(number))
    panel.yaxis.set_major_formatter(FuncFormatter(_gap_label))
    panel.tick_params(labelsize=8)
    plain(panel)


def _next_decade(problems: list[Problem]) -> float:
    """Return the power of ten at or above the largest gap, at most 1 as a gap may be huge."""
    gaps = [gap for p in problems for a in p.attempts for _, gap in a.trace if math.isfinite(gap)]
    return float(10.0 ** math.ceil(math.log10(min(max([*gaps, 1e-4]), 1.0))))


def _gap_label(gap: float, _: object = None) -> str:
    return "≤ 0.0001" if math.isclose(gap, _PROVEN) else number(100.0 * gap)


def draw_profile(problems: list[Problem]) -> Figure:
    """Draw for each solver the share of problems proven within τ times the fastest proof."""
    styles = _styles(problems)
    profiles = performance_profile(proof_times(problems))
    figure = new_figure(8.0, 4.6)
    panel = figure.subplots()
    largest = 1.3 * max((t for steps in profiles.values() for t, _ in steps), default=10.0)
    for solver, steps in profiles.items():
        if not steps:
            continue
        colour, marker = styles[solver]
        taus = [1.0, *(tau for tau, _ in steps), largest]
        shares = [0.0, *(share for _, share in steps), steps[-1][1]]
        panel.plot(
            taus,
            shares,
            color=colour,
            linewidth=1.8,
            drawstyle="steps-post",
            marker=marker,
            markevery=[len(taus) - 1],
            markersize=8,
            markeredgecolor="white",
            clip_on=False,
        )
    panel.set_xscale("log")
    panel.set_xlim(1.0, largest)
    panel.set_ylim(0.0, 1.0)
    panel.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    panel.xaxis.set_minor_locator(NullLocator())
    panel.xaxis.set_major_formatter(FuncFormatter(number))
    panel.yaxis.set_major_formatter(PercentFormatter(1.0))
    panel.set_xlabel("τ: time to prove the optimum, over that of the fastest solver", color=INK)
    panel.set_ylabel(f"share of {len(problems)} problems", color=INK)
    plain(panel)
    counts = {solver: f"{solver}: {len(steps)} proven" for solver, steps in profiles.items()}
    _legend(figure, styles, counts)
    return figure


def proof_times(problems: list[Problem]) -> dict[str, Sequence[float]]:
    """Return by solver the seconds to prove each problem, inf where it did not."""
    solvers = dict.fromkeys(a.solver for problem in problems for a in problem.attempts)
    return {
        solver: [
            min((a.seconds for a in p.proofs if a.solver == solver), default=math.inf)
            for p in problems
        ]
        for solver in solvers
    }


def _styles(problems: list[Problem]) -> Style:
    solvers = dict.fromkeys(a.solver for problem in problems for a in problem.attempts)
    return {
        solver: (COLOURS[k % len(COLOURS)], MARKERS[k % len(MARKERS)])
        for k, solver in enumerate(solvers)
    }


def _legend(figure: Figure, styles: Style, names: dict[str, str] | None = None) -> None:
    handles = [
        Line2D(
            [],
            [],
            color=colour,
            marker=marker,
            markersize=8,
            markeredgecolor="white",
            label=(names or {}).get(solver, solver),
        )
        for solver, (colour, marker) in styles.items()
    ]
    if handles:
        figure.legend(
            handles=handles,
            loc="outside upper center",
            ncols=min(len(handles), 3),
            frameon=False,
            labelcolor=INK,
            fontsize=9,
        )
