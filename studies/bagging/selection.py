"""Which model of a path is taken for an allowed error on the validation rows."""

from __future__ import annotations

from typing import Generic, TypeVar
from typing import Protocol as Shape

from studies.spec import Protocol


class Sized(Shape):
    """What is asked of a model."""

    @property
    def nodes(self) -> int:
        """How large it is."""

    @property
    def validation(self) -> float:
        """Its error on the validation rows."""


M = TypeVar("M", bound=Sized)


class Choice(Generic[M]):
    """The model to take of those that are offered one by one; only that one is kept.

    Where no error is allowed that of least error is taken.

    Parameters
    ----------
    most
        The validation error that is allowed.
    how
        ``"sound"``: the smallest model whose error is allowed, of equal ones that of the least
        error. ``"published"``: the first one whose error is allowed, as the published search
        stops there; later ones may be smaller or better.
    """

    def __init__(self, most: float, how: Protocol) -> None:
        self._most = most
        self._how = how
        self._taken: M | None = None

    @property
    def taken(self) -> M:
        """The model to take; one must have been offered."""
        assert self._taken is not None
        return self._taken

    def offer(self, model: M) -> None:
        """Take a model in the place of the one before, if it is to be preferred."""
        if self._taken is None or self._prefers(model, self._taken):
            self._taken = model

    def _prefers(self, new: M, old: M) -> bool:
        if old.validation > self._most:
            return new.validation < old.validation
        if new.validation > self._most or self._how == "published":
            return False
        return (new.nodes, new.validation) < (old.nodes, old.validation)
