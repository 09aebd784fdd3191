"""What is said of a session: a line now and then, and a table at the end."""

from __future__ import annotations

import math

from rich.table import Table as RichTable

from studies.reporting.formats import plural
from studies.reporting.render import terminal_table
from studies.reporting.tables import NOT_RUN, Group, Table
from studies.streaming.scores import WINDOW
from studies.streaming.session import Session

_PERCENT = ("accuracy", "macro F1", "last")


def line(session: Session, speed: float) -> str:
    """Return how it goes, in a line.

    Parameters
    ----------
    speed
        Rows per second of this run, reading and all.
    """
    scores = session.scores["model"].values()
    first, *others = scores
    parts = [
        f"{session.rows:>11,} rows",
        f"{first} {_written(session, first, scores[first])}",
        f"last {WINDOW:,} {_written(session, 'last', scores['last'])}",
        *(f"{n} {_written(session, n, scores[n])}" for n in others if n != "last"),
        f"remembers {session.held:,}",
        f"{speed:,.0f} rows/s",
    ]
    return "   ".join(parts)


def final_table(session: Session) -> RichTable:
    """Return the scores of the model and of what is predicted without features."""
    names = list(session.scores["model"].values())
    header = ("", *(f"last {WINDOW:,} rows" if n == "last" else n for n in names))
    title = f"forgetful {session.settings.kind}"
    body = tuple(
        (
            title if who == "model" else who,
            *(_written(session, n, value) for n, value in score.values().items()),
        )
        for who, score in session.scores.items()
    )
    return terminal_table(Table(_caption(session), header, (Group("", body),)))


def _caption(session: Session) -> str:
    parts = [
        f"{plural(session.rows, 'row')} in batches of {session.settings.batch:,}, each predicted "
        f"before its labels are learnt; {plural(session.learnt, 'label')} learnt"
    ]
    if len(session.waiting):
        parts.append(f"{len(session.waiting):,} still to come")
    if session.left_out:
        parts.append(f"{plural(session.left_out, 'row')} without a value left out")
    parts.append(f"{plural(session.held, 'row')} remembered")
    done = session.timed_rows
    if done:
        parts.append(
            f"the model took {1e6 * session.predict_seconds / done:,.1f} µs of CPU time a row to "
            f"predict and {1e6 * session.learn_seconds / done:,.1f} µs to learn"
        )
    return "; ".join(parts)


def _written(session: Session, name: str, value: float) -> str:
    if math.isnan(value):
        return NOT_RUN
    if name in _PERCENT and not session.settings.regression:
        return f"{100 * value:.2f} %"
    return f"{value:.4g}".replace("-", "−")
