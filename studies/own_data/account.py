"""What is told of a pruning: gathered once, for the page and for the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from forestprune import PrunedEnsemble
from studies.own_data.choosing import Chosen, Size
from studies.own_data.measuring import Scores


@dataclass(frozen=True, eq=False)
class Account:
    """What is told of a pruning.

    Attributes
    ----------
    data, target
        Names of the table and of the column that is predicted.
    kind
        What was pruned, such as "random forest".
    rows
        Numbers of rows by what they were for: ``"training"``, ``"validation"``, ``"test"``;
        those of validation are among those of training.
    chosen
        The model, and what it was chosen from.
    size
        How its size was chosen.
    scores
        By kind of rows, of the whole ensemble and of the pruned one.
    saved
        Whether the ensemble was fitted elsewhere, on rows that are not known.
    command
        As it was typed.
    options
        By name, as they were used.
    notes
        What the user was told on the way.
    versions
        Of packages.
    began, seconds
        When, in UTC, and how long it took.
    """

    data: str
    target: str
    kind: str
    rows: Mapping[str, int]
    chosen: Chosen
    size: Size
    scores: Mapping[str, tuple[Scores, Scores]]
    saved: bool
    command: str
    options: Mapping[str, str]
    notes: tuple[str, ...]
    versions: Mapping[str, str]
    began: str
    seconds: float

    @property
    def pruned(self) -> PrunedEnsemble:
        """The model that is kept."""
        return self.chosen.pruned

    @property
    def classifies(self) -> bool:
        """Whether classes are predicted."""
        return self.pruned.classes is not None

    @property
    def few_trees(self) -> bool:
        """Whether only some trees were kept of those that were cut."""
        polishing = self.pruned.polishing
        if polishing is None or polishing.choice is None:
            return False
        return self.pruned.n_trees < int(np.count_nonzero(polishing.choice))

    @property
    def measure(self) -> str:
        """Name of the error."""
        return "Brier score" if self.classifies else "mean squared error"

    @property
    def unseen(self) -> str:
        """The rows that say most about new ones: of the test where there are such."""
        return "test" if "test" in self.scores else "training"
