"""Which columns of a table a model is given, and whether it takes what is in them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from forestprune import TreeEnsemble
from formulations import InvalidInput
from solvers import close_matches
from studies.encoding import Encoding, Feature


def features_of(model: TreeEnsemble, table: pd.DataFrame, target: str | None) -> Encoding:
    """Return the features of a model among the columns of a table.

    They are found by their names. A model that was fitted on rows without names takes all columns
    but the target, in their order.

    Parameters
    ----------
    model
        A fitted ensemble; where it knows categories itself these are left to it.
    table
        With all its columns.
    target
        The column to predict, which is no feature; None where there is none.

    Raises
    ------
    InvalidInput
        When a feature is not there, or there are more or fewer columns than features.
    """
    if model.feature_names is None:
        names = [column for column in table.columns if column != target]
        if len(names) != model.n_features:
            raise InvalidInput(
                f"the {model.source} was fitted on {model.n_features} features without names, so "
                f"the data must have as many columns beside the target, not {len(names)}"
            )
    else:
        # LightGBM replaces spaces in names.
        told = {
            name.replace(" ", "_") if model.rules.spaces_replaced else name: name
            for name in map(str, table.columns)
            if name != target
        }
        missing = [name for name in model.feature_names if name not in told]
        if missing:
            more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
            raise InvalidInput(
                f"the {model.source} was fitted on a column {missing[0]!r}{more}, which the data "
                f"does not have; {close_matches(missing[0], told)}; the table must hold the "
                "columns that the model was fitted on, as encoded"
            )
        names = [told[name] for name in model.feature_names]
    known = model.rules.categories or (None,) * len(names)
    return Encoding(
        tuple(
            Feature(name, "number" if labels is None or labels.dtype.kind in "biuf" else "labels")
            for name, labels in zip(names, known, strict=True)
        )
    )


def require_taken(X: pd.DataFrame, takes_missing: bool, model: str) -> None:
    """Refuse missing values that a model does not take.

    Raises
    ------
    InvalidInput
        With the first one's column and row.
    """
    missing = X.isna().to_numpy()
    if takes_missing or not missing.any():
        return
    row, column = np.argwhere(missing)[0]
    raise InvalidInput(
        f"column {X.columns[column]!r} has no value in data row {X.index[row] + 1}, nor have "
        f"{int(missing.any(axis=1).sum())} rows in all; {model} takes no missing values"
    )
