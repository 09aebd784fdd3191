"""A data set by its name or from a file, ready for tree models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from formulations import InvalidInput
from formulations.arrays import FloatArray
from solvers import close_matches
from studies.datasets.files import in_folder, is_there, listed, names_of_files, read_file, stem
from studies.datasets.known import KNOWN, OPENML, PUBLISHED, Known, known_as
from studies.datasets.openml import fetch, openml_id
from studies.datasets.shipped import SHIPPED, shipped_table
from studies.encoding import Encoding, parsed, short, words_of

# Squares of the response must fit double precision.
_LARGEST_RESPONSE = 1e150


@dataclass(frozen=True, eq=False)
class Dataset:
    """Features and response.

    Attributes
    ----------
    name
        Name of the data set or stem of the file.
    table
        (m, columns) features as they are in the file; those that are no numbers are categories.
        The index counts the rows of the file from 0.
    y
        (m,) finite response.
    orders
        Columns whose categories have an order, worst first.
    dropped
        Number of rows that were left out because their cell of the target is empty.
    """

    name: str
    table: pd.DataFrame
    y: FloatArray
    orders: Mapping[str, Sequence[str]] = field(default_factory=dict)
    dropped: int = 0

    @cached_property
    def X(self) -> pd.DataFrame:
        """(m, features) numbers; missing values are NaN. All rows decide what the columns are.

        `preprocessing` makes the same of rows of training alone.
        """
        return Encoding.decide(self.table, self.orders).encode(self.table)


def load(name: str, target: str | None = None, data_dir: str | Path | None = None) -> Dataset:
    """Load a data set.

    Columns of text become numbers: a rank where the categories of a known data set have an
    order, one column of zeros and ones per category (``Sex=M``), or, with more than 30
    categories, their number in alphabetical order. Rows whose target is empty are left out.

    Parameters
    ----------
    name
        The first of these that there is: a file in ``data_dir``, with or without its ending; a
        data set that comes along, ``"diamonds"`` (the logarithm of the price) or ``"abalone"``;
        one of the papers' list (`PUBLISHED`), which comes from OpenML, or any other there by its
        number, ``"openml:537"``; the path of a file.

        Files are Parquet where they end in ``.parquet`` or ``.pq``, CSV otherwise: in UTF-8,
        separated by commas, and compressed by gzip when they end in ``.gz``. What comes from
        OpenML is kept where scikit-learn keeps data (``SCIKIT_LEARN_DATA``).
    target
        Column to predict; not needed for data sets of OpenML that have a usual one, and for
        files with the name of a known data set (`KNOWN`).
    data_dir
        Folder in which ``NAME``, ``NAME.csv``, ``NAME.csv.gz``, ``NAME.parquet`` or ``NAME.pq``
        is looked for first.

    Raises
    ------
    InvalidInput
        When there is no such data set or file, it cannot be had or read, or the target or the
        features do not serve.
    """
    path = in_folder(name, data_dir)
    if path is not None:
        return _from_file(path, target)
    if name in SHIPPED:
        return _known(name, shipped_table(name), target, SHIPPED[name])
    known = KNOWN.get(name)
    if name.startswith(OPENML):
        return _from_openml(openml_id(name), name, target)
    if known is not None and known.openml is not None:
        return _from_openml(known.openml, name, target)
    path = Path(name)
    if not name or (not path.suffix and not is_there(path)):
        raise InvalidInput(_unknown(name, data_dir))
    return _from_file(path, target)


def names_in(data_dir: str | Path | None) -> list[str]:
    """Return the data sets of a folder that `load` takes without a target, sorted.

    Parameters
    ----------
    data_dir
        A folder; None for the data sets that come along.

    Raises
    ------
    InvalidInput
        When there is no such folder, or it cannot be listed.
    """
    return sorted(SHIPPED if data_dir is None else names_of_files(data_dir) & set(KNOWN))


def without_target(data_dir: str | Path | None) -> list[str]:
    """Return the tables of a folder that `load` takes with a target only, sorted.

    Raises
    ------
    InvalidInput
        When there is no such folder, or it cannot be listed.
    """
    return [] if data_dir is None else sorted(names_of_files(data_dir) - set(KNOWN))


def _unknown(name: str, data_dir: str | Path | None) -> str:
    if name in KNOWN:
        return (
            f"data set {name!r} does not come along, and no number at OpenML is known for it; "
            f"give the path of a file, or data_dir with {name}.csv in it"
        )
    names = {*SHIPPED, *PUBLISHED, *(() if data_dir is None else names_of_files(data_dir))}
    return (
        f"unknown data set {name!r}; {close_matches(name, names)}; "
        "or give openml:ID, or the path of a CSV or Parquet file"
    )


def _from_file(path: Path, target: str | None) -> Dataset:
    table = read_file(path)
    known = known_as(path.name)
    if known is not None:
        with _errors_name(path):
            return _known(stem(path), table, target, KNOWN[known])
    if target is None:
        raise InvalidInput(
            f"target must name the column of {path.name} to predict; it has {listed(table)}"
        )
    with _errors_name(path):
        return _dataset(stem(path), table, target)


@contextmanager
def _errors_name(path: Path) -> Iterator[None]:
    """Say in errors which file they are about, which may be one of many."""
    try:
        yield
    except InvalidInput as error:
        raise InvalidInput(f"data file {str(path)!r}: {error}") from None


def _from_openml(data_id: int, name: str, target: str | None) -> Dataset:
    found, table, usual = fetch(data_id, name)
    shown = found if name.startswith(OPENML) else name
    wanted = usual if target is None else target
    known = known_as(f"{OPENML}{data_id}")
    if known is not None:
        return _known(shown, table, wanted, KNOWN[known])
    if wanted is None:
        raise InvalidInput(
            f"target must name the column of {name} ({found}) to predict, for OpenML has not one "
            f"that is usual; it has {listed(table)}"
        )
    return _dataset(shown, table, wanted)


def _known(name: str, table: pd.DataFrame, target: str | None, known: Known) -> Dataset:
    wanted = known.target_among(table.columns) if target is None else target
    others = [column for column in known.no_features(wanted) if column in table.columns]
    return _dataset(
        name,
        table.drop(columns=others),
        wanted,
        orders={
            column: order
            for column, order in known.orders.items()
            if column in table.columns and table[column].dropna().isin(order).all()
        },
        log=known.log and wanted in known.targets,
    )


def _dataset(
    name: str,
    table: pd.DataFrame,
    target: str,
    orders: Mapping[str, Sequence[str]] | None = None,
    log: bool = False,
) -> Dataset:
    column, features = split_target(table, target)
    kept = column.notna()
    if not kept.any():
        raise InvalidInput(f"target {target!r} has no value in any of {len(column)} rows")
    y = numeric_target(column[kept], target)
    if log:
        if y.min() <= 0.0:
            raise InvalidInput(
                f"target {target!r} of {name} must be above 0, for its logarithm is predicted, "
                f"not {y.min():g}"
            )
        y = np.log(y)
    orders = orders or {}
    typed = _typed(features[kept], orders)
    return Dataset(name, typed, y, orders, dropped=int((~kept).sum()))


def _typed(table: pd.DataFrame, orders: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """Return a table whose columns that are no numbers are categories.

    So its rows of training alone tell which they are: they may hold no text by chance.
    """
    typed = table.copy()
    for feature in Encoding.decide(table, orders).features:
        if feature.kind != "number":
            typed[feature.name] = words_of(table[feature.name]).astype("category")
    return typed


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
    if column.dtype.kind in "Mm":  # a number of days or of nanoseconds, as the file happens to say
        raise InvalidInput(f"target {target!r} must be numeric, but holds times")
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
            f"in {len(bad)} of {len(y)} it is not, first in data row {column.index[bad[0]] + 1} "
            f"({found})"
        )
    return y
