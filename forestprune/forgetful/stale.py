"""Which trees of a forest are replaced when it has become worse.

Source: Yuan and Shasha, "Forgetful Forests", 2023, §3.3: when the accuracy of the forest fell
significantly, the share (last − new) / last of its trees is replaced, the worst first. Whether
the fall is significant is decided by the one-sided test of `watch.has_risen`.
"""

from __future__ import annotations

import numpy as np

from forestprune.forgetful.adaptation import (
    BATCH_GUESS,
    BATCH_LOSS,
    BATCH_SQUARE,
    gain_over_guessing,
)
from forestprune.forgetful.watch import (
    GUESS,
    LOSS,
    PAST,
    RECENT,
    WATCH_COLUMNS,
    has_risen,
    observe,
)
from formulations.arrays import FloatArray, IntArray


class StaleTrees:
    """Watches the losses of a forest."""

    def __init__(self, regression: bool) -> None:
        self._regression = regression
        self._watch = np.zeros(WATCH_COLUMNS)

    def find(self, rows: int, batch: FloatArray) -> IntArray:
        """Return the trees to replace, the worst first; usually none.

        Parameters
        ----------
        rows
            Number of rows of the batch.
        batch
            (trees + 1, 3) losses of the present trees on the batch, and last of the forest.
        """
        watch, forest = self._watch, batch[-1]
        observe(watch, rows, forest[BATCH_LOSS], forest[BATCH_SQUARE], forest[BATCH_GUESS])
        if not has_risen(watch):
            return np.empty(0, dtype=np.int64)
        share = self._fall()
        watch[PAST:] = watch[RECENT:PAST]  # one fall replaces trees once
        count = round(share * (len(batch) - 1))
        return np.argsort(-batch[:-1, BATCH_LOSS], kind="stable")[:count]

    def _fall(self) -> float:
        """Return (last − new) / last of the accuracy, or of the share that is explained."""
        watch = self._watch
        if self._regression:
            last, new = (
                gain_over_guessing(watch[when + LOSS], watch[when + GUESS], True)
                for when in (PAST, RECENT)
            )
        else:
            last, new = 1.0 - watch[PAST + LOSS], 1.0 - watch[RECENT + LOSS]
        return min(max((last - new) / last, 0.0), 1.0) if last > 0.0 else 0.0
