"""How every command ends: foreseeable errors in one line, Ctrl-C with what was kept."""

from __future__ import annotations

import sys
from typing import Any

from typer.core import TyperGroup

from formulations import InvalidInput
from solvers import SolverError
from studies.errors import StudyError, StudyInterrupted

_FORESEEN = (StudyError, InvalidInput, SolverError, OSError)


class OneLineErrors(TyperGroup):
    """A group of commands whose users never see a traceback for what they can mend.

    Exit codes: 0 done, 2 an error in what was asked (``error: …`` on stderr), 130 Ctrl-C. An
    error that nobody foresaw keeps its traceback.
    """

    def invoke(self, ctx: Any) -> Any:
        """Run a command; Ctrl-C always comes with a line."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise StudyInterrupted("nothing was kept") from None

    def main(self, *args: Any, standalone_mode: bool = True, **kwargs: Any) -> Any:
        """Run the command line and end the process."""
        try:
            code = super().main(*args, **{**kwargs, "standalone_mode": False})
        except StudyInterrupted as interruption:
            code = _say(f"interrupted: {interruption}", 130)
        except _FORESEEN as error:
            code = _say(f"error: {error}", 2)
        except Exception as error:
            describe = getattr(error, "format_message", None)  # what typer says of bad usage
            if describe is None:
                raise
            code = _say(f"error: {describe()}", 2)
        if standalone_mode:
            sys.exit(code)
        return code


def _say(message: str, code: int) -> int:
    """Print a message in one line on stderr and return the exit code."""
    print(" ".join(message.split()), file=sys.stderr)
    return code
