"""The error that every package raises for input it cannot accept."""

from __future__ import annotations


class InvalidInput(ValueError):
    """An argument is not what the function accepts.

    The message names the argument, what was given and what is accepted.
    """


class TooManyChoices(Exception):
    """There are more choices than can be listed."""
