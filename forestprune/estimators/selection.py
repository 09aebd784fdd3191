"""Which model of a path is taken."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from formulations import InvalidInput
from formulations.arrays import FloatArray, non_negative_number

_ACCEPTED = '"best", "one_standard_error", ("within", φ), ("nodes", limit) or ("trees", limit)'


def checked_selection(given: Any) -> tuple[str, float]:
    """Return a rule as a pair of its name and its number, 0 where it has none.

    Raises
    ------
    InvalidInput
        When it is not one of the rules of `ForestPrunerCV`.
    """
    if isinstance(given, str) and given in ("best", "one_standard_error"):
        return given, 0.0
    if isinstance(given, tuple | list) and len(given) == 2:
        rule, number = given
        if rule == "within":
            return rule, non_negative_number("selection[1]", number)
        if rule in ("nodes", "trees"):
            whole = isinstance(number, int | np.integer) and not isinstance(number, bool)
            if not whole or number < 0:
                raise InvalidInput(f"selection[1] must be an integer of at least 0, not {number!r}")
            return rule, float(number)
    raise InvalidInput(f"selection must be {_ACCEPTED}, not {given!r}")


def choose(
    rule: str,
    number: float,
    error: FloatArray,
    spread: FloatArray,
    full: float,
    nodes: npt.NDArray[np.int64],
    trees: npt.NDArray[np.int64],
) -> int | None:
    """Return the model that a rule takes, or None where no model meets it.

    Parameters
    ----------
    rule, number
        From `checked_selection`.
    error, spread
        (k,) mean validation error of each model, and the standard error of the mean.
    full
        Mean validation error of the whole ensemble.
    nodes, trees
        (k,) their sizes.
    """
    best = _first(np.ones(len(error), dtype=np.bool_), error, nodes)
    assert best is not None
    if rule == "best":
        return best
    if rule in ("nodes", "trees"):
        return _first((nodes if rule == "nodes" else trees) <= number, error, nodes)
    limit = error[best] + spread[best]
    if rule == "within":
        limit = full + number * abs(full)
    return _first(error <= limit, nodes, error)


def _first(allowed: npt.NDArray[np.bool_], *keys: npt.NDArray[Any]) -> int | None:
    """Return the allowed index of the smallest first key; of equal ones, of the second."""
    places = np.flatnonzero(allowed)
    if len(places) == 0:
        return None
    return int(places[np.lexsort([key[places] for key in reversed(keys)])[0]])
