"""Compilation of the numeric kernels, in one place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

import numba

P = ParamSpec("P")
R = TypeVar("R")


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function with numba: no Python objects, no GIL, machine code kept on disk.

    Where no folder can be written (a read-only installation without a home folder) numba
    refuses to cache; the kernel is then compiled anew in every process.

    Parameters
    ----------
    function
        A function in the subset of Python that numba's nopython mode takes.

    Returns
    -------
    callable
        The compiled function, with the signature of the given one.
    """
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "boundscheck": False}
    try:
        compiled = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # numba's "cannot cache function: no locator available"
        compiled = numba.njit(**options)(function)
    return cast("Callable[P, R]", compiled)
