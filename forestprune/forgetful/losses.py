"""What the present trees lose on a batch, and how the trees of a forest vote."""

from __future__ import annotations

from forestprune.forgetful.adaptation import BATCH_GUESS, BATCH_LOSS, BATCH_SQUARE
from formulations.arrays import FloatArray, IntArray
from formulations.kernels.compiled import kernel


@kernel
def most_frequent(frequencies: FloatArray, t: int, i: int) -> int:
    """Return the most frequent class of row i in tree t, of equal ones the first."""
    best = 0
    for c in range(1, frequencies.shape[2]):
        if frequencies[t, i, c] > frequencies[t, i, best]:
            best = c
    return best


@kernel
def pool(frequencies: FloatArray, majority: bool, out: FloatArray) -> None:
    """Fill (rows, classes) with the mean over trees of frequencies (trees, rows, classes).

    With ``majority`` every tree gives one vote to its most frequent class instead.
    """
    n_trees, rows, classes = frequencies.shape
    out[:] = 0.0
    share = 1.0 / n_trees
    if majority:
        for t in range(n_trees):
            for i in range(rows):
                out[i, most_frequent(frequencies, t, i)] += share
    else:
        for t in range(n_trees):
            for i in range(rows):
                for c in range(classes):
                    out[i, c] += share * frequencies[t, i, c]


@kernel
def class_losses(
    frequencies: FloatArray, pooled: FloatArray, y: IntArray, batch: FloatArray
) -> None:
    """Fill in the share of rows that each tree, and last the forest, classifies wrongly.

    Parameters
    ----------
    frequencies
        (trees, rows, classes) of the present trees.
    pooled
        (1, rows, classes) of the forest.
    y
        (rows,) classes.
    batch
        (trees + 1, 3) filled: mean loss, its square, and the loss of guessing.
    """
    n_trees, rows, classes = frequencies.shape
    for t in range(n_trees + 1):
        wrong = 0
        for i in range(rows):
            best = most_frequent(frequencies, t, i) if t < n_trees else most_frequent(pooled, 0, i)
            wrong += best != y[i]
        batch[t, BATCH_LOSS] = batch[t, BATCH_SQUARE] = wrong / rows
        batch[t, BATCH_GUESS] = 1.0 - 1.0 / classes


@kernel
def squared_losses(
    means: FloatArray, pooled: FloatArray, root: FloatArray, y: FloatArray, batch: FloatArray
) -> None:
    """Fill in the squared error of each tree, and last of the forest; see `class_losses`.

    Parameters
    ----------
    means
        (trees, rows, 1) predictions of the trees.
    pooled
        (rows, 1) of the forest.
    root
        (trees + 1,) mean of the targets that each tree, and all together, remember: the guess.
    y
        (rows,) targets.
    batch
        (trees + 1, 3) filled.
    """
    n_trees, rows = means.shape[:2]
    for t in range(n_trees + 1):
        loss = square = guess = 0.0
        for i in range(rows):
            error = ((means[t, i, 0] if t < n_trees else pooled[i, 0]) - y[i]) ** 2
            loss += error
            square += error * error
            guess += (root[t] - y[i]) ** 2
        batch[t, BATCH_LOSS] = loss / rows
        batch[t, BATCH_SQUARE] = square / rows
        batch[t, BATCH_GUESS] = guess / rows
