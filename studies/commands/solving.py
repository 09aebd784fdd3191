"""The commands ``forestprune solve`` and ``forestprune export``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from studies.options import (
    AlphaOption,
    DepthOption,
    EnsembleOption,
    FolderOption,
    SolverOption,
    SourceArgument,
    TargetOption,
    ThreadsOption,
    TreesOption,
    console,
    positive,
    refuse_given,
)


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
