"""From the table of a data set to numbers for trees, as training rows say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from formulations import InvalidInput
from studies.encoding import Encoding


class TableEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Columns of a table as numbers, by what the rows it is fitted on hold.

    A category that is new in other rows is none of the known ones: all its zeros and ones are
    zero, or its place is missing.

    Parameters
    ----------
    orders
        Columns whose categories have an order, worst first.

    Attributes
    ----------
    encoding_
        How each column becomes numbers.
    n_features_in_, feature_names_in_
        Number and names of the columns it was fitted on.
    """

    def __init__(self, orders: Mapping[str, Sequence[str]] | None = None) -> None:
        self.orders = orders

    def fit(self, X: pd.DataFrame, y: object = None) -> Self:
        """Decide what the columns are.

        Raises
        ------
        InvalidInput
            When it is no table, or a column holds neither numbers nor categories.
        """
        table = _table(X)
        self.encoding_ = Encoding.decide(table, self.orders)
        self.feature_names_in_ = np.array(self.encoding_.names, dtype=object)
        self.n_features_in_ = len(self.feature_names_in_)
        return self

    def transform(self, X: pd.DataFrame) -> pd.DataFrame:
        """Return the columns as numbers; what is missing stays missing.

        Raises
        ------
        InvalidInput
            When a column is not there, or holds text where it held numbers.
        """
        check_is_fitted(self)
        return self.encoding_.encode(_table(X))

    def get_feature_names_out(self, input_features: object = None) -> npt.NDArray[Any]:
        """Return the names of the columns of numbers."""
        check_is_fitted(self)
        return np.array(self.encoding_.columns, dtype=object)


def preprocessing(
    orders: Mapping[str, Sequence[str]] | None = None, *, impute: bool = False
) -> Pipeline:
    """Return a pipeline from the table of a data set to a table of numbers.

    Parameters
    ----------
    orders
        Columns whose categories have an order, worst first: ``Dataset.orders``.
    impute
        Whether missing values become the median of the rows it is fitted on, for models that
        take none. A column without any value there becomes 0.
    """
    steps: list[tuple[str, Any]] = [("encode", TableEncoder(orders))]
    if impute:
        imputer = SimpleImputer(strategy="median", keep_empty_features=True)
        steps.append(("impute", imputer.set_output(transform="pandas")))
    return Pipeline(steps)


def _table(X: object) -> pd.DataFrame:
    if not isinstance(X, pd.DataFrame):
        raise InvalidInput(f"X must be a pandas DataFrame, not {type(X).__name__}")
    return X
