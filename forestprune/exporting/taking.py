"""What is taken out of a file's header and arrays, each checked as it is taken."""

from __future__ import annotations

import reprlib
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from formulations import InvalidInput
from formulations.arrays import FloatArray, finite_floats

_Word = TypeVar("_Word", bound=StrEnum)

# The largest integer that is stored.
_MOST = 2**63 - 1


@dataclass(frozen=True)
class Taken:
    """A header and arrays by name; an array can be taken once.

    Every method raises `InvalidInput` when what it takes is missing or of another type.
    """

    header: dict[str, Any]
    entries: dict[str, npt.NDArray[Any]]

    def require(self, holds: object, otherwise: str) -> None:
        """Raise InvalidInput with the words given unless something holds."""
        if not holds:
            raise InvalidInput(otherwise)

    def finish(self) -> None:
        """Refuse arrays that nobody has taken: they would be lost without a word."""
        if self.entries:
            raise InvalidInput(f"it has an unknown entry {next(iter(self.entries))!r}")

    def array(self, name: str, kinds: str, dimensions: int) -> npt.NDArray[Any]:
        """Take an array of one of the kinds of `numpy.dtype.kind`."""
        array = self.entries.pop(name, None)
        if array is None:
            raise InvalidInput(f"it has no entry {name!r}")
        if array.dtype.kind not in kinds or array.ndim != dimensions:
            raise InvalidInput(f"entry {name!r} is of type {array.dtype} and shape {array.shape}")
        return array

    def floats(self, name: str, shape: tuple[int | None, ...]) -> FloatArray:
        """Take an array of finite floats of a shape; None stands for any length."""
        array = self.array(name, "f", len(shape))
        if any(want not in (None, own) for want, own in zip(shape, array.shape, strict=True)):
            raise InvalidInput(f"entry {name!r} must have shape {shape}, not {array.shape}")
        return finite_floats(name, array)

    def inner(self, name: str) -> Taken:
        """Return a dictionary inside the header."""
        return Taken(self.dictionary(name), {})

    def dictionary(self, name: str) -> dict[str, Any]:
        """Return a dictionary."""
        found: dict[str, Any] = self._of(name, dict)
        return found

    def sequence(self, name: str) -> list[Any]:
        """Return a list."""
        found: list[Any] = self._of(name, list)
        return found

    def text(self, name: str) -> str:
        """Return a text."""
        return str(self._of(name, str))

    def boolean(self, name: str) -> bool:
        """Return true or false."""
        return bool(self._of(name, bool))

    def integer(self, name: str, least: int) -> int:
        """Return an integer from ``least`` to the largest that is stored."""
        number = self.header.get(name)
        if isinstance(number, bool) or not isinstance(number, int) or not least <= number <= _MOST:
            raise InvalidInput(
                f"{name!r} in its header must be at least {least}, not {reprlib.repr(number)}"
            )
        return number

    def number(self, name: str, *, infinite: bool = False) -> float:
        """Return a finite number or, where told, an infinite one."""
        return self.number_of(name, self.header.get(name), infinite=infinite)

    @staticmethod
    def number_of(name: str, given: object, *, infinite: bool = False) -> float:
        """Return a number that was found inside the header."""
        if infinite and given in ("inf", "-inf"):
            return float(str(given))
        if isinstance(given, bool) or not isinstance(given, int | float):
            raise InvalidInput(
                f"{name!r} in its header must be a number, not {reprlib.repr(given)}"
            )
        try:
            number = float(given)
        except OverflowError:
            number = np.inf
        if not np.isfinite(number):
            raise InvalidInput(f"{name!r} in its header must be finite")
        return number

    def word(self, name: str, kind: type[_Word]) -> _Word:
        """Return one of the words of an enumeration."""
        text = self.text(name)
        if text not in list(kind):
            raise InvalidInput(
                f"{name!r} in its header must be one of {', '.join(kind)}, not {reprlib.repr(text)}"
            )
        return kind(text)

    def optional(self, name: str, kind: type[Any]) -> Any:
        """Return something of a type, or None where the header says null."""
        if name in self.header and self.header[name] is None:
            return None
        return self._of(name, kind)

    def _of(self, name: str, kind: type[Any]) -> Any:
        given = self.header.get(name)
        if not isinstance(given, kind):
            raise InvalidInput(f"{name!r} is missing from its header, or not {kind.__name__}")
        return given
