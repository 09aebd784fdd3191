"""Data sets of OpenML, by their number; downloaded once, then read from scikit-learn's cache."""

from __future__ import annotations

import re
import warnings
import zlib
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError

import pandas as pd

from formulations import InvalidInput
from studies.datasets.known import OPENML
from studies.encoding import short

# What is written as a number is read as one, as from a CSV file, nominal or not. (With pandas 3.1,
# scikit-learn 1.9 cannot read nominal numbers as categories.)
_AS_WRITTEN = {"dtype": None, "low_memory": False}

# Numbers there have six digits or so; of thousands Python makes no integer.
_ID = re.compile(r"[1-9][0-9]{0,17}")

_QUOTED = re.compile(r"^'(.*)'$", re.DOTALL)


def openml_id(name: str) -> int:
    """Return the number in ``openml:ID``.

    Raises
    ------
    InvalidInput
        When there is no whole number above 0.
    """
    number = name.removeprefix(OPENML)
    if not _ID.fullmatch(number):
        raise InvalidInput(
            f"data set {short(name)} must be openml: and a whole number above 0, as in openml:537"
        )
    return int(number)


def fetch(data_id: int, name: str) -> tuple[str, pd.DataFrame, str | None]:
    """Return a data set of OpenML: its name there, its table, and the column to predict.

    Columns that OpenML marks as identifiers of rows, or to be ignored, are left out. The column
    to predict is None where there is none that is usual, or several are.

    Parameters
    ----------
    data_id
        Its number at OpenML.
    name
        As it was asked for, for errors.

    Raises
    ------
    InvalidInput
        When it is not in the cache and OpenML cannot be reached, there is none of that number,
        or it is no table.
    """
    from sklearn.datasets import fetch_openml, get_data_home

    number = "" if name.startswith(OPENML) else f" ({OPENML}{data_id})"
    asked = f"data set {short(name)}{number}"
    instead = "give the path of a file, or data_dir with one of this name"
    try:
        home = get_data_home()
    except OSError as error:
        raise InvalidInput(
            f"{asked} cannot be kept: {error}; name a folder in SCIKIT_LEARN_DATA, or {instead}"
        ) from None
    try:
        with warnings.catch_warnings():
            # It tries again by itself, and what comes of that is said below.
            warnings.filterwarnings("ignore", "A network error|Invalid cache")
            found: Any = fetch_openml(
                data_id=data_id,
                target_column=None,
                as_frame=True,
                parser="pandas",
                read_csv_kwargs=_AS_WRITTEN,
                n_retries=1,
            )
    except HTTPError as error:
        error.close()
        raise InvalidInput(
            f"{asked} cannot be had: OpenML answers {error.code} {error.reason}; "
            f"try again later, or {instead}"
        ) from None
    except (URLError, TimeoutError, ConnectionError, HTTPException) as error:
        raise InvalidInput(
            f"{asked} is not in {home} and must be downloaded from OpenML once, which "
            f"failed ({_reason(error)}); connect to the internet, or {instead}"
        ) from None
    # No such number, or files that are none of OpenML's, from there or in the cache.
    except (OSError, EOFError, ValueError, LookupError, TypeError, zlib.error) as error:
        raise InvalidInput(
            f"{asked} cannot be had from OpenML: {_reason(error)}; remove its files in "
            f"{home} if they are damaged, or {instead}"
        ) from None
    table = _unquoted(found.data)
    usual = found.details.get("default_target_attribute")
    # Several are written as one name, with commas.
    return str(found.details["name"]), table, usual if usual in table.columns else None


def _unquoted(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose text has lost the single quotes that ARFF may put around it."""
    bare = table.copy()
    for name, column in table.items():
        if not pd.api.types.is_numeric_dtype(column):
            bare[name] = [_QUOTED.sub(r"\1", c) if isinstance(c, str) else c for c in column]
    return bare


def _reason(error: Exception) -> str:
    lines = str(getattr(error, "reason", None) or error).rstrip(".").splitlines()
    return lines[0] if lines else type(error).__name__
