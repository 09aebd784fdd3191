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
    return _compiled(function, counts_references=True)


def view_kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile, as `kernel` does, a function that creates no arrays and only views others.

    Numba counts the references to every array and to every view of one, which can take a tenth
    of the time; these kernels do not count, so their caller must keep the arrays alive.
    """
    return _compiled(function, counts_references=False)


def _compiled(function: Callable[P, R], counts_references: bool) -> Callable[P, R]:
    options: dict[str, Any] = {
        "nogil": True,
        "error_model": "numpy",
        "boundscheck": False,
        "_nrt": counts_references,
    }
    try:
        compiled = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # numba's "cannot cache function: no locator available"
        compiled = numba.njit(**options)(function)
    return cast("Callable[P, R]", compiled)
