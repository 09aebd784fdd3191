"""Labels of any type and the numbers that trees know them by."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from forestprune.forgetful.storage import MOST_CLASSES
from formulations.arrays import IntArray
from formulations.errors import InvalidInput
from formulations.kernels.compiled import kernel


class Labels:
    """The classes known so far; a new one gets the next number, so that old numbers stay.

    Parameters
    ----------
    classes
        (K,) sorted labels.
    numbers
        (K,) number of each.
    complete
        Whether no other label may come.

    Attributes
    ----------
    classes, numbers
        As given.
    in_order
        Whether the numbers are 0, 1, …: classes with higher labels were never known before
        those with lower ones.
    """

    def __init__(self, classes: npt.NDArray[Any], numbers: IntArray, complete: bool) -> None:
        if len(classes) > MOST_CLASSES:
            raise InvalidInput(
                f"y must have at most {MOST_CLASSES} classes, not {len(classes)}; numbers are "
                "for a regressor"
            )
        self.classes, self.numbers, self._complete = classes, numbers, complete
        self.in_order = bool(np.all(numbers == np.arange(len(numbers))))
        whole = (
            classes.dtype.kind in "iu" and np.can_cast(classes.dtype, np.int64) and self.in_order
        )
        self._integers = classes.astype(np.int64) if whole else None

    @classmethod
    def of_first_batch(cls, y: npt.NDArray[Any], classes: npt.ArrayLike | None) -> Labels:
        """Return the labels of a first batch, or those that were announced with it."""
        if classes is None:
            known = _distinct(y)
        else:
            known = _distinct(np.asarray(classes))
            if known.ndim != 1 or len(known) == 0:
                raise InvalidInput(f"classes must list at least one label, not {classes!r}")
        return cls(known, np.arange(len(known)), classes is not None)

    def encode(self, y: npt.NDArray[Any]) -> tuple[IntArray, Labels]:
        """Return the numbers (rows,) of labels, and the labels known with these.

        Raises
        ------
        InvalidInput
            When a label is not known although all were announced, or of another type.
        """
        if self._integers is not None and y.dtype == np.int64:
            numbers = y.copy()  # kernels are compiled for arrays that may be written to
            if _find(numbers, self._integers):
                return numbers, self
        _require_same_kind(y, self.classes)
        present = _distinct(y)
        new = present[~np.isin(present, self.classes)]
        if len(new) == 0:
            return self.numbers[np.searchsorted(self.classes, y)], self
        if self._complete:
            raise InvalidInput(
                f"y must hold labels of the classes given with the first batch, "
                f"{self.classes[:10].tolist()}; found {new[:5].tolist()}"
            )
        classes = np.concatenate([self.classes, new])
        order = np.argsort(classes, kind="stable")
        numbers = np.concatenate(
            [self.numbers, np.arange(len(self.numbers), len(classes), dtype=np.int64)]
        )
        return Labels(classes[order], numbers[order], False).encode(y)

    def require_same(self, classes: npt.ArrayLike) -> None:
        """Refuse other classes than those given with the first batch."""
        given = np.asarray(classes)
        if not np.array_equal(given, self.classes) and not np.array_equal(
            _distinct(given), self.classes
        ):
            raise InvalidInput(
                f"classes must stay those of the first batch, {self.classes[:10].tolist()}, "
                f"not {given[:10].tolist()}"
            )


def _distinct(y: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return sorted distinct labels; refuse missing ones, which cannot be learnt from."""
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise InvalidInput("y must not contain NaN or inf: leave out rows without a label")
    if y.dtype.kind == "O" and any(label is None or label != label for label in y.ravel()):
        raise InvalidInput("y must not contain None or NaN: leave out rows without a label")
    try:
        return np.unique(y)
    except TypeError as error:
        raise InvalidInput(f"y must hold labels of one type: {error}") from None


def _require_same_kind(y: npt.NDArray[Any], classes: npt.NDArray[Any]) -> None:
    def kind(labels: npt.NDArray[Any]) -> str:
        if labels.dtype.kind in "biuf":
            return "numbers"
        if labels.dtype.kind in "US" or (len(labels) and isinstance(labels.flat[0], str)):
            return "strings"
        return "objects"

    if kind(y) != kind(classes):
        raise InvalidInput(
            f"y must hold {kind(classes)}, as in the batches before, not {kind(y)}: {y[:3]!r}"
        )
    both = y.dtype.kind + classes.dtype.kind
    if both in {"iu", "ui"} and np.result_type(y, classes).kind == "f":
        raise InvalidInput(
            f"y must hold labels of a type that goes with {classes.dtype}, that of the batches "
            f"before, not {y.dtype}: large numbers would be rounded"
        )


@kernel
def _find(y: IntArray, classes: IntArray) -> bool:
    """Replace labels by their places among sorted classes; return whether all are there."""
    for i in range(y.shape[0]):
        low, high = 0, classes.shape[0]
        while low < high:
            middle = (low + high) // 2
            if classes[middle] < y[i]:
                low = middle + 1
            else:
                high = middle
        if low == classes.shape[0] or classes[low] != y[i]:
            return False
        y[i] = low
    return True
