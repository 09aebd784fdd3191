"""Data sets by name or from a file, ready for tree models."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from formulations import InvalidInput
from formulations.arrays import FloatArray

# A column with more categories is numbered, in alphabetical order; others get one column each.
_MOST_INDICATORS = 30

# Quality grades of diamonds, worst first.
_GRADES = {
    "cut": ["Fair", "Good", "Very Good", "Premium", "Ideal"],
    "color": ["J", "I", "H", "G", "F", "E", "D"],
    "clarity": ["I1", "SI2", "SI1", "VS2", "VS1", "VVS2", "VVS1", "IF"],
}


@dataclass(frozen=True)
class Shipped:
    """A data set in the package: its target, ordered categories, and whether to take logs."""

    target: str
    grades: dict[str, list[str]]
    log: bool = False


SHIPPED = {"diamonds": Shipped("price", _GRADES, log=True), "abalone": Shipped("Class_Rings", {})}


@dataclass(frozen=True, eq=False)
class Dataset:
    """Features and response.

    Attributes
    ----------
    name
        Name of the data set or stem of the file.
    X
        (m, features) numbers; missing values are NaN.
    y
        (m,) finite response.
    """

    name: str
    X: pd.DataFrame
    y: FloatArray


def load(name: str, target: str | None = None, data_dir: str | Path | None = None) -> Dataset:
    """Load a data set.

    Parameters
    ----------
    name
        ``"diamonds"`` (the logarithm of the price), ``"abalone"``, the stem of a CSV file in
        ``data_dir``, or the path of a CSV file, also compressed.
    target
        Column to predict; needed for a file.
    data_dir
        Folder in which ``NAME.csv`` or ``NAME.csv.gz`` is looked for first.

    Raises
    ------
    InvalidInput
        When there is no such data set or file, it cannot be read, or the target does not
        serve.
    """
    path = _in_folder(name, data_dir)
    if path is None and name in SHIPPED:
        shipped = SHIPPED[name]
        with as_file(files("studies") / "data" / f"{name}.csv.gz") as inside:
            table = _read(inside)
        log = shipped.log and target in (None, shipped.target)
        return _dataset(name, table, target or shipped.target, shipped.grades, log)
    if path is None:
        path = Path(name)
        if not path.suffix:
            near = get_close_matches(name, SHIPPED, n=1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise InvalidInput(
                f"unknown data set {name!r}; {hint}Known: {', '.join(sorted(SHIPPED))}, "
                "or give the path of a CSV file"
            )
    table = _read(path)
    if target is None:
        raise InvalidInput(
            f"target must name the column of {path.name} to predict; "
            f"it has {', '.join(map(str, table.columns[:20]))}"
        )
    return _dataset(path.name.split(".")[0], table, target, {}, log=False)


def _in_folder(name: str, data_dir: str | Path | None) -> Path | None:
    if data_dir is None:
        return None
    folder = Path(data_dir)
    if not folder.is_dir():
        raise InvalidInput(f"data_dir {str(folder)!r} is not a folder")
    found = [folder / f"{name}{ending}" for ending in (".csv", ".csv.gz")]
    return next((path for path in found if path.is_file()), None)


def _read(path: Path) -> pd.DataFrame:
    if not path.is_file():
        what = "is not a file" if path.exists() else "does not exist"
        raise InvalidInput(f"data file {str(path)!r} {what}")
    try:
        table = pd.read_csv(path, skipinitialspace=True)
    except (OSError, EOFError, ValueError) as error:  # pandas' parser errors are ValueErrors
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InvalidInput(f"data file {str(path)!r} cannot be read as CSV: {reason}") from None
    if table.empty:
        raise InvalidInput(f"data file {str(path)!r} has no rows")
    return table


def _dataset(
    name: str, table: pd.DataFrame, target: str, grades: dict[str, list[str]], log: bool
) -> Dataset:
    if target not in table.columns:
        near = get_close_matches(target, [str(column) for column in table.columns], n=3)
        hint = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
        raise InvalidInput(
            f"target {target!r} is not a column; {hint}"
            f"Columns: {', '.join(map(str, table.columns[:20]))}"
        )
    y = _response(table[target], target)
    features = _features(table.drop(columns=target), grades)
    if features.shape[1] == 0:
        raise InvalidInput(f"there are no feature columns beside the target {target!r}")
    return Dataset(name, features, np.log(y) if log else y)


def _response(column: pd.Series[Any], target: str) -> FloatArray:
    numbers = pd.to_numeric(column, errors="coerce")
    wrong = column[numbers.isna() & column.notna()]
    if len(wrong):
        raise InvalidInput(
            f"target {target!r} must be numeric; row {wrong.index[0] + 1} has {wrong.iloc[0]!r}"
        )
    y = numbers.to_numpy(dtype=np.float64)
    bad = np.flatnonzero(~np.isfinite(y))
    if len(bad):
        raise InvalidInput(
            f"target {target!r} must be finite; {len(bad)} rows are missing or infinite, "
            f"the first is row {bad[0] + 1}"
        )
    return y


def _features(table: pd.DataFrame, grades: dict[str, list[str]]) -> pd.DataFrame:
    """Return numbers: grades by rank, few categories one column each, many by number."""
    ranked = table.assign(
        **{
            column: pd.Categorical(table[column], categories=order, ordered=True)
            .codes.astype(np.float64)
            for column, order in grades.items()
            if column in table
        }
    )
    for column in ranked.select_dtypes(exclude=[np.number, np.bool_]):
        if ranked[column].nunique() > _MOST_INDICATORS:
            codes = pd.Categorical(ranked[column].astype(str)).codes.astype(np.float64)
            ranked[column] = np.where(ranked[column].isna(), np.nan, codes)
    numbers = pd.get_dummies(ranked, dtype=np.float64).astype(np.float64)
    return numbers.replace([np.inf, -np.inf], np.nan)
