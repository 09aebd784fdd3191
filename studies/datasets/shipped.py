"""Data sets that come along."""

from __future__ import annotations

from importlib.resources import as_file, files

import pandas as pd

from studies.datasets.files import read_csv
from studies.datasets.known import KNOWN

SHIPPED = {name: KNOWN[name] for name in ("diamonds", "abalone")}


def shipped_table(name: str) -> pd.DataFrame:
    """Return the table of a data set that comes along, as it is in its file."""
    with as_file(files("studies") / "data" / f"{name}.csv.gz") as inside:
        return read_csv(inside)
