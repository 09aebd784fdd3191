"""Draw a stream once for all cells of a study."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from studies.running.child import Save
from studies.running.machine import now
from studies.streams.load import load
from studies.streams.stream import read_stream


def prepare(request: dict[str, Any], save: Save) -> None:
    """Write the rows of a stream to a file, once for all models.

    Parameters
    ----------
    request
        ``instance``: the stream as plain values; ``path``: the file to write.
    save
        Takes the outcome.
    """
    rows = load(read_stream(request["instance"]))
    rows.write(Path(request["path"]))
    save(
        {
            "status": "ok",
            "features": len(rows.features),
            "classes": len(rows.classes),
            "drifts": [[drift.begin, drift.end] for drift in rows.drifts],
            "finished": now(),
        }
    )
