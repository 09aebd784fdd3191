"""From a sum of trees to what a model predicts: a response, probabilities, labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit, softmax

from formulations import InvalidInput
from formulations.arrays import FloatArray

KINDS = ("identity", "logistic", "softmax", "one_vs_all", "log", "signed_square")

# Frequencies that differ by less are equal.
_TIE = 1e-12


@dataclass(frozen=True)
class Link:
    """How a model's predictions follow from its raw scores, the sums of its trees.

    Attributes
    ----------
    kind
        ``"identity"``: the scores are the response or, for classes, their frequencies: that of
        the second one where there are two, else one output a class. ``"logistic"``: one score,
        that of the second class. ``"softmax"`` and ``"one_vs_all"``: one score a class.
        For a response only: ``"log"``, and ``"signed_square"``, whose scores are its root.
        ``"logistic"`` without classes is a response between 0 and 1.
    factor
        What ``"logistic"`` and ``"one_vs_all"`` multiply scores by.
    """

    kind: str = "identity"
    factor: float = 1.0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InvalidInput(f"kind must be one of {', '.join(KINDS)}, not {self.kind!r}")

    @property
    def is_identity(self) -> bool:
        """Whether trees sum to the response, or the frequencies, itself."""
        return self.kind == "identity"

    def response(self, raw: FloatArray) -> FloatArray:
        """Return the response (m, q) to raw scores (m, q), without classes."""
        if self.kind == "log":
            return np.asarray(np.exp(raw))
        if self.kind == "signed_square":
            return np.sign(raw) * raw**2
        if self.kind == "logistic":
            return np.asarray(expit(self.factor * raw))
        return raw

    def probabilities(self, raw: FloatArray, classes: int) -> FloatArray:
        """Return the probability (m, classes) of each class from raw scores (m, q).

        Frequencies that pruning has moved out of [0, 1] are clipped, and sum to 1. Those of
        one class against all others are each for itself.
        """
        if classes == 1:
            return np.ones((len(raw), 1))
        if self.kind == "softmax":
            return np.asarray(softmax(raw, axis=1))
        if self.kind == "one_vs_all":
            return np.asarray(expit(self.factor * raw))
        if raw.shape[1] == 1:
            second = (
                np.clip(raw[:, 0], 0.0, 1.0) if self.is_identity else expit(self.factor * raw[:, 0])
            )
            return np.column_stack([1.0 - second, second])
        kept = np.maximum(raw, 0.0)
        total = kept.sum(axis=1, keepdims=True)
        return np.where(total > 0.0, kept / np.where(total > 0.0, total, 1.0), 1.0 / classes)

    def labels(self, raw: FloatArray, classes: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the most probable of the classes for raw scores (m, q); ties: the first."""
        if len(classes) == 1:
            return np.repeat(classes, len(raw))
        # Trees with pure leaves often vote to a tie, which rounding must not decide.
        margin = _TIE if self.is_identity else 0.0
        if raw.shape[1] == 1:
            middle = 0.5 if self.is_identity else 0.0
            return np.asarray(classes[(raw[:, 0] > middle + margin).astype(np.int64)])
        likely = raw >= raw.max(axis=1, keepdims=True) - margin
        return np.asarray(classes[likely.argmax(axis=1)])


def indicators(y: Any, classes: npt.NDArray[Any], rows: int) -> FloatArray:
    """Return the class indicators of labels: one output for up to two classes, else one each.

    Parameters
    ----------
    y
        (rows,) labels of any type.
    classes
        The labels that the model knows; of two classes the indicator is that of the second.
    rows
        How many labels there must be.

    Raises
    ------
    InvalidInput
        When y has another shape, or holds a label that the model does not know.
    """
    place = positions(y, classes, rows)
    if len(classes) == 1:
        return np.ones((rows, 1))
    if len(classes) == 2:
        return place[:, None].astype(np.float64)
    return np.asarray(np.eye(len(classes))[place])


def positions(y: Any, classes: npt.NDArray[Any], rows: int) -> npt.NDArray[np.int64]:
    """Return the place of each label among the classes; arguments and errors of `indicators`."""
    labels = np.asarray(y)
    if labels.shape not in ((rows,), (rows, 1)):
        raise InvalidInput(
            f"y must have one class label for each of the {rows} rows of X, "
            f"got shape {labels.shape}"
        )
    known = {label: k for k, label in enumerate(classes.tolist())}
    given = labels.ravel().tolist()
    unknown = sorted({repr(label) for label in given if label not in known})
    if unknown:
        more = " …" if len(unknown) > 5 else ""
        raise InvalidInput(
            f"y must hold classes of the model, {_listed(classes)}; "
            f"it does not know {', '.join(unknown[:5])}{more}"
        )
    return np.array([known[label] for label in given], dtype=np.int64)


def _listed(classes: npt.NDArray[Any]) -> str:
    shown = ", ".join(map(repr, classes[:10].tolist()))
    return shown + (" …" if len(classes) > 10 else "")
