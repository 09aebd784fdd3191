"""Tables in files: CSV, also compressed, and Parquet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from forestprune.exporting.extras import extra
from formulations import InvalidInput
from studies.datasets import SHIPPED, read_csv, shipped_table, stem

_PARQUET = (".parquet", ".pq")


@dataclass(frozen=True, eq=False)
class Table:
    """A table as it is in its file.

    Attributes
    ----------
    name
        Of the data set, or of the file without its ending.
    rows
        (m, columns), numbered from 0.
    orders
        Columns whose categories have an order, worst first; known of the data sets that come
        along.
    target
        What is usually predicted, where that is known.
    """

    name: str
    rows: pd.DataFrame
    orders: Mapping[str, Sequence[str]] = field(default_factory=dict)
    target: str | None = None


def read_table(source: str) -> Table:
    """Read a table.

    Parameters
    ----------
    source
        Path of a file: Parquet where it ends in ``.parquet`` or ``.pq``, CSV otherwise,
        compressed where it ends in ``.gz``. Or the name of a data set that comes along.

    Raises
    ------
    InvalidInput
        When there is no such file, it cannot be read or has no rows.
    """
    path = Path(source)
    if source in SHIPPED and not path.exists():
        shipped = SHIPPED[source]
        return Table(source, shipped_table(source), shipped.grades, shipped.target)
    if path.suffix.lower() in _PARQUET:
        return Table(path.stem, _read_parquet(path))
    return Table(stem(path), read_csv(path))


def _read_parquet(path: Path) -> pd.DataFrame:
    if not path.is_file():
        what = "is not a file" if path.exists() else "does not exist"
        raise InvalidInput(f"data file {str(path)!r} {what}")
    pyarrow = extra("pyarrow", f"data file {str(path)!r}")
    try:
        table = pd.read_parquet(path, engine="pyarrow")
    except (OSError, ValueError, pyarrow.ArrowException) as error:
        raise InvalidInput(f"data file {str(path)!r} cannot be read as Parquet: {error}") from None
    if table.empty:
        raise InvalidInput(f"data file {str(path)!r} has no rows")
    table.columns = table.columns.map(str)
    if not table.columns.is_unique:
        twice = table.columns[table.columns.duplicated()][0]
        raise InvalidInput(f"data file {str(path)!r} has several columns named {twice!r}")
    return table.reset_index(drop=True)
