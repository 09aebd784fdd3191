"""Array types and the checks that all packages apply to arrays they are given."""

from __future__ import annotations

from dataclasses import fields
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from formulations.errors import InvalidInput

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.integer[Any]]
BoolArray = npt.NDArray[np.bool_]


def frozen(array: npt.NDArray[Any], dtype: npt.DTypeLike | None = None) -> npt.NDArray[Any]:
    """Return a C-contiguous, read-only view or copy; the array given stays as it is."""
    view = np.ascontiguousarray(array, dtype=dtype).view()
    view.flags.writeable = False
    return view


class PickledByFields:
    """Pickles a frozen dataclass by its fields: without caches, and with read-only arrays.

    Unpickled arrays come back writeable; kernels would be compiled anew for these.
    """

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, item in state.items():
            self.__dict__[name] = frozen(item) if isinstance(item, np.ndarray) else item


def finite_floats(name: str, given: Any) -> FloatArray:
    """Convert to float64.

    Raises
    ------
    InvalidInput
        When ``given`` is not numeric, or holds NaN or an infinity.
    """
    try:
        if np.iscomplexobj(given):
            raise TypeError("complex numbers have no order")
        array = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{name} must be numeric: {error}") from None
    if array.ndim == 0 and not np.isfinite(array):
        raise InvalidInput(f"{name} must be finite, not {given!r}")
    if not np.isfinite(array).all():
        where = tuple(int(axis[0]) for axis in np.nonzero(~np.isfinite(array)))
        place = where[0] if array.ndim == 1 else where
        raise InvalidInput(f"{name} must be finite; found {array[where]} at {place}")
    return array


def non_negative_number(name: str, given: Any) -> float:
    """Convert to a finite float of at least 0.

    Raises
    ------
    InvalidInput
        When ``given`` is not such a number.
    """
    if isinstance(given, bool | np.bool_) or not isinstance(given, Real):
        raise InvalidInput(f"{name} must be a number of at least 0, not {given!r}")
    number = float(given)
    if not (np.isfinite(number) and number >= 0.0):
        raise InvalidInput(f"{name} must be a finite number of at least 0, not {given!r}")
    return number
