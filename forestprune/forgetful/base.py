"""What the four forgetful estimators share: parameters, batches, attributes."""

from __future__ import annotations

from numbers import Integral
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from forestprune.forgetful.adaptation import ADAPTATIONS
from forestprune.forgetful.history import Course
from forestprune.forgetful.labels import Labels
from forestprune.forgetful.model import ForgetfulTrees
from forestprune.forgetful.settings import Settings
from formulations.arrays import FloatArray, IntArray, finite_floats, non_negative_number
from formulations.errors import InvalidInput

_LARGEST_SEED = np.iinfo(np.int32).max
_LARGEST_INTEGER = 2**30

# Growth of memory while nothing changes: the paper's, and everything that arrives.
_I_RATE = {"paper": 0.3, "program": 0.3, "smoothed": 1.0}


class ForgetfulEstimator(BaseEstimator):  # type: ignore[misc]
    """Parameters and batches of forgetful trees."""

    _regression: bool
    _trees: ForgetfulTrees
    # Evidence that a split needs in the better setting.
    _statistic = 8.0

    # Parameters; every estimator has its own constructor for them.
    criterion: str
    adaptation: str
    i_rate: float | None
    max_rows: int
    min_samples_split: int
    min_samples_leaf: int
    min_impurity_decrease: float
    min_statistic: float | None
    forget: str
    random_state: Any
    n_jobs: int | None
    check_input: bool

    def fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Forget everything, then learn all rows as one batch; see ``partial_fit``."""
        fresh = _without_state(self)
        fresh._learn(X, y, sample_weight)
        self.__dict__ = fresh.__dict__
        return self

    @property
    def r_size_(self) -> Any:
        """What may be remembered, in rows: rSize of each tree (trees,), or of the tree."""
        return self._by_tree(self._model().r_size)

    @property
    def i_rate_(self) -> Any:
        """Rows by which memory grows for every row that arrives: iRate of each tree."""
        return self._by_tree(self._model().i_rate)

    @property
    def max_height_(self) -> Any:
        """Largest height allowed of each tree."""
        return self._by_tree(self._model().max_height)

    @property
    def held_(self) -> Any:
        """Rows that each tree remembers."""
        return self._by_tree(self._model().engine.held)

    @property
    def rows_seen_(self) -> int:
        """Rows learnt so far."""
        return self._model().rows_seen

    @property
    def history_(self) -> Course:
        """The course of the stream, in at most 512 points however long it is."""
        return self._model().history.course()

    def retained(self, tree: int = 0) -> tuple[FloatArray, npt.NDArray[Any], IntArray]:
        """Return X (held, features), y and weights of the rows that a tree remembers, by age."""
        engine = self._model().engine
        require_integer("tree", tree, 0, engine.n_trees - 1)
        X, y, weight = engine.retained(tree)
        return X, self._labelled(y), weight

    def __sklearn_is_fitted__(self) -> bool:
        """Whether any batch was learnt."""
        return hasattr(self, "_trees")

    def _model(self) -> ForgetfulTrees:
        trees: ForgetfulTrees | None = getattr(self, "_trees", None)
        if trees is None:
            # A property must fail with an AttributeError before there is something to show.
            raise AttributeError(f"this {type(self).__name__} has not learnt anything yet")
        return trees

    def _by_tree(self, values: npt.NDArray[Any]) -> Any:
        raise NotImplementedError

    def _encoded(self, y: Any, classes: Any) -> tuple[npt.NDArray[Any], Labels | None]:
        """Return targets for the trees, and the labels known with the batch."""
        raise NotImplementedError

    def _labelled(self, y: npt.NDArray[Any]) -> npt.NDArray[Any]:
        raise NotImplementedError

    def _settings(self) -> Settings:
        """Return checked settings."""
        self._check_parameters()
        statistic = self.min_statistic
        if statistic is None:
            statistic = self._statistic if self.adaptation == "smoothed" else 0.0
        return Settings(
            engine={
                "criterion": self.criterion,
                "min_samples_split": self.min_samples_split,
                "min_samples_leaf": self.min_samples_leaf,
                "min_impurity_decrease": self.min_impurity_decrease,
                "min_statistic": statistic,
                "forget": self.forget,
            },
            adaptation=self.adaptation,
            i_rate=_I_RATE[self.adaptation] if self.i_rate is None else self.i_rate,
            max_rows=self.max_rows,
        )

    def _check_parameters(self) -> None:
        criteria = ("squared_error",) if self._regression else ("entropy", "gini")
        for name, accepted in (
            ("criterion", criteria),
            ("adaptation", tuple(ADAPTATIONS)),
            ("forget", ("oldest", "random")),
        ):
            require_choice(name, getattr(self, name), accepted)
        for name, least in (("max_rows", 1), ("min_samples_split", 2), ("min_samples_leaf", 1)):
            require_integer(name, getattr(self, name), least)
        for name in ("i_rate", "min_impurity_decrease", "min_statistic"):
            given = getattr(self, name)
            if given is not None or name == "min_impurity_decrease":
                non_negative_number(name, given)
        require_flag("check_input", self.check_input)
        jobs: Any = self.n_jobs
        if jobs is not None and (not isinstance(jobs, Integral) or jobs == 0):
            raise InvalidInput(f"n_jobs must be None or an integer other than 0, not {jobs!r}")

    def _learn(
        self, X: Any, y: Any, sample_weight: npt.ArrayLike | None, classes: Any = None
    ) -> Self:
        first = not hasattr(self, "_trees")
        before = dict(self.__dict__)
        try:
            if first:
                settings = self._settings()
                threads = effective_n_jobs(1 if self.n_jobs is None else self.n_jobs)
                random_state = check_random_state(self.random_state)
            if self.check_input:
                with np.errstate(over="ignore"):  # too large for float32 is refused as infinite
                    X, y = validate_data(
                        self,
                        X,
                        y,
                        reset=first,
                        dtype=np.float32,
                        y_numeric=self._regression,
                    )
                rows = X.astype(np.float64, order="C")
            else:
                if first and np.ndim(X) == 2 and np.shape(X)[1] > 0:
                    self.n_features_in_ = np.shape(X)[1]
                rows, y = self._plain_rows(X), np.asarray(y)
                if np.isnan(rows.min(initial=0.0)):
                    raise InvalidInput("X must not hold NaN: fill in or leave out such rows")
                if y.shape != (len(rows),) or len(rows) == 0:
                    raise InvalidInput(
                        f"X and y must have the same number of rows, at least 1, not "
                        f"{np.shape(X)} and {y.shape}"
                    )
            targets, labels = self._encoded(y, classes)
            if sample_weight is not None:
                most = settings.max_rows if first else self._trees.settings.max_rows
                rows, targets = _repeated(rows, targets, sample_weight, most)
        except Exception:
            self.__dict__ = before
            raise
        if first:
            n_classes = 0 if labels is None else len(labels.classes)
            seed = random_state.randint(_LARGEST_SEED)
            self._trees = ForgetfulTrees(settings, self.n_features_in_, n_classes, threads, seed)
        if labels is not None and labels is not getattr(self, "_labels", None):
            self._trees.order_classes(labels.numbers)
            self._labels = labels
        self._trees.learn(rows, targets)
        return self

    def _pooled(self, X: Any) -> FloatArray:
        """Return class frequencies or means (rows, outputs) over all trees."""
        if not self.check_input and hasattr(self, "_trees"):
            return self._trees.pooled(self._plain_rows(X))
        check_is_fitted(self)
        with np.errstate(over="ignore"):
            rows = validate_data(self, X, reset=False, dtype=np.float32)
        return self._trees.pooled(rows.astype(np.float64, order="C"))

    def _plain_rows(self, X: Any) -> FloatArray:
        """Return rows, rounded to float32, without looking at their values."""
        try:
            rows = np.asarray(X, dtype=np.float32).astype(np.float64, order="C")
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"X must be a dense array of numbers: {error}") from None
        wanted = getattr(self, "n_features_in_", "at least 1")
        if rows.ndim != 2 or rows.shape[1] != wanted:
            raise InvalidInput(f"X must have shape (rows, {wanted}), not {rows.shape}")
        return rows


def require_choice(name: str, given: Any, accepted: tuple[str, ...]) -> None:
    """Refuse what is not one of a few strings."""
    if not isinstance(given, str) or given not in accepted:
        raise InvalidInput(f"{name} must be {' or '.join(map(repr, accepted))}, not {given!r}")


def require_flag(name: str, given: Any) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(given, bool | np.bool_):
        raise InvalidInput(f"{name} must be True or False, not {given!r}")


def require_integer(name: str, given: Any, least: int, most: int = _LARGEST_INTEGER) -> None:
    """Refuse what is not an integer from ``least`` to ``most``; kernels count in 32 bits."""
    whole = isinstance(given, Integral) and not isinstance(given, bool)
    if not whole or not least <= given <= most:
        raise InvalidInput(
            f"{name} must be an integer of at least {least} and at most {most}, not {given!r}"
        )


def _without_state(estimator: Any) -> Any:
    """Return an estimator of the same parameters that has learnt nothing."""
    fresh = object.__new__(type(estimator))
    fresh.__dict__.update(
        {name: item for name, item in estimator.__dict__.items() if not name.endswith("_")}
    )
    for learnt in ("_trees", "_labels"):
        fresh.__dict__.pop(learnt, None)
    return fresh


def _repeated(
    rows: FloatArray, targets: npt.NDArray[Any], sample_weight: Any, most: int
) -> tuple[FloatArray, npt.NDArray[Any]]:
    """Return every row as often as its weight says.

    A row that was given three times is remembered, and forgotten, three times; so it is with a
    weight of 3.
    """
    weight = finite_floats("sample_weight", np.asarray(sample_weight))
    if weight.shape != (len(rows),):
        raise InvalidInput(
            f"sample_weight must have one entry for each of the {len(rows)} rows of X, got shape "
            f"{weight.shape}"
        )
    odd = weight[(weight < 0.0) | (weight != np.floor(weight))]
    if len(odd) or not weight.any():
        raise InvalidInput(
            "sample_weight must hold whole numbers, how many times each row counts, and at least "
            f"one of them that is not 0; found {odd[:3].tolist() or 'zeros only'}"
        )
    # Of more rows than may be remembered the last are learnt, so no others are made.
    from_end = np.minimum(np.cumsum(weight[::-1]), most)
    times = np.diff(from_end, prepend=0.0)[::-1].astype(np.int64)
    return np.repeat(rows, times, axis=0), np.repeat(targets, times)
