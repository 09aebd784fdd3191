"""What can go wrong between a problem and a solver."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class SolverError(Exception):
    """Base of all errors of this package."""


class UnknownSolver(SolverError, ValueError):
    """No solver has this name."""


class InvalidOption(SolverError, ValueError):
    """A solver has no such option, or the option does not take this value."""


class MissingEngine(SolverError, ImportError):
    """A solver needs a package that is not installed."""


class UnsupportedProblem(SolverError, ValueError):
    """A solver cannot take this problem; the message has the reason and the alternatives."""


class EngineFailure(SolverError, RuntimeError):
    """A solver broke off, or its answer did not stand up to checking."""


def close_matches(given: str, known: Iterable[str]) -> str:
    """Return "did you mean …? Known: …" for an unknown name."""
    names = sorted(known)
    near = get_close_matches(given.lower(), names, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
    return f"{hint}Known: {', '.join(names)}"
