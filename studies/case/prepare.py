"""Fit the forest of a case in the units of the response, with the names of its features."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from studies.running.child import Save
from studies.running.machine import now, peak_megabytes
from studies.running.prepare import new_model, parts_of
from studies.running.prepared import Prepared, named
from studies.spec import Instance


def prepare(request: dict[str, Any], save: Save) -> None:
    """Write what is `Prepared` to a file; save how it went.

    Parameters
    ----------
    request
        ``instance``: the instance as plain values; ``path``: the file to write.
    save
        Takes the outcome.
    """
    instance = Instance(**request["instance"])
    parts, names = parts_of(instance)
    model = new_model(instance.ensemble, instance.trees, instance.depth, instance.seed)
    found, seconds = Prepared.fitted(model, parts, named(names))
    found.write(Path(request["path"]))
    every = np.concatenate([rows for rows, _ in parts.values()])
    save(
        {
            "status": "ok",
            **seconds,
            "features": len(names),
            "missing": float(np.isnan(every).mean()),
            "columns_with_missing": int(np.isnan(every).any(axis=0).sum()),
            "peak_mb": peak_megabytes(),
            "finished": now(),
        }
    )
