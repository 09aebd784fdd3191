"""Run a session along a file or standard input, and say how it goes."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from rich.console import Console

from formulations import InvalidInput
from studies.errors import StudyInterrupted
from studies.reporting.formats import plural
from studies.streaming.report import final_table, line
from studies.streaming.session import Session, Settings
from studies.streaming.store import load_session, save_session
from studies.streams.columns import Columns
from studies.streams.csv_rows import STANDARD_INPUT, CsvRows, open_csv


@dataclass(frozen=True)
class Asked:
    """What a user asks for.

    Attributes
    ----------
    source
        A CSV file, or ``-`` for standard input.
    target, categorical, settings
        Of a new session; one that is resumed has its own.
    save, resume
        Files of sessions.
    rows
        Stop once so many rows have been predicted; None for all.
    every
        Rows between two lines of the report, each with a save.
    """

    source: str
    target: str | None
    categorical: Sequence[str]
    settings: Settings
    save: Path | None
    resume: Path | None
    rows: int | None
    every: int

    @property
    def source_name(self) -> str:
        """Where the rows come from, to know it again."""
        return self.source if self.source == STANDARD_INPUT else str(Path(self.source).resolve())


def stream_file(console: Console, asked: Asked) -> None:
    """Predict and learn a stream, printing how it goes, and save the session.

    Raises
    ------
    InvalidInput
        When a row does not fit; the session before its batch has been saved.
    StudyInterrupted
        On Ctrl-C, after saving.
    """
    with open_csv(asked.source) as rows:
        session, resumed = _session(asked, rows)
        if resumed:
            console.print(resumed, markup=False, highlight=False)
        if asked.save is not None:
            _save(session, asked, rows)  # a file that cannot be written is an error now
        kept = "" if asked.save is None else f"; the model before it is in {asked.save}"
        try:
            _run(console, session, asked, rows)
        except InvalidInput as error:
            _save(session, asked, rows)
            raise InvalidInput(f"{error}{kept}") from None
        except KeyboardInterrupt:
            _save(session, asked, rows)
            console.print(final_table(session))
            where = "was not saved (no --save)" if asked.save is None else f"is in {asked.save}"
            raise StudyInterrupted(
                f"the model after {plural(session.rows, 'row')} {where}"
            ) from None
        _save(session, asked, rows)
    if not session.rows:
        raise InvalidInput(f"{rows.name} has no rows")
    if not session.timed_rows:
        text = f"no new rows in {rows.name}: these are the scores until now"
        console.print(text, markup=False, highlight=False)
    console.print(final_table(session))
    if asked.save is not None:
        console.print(f"the model is in {asked.save}", markup=False, highlight=False)


def _session(asked: Asked, rows: CsvRows) -> tuple[Session, str]:
    """Return a new session, or the one to go on with and a line about that."""
    if asked.resume is None:
        if asked.target is None:
            names = ", ".join(rows.header)
            raise InvalidInput(f"--target must name the column of {rows.name} to predict: {names}")
        first = rows.take(asked.settings.batch)
        columns = Columns.decide(rows.header, asked.target, first, asked.categorical)
        rows.waiting = first
        return Session(asked.settings, columns), ""
    session, source, tail = load_session(asked.resume)
    if rows.header != session.columns.header:
        raise InvalidInput(
            f"{rows.name} must have the columns of the saved model, "
            f"{', '.join(session.columns.header)}, but has {', '.join(rows.header)}"
        )
    where = f"going on after {plural(session.rows, 'row')}"
    if source == asked.source_name != STANDARD_INPUT:
        read = session.source_rows + len(tail)
        if len(rows.take(read)) < read:
            raise InvalidInput(
                f"{rows.name} has {plural(rows.read, 'row')}, fewer than the {read:,} that the "
                "saved model has read of it"
            )
        where += f", from row {session.source_rows + 1:,} of {rows.name} on"
    else:
        session.source_rows = -len(tail)
        where += f" with {rows.name} from its first row on"
    rows.waiting = tail
    return session, where


def _run(console: Console, session: Session, asked: Asked, rows: CsvRows) -> None:
    begun, clock = session.rows, perf_counter()
    shown = session.rows // asked.every
    batch = session.settings.batch
    while asked.rows is None or session.rows - begun < asked.rows:
        cells = rows.take(batch)
        if not cells:
            return
        with _whole():
            session.step(cells)
        if session.rows // asked.every > shown:
            shown = session.rows // asked.every
            speed = (session.rows - begun) / (perf_counter() - clock)
            console.print(line(session, speed), markup=False, highlight=False)
            _save(session, asked, rows)


def _save(session: Session, asked: Asked, rows: CsvRows) -> None:
    if asked.save is not None:
        with _whole():
            save_session(session, asked.save, asked.source_name, rows.waiting)


@contextlib.contextmanager
def _whole() -> Iterator[None]:
    """Let a first Ctrl-C wait until what is within is done."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[Any] = []
    before = signal.signal(signal.SIGINT, lambda *given: came.append(given))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
        raise KeyboardInterrupt
