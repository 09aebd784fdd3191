"""`ForestPrunerRegressor`."""

from __future__ import annotations

from typing import Any

from sklearn.base import RegressorMixin, is_regressor
from sklearn.ensemble import RandomForestRegressor
from sklearn.utils import Tags, get_tags

from forestprune.estimators.base import BasePruner
from formulations import InvalidInput


class ForestPrunerRegressor(RegressorMixin, BasePruner):  # type: ignore[misc]
    """A regression ensemble that is fitted, then pruned by `prune`.

    Parameters
    ----------
    estimator
        The ensemble: any regressor that `read_ensemble` takes. It is cloned and fitted; in a
        FrozenEstimator it is taken as it is. By default a random forest of 100 trees of depth
        up to 10, on a third of the features at each split and without bootstrap: so a weight
        of 2 is the same as a row given twice, in the fit as well as in the pruning.
    alpha
        Weight of the size, for a standardised response, 1 by default. The larger, the smaller
        the ensemble.
    max_nodes
        Instead of ``alpha``: how many nodes may be left, roots counted.
    shape, weights, solver, polish, alpha2, n_trees, joint, polish_solver
        As in `prune`.
    solver_options
        Further arguments of `solve`, such as ``{"time_limit": 10.0, "gap": 1e-4}``.
    random_state
        None leaves the estimator its own random state. A number or a RandomState gives it one,
        and all that are inside it.

    Attributes
    ----------
    estimator_
        The fitted ensemble. Predictions do not need it: ``del pruner.estimator_`` makes a
        fitted pruner as small as what is left.
    pruned_
        What is left: a `PrunedEnsemble`, with objective, proven gap and `summary`.
    n_nodes_, n_trees_
        Number of nodes, roots counted, and of trees that are left.
    depths_
        (n,) depth of what is left of each tree, 0 for dropped ones.
    features_used_
        Features of the remaining splits: names where known, positions otherwise.
    feature_importances_
        (features,) share of each feature in the variance that the remaining splits explain.
    n_features_in_, feature_names_in_
        Number of features of the fit and, of a DataFrame, their names.
    n_outputs_
        Number of outputs.
    """

    def _default(self) -> Any:
        # Without bootstrap a weight of 2 is the same as a row given twice, also in the fit.
        return RandomForestRegressor(100, max_depth=10, max_features=1 / 3, bootstrap=False)

    def _require_kind(self, estimator: Any) -> None:
        if not is_regressor(estimator):
            raise InvalidInput(
                f"estimator must be a regressor; {type(estimator).__name__} is not: "
                "a classifier goes into ForestPrunerClassifier"
            )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = (
            self.estimator is None or get_tags(self.estimator).target_tags.multi_output
        )
        return tags
