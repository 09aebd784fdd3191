"""The models that are compared on streams, by name, with their settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from studies.drift.baselines import (
    BatchModel,
    ByBatch,
    Majority,
    NoChange,
    OneHotTargets,
    RowModel,
    Window,
)
from studies.streams.forgetful import Forgetful, classifier
from studies.streams.optional import river


@dataclass(frozen=True)
class System:
    """A model by name.

    Attributes
    ----------
    title
        For tables and figures.
    settings
        How it is set, in words; seeds are those of the cell.
    make
        From a seed and the number of classes.
    rowwise
        Whether it predicts and learns row by row.
    needs_river
        Whether river must be installed.
    drawn
        Whether it has a line in the figure.
    """

    title: str
    settings: str
    make: Callable[[int, int], BatchModel | RowModel]
    rowwise: bool = False
    needs_river: bool = False
    drawn: bool = False


def _forgetful(kind: str, **options: Any) -> Callable[[int, int], BatchModel]:
    def make(seed: int, classes: int) -> BatchModel:
        # The rows of a stream are what they should be; checking them takes longer than a tree.
        model = classifier(kind, random_state=seed, check_input=False, **options)
        return Forgetful(model, classes)

    return make


def _window_tree(seed: int, classes: int) -> BatchModel:
    from sklearn.tree import DecisionTreeClassifier

    return Window(DecisionTreeClassifier(max_depth=8, random_state=seed), 500)


def _window_forest(seed: int, classes: int) -> BatchModel:
    from sklearn.ensemble import RandomForestClassifier

    return Window(RandomForestClassifier(20, random_state=seed), 1000)


def _hoeffding(seed: int, classes: int) -> RowModel:
    model: RowModel = river("tree", "a Hoeffding tree").HoeffdingTreeClassifier()
    return model


def _adaptive(seed: int, classes: int) -> RowModel:
    tree = river("tree", "an adaptive Hoeffding tree")
    model: RowModel = tree.HoeffdingAdaptiveTreeClassifier(seed=seed)
    return model


def _arf(seed: int, classes: int) -> RowModel:
    forest = river("forest", "an adaptive random forest")
    model: RowModel = forest.ARFClassifier(n_models=10, seed=seed)
    return model


# What every other model must be better than, in both forms.
NAIVE = ("no_change", "majority", "no_change_rows", "majority_rows")

SYSTEMS: dict[str, System] = {
    "forgetful_tree": System(
        "forgetful tree",
        "ForgetfulTreeClassifier(): smoothed adaptation, splits need evidence; check_input=False "
        "here and below",
        _forgetful("tree"),
        drawn=True,
    ),
    "forgetful_forest": System(
        "forgetful forest",
        "ForgetfulForestClassifier(20): smoothed adaptation, splits need evidence, soft voting",
        _forgetful("forest", n_trees=20),
        drawn=True,
    ),
    "forgetful_tree_paper": System(
        "forgetful tree, as published",
        'ForgetfulTreeClassifier(adaptation="paper")',
        _forgetful("tree", adaptation="paper"),
    ),
    "forgetful_forest_paper": System(
        "forgetful forest, as published",
        'ForgetfulForestClassifier(20, adaptation="paper", voting="majority")',
        _forgetful("forest", n_trees=20, adaptation="paper", voting="majority"),
    ),
    "forgetful_forest_bagging": System(
        "forgetful forest, bagging",
        "ForgetfulForestClassifier(20, bagging=True)",
        _forgetful("forest", n_trees=20, bagging=True),
    ),
    "window_tree": System(
        "refitted tree",
        "scikit-learn's DecisionTreeClassifier(max_depth=8), fitted to the last 500 rows after "
        "every batch",
        _window_tree,
    ),
    "window_forest": System(
        "refitted forest",
        "scikit-learn's RandomForestClassifier(20), fitted to the last 1,000 rows after every "
        "batch",
        _window_forest,
        drawn=True,
    ),
    "no_change": System(
        "no change",
        "for all rows of a batch the last class before it",
        lambda seed, classes: ByBatch(NoChange()),
    ),
    "majority": System(
        "majority",
        "the most frequent class before the batch",
        lambda seed, classes: ByBatch(Majority()),
        drawn=True,
    ),
    "hoeffding": System(
        "Hoeffding tree",
        "river's HoeffdingTreeClassifier(), grace_period=200, delta=1e-7",
        _hoeffding,
        rowwise=True,
        needs_river=True,
    ),
    "adaptive": System(
        "adaptive Hoeffding tree",
        "river's HoeffdingAdaptiveTreeClassifier(), grace_period=200, delta=1e-7, "
        "drift_window_threshold=300",
        _adaptive,
        rowwise=True,
        needs_river=True,
        drawn=True,
    ),
    "isoup": System(
        "iSOUP tree",
        "river's ISOUPTreeRegressor() on one target a class",
        lambda seed, classes: OneHotTargets(classes),
        rowwise=True,
        needs_river=True,
    ),
    "arf": System(
        "adaptive random forest",
        "river's ARFClassifier(n_models=10)",
        _arf,
        rowwise=True,
        needs_river=True,
        drawn=True,
    ),
    "no_change_rows": System(
        "no change",
        "the class of the row before",
        lambda seed, classes: NoChange(),
        rowwise=True,
    ),
    "majority_rows": System(
        "majority",
        "the most frequent class so far",
        lambda seed, classes: Majority(),
        rowwise=True,
    ),
}
