"""river, which is needed for synthetic streams and for the models to compare with."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

from studies.errors import StudyError

INSTALL = "install it with: pip install 'forestprune[river]'"


def has_river() -> bool:
    """Return whether river is installed."""
    return importlib.util.find_spec("river") is not None


def river(module: str, needed_for: str) -> Any:
    """Return a module of river.

    Raises
    ------
    StudyError
        When river is not installed, with what it is needed for.
    """
    try:
        return importlib.import_module(f"river.{module}")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "river":
            raise
        raise StudyError(f"{needed_for} needs river, which is not here; {INSTALL}") from None
