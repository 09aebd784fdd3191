"""What classifiers and regressors add."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from forestprune.forgetful.base import ForgetfulEstimator
from forestprune.forgetful.labels import Labels
from formulations.arrays import FloatArray, IntArray
from formulations.errors import InvalidInput

# The watch of losses squares squared errors.
LARGEST_TARGET = 1e70


class ForgetfulClassifier(ClassifierMixin, ForgetfulEstimator):  # type: ignore[misc]
    """Labels instead of targets."""

    _regression = False
    _labels: Labels

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
    ) -> Self:
        """Learn a batch, and forget what has become old.

        A batch that is refused leaves the model as it was. Parameters are read with the first
        batch, and stay what they are then.

        Parameters
        ----------
        X
            (b, features) rows, finite, b at least 1. Compared as float32.
        y
            (b,) labels of one type.
        classes
            All labels that may come, with the first batch; others are refused from then on.
            Without it a label may come at any time and is a class from then on.
        sample_weight
            (b,) how many times each row counts: whole numbers of at least 0, not all 0.

        Raises
        ------
        InvalidInput, ValueError
            When the batch is not what is said above, or parameters are not.
        """
        return self._learn(X, y, sample_weight, classes)

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """Labels known so far, sorted."""
        self._model()
        return self._labels.classes

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the most probable label of each row (m,); of equal ones the first."""
        best = self._pooled(X).argmax(axis=1)
        return np.asarray(self._labels.classes[best])

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the mean class frequencies (m, classes) over trees, or their shares of votes.

        Columns are in the order of ``classes_``.
        """
        return self._pooled(X)

    def _encoded(self, y: Any, classes: Any) -> tuple[IntArray, Labels]:
        if self.check_input:
            try:
                check_classification_targets(y)
            except TypeError as error:
                raise InvalidInput(f"y must hold labels of one type: {error}") from None
            y = column_or_1d(y, warn=True)
        labels: Labels | None = getattr(self, "_labels", None)
        if labels is None:
            labels = Labels.of_first_batch(y, classes)
        elif classes is not None:
            labels.require_same(classes)
        return labels.encode(y)

    def _labelled(self, y: npt.NDArray[Any]) -> npt.NDArray[Any]:
        by_number = np.empty_like(self._labels.classes)
        by_number[self._labels.numbers] = self._labels.classes
        return np.asarray(by_number[y])


class ForgetfulRegressor(RegressorMixin, ForgetfulEstimator):  # type: ignore[misc]
    """Targets as they are."""

    _regression = True

    def partial_fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Learn a batch, and forget what has become old.

        A batch that is refused leaves the model as it was. Parameters are read with the first
        batch, and stay what they are then.

        Parameters
        ----------
        X
            (b, features) rows, finite, b at least 1. Compared as float32.
        y
            (b,) targets between ±1e70.
        sample_weight
            (b,) how many times each row counts: whole numbers of at least 0, not all 0.

        Raises
        ------
        InvalidInput, ValueError
            When the batch is not what is said above, or parameters are not.
        """
        return self._learn(X, y, sample_weight)

    def predict(self, X: Any) -> FloatArray:
        """Return the mean prediction of the trees for each row, (m,)."""
        return self._pooled(X)[:, 0]

    def _encoded(self, y: Any, classes: Any) -> tuple[FloatArray, None]:
        # A copy: kernels would be compiled anew for arrays that may not be written to.
        targets = np.array(column_or_1d(y, warn=True), dtype=np.float64, order="C")
        if not (np.abs(targets) <= LARGEST_TARGET).all():  # NaN compares as false
            raise InvalidInput(
                f"y must hold numbers between ±{LARGEST_TARGET:g}, no NaN, so that their fourth "
                "powers can be summed"
            )
        return targets, None

    def _labelled(self, y: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return y
