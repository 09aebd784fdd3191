"""Compiling kernels before the clock starts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from formulations import Formulation

P = TypeVar("P", bound=Formulation)

_done: set[tuple[Callable[[Any], None], type, str]] = set()


def compile_by(use: Callable[[P], None], problem: P) -> None:
    """Compile the kernels that ``use`` calls, for problems of this kind, once.

    Parameters
    ----------
    use
        A function at the top of a module; it is given two rows of the problem.
    problem
        Kernels are compiled for its formulation and the type of its codes.
    """
    kind = (use, type(problem), problem.data.codes.dtype.str)
    if kind not in _done:
        use(replace(problem, data=problem.data.take_rows(slice(0, 2))))
        _done.add(kind)
