"""The table of a cross-validated path."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd

from forestprune.estimators.folds import FoldErrors
from forestprune.estimators.path import PrunedPath


def path_table(path: PrunedPath, folds: list[FoldErrors]) -> pd.DataFrame:
    """Return the table of the path, as far as every fold has come."""
    reached = min(len(fold.error) for fold in folds)
    if reached < path.asked:
        warnings.warn(
            f"a time limit or callback has ended a path after {reached} of {path.asked} values of "
            "α: those below are left out",
            stacklevel=3,
        )
    error = np.array([fold.error[:reached] for fold in folds])
    spread = folds[0].spread[:reached]
    if len(folds) > 1:
        spread = error.std(axis=0, ddof=1) / np.sqrt(len(folds))
    kept = path.pruned[:reached]
    columns: dict[str, Any] = {
        "alpha": path.alphas[:reached],
        "nodes": [pruned.n_nodes for pruned in kept],
        "trees": [pruned.n_trees for pruned in kept],
        "gap": [pruned.result.gap for pruned in kept],
        "error": error.mean(axis=0),
        "standard_error": spread,
    }
    for number, fold in enumerate(folds):
        columns[f"fold{number}_error"] = fold.error[:reached]
        columns[f"fold{number}_nodes"] = fold.nodes[:reached]
    return pd.DataFrame(columns)
