"""`forestprune prune`: from a table and a model to a folder with a pruned one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import numpy as np
from rich.console import Console

from studies.own_data.account import Account
from studies.own_data.asked import Asked
from studies.own_data.bundle import MODEL, REPORT, check_free, write_bundle
from studies.own_data.choosing import Chosen, Work, as_asked, by_validation
from studies.own_data.measuring import scores
from studies.own_data.page import page
from studies.own_data.parts import Rows, split
from studies.own_data.shown import noted, staged, summary
from studies.own_data.tables import read_table
from studies.own_data.targets import known_labels
from studies.own_data.task import Task, make_task
from studies.own_data.wording import cost_words, proof_words
from studies.reporting.formats import plural
from studies.running.machine import environment, now

_VERSIONS = ("forestprune", "scikit-learn", "numpy", "scipy", "numba")

_FITTED_BEFORE = (
    "the model was fitted before; as far as that was on rows of this table, errors of the whole "
    "ensemble here are smaller than on new rows, and a size chosen by validation is too large"
)

_ABOUT = (
    "That is about the size-penalised problem on the training rows, not about the error on test "
    "rows."
)


def prune_table(console: Console, asked: Asked) -> None:
    """Prune, and write a folder with the model, its columns and the report.

    Raises
    ------
    InvalidInput, SolverError, OSError
        When something asked for cannot be had; then nothing is written.
    """
    began, clock = now(), perf_counter()
    if asked.out is not None:
        check_free(asked.out, asked.overwrite)
    with noted() as notes:
        task = make_task(asked)
        out = Path(f"{task.table.name}-pruned") if asked.out is None else asked.out
        check_free(out, asked.overwrite)
        train, test = _parts(asked, task)
        _say(console, _read(task, train, test))
        with staged(console, _stages(asked, task, test)) as stage:
            chosen, counts = _chosen(asked, task, train, test, stage)
            stage("writing the report")
            parts = {"training": train} | ({} if test is None else {"test": test})
            account = Account(
                data=task.table.name,
                target=task.columns.target,
                kind=task.name,
                rows={name: len(rows) for name, rows in parts.items()} | counts,
                chosen=chosen,
                size=asked.size,
                scores={
                    name: (scores(chosen.source, rows), scores(chosen.pruned, rows))
                    for name, rows in parts.items()
                },
                saved=task.saved,
                command=asked.command,
                options=asked.told(),
                notes=((_FITTED_BEFORE,) if task.saved else ()) + notes(),
                versions=_versions(),
                began=began,
                seconds=perf_counter() - clock,
            )
            write_bundle(out, chosen.pruned, task.columns, lambda: page(account))
    for note in account.notes:
        console.print(f"note: {note}", style="yellow", markup=False, highlight=False)
    console.print(summary(account))
    what = "choice of depths" if chosen.pruned.by_depth else "choice of subtrees"
    _say(console, cost_words(account))
    proof = proof_words(chosen.pruned.result, what).partition(":")[0].rstrip(".")
    _say(console, f"{proof}. {_ABOUT}")
    _say(console, f"the model is {out / MODEL}, the report {out / REPORT}")


def _parts(asked: Asked, task: Task) -> tuple[Rows, Rows | None]:
    """Return rows of training and, where there are such, of the test."""
    rows, share = task.rows(task.table.rows), asked.test_share
    if share is None:
        test = task.rows(read_table(asked.test).rows)
        if task.classes:
            y = known_labels(test.y, np.unique(rows.y), task.columns.target)
            test = Rows(test.X, y)
        return rows, test
    if share == 0.0:
        return rows, None
    return split(rows, share, task.classes, asked.seed, "--test")


def _chosen(
    asked: Asked, task: Task, train: Rows, test: Rows | None, stage: Callable[[str], None]
) -> tuple[Chosen, dict[str, int]]:
    """Return what is left, and how many rows there were for validation."""
    options = {"time_limit": asked.time_limit, "seed": asked.seed}
    work = Work(task.model, asked.recipe, options, asked.decides, stage)
    if not asked.by_validation:
        return as_asked(work, train, test, asked.size), {}
    halves = split(train, asked.validation, task.classes, asked.seed, "--validation")
    chosen = by_validation(work, train, halves, test, asked.size)
    return chosen, {"validation": len(halves[1])}


def _stages(asked: Asked, task: Task, test: Rows | None) -> int:
    fits = 0 if task.saved else 1
    if asked.by_validation:
        return 2 * fits + 4  # two paths, the choice and the report
    return fits + 2 + (test is not None)


def _read(task: Task, train: Rows, test: Rows | None) -> str:
    what = "a class" if task.classes else "a number"
    columns = plural(len(task.columns.encoding.names), "column")
    tested = "none" if test is None else f"{len(test):,}"
    return (
        f"{task.table.name}: {plural(len(train), 'row')} of training, {tested} to test on; "
        f"{plural(train.X.shape[1], 'feature')} of {columns}; "
        f"{task.columns.target} is {what}"
    )


def _versions() -> dict[str, str]:
    known = environment()["versions"]
    return {name: known[name] for name in _VERSIONS}


def _say(console: Console, text: str) -> None:
    console.print(text, markup=False, highlight=False, soft_wrap=True)
