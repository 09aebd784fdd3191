"""Which streams a study of them runs on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from studies.errors import StudyError
from studies.spec import Request
from studies.streams.load import BUNDLED
from studies.streams.optional import INSTALL, has_river
from studies.streams.stream import Stream
from studies.streams.synthetic import CONCEPTS

# More rows than any file has: a stream from a file is cut to those there are.
ALL_ROWS = 10**9


def chosen_streams(request: Request, streams: Iterable[Stream], seeds: int) -> list[Stream]:
    """Return the streams of a study, or the one that a user asks for, with every seed.

    Parameters
    ----------
    streams
        The study's own.
    seeds
        How many; the first is that of the request. A real stream is always the same: its seeds
        are those of the models.

    Raises
    ------
    StudyError
        When a target is given for no file, or river is not there to draw a stream with.
    """
    own = list(streams)
    if request.data is not None:
        named = [stream for stream in own if stream.source == request.data]
        own = named or [Stream(request.data, ALL_ROWS, target=request.target)]
    if request.target is not None and any(_drawn(stream) for stream in own):
        raise StudyError("--target goes with --data FILE.csv: other streams have theirs")
    if any(_drawn(stream) for stream in own) and not has_river():
        raise StudyError(
            f"these streams are drawn by river, which is not here; {INSTALL}, or give a stream "
            "of your own with --data FILE.csv --target COLUMN"
        )
    return [replace(stream, seed=request.seed + k) for stream in own for k in range(seeds)]


def _drawn(stream: Stream) -> bool:
    return stream.source in CONCEPTS or stream.source in BUNDLED
