"""Class labels and categories of any type, as arrays that need no pickle."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from forestprune.exporting.taking import Taken
from formulations import InvalidInput
from formulations.arrays import frozen

_KINDS = "biufU"


def pack_labels(
    name: str, labels: npt.NDArray[Any], arrays: dict[str, npt.NDArray[Any]]
) -> dict[str, bool]:
    """Add labels to the arrays under a name, and return what the header says of them.

    Raises
    ------
    InvalidInput
        When they are neither numbers, texts nor truth values, or are of several types.
    """
    plain = np.array(labels.tolist()) if labels.dtype.kind == "O" else labels
    kinds = {type(label) for label in labels.tolist()}
    if plain.dtype.kind not in _KINDS or len(kinds) > 1:
        told = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise InvalidInput(
            f"{name} of type {told} cannot be written: one of numbers, texts or truth values can"
        )
    arrays[name] = plain
    return {"objects": labels.dtype.kind == "O"}


def unpack_labels(taken: Taken, name: str, told: object) -> npt.NDArray[Any]:
    """Return labels that `pack_labels` has written.

    Raises
    ------
    InvalidInput
        When they are none.
    """
    about = Taken({"labels": told}, {}).inner("labels")
    labels = taken.array(name, _KINDS, 1)
    if about.boolean("objects"):
        labels = labels.astype(object)
    taken.require(len(set(labels.tolist())) == len(labels), f"{name} has a label twice")
    return frozen(labels)
