"""From the columns of a table to numbers for trees, and the same way again for later rows."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from formulations import InvalidInput
from solvers import close_matches

# A column with more categories is numbered, in alphabetical order; others get one column each.
MOST_INDICATORS = 30

# Trees compare features in single precision.
_LARGEST_FEATURE = float(np.finfo(np.float32).max)

KINDS = ("number", "indicators", "places", "labels")


@dataclass(frozen=True)
class Feature:
    """How a column becomes numbers.

    Attributes
    ----------
    name
        Of the column.
    kind
        ``"number"``: as it is. ``"indicators"``: zeros and ones, a column a category, all of
        them zero for a category that is none of these. ``"places"``: the number of the category
        in their order; missing where it is none of them. ``"labels"``: text as it is, for a
        model that knows the categories itself.
    categories
        Words in their order, for indicators and places.
    """

    name: str
    kind: Literal["number", "indicators", "places", "labels"]
    categories: tuple[str, ...] = ()

    @property
    def columns(self) -> list[str]:
        """Names of what it becomes."""
        if self.kind == "indicators":
            return [f"{self.name}={category}" for category in self.categories]
        return [self.name]

    def encode(self, column: pd.Series[Any]) -> pd.DataFrame:
        """Return columns of numbers; what is missing stays missing."""
        if self.kind == "number":
            numbers = parsed(column)
            words = column[numbers.isna() & column.notna()]
            if len(words):
                raise InvalidInput(
                    f"column {short(self.name)} must hold numbers; data row {words.index[0] + 1} "
                    f"has {short(words.iloc[0])}"
                )
            _require_single_precision(numbers)
            return numbers.astype(np.float64).to_frame(self.name)
        text = words_of(column)
        if self.kind == "labels":
            return text.to_frame(self.name)
        missing = column.isna().to_numpy()
        place = pd.Index(self.categories).get_indexer(pd.Index(text))
        if self.kind == "places":
            codes = np.where(missing | (place < 0), np.nan, place)
            return pd.DataFrame({self.name: codes}, column.index)
        marks = (place[:, None] == np.arange(len(self.categories))).astype(np.float64)
        marks[missing] = np.nan
        return pd.DataFrame(marks, column.index, self.columns)

    def unseen(self, column: pd.Series[Any]) -> int:
        """Return how many cells hold a category that is none of these."""
        if self.kind not in ("indicators", "places"):
            return 0
        known = words_of(column).isin(self.categories)
        return int((~known & column.notna()).sum())


@dataclass(frozen=True)
class Encoding:
    """How the columns of a table become numbers, in the order of the features."""

    features: tuple[Feature, ...]

    @classmethod
    def decide(
        cls,
        table: pd.DataFrame,
        orders: Mapping[str, Sequence[str]] | None = None,
        categorical: Sequence[str] = (),
    ) -> Encoding:
        """Decide by the rows of a table what its columns hold.

        Parameters
        ----------
        table
            Features alone.
        orders
            Columns whose categories have an order, worst first.
        categorical
            Columns of categories that look like numbers.

        Raises
        ------
        InvalidInput
            When a column holds neither numbers nor categories, or a column for a category gets
            the name of another column.
        """
        for name in categorical:
            if name not in table.columns:
                raise InvalidInput(
                    f"categorical {name!r} is not a feature; "
                    f"{close_matches(name, map(str, table.columns))}"
                )
        features = []
        for name in table.columns:
            order = (orders or {}).get(str(name))
            if order is None:
                features.append(_feature(table[name], str(name) in categorical))
            else:
                features.append(Feature(str(name), "places", tuple(order)))
        found = cls(tuple(features))
        names = pd.Index(found.columns)
        if not names.is_unique:
            raise InvalidInput(
                f"a column for a category gets the name {short(names[names.duplicated()][0])}, "
                "which another column has; rename one of them"
            )
        return found

    @property
    def columns(self) -> list[str]:
        """Names of what the features become."""
        return [column for feature in self.features for column in feature.columns]

    @property
    def names(self) -> list[str]:
        """Names of the features in a table."""
        return [feature.name for feature in self.features]

    def encode(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return the features of a table as numbers; its other columns are passed over.

        Raises
        ------
        InvalidInput
            When a column is not there, or holds what is no number where numbers are needed.
        """
        missing = [name for name in self.names if name not in table.columns]
        if missing:
            more = f" and {len(missing) - 1} others" if len(missing) > 1 else ""
            raise InvalidInput(
                f"there is no column {missing[0]!r}{more}, which the model needs; "
                f"{close_matches(missing[0], map(str, table.columns))}"
            )
        return pd.concat([one.encode(table[one.name]) for one in self.features], axis=1)

    def unseen(self, table: pd.DataFrame) -> dict[str, int]:
        """Return, for columns with categories that are new, in how many cells they are."""
        counts = {one.name: one.unseen(table[one.name]) for one in self.features}
        return {name: count for name, count in counts.items() if count}


def _feature(column: pd.Series[Any], categorical: bool) -> Feature:
    name = str(column.name)
    if pd.api.types.is_datetime64_any_dtype(column) or pd.api.types.is_timedelta64_dtype(column):
        raise InvalidInput(
            f"column {short(name)} holds times, which trees do not compare: "
            "make numbers of them, such as a year or days"
        )
    present = column[column.notna()]
    if categorical or isinstance(column.dtype, pd.CategoricalDtype):
        return _categories(name, words_of(present).unique())
    words = present[parsed(present).isna()]
    if len(words) == 0:
        _require_single_precision(parsed(column))
        return Feature(name, "number")
    categories = words_of(present).unique()
    if len(categories) > MOST_INDICATORS and 2 * words.nunique() < len(categories):
        raise InvalidInput(
            f"column {name!r} has mostly numbers, but data row {words.index[0] + 1} "
            f"has {short(words.iloc[0])}; leave a cell empty where a number is missing"
        )
    return _categories(name, categories)


def _categories(name: str, found: npt.NDArray[Any]) -> Feature:
    categories = tuple(sorted(map(str, found)))
    few = len(categories) <= MOST_INDICATORS
    return Feature(name, "indicators" if few else "places", categories)


def words_of(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return cells as text, whole numbers without a point; what is missing stays missing."""
    cells = column.to_list()
    text = [None if pd.api.types.is_scalar(c) and pd.isna(c) else _word(c) for c in cells]
    return pd.Series(text, column.index, dtype=object, name=column.name)


def _word(cell: Any) -> str:
    if isinstance(cell, float) and cell.is_integer():  # a missing cell makes integers floats
        return str(int(cell))
    if isinstance(cell, str | int | float | bool | np.generic):
        return str(cell)
    raise InvalidInput(f"cells must hold numbers or text, not {short(cell)}")


def parsed(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return a column's numbers, NaN where a cell is none.

    Raises
    ------
    InvalidInput
        When an integer is too large for double precision.
    """
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(object)
    try:
        return pd.to_numeric(column, errors="coerce")
    except OverflowError:
        raise InvalidInput(
            f"column {short(column.name)} must hold numbers of double precision, "
            "but has an integer that is larger than any of them"
        ) from None


def short(given: object) -> str:
    """Return the repr of what was given, on one line and with the middle of a long one left out."""
    brief = reprlib.Repr()
    brief.maxstring = brief.maxother = 100
    return brief.repr(given)


def _require_single_precision(numbers: pd.Series[Any]) -> None:
    wrong = numbers[np.abs(numbers.astype(np.float64)) > _LARGEST_FEATURE]
    if len(wrong):
        raise InvalidInput(
            f"column {numbers.name!r} must hold numbers of single precision, as trees do; "
            f"data row {wrong.index[0] + 1} has {wrong.iloc[0]:g}"
        )
