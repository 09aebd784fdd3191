"""What a study is: instances, what is run on each, and how often."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from studies.errors import StudyError

Ensemble = Literal["forest", "boosting"]
Task = Literal["solve", "path"]
Scope = Literal["every", "smallest"]

ENSEMBLE_NAMES: dict[str, str] = {"forest": "random forest", "boosting": "gradient boosting"}
PATH_VALUES = 50


@dataclass(frozen=True)
class Instance:
    """A fitted ensemble on some rows of a data set; nothing about the problem to solve.

    Attributes
    ----------
    data, target, data_dir
        As `studies.datasets.load` takes them.
    rows
        Number of training rows, drawn without replacement.
    trees, depth
        Size of the ensemble.
    ensemble
        ``"forest"`` or ``"boosting"``.
    seed
        Seed of the drawing of rows and of the fit.
    """

    data: str
    rows: int
    trees: int
    ensemble: str = "forest"
    depth: int = 6
    seed: int = 0
    target: str | None = None
    data_dir: str | None = None

    @property
    def size(self) -> int:
        """Rows times trees, by which instances are ordered."""
        return self.rows * self.trees


@dataclass(frozen=True)
class Call:
    """What is run on instances: one problem, or a path of `PATH_VALUES` α.

    Attributes
    ----------
    solver
        A label, as `solvers.solve` takes it.
    task
        ``"solve"`` or ``"path"``.
    scope
        Whether it runs on every instance of the grid or on the smallest only.
    """

    solver: str
    task: Task = "solve"
    scope: Scope = "every"


@dataclass(frozen=True)
class Cell:
    """One measurement: a call on an instance at one α, with its repeats and limits.

    Attributes
    ----------
    alpha
        In units of the variance of y.
    repeats
        Warm calls after the first, cold one.
    time_limit
        Seconds for build and solve of one call.
    threads
        Threads the solver may use.
    """

    instance: Instance
    alpha: float
    solver: str
    task: Task
    repeats: int
    time_limit: float
    threads: int

    def as_dict(self) -> dict[str, Any]:
        """Return the cell as nested plain values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> Cell:
        """Return the cell that `as_dict` wrote."""
        return cls(**{**given, "instance": Instance(**given["instance"])})


@dataclass(frozen=True)
class Size:
    """A grid and what is run on it.

    Attributes
    ----------
    grid
        (rows, trees) of each instance.
    calls
        What is run.
    others
        Where solvers run that no call names, so that new ones appear by themselves.
    repeats, time_limit
        As in `Cell`, where the user does not say otherwise.
    """

    grid: tuple[tuple[int, int], ...]
    calls: tuple[Call, ...]
    others: Scope
    repeats: int
    time_limit: float


@dataclass(frozen=True)
class Study:
    """An experiment by name.

    Attributes
    ----------
    name, title
        What a user types, and what heads the tables.
    sizes
        Sizes by name.
    left_out
        Solvers that are not run unless asked for, each with the reason.
    """

    name: str
    title: str
    sizes: dict[str, Size]
    left_out: dict[str, str] = field(default_factory=dict)

    def calls(self, size: Size, available: Iterable[str], asked: Iterable[str] = ()) -> list[Call]:
        """Return what to run.

        Parameters
        ----------
        size
            One of ``sizes``.
        available
            Names of the solvers that can run here.
        asked
            Labels to restrict the study to; empty for no restriction. A call that is asked
            for runs on every instance; labels that the study does not know are added.
        """
        labels = list(dict.fromkeys(asked))
        if labels:
            known = [call for call in size.calls if call.solver in labels]
            solved = {call.solver for call in known if call.task == "solve"}
            added = [Call(label) for label in labels if label not in solved]
            widened = [replace(c, scope="every") if c.task == "solve" else c for c in known]
            return widened + added
        names = set(available)
        named = {_name(call.solver) for call in size.calls} | set(self.left_out)
        calls = [call for call in size.calls if _name(call.solver) in names]
        return calls + [Call(name, scope=size.others) for name in sorted(names - named)]


@dataclass(frozen=True)
class Plan:
    """A study spelled out: every cell in the order of running.

    Attributes
    ----------
    study, size
        Names.
    title
        What heads the tables.
    cells
        What to measure, instance by instance.
    """

    study: str
    size: str
    title: str
    cells: tuple[Cell, ...]

    def settings(self) -> dict[str, Any]:
        """Return the plan as plain values, for the configuration file."""
        first = self.cells[0]
        return {
            "study": self.study,
            "size": self.size,
            "title": self.title,
            "alpha": first.alpha,
            "repeats": first.repeats,
            "time_limit": first.time_limit,
            "threads": first.threads,
            "path_values": PATH_VALUES,
            "instances": [asdict(i) for i in dict.fromkeys(c.instance for c in self.cells)],
            "calls": [
                {"solver": solver, "task": task}
                for solver, task in dict.fromkeys((c.solver, c.task) for c in self.cells)
            ],
        }


def call_name(solver: str, task: str) -> str:
    """Return what is run, for people: ``cbcd, path of 50 α``."""
    return solver if task == "solve" else f"{solver}, path of {PATH_VALUES} α"


def make_plan(
    study: Study,
    size_name: str,
    model: Instance,
    available_rows: int,
    calls: Iterable[Call],
    *,
    alpha: float = 1.0,
    repeats: int | None = None,
    time_limit: float | None = None,
    threads: int = 1,
) -> Plan:
    """Spell a study out.

    Parameters
    ----------
    model
        An instance whose data, kind, depth and seed all instances share.
    available_rows
        Rows of the data set; larger instances are cut to it.
    calls
        From `Study.calls`.
    alpha, repeats, time_limit, threads
        As in `Cell`; None for the size's own.

    Raises
    ------
    StudyError
        When no solver is left to run.
    """
    size = study.sizes[size_name]
    grid = dict.fromkeys((min(rows, available_rows), trees) for rows, trees in size.grid)
    instances = sorted(
        (replace(model, rows=rows, trees=trees) for rows, trees in grid),
        key=lambda instance: instance.size,
    )
    cells = tuple(
        Cell(
            instance=instance,
            alpha=alpha,
            solver=call.solver,
            task=call.task,
            repeats=size.repeats if repeats is None else repeats,
            time_limit=size.time_limit if time_limit is None else time_limit,
            threads=threads,
        )
        for instance in instances
        for call in calls
        if call.scope == "every" or instance == instances[0]
    )
    if not cells:
        raise StudyError(f"study {study.name}: no solver is available to run")
    return Plan(study.name, size_name, study.title, cells)


def _name(label: str) -> str:
    return label.partition("[")[0].strip()
