"""The trees of one forgetful model, with the rows that they remember."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from typing import Any, Literal

import numpy as np

from forestprune.forgetful.kernels.layout import (
    CALLS,
    ENTROPY,
    GINI,
    HEIGHT,
    HELD,
    SEED,
    SQUARED_ERROR,
    Rules,
    Trees,
)
from forestprune.forgetful.kernels.learning import (
    NO_CLASS,
    NOT_A_NUMBER,
    learn,
    predict,
    rebuild,
    sort_rows,
)
from forestprune.forgetful.storage import (
    MOST_WEIGHT,
    TreeArrays,
    entropy_table,
    fill_tree,
    frequencies_of,
    list_nodes,
    require_sound,
)
from forestprune.forgetful.store import LEAST_SLOTS, Store
from formulations.arrays import BoolArray, FloatArray, IntArray
from formulations.errors import InvalidInput

__all__ = ["Engine", "TreeArrays"]

Criterion = Literal["gini", "entropy", "squared_error"]
_CRITERIA = {"gini": GINI, "entropy": ENTROPY, "squared_error": SQUARED_ERROR}

_MOST_TOTAL = 2**31 - 1  # sums of weights are kept in 32 bits
# Memory is given back when a tree could hold this many times the rows that it holds.
_FAR_TOO_LARGE = 16


class Engine:
    """Decision trees that learn batches and forget old rows.

    After any sequence of updates each tree is the one that would be built from scratch on the
    rows that it remembers, bit for bit. Scores are compared as computed: equal ones go to the
    first feature and to its lowest threshold, which is the middle between two values.

    Parameters
    ----------
    n_trees, n_features
        At least 1.
    n_classes
        Number of classes; 0 for regression.
    criterion
        ``"gini"``, ``"entropy"`` (in bits), or ``"squared_error"`` for regression.
    features
        (n_trees, n_features) which features each tree may use; all of them by default.
    max_features
        How many of these are drawn for each node, by the seed, the tree and the path to the
        node; further ones are tried while no boundary is found. All of them by default.
    min_samples_split, min_samples_leaf
        Least weight of a node that is split, and of its children.
    min_impurity_decrease
        Least decrease of impurity by a split, weighted by the node's share of the rows.
    min_statistic
        Least evidence for a split. With Gini and squared error the decrease of impurity, summed
        over the rows, divided by the impurity: for two classes the χ² statistic of the split,
        for regression n times the share of the variance that it explains. With entropy the
        likelihood ratio, twice the decrease in nats. By chance a single split has about 1 (for
        two classes or regression), the best of many about 10.
    forget
        ``"oldest"`` rows, or rows that are drawn at ``"random"``.
    seed
        Of the draws.
    threads
        Trees are updated on so many threads; the result does not depend on it.
    """

    def __init__(
        self,
        n_trees: int,
        n_features: int,
        n_classes: int,
        *,
        criterion: Criterion = "gini",
        features: BoolArray | None = None,
        max_features: int | None = None,
        min_samples_split: int = 2,
        min_samples_leaf: int = 1,
        min_impurity_decrease: float = 0.0,
        min_statistic: float = 0.0,
        forget: Literal["oldest", "random"] = "oldest",
        seed: int = 0,
        threads: int = 1,
    ) -> None:
        if criterion not in _CRITERIA or (criterion == "squared_error") != (n_classes == 0):
            raise InvalidInput(
                f"criterion must be 'gini' or 'entropy' for classes and 'squared_error' for "
                f"regression, not {criterion!r} with n_classes={n_classes}"
            )
        self.n_trees, self.n_features, self.n_classes = n_trees, n_features, n_classes
        self._settings = {
            "criterion": criterion,
            "max_features": max_features,
            "min_samples_split": min_samples_split,
            "min_samples_leaf": min_samples_leaf,
            "min_impurity_decrease": min_impurity_decrease,
            "min_statistic": min_statistic,
            "forget": forget,
            "seed": seed,
            "threads": threads,
        }
        self._threads = max(1, min(threads, n_trees))
        rules = Rules(
            whole=np.array(
                [
                    _CRITERIA[criterion],
                    n_classes,
                    min_samples_split,
                    min_samples_leaf,
                    n_features if max_features is None else max_features,
                    forget == "random",
                ],
                dtype=np.int64,
            ),
            real=np.array([min_impurity_decrease, min_statistic], dtype=np.float64),
            entropy=entropy_table(1024 if criterion == "entropy" else 0),
        )
        usable = np.ones((n_trees, n_features), dtype=np.uint8)
        if features is not None:
            usable[:] = features
        self._store = Store(usable, n_classes, rules, self._threads)
        self._trees.state[:, SEED] = seed * 1_000_003 + np.arange(n_trees)
        self._pool: ThreadPoolExecutor | None = None
        self._pool_of = 0  # the process whose threads they are
        self._most = 0  # no tree holds more rows
        self._no_weight = np.empty((0, 0), dtype=np.int64)
        self._no_label = np.empty(0, dtype=np.int64)
        self._no_target = np.empty(0, dtype=np.float64)

    def learn(
        self,
        X: FloatArray,
        y: IntArray | FloatArray,
        weight: IntArray | None,
        r_size: IntArray,
        max_height: IntArray,
    ) -> None:
        """Take in a batch, forget, and bring every tree up to date.

        Parameters
        ----------
        X
            (b, n_features) float64, C-contiguous and finite.
        y
            (b,) int64 classes below ``n_classes``, or float64 targets.
        weight
            (n_trees, b) int64: how many times each tree sees each row.
        r_size
            (n_trees,) int64: old rows are forgotten so that at most so many remain; rows of the
            batch are never.
        max_height
            (n_trees,) int64: most levels below the root.
        """
        b = X.shape[0]
        if (
            X.shape[1] != self.n_features
            or y.shape != (b,)
            or (weight is not None and weight.shape != (self.n_trees, b))
            or r_size.shape != (self.n_trees,)
            or max_height.shape != (self.n_trees,)
        ):
            raise InvalidInput(
                f"X, y, weight, r_size and max_height must have shapes (b, {self.n_features}), "
                f"(b,), ({self.n_trees}, b), ({self.n_trees},) and ({self.n_trees},), not "
                f"{X.shape}, {y.shape}, {None if weight is None else weight.shape}, "
                f"{r_size.shape} and {max_height.shape}"
            )
        if b == 0:
            return
        if weight is not None:
            if (weight.view(np.uint64) > MOST_WEIGHT).any():
                raise InvalidInput(f"weight must lie between 0 and {MOST_WEIGHT}")
            most_weight = int(self._trees.total[:, 0].max() + weight.sum(axis=1).max())
            if most_weight > _MOST_TOTAL:
                raise InvalidInput(
                    f"weight must not make the rows of a tree weigh more than {_MOST_TOTAL}, "
                    f"but sums to {most_weight}"
                )
        self._make_room(b, weight)
        before = self._most
        # If this is interrupted, the next batch finds room for what may be held by then.
        self._most = before + b
        label: Any = y if self.n_classes else self._no_label
        target: Any = self._no_target if self.n_classes else y
        update = partial(
            learn,
            self._store.table,
            X,
            label,
            target,
            self._no_weight if weight is None else weight,
            r_size,
            max_height,
        )
        most = update(0, 1) if self._threads == 1 else self._on_threads(X, update)
        self._most = before if most < 0 else most
        if most == NOT_A_NUMBER:
            raise InvalidInput("X must not hold NaN")
        if most == NO_CLASS:
            raise InvalidInput(f"y must lie between 0 and {self.n_classes - 1}")

    def frequencies(self, X: FloatArray) -> FloatArray:
        """Return the class frequencies, or means, of the nodes that rows of X (m, F) reach.

        Returns
        -------
        ndarray
            (n_trees, m, max(n_classes, 1)) float64. A tree that has seen no row gives every
            class the same frequency, or a mean of 0.
        """
        out = np.empty((self.n_trees, X.shape[0], max(self.n_classes, 1)))
        predict(self._store.table, X, out)
        return out

    @property
    def held(self) -> IntArray:
        """Rows that each tree holds, (n_trees,) int64."""
        return self._trees.state[:, HELD].copy()

    @property
    def roots(self) -> FloatArray:
        """Class frequencies, or means, of all rows of each tree, (n_trees, max(n_classes, 1))."""
        return frequencies_of(self._trees.value[:, 0], self._trees.total[:, 0], self.n_classes)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays, those that updates work in included."""
        return self._store.nbytes

    def retained(self, tree: int) -> tuple[FloatArray, IntArray | FloatArray, IntArray]:
        """Return X (held, F), y and weight of what a tree remembers, in order of arrival."""
        trees = self._trees
        slots = trees.arrival[tree, : trees.state[tree, HELD]]
        if self.n_classes == 0:
            y = trees.target[tree, slots]
        else:
            y = trees.label[tree, slots].astype(np.int64)
        X = np.ascontiguousarray(trees.X[tree][:, slots].T)
        return X, y, trees.weight[tree, slots].astype(np.int64)

    def replace(self, tree: int, features: BoolArray | None, seed: int) -> None:
        """Build a tree anew from the rows it holds, with other features or another seed."""
        if features is not None:
            self._trees.usable[tree] = features
        self._trees.state[tree, SEED] = seed
        rebuild(tree, self._store.table)

    def add_classes(self, n: int) -> None:
        """Make room for ``n`` more classes, numbered after those there are."""
        self._become(self.n_classes + n)

    def tree(self, t: int) -> TreeArrays:
        """Return a tree as plain arrays."""
        return list_nodes(t, self._trees, self.n_classes)

    def __getstate__(self) -> dict[str, Any]:
        """Return settings and remembered rows; the trees follow from them."""
        return {
            "settings": self._settings,
            "n_features": self.n_features,
            "n_classes": self.n_classes,
            "usable": self._trees.usable,
            "state": self._trees.state,
            "rows": [self.retained(t) for t in range(self.n_trees)],
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        require_sound(state)
        rows = state["rows"]
        n_trees, n_classes = len(rows), state["n_classes"]
        Engine.__init__(self, n_trees, state["n_features"], n_classes, **state["settings"])
        most = max(len(y) for _, y, _ in rows)
        total = max(int(weight.sum()) for _, _, weight in rows)
        self._most = most
        self._store.hold_rows(most)
        self._store.hold_weight(total)
        trees = self._trees
        trees.usable[:] = state["usable"]
        for t, (X, y, weight) in enumerate(rows):
            for column in (SEED, CALLS, HEIGHT):
                trees.state[t, column] = state["state"][t, column]
            fill_tree(t, trees, X, y, weight)
            rebuild(t, self._store.table)

    @property
    def _trees(self) -> Trees:
        return self._store.trees

    def _become(self, n_classes: int) -> None:
        """Become an engine with so many classes that remembers the same rows.

        All at once: one that is interrupted half way is the old one.
        """
        other = Engine.__new__(Engine)
        other.__setstate__(self.__getstate__() | {"n_classes": n_classes})
        self.__dict__ = other.__dict__

    def _on_threads(self, X: FloatArray, update: Callable[[int, int], int]) -> int:
        """Update every so many-th tree on each thread; kernels hold no lock of Python."""
        if self._pool is None or self._pool_of != os.getpid():  # a fork has no threads
            self._pool = ThreadPoolExecutor(self._threads - 1)
            self._pool_of = os.getpid()
        if not sort_rows(self._store.table, X):
            return NOT_A_NUMBER
        others = [
            self._pool.submit(update, thread, self._threads) for thread in range(1, self._threads)
        ]
        try:
            mine = update(0, self._threads)
        finally:
            wait(others)  # nobody else may touch the trees before, whatever comes
        held = [mine, *(other.result() for other in others)]
        return min(held) if min(held) < 0 else max(held)

    def _make_room(self, b: int, weight: IntArray | None) -> None:
        """See to it that a batch of ``b`` rows fits; give memory back when far too much is kept."""
        most = self._most + b
        if self._store.slots > max(LEAST_SLOTS, _FAR_TOO_LARGE * most):
            self._become(self.n_classes)  # room for the rows held, and no more
        self._store.hold_rows(most)
        extra = b if weight is None else int(weight.sum(axis=1).max())
        self._store.hold_weight(int(self._trees.total[:, 0].max()) + extra)
