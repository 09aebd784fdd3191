"""All studies by name."""

from __future__ import annotations

from solvers._errors import close_matches
from studies.errors import StudyError
from studies.spec import Study
from studies.table1 import TABLE1

STUDIES: dict[str, Study] = {study.name: study for study in (TABLE1,)}


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
