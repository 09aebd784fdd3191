"""The command line: ``forestprune study``, ``solve``, ``export``, ``prune``, ``predict``, …."""

from __future__ import annotations

import importlib.metadata
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from formulations import InvalidInput
from solvers import SolverError
from studies.commands.listing import competitors, solvers
from studies.commands.measuring import benchmark, study
from studies.commands.solving import export, solve
from studies.compiling import compiling_told
from studies.errors import StudyError, StudyInterrupted
from studies.options import EachOnce
from studies.own_data.cli import predict, prune
from studies.streaming.cli import stream

_FORESEEN = (StudyError, InvalidInput, SolverError, OSError)


class OneLineErrors(TyperGroup):
    """A group of commands whose users never see a traceback for what they can mend.

    Exit codes: 0 done, 2 an error in what was asked (``error: …`` on stderr), 130 Ctrl-C. An
    error that nobody foresaw keeps its traceback.
    """

    def invoke(self, ctx: Any) -> Any:
        """Run a command; Ctrl-C always comes with a line, as do kernels to be compiled."""
        try:
            with compiling_told(lambda text: print(f"note: {text}", file=sys.stderr, flush=True)):
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
            # typer lets a check of a value speak for itself, after the name of its error.
            code = _say(f"error: {describe().replace('Value error, ', '', 1)}", 2)
        if standalone_mode:
            sys.exit(code)
        return code


def _say(message: str, code: int) -> int:
    """Print a message in one line on stderr and return the exit code."""
    print(" ".join(message.split()), file=sys.stderr)
    return code


app = typer.Typer(
    cls=OneLineErrors,
    help="Prune tree ensembles by layers, with exact and heuristic solvers side by side.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
)


@app.callback(invoke_without_command=True)
def main(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Prune tree ensembles by layers, with exact and heuristic solvers side by side."""
    if version:
        typer.echo(f"forestprune {importlib.metadata.version('forestprune')}")
        raise typer.Exit()
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


for _command in (
    study,
    solve,
    export,
    prune,
    predict,
    stream,
    benchmark,
    solvers,
    competitors,
):
    app.command(cls=EachOnce)(_command)
