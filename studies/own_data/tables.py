"""Tables in files: CSV, also compressed, and Parquet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from studies.datasets import SHIPPED, read_file, shipped_table, stem


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
        return Table(source, shipped_table(source), shipped.orders, shipped.target)
    return Table(stem(path), read_file(path))
