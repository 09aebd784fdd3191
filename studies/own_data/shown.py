"""What a pruning looks like on the terminal."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table as RichTable

from studies.own_data.account import Account
from studies.own_data.wording import number_words
from studies.reporting.formats import percent
from studies.reporting.render import terminal_table
from studies.reporting.tables import Group, Table

# What is for developers.
_QUIET = (DeprecationWarning, PendingDeprecationWarning, FutureWarning, ResourceWarning)


@contextmanager
def noted() -> Iterator[Callable[[], tuple[str, ...]]]:
    """Yield what returns the warnings that came until then, each once, in one line."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")

        def notes() -> tuple[str, ...]:
            told = [str(one.message) for one in caught if not issubclass(one.category, _QUIET)]
            return tuple(dict.fromkeys(" ".join(text.split()) for text in told))

        yield notes


@contextmanager
def staged(console: Console, stages: int) -> Iterator[Callable[[str], None]]:
    """Show a bar; yield what is called with each stage as it begins."""
    progress = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    bar = progress.add_task("starting", total=stages, completed=-1)

    def stage(text: str) -> None:
        progress.update(bar, description=text, advance=1)

    with progress:
        yield stage


def summary(account: Account) -> RichTable:
    """Return sizes and errors of the whole ensemble and of what is left."""
    pruned, source = account.pruned, account.chosen.source
    depths = [tree.depth for tree in source.trees]
    kept = pruned.depths[pruned.depths > 0]
    used = len(set().union(*(tree.features for tree in source.trees)))
    rows = [
        ("trees", f"{source.n_trees:,}", f"{pruned.n_trees:,}"),
        ("nodes", f"{source.n_nodes:,}", f"{pruned.n_nodes:,} ({percent(pruned.compactness)} %)"),
        (
            "mean depth",
            f"{sum(depths) / len(depths):.1f}",
            f"{kept.mean():.1f}" if len(kept) else "–",
        ),
        ("features used", f"{used:,}", f"{pruned.n_features_used:,}"),
    ]
    for what, (full, left) in account.scores.items():
        on = f"{what} rows ({account.rows[what]:,})"
        rows.append(
            (f"{account.measure}, {on}", number_words(full.error), number_words(left.error))
        )
        name = "accuracy" if account.classifies else "R²"
        rows.append((f"{name}, {what} rows", f"{full.share:.4f}", f"{left.share:.4f}"))
    caption = f"{account.target} in {account.data}: {account.kind}"
    return terminal_table(Table(caption, ("", "whole", "pruned"), (Group("", tuple(rows)),)))
