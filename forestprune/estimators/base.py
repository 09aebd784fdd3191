"""What the two pruners share: parameters, fitting, and the checks of scikit-learn."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import Tags, _safe_indexing, check_random_state, get_tags, indexable
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    has_fit_parameter,
    validate_data,
)

from forestprune.estimators.kept import KeptTrees
from forestprune.estimators.path import PrunedPath, prune_path
from forestprune.pruned import PrunedEnsemble
from forestprune.pruning import prune
from forestprune.readers import find_reader
from forestprune.recipe import Recipe, check_size
from formulations import InvalidInput
from formulations.arrays import FloatArray
from formulations.weights import LayerWeights, NodeWeights

_LARGEST_SEED = np.iinfo(np.int32).max

# Arguments of `prune` and `solve` that are parameters, or belong to one call.
_TAKEN = ("sample_weight", "validation_data", "warm_start")


def require_no_list(estimator: Any) -> None:
    """Refuse a list of estimators, which `clone` takes.

    Raises
    ------
    InvalidInput
        When it is one.
    """
    if isinstance(estimator, list | tuple):
        raise InvalidInput(
            "estimator must be an ensemble of one of the libraries, not a "
            f"{type(estimator).__name__}: a list of trees goes into prune"
        )


class BasePruner(KeptTrees, BaseEstimator):  # type: ignore[misc]
    """An ensemble that is fitted, then pruned."""

    def __init__(
        self,
        estimator: Any = None,
        *,
        alpha: float | None = None,
        max_nodes: int | None = None,
        shape: str = "depth",
        weights: LayerWeights | NodeWeights = "nodes",
        solver: str = "cbcd",
        polish: str | None = "ridge",
        alpha2: float | None = None,
        n_trees: int | None = None,
        joint: bool = False,
        polish_solver: str = "cbcd",
        solver_options: dict[str, Any] | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.alpha = alpha
        self.max_nodes = max_nodes
        self.shape = shape
        self.weights = weights
        self.solver = solver
        self.polish = polish
        self.alpha2 = alpha2
        self.n_trees = n_trees
        self.joint = joint
        self.polish_solver = polish_solver
        self.solver_options = solver_options
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Fit the estimator and prune it on the same rows.

        Parameters
        ----------
        X
            (m, features) rows: an array, a DataFrame or a sparse matrix, as the estimator
            takes it.
        y
            (m,) or (m, q) response; labels for a classifier.
        sample_weight
            (m,) weights of at least 0. They weigh the rows in the fit and in the pruning; a
            row of weight 0 counts as removed.

        Raises
        ------
        ValueError
            When X or y are what the estimator rejects, in its words, or a parameter is wrong.
        """
        recipe = self._recipe()
        check_size(self.alpha, self.max_nodes)
        options = self._options()
        X, y, weight = self._checked_training(X, y, sample_weight)
        fitted = self._fitted(X, y, weight)
        pruned = prune(
            fitted,
            X,
            np.asarray(y),
            alpha=self.alpha,
            max_nodes=self.max_nodes,
            sample_weight=weight,
            **vars(recipe),
            **options,
        )
        return self._adopt(fitted, pruned, X)

    def predict(self, X: Any) -> Any:
        """Predict with what is left of the ensemble.

        Parameters
        ----------
        X
            (m, features) rows; the columns of a DataFrame may come in any order.

        Returns
        -------
        ndarray
            (m,) or (m, q) responses; (m,) labels for a classifier.
        """
        rows = self._checked_rows(X)
        return self.pruned_.predict(rows)

    def _default(self) -> Any:
        """Return the ensemble that is pruned where none is given."""
        raise NotImplementedError

    def _require_kind(self, estimator: Any) -> None:
        """Refuse an estimator that predicts another kind of response."""
        raise NotImplementedError

    def _checked_response(self, y: Any) -> Any:
        """Return y; what the estimator rejects by itself need not be refused here."""
        return y

    def _adopt(self, fitted: Any, pruned: PrunedEnsemble, X: Any) -> Self:
        """Take over an ensemble that was fitted on rows X, and what is left of it."""
        # The model itself may know its features by other names: LightGBM changes them.
        validate_data(self, X, skip_check_array=True)
        self.estimator_ = fitted
        self.pruned_ = pruned
        self.n_outputs_ = pruned.model.n_outputs
        return self

    def _fitted_path(
        self,
        X: Any,
        y: Any,
        sample_weight: npt.ArrayLike | None,
        alphas: int | FloatArray,
        options: dict[str, Any],
    ) -> tuple[Any, PrunedPath]:
        """Return the fitted estimator, and what is left of it along α."""
        recipe = self._recipe()
        X, y, weight = self._checked_training(X, y, sample_weight)
        fitted = self._fitted(X, y, weight)
        return fitted, prune_path(fitted, X, np.asarray(y), weight, recipe, alphas, options)

    def _recipe(self) -> Recipe:
        return Recipe(
            shape=self.shape,
            weights=self.weights,
            solver=self.solver,
            polish=self.polish,
            alpha2=self.alpha2,
            n_trees=self.n_trees,
            joint=self.joint,
            polish_solver=self.polish_solver,
        )

    def _options(self) -> dict[str, Any]:
        """Return the arguments of `solve`."""
        given = {} if self.solver_options is None else self.solver_options
        if not isinstance(given, dict) or not all(isinstance(key, str) for key in given):
            raise InvalidInput(
                f"solver_options must be a dict of arguments of solve, or None, not {given!r}"
            )
        for name in (*_TAKEN, *self.get_params(deep=False)):
            if name in given:
                raise InvalidInput(f"solver_options must hold arguments of solve only, got {name}")
        return dict(given)

    def _checked_training(
        self, X: Any, y: Any, sample_weight: npt.ArrayLike | None
    ) -> tuple[Any, Any, FloatArray | None]:
        """Return rows, response and weights without the rows of weight 0."""
        y = self._checked_response(y)
        if sample_weight is None:
            return X, y, None
        X, y = indexable(X, y)
        weight = _check_sample_weight(sample_weight, X, ensure_non_negative=True)
        if not weight.any():
            raise InvalidInput("Sample weights must contain at least one non-zero number.")
        if y is not None and not weight.all():
            kept = np.flatnonzero(weight)
            X, y, weight = _safe_indexing(X, kept), _safe_indexing(y, kept), weight[kept]
        return X, y, weight

    def _unfitted(self) -> Any:
        """Return a clone of the estimator, its random state drawn from ours."""
        require_no_list(self.estimator)
        estimator = self._default() if self.estimator is None else clone(self.estimator)
        self._require_kind(estimator)
        find_reader(estimator)  # what cannot be pruned is refused before it is fitted
        if self.random_state is not None and not isinstance(estimator, FrozenEstimator):
            random = check_random_state(self.random_state)
            seeds = {
                name: int(random.randint(_LARGEST_SEED))
                for name in sorted(estimator.get_params(deep=True))
                if name == "random_state" or name.endswith("__random_state")
            }
            estimator.set_params(**seeds)
        return estimator

    def _fitted(self, X: Any, y: Any, weight: FloatArray | None) -> Any:
        """Return the estimator, fitted on rows of positive weight."""
        estimator = self._unfitted()
        if weight is None or isinstance(estimator, FrozenEstimator):
            return estimator.fit(X, y)
        if not has_fit_parameter(estimator, "sample_weight"):
            raise InvalidInput(
                f"sample_weight was given, but the estimator {type(estimator).__name__} does "
                "not take sample weights"
            )
        return estimator.fit(X, y, sample_weight=weight)

    def _checked_rows(self, X: Any) -> Any:
        """Return rows to predict, their columns in the order of the fit."""
        check_is_fitted(self)
        names = list(getattr(self, "feature_names_in_", ()))
        columns = list(getattr(X, "columns", ()))
        if names and columns != names and sorted(map(str, columns)) == sorted(names):
            X = X[names]
        if not hasattr(X, "shape"):
            X = np.asarray(X)
        # What has not two dimensions is refused, in scikit-learn's words, as it is converted.
        if len(X.shape) == 2:
            validate_data(self, X, reset=False, skip_check_array=True)
        return X

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        source = get_tags(self._default() if self.estimator is None else self.estimator)
        tags.input_tags.allow_nan = source.input_tags.allow_nan
        tags.input_tags.sparse = source.input_tags.sparse
        return tags
