"""`ForestPrunerCV`: α by cross-validation, along the whole path."""

from __future__ import annotations

import warnings
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils import Tags, get_tags, indexable
from sklearn.utils.metaestimators import available_if
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from forestprune.estimators.base import BasePruner, require_no_list
from forestprune.estimators.classifier import ForestPrunerClassifier
from forestprune.estimators.folds import checked_scorer, checked_splitter, fold_errors
from forestprune.estimators.kept import KeptTrees
from forestprune.estimators.path import checked_alphas
from forestprune.estimators.picture import plot_errors
from forestprune.estimators.regressor import ForestPrunerRegressor
from forestprune.estimators.selection import checked_selection, choose
from forestprune.estimators.table import path_table
from formulations import InvalidInput
from formulations.arrays import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def _classifies(self: ForestPrunerCV) -> bool:
    return isinstance(self._pruner(), ForestPrunerClassifier)


class ForestPrunerCV(KeptTrees, BaseEstimator):  # type: ignore[misc]
    """A pruned ensemble whose size is chosen on rows that it has not seen.

    In every fold the ensemble is fitted on the rows of training and pruned on these along a
    path of α, each solution the start of the next; its errors are those on the rows of
    validation. Then it is fitted and pruned on all rows along the same path, and the model at
    the chosen α is kept. An ensemble is fitted once a fold, whatever the number of α.

    New weights (``polish``, by default a ridge) help small models and can overfit large ones: a
    model that is to come near the whole ensemble is often better off with ``polish=None``.

    Parameters
    ----------
    estimator
        A `ForestPrunerRegressor` or `ForestPrunerClassifier`, with all that is to hold at
        every α; ``alpha`` and ``max_nodes`` stay None. Or an ensemble, which these wrap with
        their defaults. By default a `ForestPrunerRegressor`. An ensemble in a FrozenEstimator
        stays as it is in every fold: then give rows that it was not fitted on.
    alphas
        How many α, or their values, for a standardised response. A number of them is spaced
        evenly in the logarithm, from where nothing is left of the ensemble, fitted on all
        rows, down to 1e-4 of that.
    cv
        Number of folds, a splitter or an iterable of splits as scikit-learn takes them, 5 folds
        by default (stratified for a classifier); or a fraction between 0 and 1: one random
        validation split of that part of the rows.
    selection
        Which model is taken, by mean validation error and by size on all rows:

        - ``"best"``: that of the smallest error;
        - ``"one_standard_error"``: the smallest one whose error is at most the smallest error
          plus its standard error;
        - ``("within", φ)``: the smallest one whose error is at most 1 + φ times that of the
          whole ensemble; where there is none the best, with a warning;
        - ``("nodes", limit)``, ``("trees", limit)``: the best of at most so many nodes, roots
          counted, or trees.
    scoring
        A scorer or its name as scikit-learn takes them; the error is its negative. By default
        the mean squared error and, for a classifier, the Brier score: the squared differences
        between probabilities and class indicators, summed over classes.
    n_jobs
        How many folds are worked on at the same time, as in joblib.
    verbose
        As in joblib: 0 is silent.
    random_state
        Of the split where ``cv`` is a fraction; and that of the pruner, if given.

    Attributes
    ----------
    pruner_
        The chosen model: a fitted `ForestPrunerRegressor` or `ForestPrunerClassifier`.
    alpha_, best_index_
        Its α, for a standardised response, and its row in the table.
    path_
        DataFrame with one row an α, falling: ``alpha``; ``nodes``, ``trees`` and ``gap``, the
        proven one, of the models on all rows; ``error`` and ``standard_error``, over the folds
        or, where there is one split, over its rows; and ``fold0_error``, ``fold0_nodes``, ….
    full_error_, full_nodes_
        Mean validation error of the whole ensembles, and nodes of that on all rows.
    n_splits_
        Number of folds.
    estimator_, pruned_, n_nodes_, n_trees_, depths_, classes_, …
        Those of ``pruner_``.
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        alphas: int | npt.ArrayLike = 50,
        cv: Any = None,
        selection: Any = "best",
        scoring: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.alphas = alphas
        self.cv = cv
        self.selection = selection
        self.scoring = scoring
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def fit(
        self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None, groups: Any = None
    ) -> Self:
        """Choose α and prune at it.

        Parameters
        ----------
        X, y
            (m, features) rows and their response or labels.
        sample_weight
            (m,) weights of at least 0 for fits, pruning and errors.
        groups
            (m,) groups of rows for the splitter.

        Raises
        ------
        ValueError
            When a parameter is wrong or no model meets the limit of ``selection``, and when X
            or y are what the estimator rejects, in its words.
        """
        rule, number = checked_selection(self.selection)
        alphas = checked_alphas(self.alphas)
        pruner = self._checked_pruner()
        options = {"time_limit": None} | pruner._options()
        scorer = checked_scorer(pruner, self.scoring)
        X, y, sample_weight, groups = indexable(X, y, sample_weight, groups)
        weight: FloatArray | None = None
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, X, ensure_non_negative=True)
        y = pruner._checked_response(y)
        fitted, path = pruner._fitted_path(X, y, weight, alphas, options)
        classifies = isinstance(pruner, ForestPrunerClassifier)
        splitter = checked_splitter(self.cv, y, classifies, self.random_state)
        splits = list(splitter.split(X, y, groups))
        if not splits:
            raise InvalidInput("cv must give at least one split, got none")
        if rule == "one_standard_error" and len(splits) == 1 and scorer is not None:
            raise InvalidInput(
                'selection="one_standard_error" needs at least two folds, or scoring=None: then '
                "the errors of the rows of one split have a spread"
            )
        folds = Parallel(n_jobs=self.n_jobs, verbose=self.verbose)(
            delayed(fold_errors)(pruner, X, y, weight, train, test, path.alphas, options, scorer)
            for train, test in splits
        )
        self.n_splits_ = len(folds)
        self.path_ = path_table(path, folds)
        self.full_error_ = float(np.mean([fold.full for fold in folds]))
        self.full_nodes_ = path.source.n_nodes
        self.best_index_ = self._chosen(rule, number)
        self.alpha_ = float(self.path_["alpha"].iloc[self.best_index_])
        pruner.set_params(alpha=self.alpha_)
        return self._take(pruner._adopt(fitted, path.pruned[self.best_index_], X))

    def predict(self, X: Any) -> Any:
        """Predict with the chosen model: see `ForestPrunerRegressor.predict`."""
        check_is_fitted(self)
        return self.pruner_.predict(X)

    @available_if(_classifies)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class: see `ForestPrunerClassifier.predict_proba`."""
        check_is_fitted(self)
        return self.pruner_.predict_proba(X)  # type: ignore[no-any-return]

    def score(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> float:
        """Return R², or the accuracy of a classifier, of the chosen model."""
        check_is_fitted(self)
        return float(self.pruner_.score(X, y, sample_weight))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw validation error against nodes, with the whole ensemble and the chosen model.

        Parameters
        ----------
        ax
            Where to draw; a new figure by default.

        Returns
        -------
        Axes
            A line with a band of one standard error, a dashed line for the whole ensemble,
            and a mark on the chosen model.
        """
        check_is_fitted(self)
        if self.scoring is not None:
            label = f"−{self.scoring}" if isinstance(self.scoring, str) else "negative score"
        elif not isinstance(self.pruner_, ForestPrunerClassifier):
            label = "mean squared error in validation"
        else:
            label = "Brier score in validation"
        return plot_errors(
            self.path_, self.best_index_, self.full_error_, self.full_nodes_, label, ax
        )

    def _pruner(self) -> BasePruner:
        """Return an unfitted pruner."""
        require_no_list(self.estimator)
        if self.estimator is None:
            pruner: BasePruner = ForestPrunerRegressor()
        elif isinstance(self.estimator, BasePruner):
            pruner = clone(self.estimator)
        elif is_classifier(self.estimator):
            pruner = ForestPrunerClassifier(clone(self.estimator))
        else:
            pruner = ForestPrunerRegressor(clone(self.estimator))
        return pruner

    def _checked_pruner(self) -> BasePruner:
        """Return an unfitted pruner whose folds do not depend on their order."""
        pruner = self._pruner()
        for name in ("alpha", "max_nodes"):
            if getattr(pruner, name) is not None:
                raise InvalidInput(f"estimator.{name} must be None: ForestPrunerCV chooses alpha")
        state = pruner.random_state if self.random_state is None else self.random_state
        if isinstance(state, np.random.RandomState):
            state = int(state.randint(np.iinfo(np.int32).max))
        return pruner.set_params(random_state=state)  # type: ignore[no-any-return]

    def _chosen(self, rule: str, number: float) -> int:
        columns = ("error", "standard_error", "nodes", "trees")
        error, spread, nodes, trees = (self.path_[name].to_numpy() for name in columns)
        index = choose(rule, number, error, spread, self.full_error_, nodes, trees)
        if index is None and rule in ("nodes", "trees"):
            sizes = self.path_[rule]
            raise InvalidInput(
                f"selection={self.selection!r} is met by no model of the path: the smallest one "
                f"has {sizes.min()} {rule}; give a larger α in alphas"
            )
        if index is None:
            index = int(error.argmin())
            warnings.warn(
                f"selection={self.selection!r} is met by no model of the path: the whole "
                f"ensemble has error {self.full_error_:.6g}, the best one {error[index]:.6g}; "
                "it is taken",
                stacklevel=3,
            )
        return index

    def _take(self, pruner: BasePruner) -> Self:
        """Take over what the chosen model says about itself."""
        self.pruner_ = pruner
        for name in ("estimator_", "pruned_", "n_features_in_", "feature_names_in_", "classes_"):
            if hasattr(pruner, name):
                setattr(self, name, getattr(pruner, name))
            elif hasattr(self, name):  # of an earlier fit
                delattr(self, name)
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        own = get_tags(self._pruner())
        for name in (
            "estimator_type",
            "target_tags",
            "classifier_tags",
            "regressor_tags",
            "input_tags",
        ):
            setattr(tags, name, deepcopy(getattr(own, name)))
        return tags
