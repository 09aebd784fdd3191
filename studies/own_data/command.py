"""`forestprune prune`: from a table and a model to a folder with a pruned one."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn
from rich.progress import TimeElapsedColumn
from sklearn.utils import get_tags

from forestprune import TreeEnsemble, read_ensemble
from forestprune.recipe import Recipe
from formulations import InvalidInput
from studies.datasets import listed, split_target
from studies.encoding import Encoding
from studies.own_data.account import Account
from studies.own_data.bundle import COLUMNS, MODEL, REPORT, Columns, check_free, write_bundle
from studies.own_data.choosing import Chosen, Size, Work, as_asked, by_validation
from studies.own_data.features import features_of, require_taken
from studies.own_data.measuring import scores
from studies.own_data.models import KINDS, Kind, load_model, new_model
from studies.own_data.page import page
from studies.own_data.parts import Rows, split
from studies.own_data.shown import summary
from studies.own_data.tables import Table, read_table
from studies.own_data.targets import Classify, is_class, known_labels, target_values
from studies.reporting.formats import plural
from studies.running.machine import environment, now

_QUIET = (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ResourceWarning)
_VERSIONS = ("forestprune", "scikit-learn", "numpy", "scipy", "numba")


@dataclass(frozen=True)
class Asked:
    """What a user asks for.

    Attributes
    ----------
    data, target
        A table, as `read_table` takes it, and the column to predict.
    saved
        File of a fitted model; None to fit one.
    kind, trees, depth
        What to fit.
    recipe, size
        What to solve, and how small the model is to be.
    classify, categorical
        Whether the target is a class, and features that are categories.
    test
        A table, or a share of the rows.
    validation
        A share of the rows that are left.
    out, overwrite
        The folder for the result, and whether to replace one there.
    seed, time_limit
        Of splits, fits and solvers; seconds for each path or solve.
    command
        As it was typed.
    """

    data: str
    target: str | None
    saved: Path | None
    kind: Kind
    trees: int
    depth: int | None
    recipe: Recipe
    size: Size
    classify: Classify
    categorical: Sequence[str]
    test: str
    validation: float
    out: Path | None
    overwrite: bool
    seed: int
    time_limit: float | None
    command: str

    @property
    def test_share(self) -> float | None:
        """The share of the rows to test on; None where it is a file."""
        try:
            share = float(self.test)
        except ValueError:
            return None
        if not 0.0 <= share < 1.0:
            raise InvalidInput(f"--test must be a file or a share from 0 to below 1, not {share:g}")
        return share


@dataclass(frozen=True, eq=False)
class _Task:
    """A table and a model that go together.

    Attributes
    ----------
    table
        What was read.
    name
        What people call the model.
    target
        The column to predict.
    columns
        What the model is given.
    classes
        Whether classes are predicted.
    model
        Unfitted, or a saved one as it was read.
    labels
        Returns a column of targets as the model has them.
    takes_missing
        Whether the model takes missing values.
    """

    table: Table
    name: str
    columns: Columns
    classes: bool
    model: Any
    takes_missing: bool
    notes: list[str] = field(default_factory=list)

    def rows(self, table: pd.DataFrame) -> Rows:
        """Return rows of a table as the model is given them."""
        target = self.columns.target
        column, _ = split_target(table, target)
        y = target_values(column, target, self.classes)
        if isinstance(self.model, TreeEnsemble) and self.model.classes is not None:
            y = known_labels(y, self.model.classes, target)
        X = self.columns.encoding.encode(table)
        require_taken(X, self.takes_missing, self.name)
        return Rows(X, y)


def prune_table(console: Console, asked: Asked) -> None:
    """Prune, and write a folder with the model, its columns and the report.

    Raises
    ------
    InvalidInput, SolverError, OSError
        When something asked for cannot be had; then nothing is written.
    """
    began, clock = now(), perf_counter()
    share = asked.test_share
    out = asked.out
    if out is not None:
        check_free(out, asked.overwrite)
    with _noted() as notes:
        task = _task(asked)
        if out is None:
            out = Path(f"{task.table.name}-pruned")
            check_free(out, asked.overwrite)
        train = task.rows(task.table.rows)
        test = None
        if share is None:
            test = task.rows(read_table(asked.test).rows)
        elif share > 0.0:
            train, test = split(train, share, task.classes, asked.seed, "--test")
        said = _said(task, train, test)
        console.print(said, markup=False, highlight=False)
        with _progress(console, _stages(asked, test)) as stage:
            chosen, validation = _chosen(asked, task, train, test, stage)
            stage("writing the report")
            parts = {"training": train} | ({} if test is None else {"test": test})
            measured = {
                what: (scores(chosen.source, rows), scores(chosen.pruned, rows))
                for what, rows in parts.items()
            }
            counts = {what: len(rows) for what, rows in parts.items()}
            if validation is not None:
                counts["validation"] = len(validation)
            told = environment()["versions"]
            account = Account(
                data=task.table.name,
                target=task.columns.target,
                kind=task.name,
                rows=counts,
                chosen=chosen,
                size=asked.size,
                scores=measured,
                saved=asked.saved is not None,
                command=asked.command,
                options=_options(asked, task),
                notes=(),
                versions={name: told[name] for name in _VERSIONS},
                began=began,
                seconds=perf_counter() - clock,
            )
    raise NotImplementedError
