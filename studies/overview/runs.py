"""The runs of a folder, read back and drawn; those that cannot be are told with the reason."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from studies.catalogue import find_study
from studies.errors import StudyError
from studies.overview.alt import described
from studies.reporting.formats import plural
from studies.reporting.html import Picture, picture
from studies.reporting.published import Comparison
from studies.reporting.report import Report, RunOf, collect
from studies.running.records import RunFolder
from studies.study import Study


@dataclass(frozen=True)
class Found:
    """A run that was read.

    Attributes
    ----------
    name
        Of its folder.
    slug
        The name as addresses and labels can have it, another one for each run.
    pictures
        The figures of the report, by their names.
    """

    name: str
    slug: str
    study: Study
    run: RunOf[Any, Any]
    report: Report
    pictures: dict[str, Picture]

    @property
    def date(self) -> str:
        """When its last cell finished or, where none did, when it was started; empty if unknown."""
        ends = [str(row["finished"]) for _, row in self.run.cells if row.get("finished")]
        return max(ends, default=str(self.run.environment.get("started", "")))[:10]

    @property
    def extent(self) -> str:
        """How many cells there are."""
        return plural(len(self.run.cells), "cell")

    @property
    def shortfall(self) -> str:
        """What is missing for a whole run, empty for one that is whole."""
        done = sum(row["status"] != "failed" for _, row in self.run.cells)
        failed = len(self.run.cells) - done
        planned = self.run.config.get("cells")
        if isinstance(planned, int) and len(self.run.cells) < planned:
            also = f", {failed} failed" if failed else ""
            return f"unfinished: {done} of {plural(planned, 'cell')} done{also}"
        if not self.run.cells:
            return "unfinished: no cell done"
        return f"partial: {failed} of {self.extent} failed" if failed else ""

    @property
    def published(self) -> tuple[Comparison, ...]:
        """What the run can be compared with, by titles that say which run it is."""
        return tuple(
            replace(comparison, title=f"{comparison.title} ({self.name})")
            for comparison in self.report.published
        )


@dataclass(frozen=True)
class Unread:
    """A run that could not be read, and why."""

    name: str
    reason: str


def read_runs(folder: Path) -> tuple[list[Found], list[Unread]]:
    """Return the runs in a folder, in the order of their names.

    Folders without a configuration and rows are none.

    Raises
    ------
    StudyError
        When the folder cannot be read or has no run.
    """
    try:
        inside = sorted(folder.iterdir())
    except OSError as error:
        raise StudyError(f"cannot read the folder {folder}: {error.strerror or error}") from None
    paths: list[Path] = []
    unread: list[Unread] = []
    for path in inside:
        try:
            paths += [path] if _is_run(path) else []
        except OSError as error:  # a folder that may not be entered
            unread.append(Unread(_readable(path.name), error.strerror or str(error)))
    if not paths:
        here = " (it is one itself: give the folder above)" if _is_run(folder) else ""
        raise StudyError(
            f"{folder} has no run of a study{here}; run one, such as: forestprune study weights "
            "--size small"
        )
    slugs = _slugs([path.name for path in paths])
    found: list[Found] = []
    for path in paths:
        try:
            found.append(_read(path, slugs[path.name]))
        except StudyError as error:
            unread.append(Unread(_readable(path.name), _readable(str(error))))
        except Exception as error:
            # Rows of another version, data that is no longer there, a name that cannot be drawn:
            # whatever is wrong with one run, the others are to be seen.
            reason = f"{type(error).__name__}: {error}"
            unread.append(Unread(_readable(path.name), _readable(reason)))
    return found, unread


def _is_run(path: Path) -> bool:
    return (path / "config.json").is_file() and (path / "rows.jsonl").is_file()


def _read(path: Path, slug: str) -> Found:
    config = RunFolder(path).config()
    study = find_study(config["study"])
    run = collect(config, RunFolder(path, study.kind.read_cell).rows(), study.kind)
    report = study.report(run)
    name = _readable(path.name)
    title = f"{study.name}, {name}"
    pictures = {
        drawn: picture(figure, described(figure, f"{drawn} of {title}"))
        for drawn, figure in report.figures.items()
    }
    return Found(name, slug, study, run, report, pictures)


def _readable(text: str) -> str:
    """Return a text with a question mark for what is no character, as in names not in UTF-8."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _slugs(names: list[str]) -> dict[str, str]:
    """Return a slug for each name; a number tells those apart that would be the same."""
    slugs: dict[str, str] = {}
    for name in names:
        plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "run"
        slug, number = plain, 2
        while slug in slugs.values():
            slug, number = f"{plain}-{number}", number + 1
        slugs[name] = slug
    return slugs
