"""`ForestPrunerClassifier`."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, is_classifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from forestprune.estimators.base import BasePruner
from forestprune.pruned import PrunedEnsemble
from formulations import InvalidInput
from formulations.arrays import FloatArray


class ForestPrunerClassifier(ClassifierMixin, BasePruner):  # type: ignore[misc]
    """A classification ensemble that is fitted, then pruned by `prune`.

    What is minimised is the squared distance from class indicators or, for boosting, from the
    raw score of the whole ensemble. See `ForestPrunerRegressor` for what is not said here.

    Parameters
    ----------
    estimator
        The ensemble: any classifier that `read_ensemble` takes. By default a random forest of
        100 trees of depth up to 10, without bootstrap.
    alpha, max_nodes, shape, weights, solver, polish, alpha2, n_trees, joint, polish_solver
        As in `ForestPrunerRegressor`.
    solver_options, random_state
        As in `ForestPrunerRegressor`.

    Attributes
    ----------
    classes_
        (classes,) labels in the order of `predict_proba`.
    estimator_, pruned_, n_nodes_, n_trees_, depths_, features_used_, feature_importances_
        As in `ForestPrunerRegressor`.
    n_features_in_, feature_names_in_
        As in `ForestPrunerRegressor`.
    n_outputs_
        Number of sums of trees: one for two classes, otherwise one a class.
    """

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class, in the order of ``classes_``.

        Parameters
        ----------
        X
            (m, features) rows; the columns of a DataFrame may come in any order.

        Returns
        -------
        ndarray
            (m, classes); frequencies that pruning moved out of [0, 1] are clipped.
        """
        rows = self._checked_rows(X)
        return self.pruned_.predict_proba(rows)

    def _default(self) -> Any:
        # Without bootstrap a weight of 2 is the same as a row given twice, also in the fit.
        return RandomForestClassifier(100, max_depth=10, bootstrap=False)

    def _require_kind(self, estimator: Any) -> None:
        if not is_classifier(estimator):
            raise InvalidInput(
                f"estimator must be a classifier; {type(estimator).__name__} is not: "
                "a regressor goes into ForestPrunerRegressor"
            )

    def _checked_response(self, y: Any) -> Any:
        if y is None:
            return y
        check_classification_targets(y)
        return column_or_1d(y, warn=True)

    def _adopt(self, fitted: Any, pruned: PrunedEnsemble, X: Any) -> Self:
        self.classes_ = np.asarray(pruned.classes)
        return super()._adopt(fitted, pruned, X)
