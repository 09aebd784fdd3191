"""`ForgetfulTreeClassifier` and `ForgetfulTreeRegressor`."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from forestprune.forgetful.kinds import ForgetfulClassifier, ForgetfulRegressor


class ForgetfulTreeClassifier(ForgetfulClassifier):
    """A decision tree that learns batches and remembers as many rows as serve it.

    After every batch it is the CART tree of the rows that it remembers. How many these are
    follows its accuracy on the batches (Yuan and Shasha, "Forgetful Forests", Algorithms 16(6)
    278, 2023): when that falls, old rows are forgotten.

    Parameters
    ----------
    criterion
        ``"entropy"`` or ``"gini"``.
    adaptation
        How rSize follows the accuracy. ``"smoothed"``: it shrinks only where the loss of recent
        rows is significantly above that of the past, which pays on noisy streams and with
        small batches. ``"paper"``: Algorithm 3 as published, on the accuracy of single
        batches. ``"program"``: the same, after the published program's warm-up: everything is
        kept until 128 rows are held and the tree is better than guessing.
    i_rate
        Rows by which memory grows for every row that arrives while nothing changes, in the
        beginning. 0.3 by default for ``"paper"`` and ``"program"``, which change it, and 1 for
        ``"smoothed"``: all are kept.
    max_rows
        No more rows than these are ever remembered.
    min_samples_split, min_samples_leaf
        Least weight of a node that is split, and of its children.
    min_impurity_decrease
        Least decrease of impurity by a split, weighted by the node's share of the rows.
    min_statistic
        A split is made when its χ² statistic against chance (for ``"entropy"`` the G
        statistic) is at least this. By default 8 with ``"smoothed"``, else 0.
    forget
        What goes first: the ``"oldest"`` rows, or rows drawn at ``"random"``.
    random_state
        Seed of the draws.
    n_jobs
        Threads that update trees; a single tree is updated on one.
    check_input
        Whether batches are validated as scikit-learn does. Without that a batch of a hundred
        rows takes a fraction of the time; X must then be a finite numeric array and y an
        array of labels, int64 for speed.

    Attributes
    ----------
    classes_
        Labels known so far, sorted.
    r_size_, i_rate_, max_height_
        What may be remembered, its growth, and the height limit.
    held_
        Rows remembered.
    rows_seen_
        Rows learnt so far.
    history_
        The course of the stream, in bounded memory: see `Course`.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Features are rounded to float32, as in scikit-learn's trees.
    """

    def __init__(
        self,
        *,
        criterion: str = "entropy",
        adaptation: str = "smoothed",
        i_rate: float | None = None,
        max_rows: int = 3000,
        min_samples_split: int = 2,
        min_samples_leaf: int = 1,
        min_impurity_decrease: float = 0.0,
        min_statistic: float | None = None,
        forget: str = "oldest",
        random_state: Any = None,
        n_jobs: int | None = None,
        check_input: bool = True,
    ) -> None:
        self.criterion = criterion
        self.adaptation = adaptation
        self.i_rate = i_rate
        self.max_rows = max_rows
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.min_statistic = min_statistic
        self.forget = forget
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.check_input = check_input

    def _by_tree(self, values: npt.NDArray[Any]) -> Any:
        return values[0].item()


class ForgetfulTreeRegressor(ForgetfulRegressor):
    """A regression tree that learns batches and remembers as many rows as serve it.

    As `ForgetfulTreeClassifier`, with 1 − (squared error relative to predicting the mean of
    the remembered targets) in the place of accuracy minus guess.

    Parameters
    ----------
    criterion
        ``"squared_error"``.
    adaptation, i_rate, max_rows, min_samples_split, min_samples_leaf, min_impurity_decrease
        See `ForgetfulTreeClassifier`.
    min_statistic
        A split is made when rows · (share of the node's squared error that it explains) is at
        least this. By default 8 with ``"smoothed"``, else 0.
    forget, random_state, n_jobs, check_input
        See `ForgetfulTreeClassifier`.
    """

    def __init__(
        self,
        *,
        criterion: str = "squared_error",
        adaptation: str = "smoothed",
        i_rate: float | None = None,
        max_rows: int = 3000,
        min_samples_split: int = 2,
        min_samples_leaf: int = 1,
        min_impurity_decrease: float = 0.0,
        min_statistic: float | None = None,
        forget: str = "oldest",
        random_state: Any = None,
        n_jobs: int | None = None,
        check_input: bool = True,
    ) -> None:
        self.criterion = criterion
        self.adaptation = adaptation
        self.i_rate = i_rate
        self.max_rows = max_rows
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.min_statistic = min_statistic
        self.forget = forget
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.check_input = check_input

    def _by_tree(self, values: npt.NDArray[Any]) -> Any:
        return values[0].item()
