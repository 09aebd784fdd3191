"""What users ask for by name - studies, sizes, solvers - checked before any work begins."""

from __future__ import annotations

from collections.abc import Iterable

from solvers import (
    MissingEngine,
    available_solvers,
    capability_table,
    close_matches,
    make_solver,
)
from studies.bagging.study import BAGGING
from studies.boosting.study import BOOSTING
from studies.case import CASE
from studies.drift.study import DRIFT
from studies.drift_pruning.study import DRIFT_PRUNING
from studies.errors import StudyError
from studies.gaps import GAPS
from studies.polish import POLISH
from studies.shapes import SHAPES
from studies.study import Study
from studies.table1 import TABLE1
from studies.warmstart import WARMSTART
from studies.weights import WEIGHTS

STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        TABLE1,
        WEIGHTS,
        WARMSTART,
        BAGGING,
        BOOSTING,
        CASE,
        GAPS,
        POLISH,
        SHAPES,
        DRIFT,
        DRIFT_PRUNING,
    )
}


def find_study(name: str) -> Study:
    """Return a study by its name.

    Raises
    ------
    StudyError
        With close matches and all names.
    """
    if name not in STUDIES:
        raise StudyError(f"unknown study {name!r}; {close_matches(name, STUDIES)}")
    return STUDIES[name]


def require_size(study: Study, name: str) -> None:
    """Check that a study has a size of this name.

    Raises
    ------
    StudyError
        With close matches and all names.
    """
    if name not in study.sizes:
        raise StudyError(
            f"--size: {study.name} has no {name!r}; {close_matches(name, study.sizes)}"
        )


def checked_labels(labels: Iterable[str]) -> list[str]:
    """Return labels in full, each once.

    Raises
    ------
    UnknownSolver, InvalidOption
        When a label does not name a solver, or an option is not accepted.
    MissingEngine
        When a solver's engine is not installed.
    """
    full = list(dict.fromkeys(make_solver(label)[0] for label in labels))
    ready = available_solvers()
    for label in full:
        name = label.partition("[")[0]
        if name not in ready:
            (status,) = (row["status"] for row in capability_table() if row["solver"] == name)
            raise MissingEngine(f"solver {name!r} cannot run here; {status}")
    return full
