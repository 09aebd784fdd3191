"""Tables in files: CSV, also compressed, and Parquet; by path, or by name in a folder."""

from __future__ import annotations

import gzip
import stat
import warnings
import zlib
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pandas as pd

from formulations import InvalidInput
from studies.encoding import short

_PARQUET = (".parquet", ".pq")

# Of tables in a folder, in the order in which they are looked for.
ENDINGS = (".csv", ".csv.gz", *_PARQUET)


def stem(path: Path) -> str:
    """Return a file's name without the ending of a table."""
    name = path.name.removesuffix(".gz")
    return next((name.removesuffix(end) for end in ENDINGS if name.endswith(end)), name)


def listed(table: pd.DataFrame) -> str:
    """Return the names of a table's columns, the first twenty of many."""
    more = ", …" if table.shape[1] > 20 else ""
    return ", ".join(short(str(column))[1:-1] for column in table.columns[:20]) + more


def read_file(path: Path) -> pd.DataFrame:
    """Return a table as it is in its file, with rows numbered from 0.

    Parameters
    ----------
    path
        Parquet where it ends in ``.parquet`` or ``.pq``, CSV otherwise, compressed where it ends
        in ``.gz``.

    Raises
    ------
    InvalidInput
        When there is no such file, it cannot be read or has no rows.
    """
    return read_parquet(path) if path.suffix.lower() in _PARQUET else read_csv(path)


def read_csv(path: Path) -> pd.DataFrame:
    """Return a CSV file as it is; every row has a cell under every name, and no more.

    Raises
    ------
    InvalidInput
        When there is no such file, or it is none of CSV.
    """
    _require_file(path)
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
    _require_columns_apart(path, header.iloc[0].dropna())
    return _with_rows(path, table)


def read_parquet(path: Path) -> pd.DataFrame:
    """Return a Parquet file as it is.

    Raises
    ------
    InvalidInput
        When there is no such file, it is none of Parquet, or pyarrow is not installed.
    """
    _require_file(path)
    try:
        pyarrow = import_module("pyarrow")
    except ModuleNotFoundError as error:
        if str(error.name).partition(".")[0] != "pyarrow":
            raise
        raise InvalidInput(
            f"data file {str(path)!r} needs pyarrow, which is not here; "
            "install it with: pip install 'forestprune[parquet]'"
        ) from None
    try:
        table = pd.read_parquet(path, engine="pyarrow")
    except (OSError, ValueError, pyarrow.ArrowException) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InvalidInput(f"data file {str(path)!r} cannot be read as Parquet: {reason}") from None
    table.columns = table.columns.map(str)
    _require_columns_apart(path, table.columns.to_series())
    return _with_rows(path, table).reset_index(drop=True)


def _require_file(path: Path) -> None:
    if not is_there(path, stat.S_ISREG):
        what = "is not a file" if is_there(path) else "does not exist"
        raise InvalidInput(f"data file {str(path)!r} {what}")
    try:
        str(path).encode()
    except UnicodeEncodeError:  # what a run is of must be written down
        raise InvalidInput(
            f"data file {str(path)!r} must have a name in UTF-8; rename it"
        ) from None


def _require_columns_apart(path: Path, names: pd.Series[str]) -> None:
    if names.duplicated().any():
        twice = names[names.duplicated()].iloc[0]
        raise InvalidInput(f"data file {str(path)!r} has several columns named {short(twice)}")


def _with_rows(path: Path, table: pd.DataFrame) -> pd.DataFrame:
    if table.empty:
        raise InvalidInput(f"data file {str(path)!r} has no rows")
    return table


def in_folder(name: str, data_dir: str | Path | None) -> Path | None:
    """Return the file of a name, with or without its ending, in a folder, if there is one.

    Raises
    ------
    InvalidInput
        When there is no such folder.
    """
    if data_dir is None:
        return None
    folder = Path(data_dir)
    if not is_there(folder, stat.S_ISDIR):
        raise InvalidInput(f"data_dir {str(folder)!r} is not a folder")
    found = [folder / f"{name}{ending}" for ending in ("", *ENDINGS)]
    return next((path for path in found if is_there(path, stat.S_ISREG)), None)


def names_of_files(data_dir: str | Path) -> set[str]:
    """Return the names, without their endings, of the tables in a folder.

    Folders that are named like tables, and links to nothing, are none.

    Raises
    ------
    InvalidInput
        When there is no such folder, or it cannot be listed.
    """
    try:
        paths = [path for path in Path(data_dir).iterdir() if path.name.endswith(ENDINGS)]
    except OSError as error:
        raise InvalidInput(
            f"data_dir {str(data_dir)!r} cannot be listed: {error.strerror}"
        ) from None
    return {stem(path) for path in paths if is_there(path, stat.S_ISREG)}


def is_there(path: Path, kind: Callable[[int], bool] | None = None) -> bool:
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
