"""scikit-learn's bagging of decision trees, with feature subsets."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from forestprune.ensemble import TreeEnsemble
from forestprune.readers.scikit_learn import classes_of, ensemble_of, require_readable, tree_of
from formulations import InvalidInput


def read_bagging(model: Any) -> TreeEnsemble:
    """Read a BaggingRegressor or BaggingClassifier; errors as `read_ensemble`."""
    require_readable(model)
    classes = classes_of(model)
    count = 0 if classes is None else len(classes)
    trees = []
    for estimator, features in zip(model.estimators_, model.estimators_features_, strict=True):
        if not isinstance(estimator, DecisionTreeRegressor | DecisionTreeClassifier):
            raise InvalidInput(
                f"model must bag decision trees; this {type(model).__name__} bags "
                f"{type(estimator).__name__}"
            )
        require_readable(estimator, "the estimator of the model")
        # The trees of a classifier are fitted on places of classes, some of which a sample lacks.
        places = estimator.classes_.astype(np.int64) if count else None
        trees.append(tree_of(estimator, np.asarray(features), places, count))
    return ensemble_of(model, trees, np.full(len(trees), 1.0 / len(trees)))
