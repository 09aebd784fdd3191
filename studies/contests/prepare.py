"""Fit the ensemble of a fold and build what the problems need."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from studies.contests.fold import Fold
from studies.contests.parts import parts_of
from studies.running.child import Save
from studies.running.machine import now, peak_megabytes
from studies.running.prepare import new_model
from studies.running.prepared import Prepared, named

# What the published experiments set beside trees, depth and learning rate.
_OPTIONS: dict[str, dict[str, Any]] = {
    "forest": {"max_features": "sqrt"},
    "boosting": {"subsample": 0.25},
}


def prepare(request: dict[str, Any], save: Save) -> None:
    """Write what is `Prepared` to a file; save how it went.

    Parameters
    ----------
    request
        ``instance``: the fold as plain values; ``path``: the file to write.
    save
        Takes the outcome.
    """
    fold = Fold(**request["instance"])
    parts, names, there, dropped = parts_of(fold)
    model = new_model(fold.ensemble, fold.trees, fold.depth, fold.seed)
    model.set_params(**_OPTIONS[fold.ensemble])
    found, seconds = Prepared.fitted(model, parts, named(names))
    found.write(Path(request["path"]))
    save(
        {
            "status": "ok",
            **seconds,
            "features": len(names),
            "dropped": dropped,
            "rows_there": there,
            "peak_mb": peak_megabytes(),
            "finished": now(),
        }
    )
