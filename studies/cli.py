"""The command line: ``forestprune study``, ``solve``, ``export``, ``prune``, ``predict``, …."""

from __future__ import annotations

import contextlib
import importlib.metadata
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperGroup

from formulations import InvalidInput
from solvers import SolverError, available_solvers, capability_table
from studies.errors import StudyError, StudyInterrupted
from studies.options import (
    DATA_HELP,
    AlphaOption,
    DepthOption,
    EachOnce,
    EnsembleOption,
    FolderOption,
    SolverOption,
    SourceArgument,
    TargetOption,
    ThreadsOption,
    TreesOption,
    at_least_zero,
    console,
    jobs_or_all,
    not_empty,
    positive,
    refuse_given,
)
from studies.own_data.cli import predict, prune
from studies.spec import Protocol
from studies.streaming.cli import stream

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


@app.command(cls=EachOnce)
def study(
    context: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(help="Which study; none to list them; report for a page of all runs."),
    ] = None,
    size: Annotated[str, typer.Option(help="small, medium (a few minutes) or full.")] = "medium",
    ensemble: Annotated[
        Literal["forest", "boosting"] | None,
        typer.Option(help="Random forest or gradient boosting.", show_default="by study"),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(help=DATA_HELP, show_default="by study"),
    ] = None,
    target: TargetOption = None,
    data_dir: FolderOption = None,
    alpha: Annotated[
        float | None,
        typer.Option(
            callback=at_least_zero,
            help="Weight of size, times the variance of y.",
            show_default="by study",
        ),
    ] = None,
    solver: SolverOption = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            metavar="NAME",
            help="For streams a model, for bagging and boosting a "
            "method to compare with; repeat for several.",
        ),
    ] = None,
    protocol: Annotated[
        Protocol | None,
        typer.Option(
            help="For bagging and boosting: choose and scale soundly, or as the published "
            "experiments did.",
            show_default="sound",
        ),
    ] = None,
    repeats: Annotated[
        int | None, typer.Option(min=0, help="Warm calls per cell.", show_default="by size")
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(callback=positive, help="Seconds per call.", show_default="by size"),
    ] = None,
    threads: ThreadsOption = 1,
    jobs: Annotated[
        int,
        typer.Option(callback=jobs_or_all, help="Instances measured at once; -1: one per core."),
    ] = 1,
    dask: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            callback=not_empty,
            help="Measure on a dask cluster, by its scheduler: tcp://HOST:PORT.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of rows and fit.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the results.", show_default="results/NAME-SIZE"),
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Measure all anew instead of going on.")
    ] = False,
) -> None:
    """Run a study; a run that was stopped goes on where it was."""
    from studies.catalogue import STUDIES
    from studies.running.cluster import dask_cluster
    from studies.studying import run

    if name == "report":
        from studies.overview.command import write_overview

        others = (option.name for option in context.command.params)
        given = " ".join(option for option in others if option not in (None, "name", "out"))
        refuse_given(context, given, "report only reads what there is")
        write_overview(console(), out or Path("results"))
        return
    if name is None:
        for known in STUDIES.values():
            typer.echo(f"{known.name}  {known.title}  (sizes: {', '.join(known.sizes)})")
        typer.echo("report  All runs on one page, the papers' figures beside the measured ones")
        return
    if dask is not None:
        refuse_given(context, "jobs", "the workers of --dask say how many there are")
    with dask_cluster(dask) if dask is not None else contextlib.nullcontext():
        run(
            name,
            size=size,
            solvers=solver or [],
            models=model or [],
            out=out,
            fresh=fresh,
            jobs=jobs if dask is None else None,
            data=data,
            target=target,
            data_dir=data_dir,
            ensemble=ensemble,
            alpha=alpha,
            repeats=repeats,
            time_limit=time_limit,
            threads=threads,
            seed=seed,
            protocol=protocol,
        )


@app.command(cls=EachOnce)
def solve(
    context: typer.Context,
    data: SourceArgument,
    target: TargetOption = None,
    data_dir: FolderOption = None,
    ensemble: EnsembleOption = "forest",
    trees: TreesOption = 100,
    depth: DepthOption = 6,
    alpha: AlphaOption = 1.0,
    solver: SolverOption = None,
    time_limit: Annotated[
        float, typer.Option(callback=positive, help="Seconds per solver.")
    ] = 60.0,
    seed: Annotated[int, typer.Option(min=0, help="Seed of fit and solvers.")] = 0,
    threads: ThreadsOption = 1,
) -> None:
    """Fit an ensemble to a file and prune it with each solver."""
    from studies.catalogue import checked_labels
    from studies.solving import Source, solve_file

    source = Source(data, target, data_dir, ensemble, trees, depth, alpha, seed)
    _refuse_to_fit(context, source.saved)
    labels = checked_labels(solver or ["cbcd"])
    solve_file(console(), source, labels, time_limit=time_limit, seed=seed, threads=threads)


@app.command(cls=EachOnce)
def export(
    context: typer.Context,
    data: SourceArgument,
    out: Annotated[
        Path,
        typer.Argument(
            help=".mps or .lp: a linear program; .npz: the problem itself, or its matrices.",
            show_default=False,
        ),
    ],
    target: TargetOption = None,
    data_dir: FolderOption = None,
    ensemble: EnsembleOption = "forest",
    trees: TreesOption = 100,
    depth: DepthOption = 6,
    alpha: AlphaOption = 1.0,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the fit.")] = 0,
    presolve: Annotated[
        bool, typer.Option("--presolve", help="Leave out what no better solution has.")
    ] = False,
    matrices: Annotated[
        bool, typer.Option("--matrices", help="For .npz: the matrices of the quadratic program.")
    ] = False,
    rows: Annotated[
        bool, typer.Option("--rows", help="For .npz: the matrices, and the rows of the data.")
    ] = False,
) -> None:
    """Write a problem to a file, so that other software can check a gap."""
    from studies.exporting import export_file
    from studies.solving import Source

    source = Source(data, target, data_dir, ensemble, trees, depth, alpha, seed)
    _refuse_to_fit(context, source.saved)
    export_file(console(), source, out, presolve=presolve, matrices=matrices, rows=rows)


def _refuse_to_fit(context: typer.Context, saved: bool) -> None:
    """Raise BadParameter for options of a fit that come with a saved problem."""
    if saved:
        options = "target data_dir ensemble trees depth alpha"
        refuse_given(context, options, "a saved problem is what it is")


app.command(cls=EachOnce)(prune)
app.command(cls=EachOnce)(predict)
app.command(cls=EachOnce)(stream)


@app.command(cls=EachOnce)
def benchmark(
    most: Annotated[
        int, typer.Option(min=1, max=4, help="Settings to measure, from the smallest on.")
    ] = 4,
    proofs: Annotated[
        bool, typer.Option("--proofs", help="Measure proofs of optimality instead.")
    ] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="As a Markdown table.")] = False,
) -> None:
    """Measure speed as ratios to the source model's fit and apply, or proofs; one thread."""
    from threadpoolctl import threadpool_limits

    from studies.certifying import certifying_table
    from studies.reporting import render
    from studies.speed import SETTINGS, speed_table

    with threadpool_limits(1):
        table = certifying_table(console()) if proofs else speed_table(SETTINGS[:most], console())
    if markdown:
        typer.echo(render.markdown(table, numbers=False))
    else:
        console().print(render.terminal_table(table))


@app.command(cls=EachOnce)
def solvers(
    markdown: Annotated[bool, typer.Option("--markdown", help="As a Markdown table.")] = False,
) -> None:
    """List the solvers with what they can do."""
    from studies.reporting import render
    from studies.reporting.tables import Group, Table

    rows = capability_table()
    body = Group("", tuple(tuple(row.values()) for row in rows))
    ready = f"{len(available_solvers())} of {len(rows)} solvers are ready"
    table = Table(ready, tuple(rows[0]), (body,))
    if markdown:
        typer.echo(render.markdown(table, numbers=False))
    else:
        console().print(render.terminal_table(table, numbers=False))
