"""`ForgetfulForestClassifier` and `ForgetfulForestRegressor`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy.typing as npt

from forestprune.forgetful.base import (
    ForgetfulEstimator,
    require_choice,
    require_flag,
    require_integer,
)
from forestprune.forgetful.features import count_features
from forestprune.forgetful.kinds import ForgetfulClassifier, ForgetfulRegressor
from forestprune.forgetful.settings import Settings


class _Forest(ForgetfulEstimator):
    """Parameters of forests."""

    _statistic = 5.0

    n_trees: int
    draw: str
    max_features: Any
    bagging: bool
    replace_stale: bool

    def _settings(self) -> Settings:
        settings = super()._settings()
        return replace(
            settings,
            n_trees=self.n_trees,
            draw=self.draw,
            max_features=self.max_features,
            bagging=self.bagging,
            replace_stale=self.replace_stale,
        )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        require_integer("n_trees", self.n_trees, 1)
        require_choice("draw", self.draw, ("tree", "node"))
        if self.max_features is not None:
            count_features(self.max_features, 1)
        for name in ("bagging", "replace_stale"):
            require_flag(name, getattr(self, name))

    def _by_tree(self, values: npt.NDArray[Any]) -> Any:
        return values.copy()


class ForgetfulForestClassifier(_Forest, ForgetfulClassifier):
    """Forgetful trees, each of which adapts how much it remembers.

    Parameters
    ----------
    n_trees
        Number of trees.
    criterion, adaptation, i_rate, max_rows, min_samples_split, min_samples_leaf
        See `ForgetfulTreeClassifier`.
    min_impurity_decrease
        See `ForgetfulTreeClassifier`.
    min_statistic
        As there; by default 5 with ``"smoothed"``, else 0: trees that are averaged may follow
        weaker evidence.
    forget
        What a tree forgets first: rows drawn at ``"random"``, so that trees differ, or the
        ``"oldest"``.
    draw, max_features
        Features are drawn once for each ``"tree"``, which leaves splits in place for longer, or
        for each ``"node"``. So many of them: an integer, a share, ``"sqrt"`` or ``"log2"``. None
        for a number between ⌊√F⌋ + 2 and F that is drawn for each tree; all F with ``"node"``.
    bagging
        Whether every tree sees a resample of each batch: Poisson(6) times its size, at most 10
        times, drawn as the weights of the rows.
    replace_stale
        Whether the worst trees are replaced when the forest has become significantly worse:
        the share of them by which the accuracy fell is built anew from the rows that they
        hold, with other features.
    voting
        ``"soft"``: the mean of the trees' class frequencies, which pruning reproduces.
        ``"majority"``: one vote for each tree, as published.
    random_state
        Seed of all draws.
    n_jobs
        Threads that update trees; results do not depend on it.
    check_input
        See `ForgetfulTreeClassifier`.

    Attributes
    ----------
    r_size_, i_rate_, max_height_, held_
        (n_trees,) as in `ForgetfulTreeClassifier`, which has the other ones.
    """

    voting: str

    def __init__(
        self,
        n_trees: int = 20,
        *,
        criterion: str = "entropy",
        adaptation: str = "smoothed",
        i_rate: float | None = None,
        max_rows: int = 2000,
        min_samples_split: int = 2,
        min_samples_leaf: int = 1,
        min_impurity_decrease: float = 0.0,
        min_statistic: float | None = None,
        forget: str = "random",
        draw: str = "tree",
        max_features: Any = None,
        bagging: bool = False,
        replace_stale: bool = True,
        voting: str = "soft",
        random_state: Any = None,
        n_jobs: int | None = None,
        check_input: bool = True,
    ) -> None:
        self.n_trees = n_trees
        self.criterion = criterion
        self.adaptation = adaptation
        self.i_rate = i_rate
        self.max_rows = max_rows
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.min_statistic = min_statistic
        self.forget = forget
        self.draw = draw
        self.max_features = max_features
        self.bagging = bagging
        self.replace_stale = replace_stale
        self.voting = voting
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.check_input = check_input

    def _settings(self) -> Settings:
        require_choice("voting", self.voting, ("soft", "majority"))
        return replace(super()._settings(), majority=self.voting == "majority")


class ForgetfulForestRegressor(_Forest, ForgetfulRegressor):
    """Forgetful regression trees, each of which adapts how much it remembers.

    Parameters
    ----------
    n_trees, draw, max_features, bagging, replace_stale
        See `ForgetfulForestClassifier`; the accuracy is the share of variance explained.
    criterion
        ``"squared_error"``.
    adaptation, i_rate, max_rows, min_samples_split, min_samples_leaf, min_impurity_decrease
        See `ForgetfulTreeRegressor`.
    min_statistic, forget, random_state, n_jobs, check_input
        See `ForgetfulForestClassifier` and `ForgetfulTreeRegressor`.
    """

    def __init__(
        self,
        n_trees: int = 20,
        *,
        criterion: str = "squared_error",
        adaptation: str = "smoothed",
        i_rate: float | None = None,
        max_rows: int = 2000,
        min_samples_split: int = 2,
        min_samples_leaf: int = 1,
        min_impurity_decrease: float = 0.0,
        min_statistic: float | None = None,
        forget: str = "random",
        draw: str = "tree",
        max_features: Any = None,
        bagging: bool = False,
        replace_stale: bool = True,
        random_state: Any = None,
        n_jobs: int | None = None,
        check_input: bool = True,
    ) -> None:
        self.n_trees = n_trees
        self.criterion = criterion
        self.adaptation = adaptation
        self.i_rate = i_rate
        self.max_rows = max_rows
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.min_statistic = min_statistic
        self.forget = forget
        self.draw = draw
        self.max_features = max_features
        self.bagging = bagging
        self.replace_stale = replace_stale
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.check_input = check_input
