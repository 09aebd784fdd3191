"""Which folds of which data sets a study compares models on."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from forestprune import make_competitor
from studies import datasets
from studies.comparing.fold import Fold, Protocol
from studies.encoding import short
from studies.errors import StudyError
from studies.spec import Request

# The protocol of those who do not say otherwise.
SOUND: Protocol = "sound"


def protocol_of(request: Request) -> Protocol:
    """Return the protocol that is asked for, or the sound one."""
    return request.protocol or SOUND


def folds_of(
    request: Request, rows: int, folds: int, ensemble: str, trees: int, depth: int
) -> list[Fold]:
    """Return the folds of all data sets at hand, or of the one that a user asks for.

    At hand are the data sets of a folder whose target is known, or those that come along.

    Parameters
    ----------
    rows
        Most rows of a data set.
    folds
        How many of its folds.
    ensemble, trees, depth
        As in `Fold`.

    Raises
    ------
    StudyError
        When a target comes without the data set that has it, or a folder has nothing to offer.
    """
    if request.target is not None and request.data is None:
        raise StudyError("--target goes with --data: data sets that are known have theirs")
    names = [request.data] if request.data is not None else datasets.names_in(request.data_dir)
    if not names:
        raise StudyError(
            f"--data-dir {request.data_dir} has no data set whose target is known; name one with "
            "--data and its column with --target"
        )
    return [
        Fold(
            name,
            rows,
            ensemble,
            trees,
            depth,
            fold,
            request.seed,
            request.target,
            request.data_dir,
            protocol_of(request),
        )
        for name in names
        for fold in range(folds)
    ]


def left_out(request: Request) -> list[str]:
    """Return a sentence on the tables of a folder that are left out, where there are any."""
    names = datasets.without_target(request.data_dir) if request.data is None else []
    if not names:
        return []
    shown = ", ".join(short(name)[1:-1] for name in names)
    return [
        f"left out for want of a known target: {shown}; one at a time runs with "
        "--data NAME --target COLUMN"
    ]


def checked_models(
    request: Request, own: Iterable[str], always: Collection[str]
) -> tuple[str, ...]:
    """Return the labels of the methods to compare with, in full: those asked for or the study's.

    Parameters
    ----------
    own
        Labels of the study.
    always
        Those that are measured in any case; they are left out.

    Raises
    ------
    InvalidInput
        When one is not known.
    """
    labels = dict.fromkeys(make_competitor(name, {})[0] for name in request.models or own)
    return tuple(label for label in labels if label not in always)
