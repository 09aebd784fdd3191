"""The command ``forestprune stream``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from studies.options import TargetOption, console, refuse_given


def stream(
    context: typer.Context,
    data: Annotated[
        str, typer.Argument(metavar="FILE.csv", help="A CSV file, or - for standard input.")
    ],
    target: TargetOption = None,
    model: Annotated[
        Literal["tree", "forest"], typer.Option(help="A forgetful tree or forest.")
    ] = "forest",
    batch: Annotated[
        int, typer.Option(min=1, help="Rows predicted before their labels are learnt.")
    ] = 100,
    regression: Annotated[
        bool, typer.Option("--regression", help="The target is a number, not a class.")
    ] = False,
    trees: Annotated[int, typer.Option(min=1, max=10_000, help="Trees of a forest.")] = 20,
    max_rows: Annotated[
        int | None,
        typer.Option(
            min=1, max=2**30, help="Most rows that a tree remembers.", show_default="by model"
        ),
    ] = None,
    categorical: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Categories that look like numbers; repeatable."),
    ] = None,
    skip_incomplete: Annotated[
        bool, typer.Option("--skip-incomplete", help="Leave out rows without a value.")
    ] = False,
    delay: Annotated[int, typer.Option(min=0, help="Rows until a label comes.")] = 0,
    random_delay: Annotated[
        int, typer.Option(min=0, help="So many more rows at most, drawn for each label.")
    ] = 0,
    unlabelled: Annotated[
        float, typer.Option(min=0.0, help="Share of labels that never come.")
    ] = 0.0,
    save: Annotated[
        Path | None, typer.Option(help="File for the model, to go on with.", show_default=False)
    ] = None,
    resume: Annotated[
        Path | None, typer.Option(help="File of a model to go on with.", show_default=False)
    ] = None,
    rows: Annotated[
        int | None, typer.Option(min=1, help="Stop after so many rows.", show_default="all")
    ] = None,
    every: Annotated[
        int, typer.Option(min=1, help="Rows between two lines of the report.")
    ] = 10_000,
    seed: Annotated[
        int, typer.Option(min=0, max=2**32 - 1, help="Seed of the model and of late labels.")
    ] = 0,
    threads: Annotated[int, typer.Option(min=1, help="Threads of a forest.")] = 1,
) -> None:
    """Predict and learn a stream batch by batch, and say how well that goes.

    Text is a category, numbered as it comes. The file of a saved model is read only as far as
    it holds a model of forestprune.
    """
    from studies.streaming.command import Asked, stream_file
    from studies.streaming.late import Lateness
    from studies.streaming.session import Settings

    if resume is not None:
        refuse_given(
            context,
            "target model batch regression trees max_rows categorical skip_incomplete delay "
            "random_delay unlabelled seed threads",
            "a saved model goes on as it is",
        )
    options: dict[str, Any] = {"random_state": seed}
    if model == "forest":
        options |= {"n_trees": trees, "n_jobs": threads}
    if max_rows is not None:
        options["max_rows"] = max_rows
    lateness = Lateness(delay, random_delay, unlabelled, seed)
    settings = Settings(model, regression, batch, options, lateness, skip_incomplete)
    asked = Asked(data, target, categorical or [], settings, save, resume, rows, every)
    stream_file(console(), asked)
