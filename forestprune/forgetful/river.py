"""Forgetful models as models of river, which must be installed: ``pip install river``."""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import clone

from forestprune.forgetful.kinds import ForgetfulClassifier, ForgetfulRegressor
from formulations.arrays import FloatArray
from formulations.errors import InvalidInput

try:
    from river import base
except ImportError as error:
    raise ImportError("RiverClassifier and RiverRegressor need river: pip install river") from error


class _River:
    """A forgetful model behind river's interface: rows are dictionaries of features.

    The features are those of the first row; later rows may hold them in any order.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self._names: list[Any] | None = None

    def learn_one(self, x: dict[Any, Any], y: Any) -> None:
        """Learn a row x, a dictionary of numbers, of label or target y."""
        self._learn(self._row(x), np.asarray([y]), list(x))

    def learn_many(self, X: pd.DataFrame, y: pd.Series) -> None:
        """Learn the rows of X as one batch."""
        self._learn(self._rows(X), np.asarray(y), list(X.columns))

    def clone(
        self, new_params: dict[str, Any] | None = None, include_attributes: bool = False
    ) -> Self:
        """Return a wrapper of a model with the same parameters that has learnt nothing.

        With ``include_attributes`` it has learnt the same.
        """
        model = (new_params or {}).get("model", self.model)
        other = type(self)(copy.deepcopy(model) if include_attributes else clone(model))
        if include_attributes:
            other._names = copy.copy(self._names)
        return other

    def _learn(self, rows: FloatArray, y: Any, names: list[Any]) -> None:
        self.model.partial_fit(rows, y)
        if self._names is None:
            self._names = names

    def _row(self, x: dict[Any, Any]) -> FloatArray:
        names = list(x) if self._names is None else self._names
        if len(x) != len(names) or any(name not in x for name in names):
            self._refuse(list(x))
        return _numbers([[x[name] for name in names]])

    def _rows(self, X: pd.DataFrame) -> FloatArray:
        names = list(X.columns) if self._names is None else self._names
        if len(X.columns) != len(names) or not set(names) <= set(X.columns):
            self._refuse(list(X.columns))
        return _numbers(X[names])

    def _refuse(self, given: list[Any]) -> None:
        known = self._names or []
        missing = [name for name in known if name not in given]
        unknown = [name for name in given if name not in known]
        raise InvalidInput(
            f"x must have the features of the first row: missing {missing[:5]}, "
            f"not seen before {unknown[:5]}"
        )


class RiverClassifier(_River, base.MiniBatchClassifier):
    """A forgetful classifier for river's pipelines and its ``evaluate.progressive_val_score``.

    Parameters
    ----------
    model
        A `ForgetfulTreeClassifier` or `ForgetfulForestClassifier`, which learns in place. With
        ``check_input=False`` rows take a fraction of the time.
    """

    def __init__(self, model: Any) -> None:
        if not isinstance(model, ForgetfulClassifier):
            raise InvalidInput(
                "model must be a ForgetfulTreeClassifier or ForgetfulForestClassifier, not "
                f"{type(model).__name__}"
            )
        super().__init__(model)

    @property
    def _multiclass(self) -> bool:
        return True

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """Return the probability of each label known so far; of none before the first row."""
        if self._names is None:
            return {}
        frequencies = self.model.predict_proba(self._row(x))[0]
        return dict(zip(self.model.classes_.tolist(), frequencies.tolist(), strict=True))

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> Any:
        """Return the most probable label, or None before the first row."""
        if self._names is None:
            return None
        label = self.model.predict(self._row(x))[0]
        return label.item() if isinstance(label, np.generic) else label

    def predict_proba_many(self, X: pd.DataFrame) -> pd.DataFrame:
        """Return the probability of each label for each row."""
        if self._names is None:
            return pd.DataFrame(index=X.index)
        frequencies = self.model.predict_proba(self._rows(X))
        return pd.DataFrame(frequencies, index=X.index, columns=self.model.classes_)


class RiverRegressor(_River, base.MiniBatchRegressor):
    """A forgetful regressor for river's pipelines and its ``evaluate.progressive_val_score``.

    Parameters
    ----------
    model
        A `ForgetfulTreeRegressor` or `ForgetfulForestRegressor`, which learns in place. With
        ``check_input=False`` rows take a fraction of the time.
    """

    def __init__(self, model: Any) -> None:
        if not isinstance(model, ForgetfulRegressor):
            raise InvalidInput(
                "model must be a ForgetfulTreeRegressor or ForgetfulForestRegressor, not "
                f"{type(model).__name__}"
            )
        super().__init__(model)

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> float:
        """Return the predicted target, 0 before the first row."""
        if self._names is None:
            return 0.0
        return float(self.model.predict(self._row(x))[0])

    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        """Return the predicted target of each row."""
        if self._names is None:
            return pd.Series(0.0, index=X.index)
        return pd.Series(self.model.predict(self._rows(X)), index=X.index)


def _numbers(rows: Any) -> FloatArray:
    try:
        return np.asarray(rows, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"x must hold numbers only: {error}") from None
