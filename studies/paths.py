"""The cells of studies that follow paths: every method on every instance."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from studies.errors import StudyError
from studies.spec import Call, Cell, Instance, Request


def path_cells(
    request: Request,
    study: str,
    instances: Iterable[Instance],
    calls: Iterable[Call],
    repeats: int,
    time_limit: float,
) -> list[Cell]:
    """Return all calls on the instances that a request wants.

    Parameters
    ----------
    study
        Name of the study, for people.
    instances
        The study's own; target, folder and seed are those of the request.
    calls
        Paths.
    repeats, time_limit
        As in `Cell`, where the user does not say otherwise.

    Raises
    ------
    StudyError
        When there is an α, or a target without the data set that has it.
    """
    if request.target is not None and request.data is None:
        raise StudyError("--target goes with --data: the study's own data sets have theirs")
    if request.alpha is not None:
        raise StudyError(f"--alpha is not for {study}: it follows a path of many α")
    own = [
        replace(i, target=request.target, data_dir=request.data_dir, seed=request.seed)
        for i in instances
        if request.ensemble in (None, i.ensemble)
    ]
    every = list(calls)
    # A path has its own α; that of the cell is not used.
    return [request.cell(i, 1.0, call, repeats, time_limit) for i in own for call in every]
