"""A table and a model that go together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd
from sklearn.utils import get_tags

from forestprune import TreeEnsemble, read_ensemble
from formulations import InvalidInput
from studies.datasets import listed, split_target
from studies.encoding import Encoding
from studies.own_data.asked import Asked
from studies.own_data.bundle import Columns
from studies.own_data.features import features_of, require_taken
from studies.own_data.models import KINDS, load_model, new_model
from studies.own_data.parts import Rows
from studies.own_data.tables import Table, read_table
from studies.own_data.targets import is_class, known_labels, target_values


@dataclass(frozen=True, eq=False)
class Task:
    """A table and a model that go together.

    Attributes
    ----------
    table
        What was read.
    name
        What people call the model.
    columns
        What the model is given.
    classes
        Whether classes are predicted.
    model
        One of scikit-learn that is not fitted, or a saved one as it was read.
    """

    table: Table
    name: str
    columns: Columns
    classes: bool
    model: Any

    @property
    def saved(self) -> bool:
        """Whether the model was fitted before."""
        return isinstance(self.model, TreeEnsemble)

    def rows(self, table: pd.DataFrame) -> Rows:
        """Return rows of a table as the model is given them.

        Raises
        ------
        InvalidInput
            When a cell does not serve.
        """
        column, _ = split_target(table, self.columns.target)
        return rows_of(table, column, self.columns, self.classes, self.model)


def make_task(asked: Asked) -> Task:
    """Read the table and the model, and decide what the columns are.

    Raises
    ------
    InvalidInput
        When they cannot be read, or do not go together.
    """
    table = read_table(asked.data)
    target = table.target if asked.target is None else asked.target
    if target is None:
        raise InvalidInput(
            f"--target must name the column of {table.name} to predict; it has {listed(table.rows)}"
        )
    column, features = split_target(table.rows, target)
    if asked.saved is not None:
        model = read_ensemble(load_model(asked.saved))
        encoding = features_of(model, table.rows, target)
        return Task(
            table, model.source, Columns(encoding, target), model.classes is not None, model
        )
    classes = is_class(column, asked.classify)
    if classes and column.nunique() < 2:
        raise InvalidInput(f"target {target!r} must have at least two classes, not one")
    encoding = Encoding.decide(features, table.orders, asked.categorical)
    model = new_model(asked.kind, asked.trees, asked.depth, asked.seed, classes)
    return Task(table, KINDS[asked.kind].title, Columns(encoding, target), classes, model)


def rows_of(
    table: pd.DataFrame, column: pd.Series[Any], columns: Columns, classes: bool, model: Any
) -> Rows:
    """Return rows as a model is given them, with their targets as it has them.

    Parameters
    ----------
    table, column
        Features among other columns, and the target.
    columns, classes
        What the model is given, and whether it predicts classes.
    model
        A `TreeEnsemble`, or one of scikit-learn that is not fitted.

    Raises
    ------
    InvalidInput
        When a cell does not serve.
    """
    y = target_values(column, columns.target, classes)
    X = columns.encoding.encode(table)
    if not isinstance(model, TreeEnsemble):
        takes_missing = get_tags(model).input_tags.allow_nan
        require_taken(X, takes_missing, type(model).__name__)
        return Rows(X, y)
    require_taken(X, model.allow_nan, model.source)
    if model.classes is not None:
        y = known_labels(y, model.classes, columns.target)
    return Rows(X, y)
