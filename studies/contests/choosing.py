"""Which folds of which data sets a study compares models on."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from forestprune import make_competitor
from formulations import InvalidInput
from studies import datasets
from studies.contests.fold import Fold
from studies.encoding import short
from studies.errors import StudyError
from studies.solver_kind import SOLVERS
from studies.spec import Protocol, Request

# The protocol of those who do not say otherwise.
SOUND: Protocol = "sound"


def protocol_of(request: Request) -> Protocol:
    """Return the protocol that is asked for, or the sound one."""
    return request.protocol or SOUND


def folds_of(
    request: Request, rows: int, folds: int, ensemble: str, trees: int, depth: int
) -> list[Fold]:
    """Return the folds of all data sets at hand, or of the one that a user asks for.

    At hand are the data sets of a folder whose target is known and that serve, or those that come
    along.

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
    names, reasons = _at_hand(request)
    if not names:
        why = f" and serves: {next(iter(reasons.values()))}" if reasons else ""
        raise StudyError(
            f"--data-dir {request.data_dir} has no data set whose target is known{why}; name one "
            "with --data and its column with --target"
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


def _at_hand(request: Request) -> tuple[list[str], dict[str, str]]:
    """Return the names of the data sets to use, and why others of a folder do not serve."""
    if request.data is not None:
        return [request.data], {}
    names = datasets.names_in(request.data_dir)
    reasons: dict[str, str] = {}
    if request.data_dir is not None:
        for name in names:
            fold = Fold(name, 1, "forest", 1, 1, 0, data_dir=request.data_dir)
            try:
                fold.cut_to(SOLVERS.rows(fold))
            except (InvalidInput, StudyError) as error:
                reasons[name] = str(error)
    return [name for name in names if name not in reasons], reasons


def left_out(request: Request) -> list[str]:
    """Return a sentence for each reason why tables of a folder are left out."""
    told = [f"left out: {reason}" for reason in _at_hand(request)[1].values()]
    names = datasets.without_target(request.data_dir) if request.data is None else []
    if names:
        shown = ", ".join(short(name)[1:-1] for name in names)
        told.append(
            f"left out for want of a known target: {shown}; one at a time runs with "
            "--data NAME --target COLUMN"
        )
    return told


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
    try:
        labels = dict.fromkeys(make_competitor(name, {})[0] for name in request.models or own)
    except InvalidInput as error:
        raise InvalidInput(f"--model: {error}; see: forestprune competitors") from None
    return tuple(label for label in labels if label not in always)
