"""How much a tree remembers: AdaptParameters, as published and with smoothed accuracies.

Source: Yuan and Shasha, "Forgetful Forests", Algorithms 16(6) 278, 2023, Algorithm 3.

In place of *accuracy − guess* there is the *gain*: the loss of guessing minus the loss of the
tree, in the unit of the loss. A row of a classifier loses 0 or 1, guessing loses
1 − 1 / classes, and the unit is 1: the gain is accuracy − guess. A row of a regressor loses the
squared error, guessing is predicting the mean of the remembered targets, and the unit is the
loss of guessing: the gain is 1 − (squared error relative to predicting the mean).
"""

from __future__ import annotations

import math

from forestprune.forgetful.watch import (
    GUESS,
    LOSS,
    PAST,
    RECENT,
    RECENT_ROWS,
    WATCH_COLUMNS,
    has_risen,
    observe,
)
from formulations.arrays import FloatArray, IntArray
from formulations.kernels.compiled import kernel

# How the remembered rows are adapted.
PAPER, PROGRAM, SMOOTHED = 0, 1, 2
ADAPTATIONS = {"paper": PAPER, "program": PROGRAM, "smoothed": SMOOTHED}

# Columns of the state of a tree; the watch comes after them.
R_SIZE, I_RATE, LAST_GAIN, STAGE, WATCH = 0, 1, 2, 3, 4
STATE_COLUMNS = WATCH + WATCH_COLUMNS

# Stages of a tree: nothing seen, everything kept, adapting.
_NEW, _WARMING_UP, _ADAPTING = 0.0, 1.0, 2.0

# Columns of what is known of a batch: means over its rows.
BATCH_LOSS, BATCH_SQUARE, BATCH_GUESS = 0, 1, 2

# The published program adapts nothing before a tree that is better than guessing holds this.
_WARM_ROWS = 128


@kernel
def gain_over_guessing(loss: float, guess: float, regression: bool) -> float:
    """Return *accuracy − guess*, or 1 − (squared error relative to predicting the mean)."""
    if not regression:
        return guess - loss
    if guess > 0.0:
        return 1.0 - loss / guess
    return 0.0 if loss > 0.0 else 1.0


@kernel
def next_size(r_size: float, ratio: float, i_rate: float, rows: int) -> float:
    """Return rSize for a tree whose gain has changed by the factor ``ratio`` (Algorithm 3)."""
    kept: float = r_size * ratio ** max(2.0, 3.0 - ratio)
    return min(kept + i_rate * rows, r_size + rows)


@kernel
def adapt_one(state: FloatArray, rows: int, held: int, gain: float, warms_up: bool) -> None:
    """Set rSize and iRate of one tree by Algorithm 3.

    Parameters
    ----------
    state
        (`STATE_COLUMNS`,) state of the tree.
    rows
        |X|, the number of rows of the batch.
    held
        Rows that the tree holds before the batch.
    gain
        newAcc: the gain of the present tree on the batch.
    warms_up
        Whether everything is kept until the tree holds 128 rows and is better than guessing.
    """
    last = state[LAST_GAIN]
    if state[STAGE] == _WARMING_UP and held >= _WARM_ROWS and last > 0.0:
        state[STAGE] = _ADAPTING
    if state[STAGE] != _ADAPTING:
        r_size = float(held + rows)
        state[STAGE] = _WARMING_UP if warms_up else _ADAPTING
    elif gain <= 0.0:
        r_size = float(rows)
    elif last <= 0.0:
        r_size = state[R_SIZE] + rows
    else:
        ratio = gain / last
        state[I_RATE] /= ratio
        r_size = next_size(state[R_SIZE], ratio, state[I_RATE], rows)
    state[R_SIZE] = r_size
    state[LAST_GAIN] = gain


@kernel
def adapt_one_smoothly(
    state: FloatArray, rows: int, held: int, batch: FloatArray, regression: bool
) -> None:
    """Set rSize of one tree by the smoothed gain.

    The ratio of Algorithm 3 is that of the recent gain to the past one where the loss rose
    significantly, and 1 elsewhere: chance does not make a tree forget. The tree shrinks with
    every batch until it has recovered, or the past has become like the present. Where the
    recent gain is not positive, the rows that it was measured on remain.

    Parameters
    ----------
    state
        (`STATE_COLUMNS`,) state of the tree.
    rows
        |X|, the number of rows of the batch.
    held
        Rows that the tree holds before the batch.
    batch
        (3,) mean loss, squared loss and loss of guessing of the present tree on the batch.
    regression
        Which gain it is.
    """
    if held == 0:  # no tree that could be judged
        state[R_SIZE] = rows
        return
    watch = state[WATCH:]
    observe(watch, rows, batch[BATCH_LOSS], batch[BATCH_SQUARE], batch[BATCH_GUESS])
    if not has_risen(watch):
        state[R_SIZE] = next_size(state[R_SIZE], 1.0, state[I_RATE], rows)
        return
    new = gain_over_guessing(watch[RECENT + LOSS], watch[RECENT + GUESS], regression)
    last = gain_over_guessing(watch[PAST + LOSS], watch[PAST + GUESS], regression)
    if new <= 0.0:
        state[R_SIZE] = RECENT_ROWS
    elif new < last:
        ratio = new / last
        state[R_SIZE] = next_size(state[R_SIZE], ratio, 0.0, rows)


@kernel
def adapt_parameters(
    state: FloatArray,
    rows: IntArray,
    held: IntArray,
    batch: FloatArray,
    how: int,
    regression: bool,
    max_rows: int,
    r_size: IntArray,
    max_height: IntArray,
) -> None:
    """Set what every tree remembers once a batch is in, and its height limit (Algorithm 3).

    Parameters
    ----------
    state
        (trees, `STATE_COLUMNS`) updated.
    rows
        (trees,) rows of the batch that each tree sees. A tree that sees none stays as it is.
    held
        (trees,) rows that each tree holds before the batch.
    batch
        (trees, 3) mean loss, squared loss and loss of guessing of the present trees.
    how
        `PAPER`, `PROGRAM` or `SMOOTHED`.
    regression
        Which gain it is.
    max_rows
        No tree remembers more.
    r_size, max_height
        (trees,) filled.
    """
    for t in range(state.shape[0]):
        one, b = state[t], rows[t]
        if b > 0:
            if how == SMOOTHED:
                adapt_one_smoothly(one, b, held[t], batch[t], regression)
            else:
                loss, guess = batch[t, BATCH_LOSS], batch[t, BATCH_GUESS]
                gain = gain_over_guessing(loss, guess, regression)
                adapt_one(one, b, held[t], gain if held[t] else 0.0, how == PROGRAM)
            one[R_SIZE] = min(max(round(one[R_SIZE]), b), max_rows)
        r_size[t] = int(one[R_SIZE])
        max_height[t] = max(1, int(math.log2(max(one[R_SIZE], 1.0))))
