"""Data sets by name or from a file, ready for tree models."""

from __future__ import annotations

import gzip
import stat
import warnings
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from formulations import InvalidInput
from formulations.arrays import FloatArray
from solvers import close_matches
from studies.encoding import Encoding, parsed, short

# Squares of the response must fit double precision.
_LARGEST_RESPONSE = 1e150

_ENDINGS = (".csv", ".csv.gz")

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

    Columns of text become numbers: a rank where the categories of a shipped data set have an
    order, one column of zeros and ones per category (``Sex=M``), or, with more than 30
    categories, their number in alphabetical order.

    Parameters
    ----------
    name
        ``"diamonds"`` (the logarithm of the price), ``"abalone"``, the name of a CSV file in
        ``data_dir``, with or without its ending, or the path of a CSV file. Files are in
        UTF-8, separated by commas, and compressed by gzip when they end in ``.gz``.
    target
        Column to predict; needed for a file.
    data_dir
        Folder in which ``NAME``, ``NAME.csv`` or ``NAME.csv.gz`` is looked for first.

    Raises
    ------
    InvalidInput
        When there is no such data set or file, it cannot be read, or the target or the
        features do not serve.
    """
    path = _in_folder(name, data_dir)
    if path is None and name in SHIPPED:
        shipped = SHIPPED[name]
        table = shipped_table(name)
        log = shipped.log and target in (None, shipped.target)
        wanted = shipped.target if target is None else target
        return _dataset(name, table, wanted, shipped.grades, log)
    if path is None:
        path = Path(name)
        if not name or (not path.suffix and not _there(path)):
            known = {*SHIPPED, *_names_in(data_dir)}
            raise InvalidInput(
                f"unknown data set {name!r}; {close_matches(name, known)}, "
                "or give the path of a CSV file"
            )
    table = read_csv(path)
    if target is None:
        raise InvalidInput(
            f"target must name the column of {path.name} to predict; it has {listed(table)}"
        )
    return _dataset(stem(path), table, target, {}, log=False)


def shipped_table(name: str) -> pd.DataFrame:
    """Return the table of a data set that comes along, as it is in its file."""
    with as_file(files("studies") / "data" / f"{name}.csv.gz") as inside:
        return read_csv(inside)


def _in_folder(name: str, data_dir: str | Path | None) -> Path | None:
    if data_dir is None:
        return None
    folder = Path(data_dir)
    if not _there(folder, stat.S_ISDIR):
        raise InvalidInput(f"data_dir {str(folder)!r} is not a folder")
    found = [folder / f"{name}{ending}" for ending in ("", *_ENDINGS)]
    return next((path for path in found if _there(path, stat.S_ISREG)), None)


def _names_in(data_dir: str | Path | None) -> set[str]:
    if data_dir is None:
        return set()
    try:
        return {stem(path) for path in Path(data_dir).iterdir() if path.name.endswith(_ENDINGS)}
    except OSError as error:
        raise InvalidInput(
            f"data_dir {str(data_dir)!r} cannot be listed: {error.strerror}"
        ) from None


def _there(path: Path, kind: Callable[[int], bool] | None = None) -> bool:
    """Return whether a path exists and is of a kind; not being allowed to know is an error."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError):  # the last: a zero byte in it
        return False
    except OSError as error:
        raise InvalidInput(
            f"data file {short(str(path))} cannot be opened: {error.strerror}"
        ) from None
    return kind is None or kind(mode)


def stem(path: Path) -> str:
    """Return a file's name without ``.csv`` or ``.csv.gz``."""
    return path.name.removesuffix(".gz").removesuffix(".csv")


def listed(table: pd.DataFrame) -> str:
    """Return the names of a table's columns, the first twenty of many."""
    more = ", …" if table.shape[1] > 20 else ""
    return ", ".join(short(str(column))[1:-1] for column in table.columns[:20]) + more


def read_csv(path: Path) -> pd.DataFrame:
    """Return a CSV file as it is; every row has a cell under every name, and no more.

    Raises
    ------
    InvalidInput
        When there is no such file, or it is none of CSV.
    """
    if not _there(path, stat.S_ISREG):
        what = "is not a file" if _there(path) else "does not exist"
        raise InvalidInput(f"data file {str(path)!r} {what}")
    compressed = path.suffix.lower() == ".gz"
    try:
        with gzip.open(path) if compressed else path.open("rb") as file:
            if b"\0" in file.read(1 << 16):
                raise ValueError("it holds zero bytes, so it is not text in UTF-8")
            file.seek(0)
            header = pd.read_csv(file, header=None, nrows=1, dtype=str, skipinitialspace=True)
            file.seek(0)
            with warnings.catch_warnings():
                warnings.simplefilter("error", pd.errors.ParserWarning)  # cells would be lost
                table = pd.read_csv(file, index_col=False, low_memory=False, skipinitialspace=True)
    except pd.errors.ParserWarning:
        raise InvalidInput(
            f"data file {str(path)!r} has more cells in a row than its header has names"
        ) from None
    # pandas' parser errors are ValueErrors; a damaged gzip file raises one of the others.
    except (OSError, EOFError, ValueError, zlib.error) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InvalidInput(f"data file {str(path)!r} cannot be read as CSV: {reason}") from None
    names = header.iloc[0].dropna()
    if names.duplicated().any():
        twice = names[names.duplicated()].iloc[0]
        raise InvalidInput(f"data file {str(path)!r} has several columns named {short(twice)}")
    if table.empty:
        raise InvalidInput(f"data file {str(path)!r} has no rows")
    return table


def _dataset(
    name: str, table: pd.DataFrame, target: str, grades: dict[str, list[str]], log: bool
) -> Dataset:
    column, features = split_target(table, target)
    y = numeric_target(column, target)
    X = Encoding.decide(features, grades).encode(features)
    return Dataset(name, X, np.log(y) if log else y)


def split_target(table: pd.DataFrame, target: str) -> tuple[pd.Series[Any], pd.DataFrame]:
    """Return the column to predict, and all others.

    Raises
    ------
    InvalidInput
        When there is no such column, or no other one.
    """
    if target not in table.columns:
        near = get_close_matches(target, [str(column) for column in table.columns], n=3)
        hint = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
        if table.shape[1] == 1:
            hint = "there is only one: is the file separated by commas? "
        raise InvalidInput(f"target {target!r} is not a column; {hint}Columns: {listed(table)}")
    features = table.drop(columns=target)
    if features.shape[1] == 0:
        raise InvalidInput(f"there are no feature columns beside the target {target!r}")
    return table[target], features


def numeric_target(column: pd.Series[Any], target: str) -> FloatArray:
    """Return (m,) a response.

    Raises
    ------
    InvalidInput
        When a cell is none or too large a number.
    """
    numbers = parsed(column)
    wrong = column[numbers.isna() & column.notna()]
    if len(wrong):
        raise InvalidInput(
            f"target {target!r} must be numeric; data row {wrong.index[0] + 1} "
            f"has {short(wrong.iloc[0])}"
        )
    y = numbers.to_numpy(dtype=np.float64)
    bad = np.flatnonzero(~(np.abs(y) <= _LARGEST_RESPONSE))  # NaN compares as false
    if len(bad):
        found = "empty" if np.isnan(y[bad[0]]) else f"{y[bad[0]]:g}"
        raise InvalidInput(
            f"target {target!r} must be finite, within ±{_LARGEST_RESPONSE:g}, in every row; "
            f"in {len(bad)} of {len(y)} it is not, first in data row {bad[0] + 1} ({found})"
        )
    return y
