"""Options that several commands have, and checks of what was given."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

import typer
from rich.console import Console
from typer.core import TyperCommand, TyperOption


def at_least_zero(value: float | None) -> float | None:
    """Refuse numbers below 0."""
    if value is not None and not 0.0 <= value < math.inf:
        raise typer.BadParameter(f"must be a finite number of at least 0, not {value:g}")
    return value


def positive(value: float | None) -> float | None:
    """Refuse 0 and numbers below."""
    if value is not None and not 0.0 < value < math.inf:
        raise typer.BadParameter(f"must be a finite number above 0, not {value:g}")
    return value


def jobs_or_all(value: int) -> int:
    """Refuse numbers that are no number of jobs."""
    if value < 1 and value != -1:
        raise typer.BadParameter(f"must be a number above 0, or -1 for one per core, not {value}")
    return value


DATA_HELP = "A data set's name, openml:ID, or a CSV or Parquet file."


def not_empty(value: str | None) -> str | None:
    """Refuse an empty text."""
    if value == "":
        raise typer.BadParameter("must not be empty")
    return value


EnsembleOption = Annotated[
    Literal["forest", "boosting"], typer.Option(help="Random forest or gradient boosting.")
]
AlphaOption = Annotated[
    float,
    typer.Option(callback=at_least_zero, help="Weight of size, times the variance of y."),
]
TargetOption = Annotated[
    str | None,
    typer.Option(help="Column to predict; needed where it is not known.", show_default=False),
]
FolderOption = Annotated[
    str | None,
    typer.Option("--data-dir", help="Folder to look in first: NAME.csv, .csv.gz or .parquet."),
]
ThreadsOption = Annotated[int, typer.Option(min=1, help="Threads per solver.")]
SourceArgument = Annotated[
    str,
    typer.Argument(metavar="DATA", help=f"{DATA_HELP} Or a problem saved by export (.npz)."),
]
TreesOption = Annotated[int, typer.Option(min=1, help="Trees to fit.")]
DepthOption = Annotated[int, typer.Option(min=1, help="Largest depth of a tree.")]
MarkdownOption = Annotated[bool, typer.Option("--markdown", help="As a Markdown table.")]
SolverOption = Annotated[
    list[str] | None,
    typer.Option(
        "--solver",
        metavar="LABEL",
        help="A name or name[option=value,…]; repeat for several. See: forestprune solvers.",
    ),
]


def refuse_given(context: typer.Context, names: str, why: str) -> None:
    """Raise BadParameter for the first of these options that is on the command line."""
    for name in names.split():
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise typer.BadParameter(f"{why}: leave out --{name.replace('_', '-')}")


class EachOnce(TyperCommand):
    """A command that refuses an option given twice, where only the last would count."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Check and take what is on the command line."""
        _, _, given = self.make_parser(ctx).parse_args(args=list(args))
        for option in given:
            single = isinstance(option, TyperOption) and not (option.multiple or option.is_flag)
            if single and given.count(option) > 1:
                raise typer.BadParameter(f"{option.opts[0]} is given twice, and takes one value")
        return super().parse_args(ctx, args)


def console() -> Console:
    """Return the console; text that goes to a file or a pipe is not folded at 80 columns."""
    found = Console()
    return found if found.is_terminal else Console(width=140)
