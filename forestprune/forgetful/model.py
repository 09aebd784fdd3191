"""The trees of a forgetful model and what decides how much they remember."""

from __future__ import annotations

from typing import Any

import numpy as np

from forestprune.forgetful.adaptation import (
    ADAPTATIONS,
    BATCH_LOSS,
    I_RATE,
    STATE_COLUMNS,
    adapt_parameters,
)
from forestprune.forgetful.engine import Engine
from forestprune.forgetful.features import count_features, draw_features
from forestprune.forgetful.history import History
from forestprune.forgetful.losses import class_losses, pool, squared_losses
from forestprune.forgetful.settings import Settings
from forestprune.forgetful.stale import StaleTrees
from formulations.arrays import FloatArray, IntArray

_LARGEST_SEED = 2**31

# Rows that go down the trees at once, so that predictions for many rows need little memory.
_CHUNK_ROWS = 8192

# Bagging as published: a tree sees Poisson(6) resamples of a batch, at most 10.
_RESAMPLES, _MOST_RESAMPLES = 6.0, 10


class ForgetfulTrees:
    """Trees that learn batches of checked rows; classes are numbers from 0.

    Parameters
    ----------
    settings
        What the user set.
    n_features
        Number of features.
    n_classes
        Number of classes known so far, 0 for regression.
    threads
        For the updates of trees; results do not depend on it.
    seed
        Of all draws.

    Attributes
    ----------
    r_size, max_height
        (trees,) int64 what each tree may remember, and its height limit.
    rows_seen
        Rows learnt so far.
    history
        The course so far.
    """

    def __init__(
        self, settings: Settings, n_features: int, n_classes: int, threads: int, seed: int
    ) -> None:
        self.settings = settings
        self.n_features, self.n_classes = n_features, n_classes
        self._rng = np.random.default_rng(seed)
        n = settings.n_trees
        features, per_node = None, None
        if settings.draw == "node":
            per_node = count_features(settings.max_features, n_features)
        elif settings.draw == "tree":
            features = np.stack([self._draw() for _ in range(n)])
        self._engine = Engine(
            n,
            n_features,
            n_classes,
            features=features,
            max_features=per_node,
            seed=int(self._rng.integers(_LARGEST_SEED)),
            threads=threads,
            **settings.engine,
        )
        self._state = np.zeros((n, STATE_COLUMNS))
        self._state[:, I_RATE] = settings.i_rate
        self.r_size = np.zeros(n, dtype=np.int64)
        self.max_height = np.ones(n, dtype=np.int64)
        self._stale = StaleTrees(n_classes == 0)
        self._order: IntArray | None = None
        self.rows_seen = 0
        self.history = History(n)

    @property
    def engine(self) -> Engine:
        """The trees themselves."""
        return self._engine

    @property
    def i_rate(self) -> FloatArray:
        """(trees,) iRate of each tree."""
        return self._state[:, I_RATE].copy()

    def pooled(self, X: FloatArray) -> FloatArray:
        """Return class frequencies (rows, classes), or means (rows, 1), over all trees.

        Classes are in the order of `order_classes`.
        """
        parts = [
            self._pool(self._frequencies(X[begin : begin + _CHUNK_ROWS]))
            for begin in range(0, max(len(X), 1), _CHUNK_ROWS)
        ]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def order_classes(self, numbers: IntArray) -> None:
        """Say in which order the classes come, (classes,) numbers, some of them perhaps new."""
        if len(numbers) > self.n_classes:
            self._engine.add_classes(len(numbers) - self.n_classes)
            self.n_classes = len(numbers)
        in_order = np.array_equal(numbers, np.arange(len(numbers)))
        self._order = None if in_order else numbers

    def learn(self, X: FloatArray, y: Any) -> None:
        """Judge the trees on a batch, adapt what they remember, and let them learn it.

        Parameters
        ----------
        X
            (b, n_features) float64, C-contiguous and finite; b at least 1.
        y
            (b,) int64 classes or float64 targets.
        """
        losses = self._losses(X, y)
        b, settings = len(X), self.settings
        stale = self._stale.find(b, losses) if settings.replace_stale else ()
        # Of a batch that is larger than what may be remembered the last rows are learnt.
        X, y = X[-settings.max_rows :], y[-settings.max_rows :]
        weight, rows = self._resample(len(X))
        adapt_parameters(
            self._state,
            rows,
            self._engine.held,
            losses,
            ADAPTATIONS[settings.adaptation],
            self.n_classes == 0,
            settings.max_rows,
            self.r_size,
            self.max_height,
        )
        self._engine.learn(X, y, weight, self.r_size, self.max_height)
        for t in stale:
            features = self._draw() if settings.draw == "tree" else None
            self._engine.replace(int(t), features, int(self._rng.integers(_LARGEST_SEED)))
        self.rows_seen += b
        self.history.add(b, losses[-1, BATCH_LOSS], len(stale), self.r_size, self.max_height)

    def _frequencies(self, X: FloatArray) -> FloatArray:
        frequencies = self._engine.frequencies(X)
        return frequencies if self._order is None else np.take(frequencies, self._order, axis=2)

    def _pool(self, frequencies: FloatArray) -> FloatArray:
        if len(frequencies) == 1 and not self.settings.majority:
            only: FloatArray = frequencies[0]
            return only
        out = np.empty(frequencies.shape[1:])
        pool(frequencies, self.settings.majority, out)
        return out

    def _losses(self, X: FloatArray, y: Any) -> FloatArray:
        """Return (trees + 1, 3) losses of the trees, and last of all together."""
        frequencies = self._frequencies(X)
        pooled = self._pool(frequencies)
        batch = np.empty((len(frequencies) + 1, 3))
        if self.n_classes:
            if self._order is not None:
                y = np.argsort(self._order)[y]
            class_losses(frequencies, pooled[None], y, batch)
        else:
            roots = self._engine.roots[:, 0]
            squared_losses(frequencies, pooled, np.append(roots, roots.mean()), y, batch)
        return batch

    def _resample(self, b: int) -> tuple[IntArray | None, IntArray]:
        """Draw how often every tree sees every row of a batch, and count the rows it sees."""
        n = self.settings.n_trees
        if not self.settings.bagging:
            return None, np.full(n, b)
        times = np.minimum(self._rng.poisson(_RESAMPLES, n), _MOST_RESAMPLES)
        weight = self._rng.poisson(times[:, None], (n, b))
        return weight, (weight > 0).sum(axis=1)

    def _draw(self) -> Any:
        return draw_features(self._rng, self.settings.max_features, self.n_features)
