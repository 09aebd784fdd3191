"""Data sets by name, from OpenML or from a file, ready for tree models."""

from studies.datasets.files import listed, read_csv, read_file, read_parquet, stem
from studies.datasets.known import KNOWN, PUBLISHED, Known, published_name
from studies.datasets.loading import (
    Dataset,
    load,
    names_in,
    numeric_target,
    split_target,
    without_target,
)
from studies.datasets.preprocess import TableEncoder, preprocessing
from studies.datasets.shipped import SHIPPED, shipped_table

__all__ = [
    "KNOWN",
    "PUBLISHED",
    "SHIPPED",
    "Dataset",
    "Known",
    "TableEncoder",
    "listed",
    "load",
    "names_in",
    "numeric_target",
    "preprocessing",
    "published_name",
    "read_csv",
    "read_file",
    "read_parquet",
    "shipped_table",
    "split_target",
    "stem",
    "without_target",
]
