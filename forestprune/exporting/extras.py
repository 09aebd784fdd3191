"""Packages that only some exports need."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from formulations import InvalidInput


def extra(package: str, what: str) -> Any:
    """Import a package that is not among the dependencies.

    Raises
    ------
    InvalidInput
        When it is not installed; the message says what to install.
    """
    root = package.partition(".")[0]
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        if str(error.name).partition(".")[0] != root:
            raise
        raise InvalidInput(f"{what} needs {package}: pip install {root}") from None
