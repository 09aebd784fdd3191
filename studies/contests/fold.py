"""One fold of a data set, with the ensemble that is fitted on it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from studies.datasets import stem
from studies.errors import StudyError
from studies.spec import ENSEMBLE_NAMES, Protocol

FOLDS = 5

# Fewer leave parts of so few rows that nothing can be told.
_FEWEST_ROWS = 50


@dataclass(frozen=True)
class Fold:
    """One of several folds of a data set: three fifths train, one validates and one tests.

    Attributes
    ----------
    data, target, data_dir
        As `studies.datasets.load` takes them.
    rows
        Number of rows of all parts, drawn without replacement.
    ensemble
        ``"forest"`` or ``"boosting"``.
    trees, depth
        Size of the ensemble that is fitted.
    fold
        Which fifth of the rows tests, from 0 on; the next one validates.
    seed
        Seed of the drawing of rows and of the fit.
    protocol
        ``"sound"``: the training rows tell how the response is scaled. ``"published"``: each
        part has its own mean and variance, as in the published experiments.
    """

    data: str
    rows: int
    ensemble: str
    trees: int
    depth: int
    fold: int
    seed: int = 0
    target: str | None = None
    data_dir: str | None = None
    protocol: Protocol = "sound"

    @property
    def name(self) -> str:
        """The data set for people."""
        return stem(Path(self.data))

    @property
    def kind(self) -> str:
        """Data set, ensemble and fold: ``abalone, random forest, fold 1 of 5``."""
        return f"{self.name}, {ENSEMBLE_NAMES[self.ensemble]}, fold {self.fold + 1} of {FOLDS}"

    @property
    def grid(self) -> str:
        """Training rows times trees: ``2,506 × 100``."""
        return f"{self.rows * 3 // FOLDS:,} × {self.trees:,}"

    @property
    def preparation(self) -> str:
        """What is done to prepare it."""
        return f"fitting a {ENSEMBLE_NAMES[self.ensemble]}"

    def cut_to(self, rows: int) -> Fold:
        """Return the fold on a data set of so many rows.

        Raises
        ------
        StudyError
            When these are too few.
        """
        if rows < _FEWEST_ROWS:
            raise StudyError(
                f"{self.name} has {rows} rows; {FOLDS} folds need at least {_FEWEST_ROWS}"
            )
        return replace(self, rows=min(self.rows, rows))
