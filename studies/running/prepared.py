"""A fitted ensemble with all its rows, on its way from one process to the next."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forestprune import PruningData, TreeEnsemble
from studies.running.held_out import Part


@dataclass(frozen=True)
class Prepared:
    """A fitted ensemble with all rows.

    Attributes
    ----------
    ensemble
        With the features' names.
    data
        Of pruning problems on the training rows.
    parts
        ``train``, ``validation`` and ``test``: rows (m, features) and response (m,).
    """

    ensemble: TreeEnsemble
    data: PruningData
    parts: dict[str, Part]

    def write(self, path: Path) -> None:
        """Write it to a file."""
        with path.open("wb") as file:
            pickle.dump(self, file, pickle.HIGHEST_PROTOCOL)

    @classmethod
    def read(cls, path: Path) -> Prepared:
        """Return what `write` wrote."""
        with path.open("rb") as file:
            found: Any = pickle.load(file)
        assert isinstance(found, cls)
        return found
