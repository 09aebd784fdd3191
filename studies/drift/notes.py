"""The caption with every setting, what a reader must know, and the run in a few sentences."""

from __future__ import annotations

import statistics

from studies.drift.cell import DriftCell
from studies.drift.kind import DriftRun
from studies.drift.systems import SYSTEMS
from studies.drift.tables import Entry, by_stream
from studies.reporting.report import machine_note, reasons


def caption(cell: DriftCell, entries: list[Entry]) -> str:
    """Return the table's caption: protocol, and the settings and seeds of every model.

    Parameters
    ----------
    cell
        Any cell of the run.
    """
    seeds = sorted({one.instance.seed for entry in entries for one, _ in entry.cells})
    parts = [
        f"Prequential accuracy without the first {cell.cold:,} rows; models marked “batches” "
        f"predict {cell.batch} rows and learn them then, those marked “rows” predict and learn "
        "row by row, which is another task: compare within one kind, and with its own no change"
    ]
    known = dict.fromkeys(entry.model for entry in entries)
    for rowwise, how in ((False, f"Batches of {cell.batch}"), (True, "Row by row")):
        own = [SYSTEMS[name] for name in known if SYSTEMS[name].rowwise == rowwise]
        if own:
            parts.append(f"{how}: " + "; ".join(f"{s.title}: {s.settings}" for s in own))
    parts.append(f"Seeds of streams and models: {', '.join(map(str, seeds))}")
    return ". ".join(parts) + "."


def brief_caption(cell: DriftCell) -> str:
    """Return a caption for the terminal."""
    return (
        f"Prequential, without the first {cell.cold:,} rows; by batches of {cell.batch} or row by "
        "row, which are not the same task (all settings: table.md)"
    )


def notes(run: DriftRun, cell: DriftCell | None) -> list[str]:
    """Return a sentence or so for each thing to know."""
    if cell is None:
        return ["No cell has finished yet.", *reasons(run)]
    return [
        f"Recovery: rows from the beginning of a drift to the first row from which on the next "
        f"{cell.window:,} rows are predicted at most {100 * cell.margin:g} points worse than the "
        f"last {cell.window:,} before the drift; the median over the drifts and seeds that were "
        "recovered from before the next drift. A harder concept may never be predicted as well "
        "as the one before, however well it is learnt.",
        "Macro F1: the mean over the classes that occur.",
        "Rows per second: of CPU time, learning and predicting apart; before the clock starts, a "
        "model that is thrown away sees some batches, so that nothing is compiled or imported on "
        "it. What river takes, a dictionary a row, is made with the clock stopped.",
        "Held rows: the most that was remembered at any time (of a forest: the mean over its "
        "trees); – where no rows are kept. Pickle: of the model after the last row.",
        "Gradual drift: the new concept's probability is a logistic function of time, which "
        "takes the width shown as a grey band; incremental: the concept moves with every row. "
        "Real streams have no known drifts.",
        machine_note(run, "model"),
        *reasons(run),
    ]


def conclusion(entries: list[Entry]) -> str:
    """Return the mean accuracies over the streams that all have finished, best first."""
    streams = by_stream(entries)
    said = []
    for rowwise, how in ((False, "By batches"), (True, "Row by row")):
        found: dict[str, list[float]] = {}
        for _, own in streams:
            for entry in own:
                if entry.system.rowwise == rowwise:
                    found.setdefault(entry.system.title, []).append(entry.accuracy)
        whole = {t: statistics.mean(v) for t, v in found.items() if len(v) == len(streams)}
        if whole:
            ranked = sorted(whole.items(), key=lambda pair: -pair[1])
            said.append(f"{how}: " + ", ".join(f"{t} {100 * mean:.1f} %" for t, mean in ranked))
    if not said:
        return ""
    over = "the stream" if len(streams) == 1 else f"{len(streams)} streams"
    return f"Mean accuracy over {over}. " + ". ".join(said) + "."
