"""Which model of a path is taken for an allowed error on the validation rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol as Shape
from typing import TypeVar

from studies.comparing.fold import Protocol


class Sized(Shape):
    """What is asked of a model."""

    @property
    def nodes(self) -> int:
        """How large it is."""

    @property
    def validation(self) -> float:
        """Its error on the validation rows."""


M = TypeVar("M", bound=Sized)


def chosen(models: Sequence[M], most: float, how: Protocol) -> M:
    """Return the model to take.

    Parameters
    ----------
    models
        Along falling α.
    most
        The error that is allowed. Where none has it, the model of least error is taken.
    how
        ``"sound"``: the smallest model whose error is allowed, of equal ones that of the least
        error. ``"published"``: the first one whose error is allowed, as the published search
        stops there; later ones may be smaller or better.
    """
    allowed = [model for model in models if model.validation <= most]
    if not allowed:
        return min(models, key=lambda model: model.validation)
    if how == "published":
        return allowed[0]
    return min(allowed, key=lambda model: (model.nodes, model.validation))
