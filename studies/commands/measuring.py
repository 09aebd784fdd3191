"""The commands ``forestprune study`` and ``forestprune benchmark``."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated, Literal

import typer

from studies.options import (
    DATA_HELP,
    FolderOption,
    MarkdownOption,
    SolverOption,
    TargetOption,
    ThreadsOption,
    at_least_zero,
    console,
    jobs_or_all,
    not_empty,
    positive,
    refuse_given,
)
from studies.spec import Protocol


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
            help="For streams a model, for bagging and boosting a method to compare with: see "
            "forestprune competitors; repeat for several.",
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


def benchmark(
    most: Annotated[
        int, typer.Option(min=1, max=4, help="Settings to measure, from the smallest on.")
    ] = 4,
    proofs: Annotated[
        bool, typer.Option("--proofs", help="Measure proofs of optimality instead.")
    ] = False,
    markdown: MarkdownOption = False,
) -> None:
    """Measure speed as ratios to the source model's fit and apply, or proofs; one thread."""
    from solvers._core.threads import limited_threads
    from studies.certifying import certifying_table
    from studies.reporting import render
    from studies.speed import SETTINGS, speed_table

    with limited_threads(1):
        table = certifying_table(console()) if proofs else speed_table(SETTINGS[:most], console())
    if markdown:
        typer.echo(render.markdown(table, numbers=False))
    else:
        console().print(render.terminal_table(table))
