"""The commands ``forestprune prune`` and ``forestprune predict``."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console

from studies.options import TargetOption, at_least_zero, console, positive, refuse_given

_TABLE = "A table: CSV, .csv.gz or Parquet."


def prune(
    context: typer.Context,
    data: Annotated[str, typer.Argument(metavar="DATA", help=f"{_TABLE} Or diamonds, abalone.")],
    target: TargetOption = None,
    model: Annotated[
        Path | None,
        typer.Option(
            "--model",
            help="A fitted ensemble, saved with joblib. Loading it runs whatever code the file "
            "holds: give only files that you trust.",
            show_default=False,
        ),
    ] = None,
    forest: Annotated[
        Literal["rf", "extra", "boosting", "hist"],
        typer.Option(
            "--forest",
            help="Or what to fit: a random forest, extra trees, gradient boosting, or that with "
            "histograms.",
        ),
    ] = "rf",
    trees: Annotated[int, typer.Option(min=1, help="Trees to fit.")] = 100,
    depth: Annotated[
        int | None, typer.Option(min=1, help="Largest depth of a tree.", show_default="by forest")
    ] = None,
    classify: Annotated[
        Literal["auto", "yes", "no"],
        typer.Option(help="Whether the target is a class; auto: text, or two values."),
    ] = "auto",
    categorical: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Categories that look like numbers; repeatable."),
    ] = None,
    choose: Annotated[
        Literal["best", "one-standard-error"],
        typer.Option(
            help="Size by validation: smallest error, or smaller within its standard error."
        ),
    ] = "one-standard-error",
    within: Annotated[
        float | None,
        typer.Option(
            callback=at_least_zero,
            help="Or the smallest whose error is at most this share above the whole ensemble's.",
            show_default=False,
        ),
    ] = None,
    alpha: Annotated[
        float | None,
        typer.Option(
            callback=at_least_zero,
            help="Or without validation: weight of size, times the variance of y.",
            show_default=False,
        ),
    ] = None,
    max_nodes: Annotated[
        int | None, typer.Option(min=0, help="Or a number of nodes.", show_default=False)
    ] = None,
    shape: Annotated[
        Literal["depth", "subtree"], typer.Option(help="Cut trees at a depth, or each branch.")
    ] = "depth",
    polish: Annotated[
        Literal["auto", "ridge", "best_subset", "none"],
        typer.Option(help="New weights for kept trees; auto: a ridge where validation favours it."),
    ] = "auto",
    keep_trees: Annotated[
        int | None, typer.Option(min=1, help="For best_subset: most trees.", show_default="10")
    ] = None,
    joint: Annotated[
        bool, typer.Option("--joint", help="Choose weights together with what is kept.")
    ] = False,
    solver: Annotated[
        str, typer.Option(metavar="LABEL", help="See: forestprune solvers.")
    ] = "cbcd",
    test: Annotated[
        str, typer.Option(metavar="FILE|SHARE", help="A table to test on, or a share of DATA.")
    ] = "0.2",
    validation: Annotated[
        float, typer.Option(help="Share of the other rows to choose the size by.")
    ] = 0.2,
    out: Annotated[
        Path | None, typer.Option(help="Folder to write.", show_default="DATA-pruned")
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an earlier result there.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of splits, fit and solver.")] = 0,
    time_limit: Annotated[
        float | None,
        typer.Option(
            callback=positive, help="Seconds for each path or solve.", show_default="none"
        ),
    ] = None,
) -> None:
    """Prune an ensemble for your own table; write the model and a report on it.

    Text becomes zeros and ones, a column a category (over 30: a number each), for an ensemble
    that is fitted here. A saved model finds its columns by their names; where it was fitted on
    rows of DATA, choose the size by --alpha or --max-nodes, or expect too large a model.
    """
    from forestprune.recipe import Recipe
    from studies.own_data.asked import Asked
    from studies.own_data.choosing import Size
    from studies.own_data.command import prune_table

    if model is not None:
        refuse_given(context, "forest trees depth classify categorical", "a saved model is fitted")
    rules = [name for name in ("choose", "within", "alpha", "max_nodes") if _given(context, name)]
    if len(rules) > 1:
        first, second = (f"--{name.replace('_', '-')}" for name in rules[:2])
        raise typer.BadParameter(f"give {first} or {second}, not both: each says the size")
    if alpha is not None or max_nodes is not None:
        refuse_given(context, "validation", "nothing is chosen by validation")
    rule, number = choose.replace("-", "_"), 0.0
    if within is not None:
        rule, number = "within", within
    asked = Asked(
        data=data,
        target=target,
        saved=model,
        kind=forest,
        trees=trees,
        depth=depth,
        recipe=Recipe(
            shape=shape,
            solver=solver,
            polish={"auto": "ridge", "none": None}.get(polish, polish),
            n_trees=keep_trees,
            joint=joint,
        ),
        size=Size(rule, number, alpha, max_nodes),
        decides=polish == "auto" and not joint and alpha is None and max_nodes is None,
        classify=classify,
        categorical=categorical or [],
        test=test,
        validation=validation,
        out=out,
        overwrite=overwrite,
        seed=seed,
        time_limit=time_limit,
        command=_typed(context),
    )
    prune_table(console(), asked)


def predict(
    model: Annotated[
        Path,
        typer.Argument(metavar="MODEL.npz", help="A file that prune wrote, or its folder."),
    ],
    data: Annotated[str, typer.Argument(metavar="DATA", help=_TABLE)],
    out: Annotated[
        Path | None,
        typer.Option(help="File to write: .csv or .csv.gz.", show_default="standard output"),
    ] = None,
    proba: Annotated[
        bool, typer.Option("--proba", help="Add the probability of each class.")
    ] = False,
) -> None:
    """Predict the rows of a table with a pruned model, as CSV.

    Columns are found by their names and become numbers as they did for prune: columns.json,
    beside the model, says how. The file of a model is data, not code: it is safe to open.
    """
    from studies.own_data.predicting import predict_table

    predict_table(Console(stderr=True), model, data, out, probabilities=proba)


def _given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _typed(context: typer.Context) -> str:
    """Return the command as it was typed, its options in the order of the help."""
    words = ["forestprune", context.info_name or ""]
    for parameter in context.command.params:
        if parameter.name is None or not _given(context, parameter.name):
            continue
        value = context.params[parameter.name]
        option = [parameter.opts[0]] if parameter.opts[0].startswith("-") else []
        if isinstance(value, bool):
            words += option
            continue
        for one in value if isinstance(value, list) else [value]:
            words += [*option, str(one)]
    return shlex.join(words)
