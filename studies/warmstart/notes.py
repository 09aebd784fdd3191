"""What a reader of the tables of `warmstart` must know, and what came out."""

from __future__ import annotations

from studies.reporting import formats
from studies.reporting.report import machine_note, reasons
from studies.warmstart.cell import STARTS
from studies.warmstart.kind import StartRun
from studies.warmstart.paths import Paths
from studies.warmstart.tables import best_at


def conclusion(found: list[Paths]) -> str:
    """Return in a sentence or two at how many α each way is best, and what is proven."""
    starts = [start for start in STARTS if any(start in paths.compared for paths in found)]
    if not starts:
        return ""
    parts = []
    for start in starts:
        own = [paths for paths in found if start in paths.compared]
        won = sum(best_at(paths, start) for paths in own)
        worst = max((max(paths.above(start), default=0.0) for paths in own), default=0.0)
        parts.append(
            f"{STARTS[start].name}: {won} of {sum(paths.length for paths in own)} α, elsewhere "
            f"up to {formats.percent(worst)} % above"
        )
    said = f"No other start has a lower objective: {'; '.join(parts)}."
    last = starts[-1]
    gaps = [g for paths in found if last in paths.compared for g in paths.gaps(last)]
    known = [gap for gap in gaps if gap is not None]
    if known and len(known) == len(gaps):
        said += (
            f" The path of {STARTS[last].name} is proven within {formats.percent(max(known))} % "
            "of the optimum at every α."
        )
    return said


def notes(run: StartRun, found: list[Paths]) -> list[str]:
    """Return a sentence or so for each thing to know."""
    if not found:
        return ["No path has finished yet.", *reasons(run)]
    cell = run.cells[0][0]
    return [
        "; ".join(
            f"{paths.instance.kind}, {paths.instance.grid}: trees of depth {paths.instance.depth}"
            for paths in found
        )
        + ". Problem (1) with node weights; the objective is on the training rows, which is what "
        "is minimised: no row is held out, since no error is reported.",
        f"A path of {cell.values} α, evenly spaced in the logarithm from where the empty model "
        f"is proven optimal down to 1/{1 / cell.span:,.0f} of it, in units of the variance of y. "
        "Zero start: every α from the empty model. Warm start: from the solution before. Local "
        "search: swaps of trees at each of the fixed points. No way takes solutions from other α "
        "of its path, as `solve_path` would.",
        "A sweep looks at every tree once; those of the local search are counted, too. Sweeps "
        "pass over trees whose choice cannot change, so they take less and less.",
        "The proven gap is to the best bound at this α of all paths, that of the relaxation "
        "included; the bound of a smaller α holds for a larger one. Parts below 0.0001 % are "
        "drawn at the foot of the figure.",
        "Path s: the median of "
        f"{max(row.get('followed', 1) for _, row in run.cells)} paths in one process at most, "
        "each with all that is built for it.",
        machine_note(run),
        *reasons(run),
    ]
