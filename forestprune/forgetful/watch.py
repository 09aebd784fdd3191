"""Whether losses rose, by more than chance: the recent rows against those before."""

from __future__ import annotations

import math

from formulations.arrays import FloatArray
from formulations.kernels.compiled import kernel

# Weights of rows fall by a factor e over so many rows: what "recent" and "the past" mean.
RECENT_ROWS = 50.0
PAST_ROWS = 1000.0
# Larger batches are compared with so many batches before.
_PAST_BATCHES = 4.0

# Standard errors by which the recent loss must exceed that of the past: one-sided 0.6 %.
SIGNIFICANT = 2.5

# Columns of a watch: rows in weight, means of the loss, its square, and of the loss of guessing.
ROWS, LOSS, SQUARE, GUESS = 0, 1, 2, 3
RECENT, PAST = 0, 4
WATCH_COLUMNS = 8


@kernel
def observe(watch: FloatArray, rows: float, loss: float, square: float, guess: float) -> None:
    """Add a batch to the two exponentially weighted means of a watch, (`WATCH_COLUMNS`,).

    A row counts 1 when it arrives and e^(−age / length) later, so that batches of one row and
    of ten thousand are treated alike.

    Parameters
    ----------
    watch
        What is updated; zeros in the beginning.
    rows
        Number of rows of the batch.
    loss, square, guess
        Means over the batch: the loss of a row, its square, and the loss of guessing.
    """
    past_rows = max(PAST_ROWS, _PAST_BATCHES * rows)
    for start, length in ((RECENT, RECENT_ROWS), (PAST, past_rows)):
        old = watch[start + ROWS] * math.exp(-rows / length)
        total = old + rows
        watch[start + ROWS] = total
        watch[start + LOSS] += (loss - watch[start + LOSS]) * rows / total
        watch[start + SQUARE] += (square - watch[start + SQUARE]) * rows / total
        watch[start + GUESS] += (guess - watch[start + GUESS]) * rows / total


@kernel
def has_risen(watch: FloatArray) -> bool:
    """Return whether the recent loss is significantly above that of the past.

    The recent rows are among those of the past, so the variance of the difference of the two
    means is s² (1 / recent − 1 / past), with s² the variance of the losses of single rows. For
    losses of 0 and 1 that is p (1 − p): the test of two proportions.
    """
    recent, past = watch[RECENT + ROWS], watch[PAST + ROWS]
    if past <= 1.5 * recent:  # too little past to compare with
        return False
    variance = watch[PAST + SQUARE] - watch[PAST + LOSS] ** 2
    error = math.sqrt(max(variance, 0.0) * (1.0 / recent - 1.0 / past))
    rise: float = watch[RECENT + LOSS] - watch[PAST + LOSS]
    return rise > SIGNIFICANT * error
