"""A table as text in a grid, without a format yet."""

from __future__ import annotations

from dataclasses import dataclass

NOT_RUN = "–"


@dataclass(frozen=True)
class Group:
    """Rows that belong together, under a title of their own."""

    title: str
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Table:
    """A table as text.

    Attributes
    ----------
    caption
        What it shows.
    header
        Names of the columns. The first is for the rows' names, the others are numbers.
    groups
        Rows, each as long as the header.
    """

    caption: str
    header: tuple[str, ...]
    groups: tuple[Group, ...]


def columns_of(table: Table, names: tuple[str, ...]) -> Table:
    """Return a table with some of its columns."""
    places = [table.header.index(name) for name in names]
    groups = tuple(
        Group(group.title, tuple(tuple(row[k] for k in places) for row in group.rows))
        for group in table.groups
    )
    return Table(table.caption, names, groups)
