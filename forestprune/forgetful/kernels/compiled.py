"""Compilation of kernels that create no arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

import numba

P = ParamSpec("P")
R = TypeVar("R")


def view_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function that only reads and writes arrays that its caller keeps alive.

    Numba counts the references to every array and to every view of one; here that would take
    a tenth of the time, so these kernels do not count.

    Parameters
    ----------
    function
        A function in the subset of Python that numba's nopython mode takes.

    Returns
    -------
    callable
        The compiled function, with the signature of the given one.
    """
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}
    try:
        compiled = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # numba's "cannot cache function: no locator available"
        compiled = numba.njit(**options)(function)
    return cast("Callable[P, R]", compiled)
