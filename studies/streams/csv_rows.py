"""Rows of a CSV file, or of standard input, as they come: nothing is read ahead."""

from __future__ import annotations

import csv
import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from formulations import InvalidInput

Cells = list[list[str]]

STANDARD_INPUT = "-"


@contextmanager
def open_csv(source: str) -> Iterator[CsvRows]:
    """Open a file in UTF-8, compressed by gzip when it ends in ``.gz``, or ``-``.

    Raises
    ------
    InvalidInput
        When it cannot be opened or has no header.
    """
    if source == STANDARD_INPUT:
        if sys.stdin is None or sys.stdin.closed:
            raise InvalidInput("standard input is closed: give a file, or rows by a pipe")
        # The same text as from a file, whatever the terminal's encoding.
        text = io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8-sig", newline="")
        try:
            yield CsvRows(text, "standard input")
        finally:
            text.detach()  # it stays open, as it was
        return
    path = Path(source)
    opener: Any = gzip.open if path.suffix.lower() == ".gz" else open
    try:
        file: TextIO = opener(path, "rt", encoding="utf-8-sig", newline="")
    except OSError as error:
        reason = error.strerror or error
        raise InvalidInput(f"data file {source!r} cannot be opened: {reason}") from None
    with file:
        yield CsvRows(file, repr(source))


class CsvRows:
    """The rows below a header, in batches of any size.

    Attributes
    ----------
    name
        Of the file, for people.
    header
        Names of the columns.
    read
        Number of rows that have been read.
    waiting
        Rows of a `take` that was interrupted; the next one begins with them.
    """

    def __init__(self, file: TextIO, name: str) -> None:
        self.name = name
        self.read = 0
        self.waiting: Cells = []
        # Line by line: iterating over a pipe's lines hands each over as it comes.
        self._reader = csv.reader(iter(file.readline, ""), skipinitialspace=True, strict=True)
        self.header = [cell.strip() for cell in self._next_line()]
        if not self.header:
            raise InvalidInput(f"{name} must begin with a line of column names, but is empty")
        twice = {cell for cell in self.header if self.header.count(cell) > 1}
        if twice:
            raise InvalidInput(f"{name} has several columns named {min(twice)!r}")

    def take(self, count: int) -> Cells:
        """Return the next rows, fewer than asked for at the end alone.

        Raises
        ------
        InvalidInput
            When a row has not one cell under each name, or the text is not CSV.
        """
        while len(self.waiting) < count:
            cells = self._next_line()
            if not cells:
                break
            if len(cells) != len(self.header):
                raise InvalidInput(
                    f"{self.name}, data row {self.read + 1}: every row must have "
                    f"{len(self.header)} cells, one under each name of the header, "
                    f"but this has {len(cells)}"
                )
            self.read += 1
            self.waiting.append(cells)
        taken, self.waiting = self.waiting, []
        return taken

    def _next_line(self) -> list[str]:
        """Return the cells of the next line that is not blank; none at the end."""
        try:
            for cells in self._reader:
                if cells:
                    return cells
        except (csv.Error, UnicodeDecodeError, OSError, EOFError, zlib.error) as error:
            raise InvalidInput(
                f"{self.name} cannot be read as CSV after data row {self.read}: {error}"
            ) from None
        return []
