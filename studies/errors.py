"""What ends a study before or during its run."""

from __future__ import annotations


class StudyError(Exception):
    """A study cannot be run as asked; the message is one line for the user."""


class StudyInterrupted(Exception):
    """Ctrl-C ended a run; the message says what was kept and how to go on."""
