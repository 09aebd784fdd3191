"""What is to be predicted: a number, or a class with labels of any type."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from formulations import InvalidInput
from studies.datasets import numeric_target
from studies.encoding import parsed, short, words_of

Classify = Literal["auto", "yes", "no"]


def is_class(column: pd.Series[Any], classify: Classify) -> bool:
    """Return whether a target is a class.

    By itself it is one when it has text, truth values or categories, or two different values.
    """
    if classify != "auto":
        return classify == "yes"
    present = column.dropna()
    if isinstance(column.dtype, pd.CategoricalDtype) or pd.api.types.is_bool_dtype(present):
        return True
    return bool(parsed(present).isna().any()) or present.nunique() == 2


def target_values(column: pd.Series[Any], name: str, classes: bool) -> npt.NDArray[Any]:
    """Return (m,) labels or finite numbers.

    Labels are integers, truth values or text; what mixes types becomes text.

    Raises
    ------
    InvalidInput
        When a row has no target, or no number where one is needed.
    """
    if not classes:
        return numeric_target(column, name)
    missing = np.flatnonzero(column.isna())
    if len(missing):
        raise InvalidInput(
            f"target {name!r} must have a class in every row; {len(missing)} of {len(column)} "
            f"are empty, the first is data row {column.index[missing[0]] + 1}"
        )
    cells = column.to_list()
    for kind in (bool, int):
        if all(type(cell) is kind for cell in cells):
            return np.array(cells)
    return np.array(words_of(column).to_list())


def known_labels(
    labels: npt.NDArray[Any], classes: npt.NDArray[Any], name: str
) -> npt.NDArray[Any]:
    """Return labels of a table as the model has them, who may know ``"1"`` for 1.

    Raises
    ------
    InvalidInput
        When the model does not know one.
    """
    known = {_text(label): label for label in classes.tolist()}
    unknown = {_text(label) for label in labels.tolist()} - set(known)
    if unknown:
        raise InvalidInput(
            f"target {name!r} must hold classes of the model, {', '.join(sorted(known)[:10])}; "
            f"it does not know {short(min(unknown))}"
        )
    return np.array([known[_text(label)] for label in labels.tolist()], dtype=classes.dtype)


def _text(label: Any) -> str:
    whole = isinstance(label, float) and label.is_integer()
    return str(int(label)) if whole else str(label)
