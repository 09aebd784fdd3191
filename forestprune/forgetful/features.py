"""Which features the trees of a forest may use."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from formulations.arrays import BoolArray
from formulations.errors import InvalidInput


def count_features(max_features: Any, n_features: int) -> int:
    """Return how many features ``max_features`` means, between 1 and ``n_features``.

    None means all of them.

    Raises
    ------
    InvalidInput
        When it is not ``"sqrt"``, ``"log2"``, an integer of at least 1 or a share up to 1.
    """
    if max_features is None:
        count = n_features
    elif max_features == "sqrt":
        count = math.isqrt(n_features)
    elif max_features == "log2":
        count = n_features.bit_length() - 1
    elif isinstance(max_features, int | np.integer) and max_features >= 1:
        count = int(max_features)
    elif isinstance(max_features, float) and 0.0 < max_features <= 1.0:
        count = round(max_features * n_features)
    else:
        raise InvalidInput(
            "max_features must be None, 'sqrt', 'log2', an integer of at least 1 or a share "
            f"in (0, 1], not {max_features!r}"
        )
    return min(max(1, count), n_features)


def draw_features(rng: np.random.Generator, max_features: Any, n_features: int) -> BoolArray:
    """Draw the features (n_features,) of one tree.

    Without ``max_features`` their number is drawn first, uniformly between ⌊√F⌋ + 2 and F, as
    in the program of the paper's authors.
    """
    if max_features is None:
        least = min(math.isqrt(n_features) + 2, n_features)
        count = int(rng.integers(least, n_features + 1))
    else:
        count = count_features(max_features, n_features)
    chosen = np.zeros(n_features, dtype=np.bool_)
    chosen[rng.permutation(n_features)[:count]] = True
    return chosen
