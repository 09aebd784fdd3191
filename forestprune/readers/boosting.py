"""scikit-learn's gradient boosting on exact splits."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier

from forestprune.ensemble import TreeEnsemble
from forestprune.links import Link
from forestprune.readers.common import in_column
from forestprune.readers.scikit_learn import ensemble_of, require_readable, tree_of
from forestprune.trees import Tree
from formulations.arrays import FloatArray, frozen


def read_regressor(model: Any) -> TreeEnsemble:
    """Read a GradientBoostingRegressor."""
    require_readable(model)
    trees = [tree_of(estimator) for estimator in model.estimators_[:, 0]]
    init = None if isinstance(model.init_, str) else model.init_  # "zero" or an estimator
    scale = np.full(len(trees), float(model.learning_rate))
    return ensemble_of(model, trees, scale, init=init)


def read_classifier(model: Any) -> TreeEnsemble:
    """Read a GradientBoostingClassifier: its trees sum to scores, one for two classes."""
    require_readable(model)
    outputs = model.estimators_.shape[1]
    trees = [
        _scores(tree_of(estimator), column, outputs)
        for stage in model.estimators_
        for column, estimator in enumerate(stage)
    ]
    # The exponential loss has half the logarithm of the odds.
    link = Link("logistic", 2.0 if model.loss == "exponential" else 1.0)
    if outputs > 1:
        link = Link("softmax")
    init: ClassStart | None = None
    start: Any = 0.0
    if isinstance(model.init_, DummyClassifier):
        start = ClassStart.of(model).predict(np.zeros((1, model.n_features_in_)))[0]
    elif not isinstance(model.init_, str):  # "zero" or a classifier
        init = ClassStart.of(model)
    scale = np.full(len(trees), float(model.learning_rate))
    return ensemble_of(model, trees, scale, start, init=init, link=link)


@dataclass(frozen=True)
class ClassStart:
    """Scores of a classifier that boosting starts from.

    Attributes
    ----------
    model
        The boosted classifier, with the trees of its first stage only.
    """

    model: Any

    @classmethod
    def of(cls, model: Any) -> ClassStart:
        """Take from a model what its start needs."""
        bare = copy(model)
        bare.estimators_ = model.estimators_[:1]
        return cls(bare)

    def predict(self, X: Any) -> FloatArray:
        """Return scores (m, q).

        How far probabilities are kept from 0 is scikit-learn's own affair, and changes.
        """
        return np.asarray(self.model._raw_predict_init(X), dtype=np.float64)


def _scores(tree: Tree, column: int, columns: int) -> Tree:
    """Return a tree that adds to one score only, its inner values from its leaves.

    Leaves are refitted to the loss after the tree has grown; inner nodes are not.
    """
    value = frozen(in_column(tree.value[:, 0], column, columns))
    return replace(tree, value=value).with_mean_values()
