"""What a paper reports beside what was measured here, of all studies in one table."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from studies.reporting.formats import change, signed, to_digits
from studies.reporting.tables import NOT_RUN, Group, Table

_HEADER = ("", "published", "±", "ours", "±", "difference", "in %", "within")

WITHIN = (
    "Within: ours is at least as good as the published figure and its ± allow; where no ± is "
    "published, as the figure alone. A dash: not published, not measured here, or neither "
    "direction is the better one."
)


@dataclass(frozen=True)
class Compared:
    """A published figure and ours.

    Attributes
    ----------
    name
        Of what, such as a data set.
    published, ours
        None where there is none.
    spread, ours_spread
        Their standard deviations, None where there is none.
    unit
        Of all four, empty where it is none.
    better
        Which direction is the better one; None where neither is.
    note
        What differs between the two, as a sentence.
    """

    name: str
    published: float | None
    ours: float | None
    spread: float | None = None
    ours_spread: float | None = None
    unit: str = ""
    better: Literal["lower", "higher"] | None = "lower"
    note: str = ""

    @property
    def difference(self) -> float | None:
        """Ours less the published figure; None where one of the two is missing."""
        published, ours = _finite(self.published), _finite(self.ours)
        return None if published is None or ours is None else ours - published

    @property
    def within(self) -> bool | None:
        """Whether ours is no worse than the published figure by more than its spread.

        None where one of the two is missing, or neither direction is the better one.
        """
        if self.difference is None or self.better is None:
            return None
        worse = self.difference if self.better == "lower" else -self.difference
        return worse <= (_finite(self.spread) or 0.0)


@dataclass(frozen=True)
class Comparison:
    """Published figures of one kind and ours.

    Attributes
    ----------
    title
        What the figures are, as in ``bagging, φ = 0.01: test MSE``.
    rows
        One for each data set, say.
    """

    title: str
    rows: tuple[Compared, ...]


def counts(comparisons: Iterable[Comparison]) -> tuple[int, int]:
    """Return how many figures are within what is published, and of how many that is said."""
    told = [row.within for one in comparisons for row in one.rows if row.within is not None]
    return sum(told), len(told)


def published_table(comparisons: Iterable[Comparison]) -> tuple[Table, tuple[str, ...]]:
    """Return published figures and ours as a table, and the notes that its rows refer to.

    Returns
    -------
    table
        One group for each comparison that has rows; the numbers of notes in brackets.
    notes
        Each once, with its number, and what the last column says.
    """
    numbers: dict[str, int] = {}
    groups = []
    for comparison in comparisons:
        for row in comparison.rows:
            if row.note:
                numbers.setdefault(row.note, len(numbers) + 1)
        lines = tuple(_line(row, numbers.get(row.note)) for row in comparison.rows)
        if lines:
            groups.append(Group(comparison.title, lines))
    notes = tuple(f"[{number}] {note}" for note, number in numbers.items())
    table = Table("What papers report, and ours; ±: one standard deviation", _HEADER, tuple(groups))
    return table, (*notes, WITHIN) if groups else notes


def summary(comparisons: Iterable[Comparison]) -> str:
    """Return in a sentence how many of our figures are within what is published."""
    within, told = counts(comparisons)
    if not told:
        return ""
    return f"{within} of {told} figures are within what is published or better."


def _line(row: Compared, note: int | None) -> tuple[str, ...]:
    name = row.name + (f" ({row.unit})" if row.unit else "") + (f" [{note}]" if note else "")
    return (
        name,
        _written(row.published, 4),
        _written(row.spread, 2),
        _written(row.ours, 4),
        _written(row.ours_spread, 2),
        NOT_RUN if row.difference is None else signed(row.difference, 2),
        _share(row),
        mark(row.within),
    )


def mark(within: bool | None) -> str:
    """Write whether a figure is within what is published."""
    return {True: "✓", False: "no", None: NOT_RUN}[within]


def _share(row: Compared) -> str:
    """Return the difference in percent; one of percentages would only be misread."""
    published, ours = _finite(row.published), _finite(row.ours)
    if published is None or ours is None or published <= 0.0 or row.unit == "%":
        return NOT_RUN
    return change(ours / published)


def _written(value: float | None, digits: int) -> str:
    """Write a number to so many digits; fewer where it has no more, as in 0.2."""
    number = _finite(value)
    if number is None:
        return NOT_RUN
    enough = (count for count in range(1, digits) if float(f"{number:.{count}g}") == number)
    return to_digits(number, next(enough, digits))


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
