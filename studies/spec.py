"""What a study measures: instances, methods, and the cells of both."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import PurePath
from typing import Any, Literal

from studies.errors import StudyError

Task = Literal["solve", "path"]
Scope = Literal["every", "smallest"]
Polish = Literal["ridge", "best_subset"]
Shape = Literal["depth", "subtree"]
Weights = Literal["nodes", "depth"]
Protocol = Literal["sound", "published"]

ENSEMBLE_NAMES: dict[str, str] = {"forest": "random forest", "boosting": "gradient boosting"}
PATH_VALUES = 50
PATH_SPAN = 1e-4


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
        Size of the ensemble that is fitted.
    ensemble
        ``"forest"`` or ``"boosting"``.
    seed
        Seed of the drawing of rows and of the fit.
    copies
        How often each fitted tree occurs; its weight is divided among its copies.
    held_out
        Number of further rows for validation, and as many again for testing.
    name
        What is special about it, for people.
    """

    data: str
    rows: int
    trees: int
    ensemble: str = "forest"
    depth: int = 6
    seed: int = 0
    target: str | None = None
    data_dir: str | None = None
    copies: int = 1
    held_out: int = 0
    name: str = ""

    @property
    def kind(self) -> str:
        """Data set, ensemble and what is special: ``diamonds, random forest``."""
        data = PurePath(self.data).name.removesuffix(".gz").removesuffix(".csv")
        return ", ".join(filter(None, (data, ENSEMBLE_NAMES[self.ensemble], self.name)))

    @property
    def grid(self) -> str:
        """Rows times trees: ``1,145 × 100``."""
        return f"{self.rows:,} × {self.trees * self.copies:,}"

    @property
    def preparation(self) -> str:
        """What is done to prepare it."""
        return f"fitting a {ENSEMBLE_NAMES[self.ensemble]}"

    def cut_to(self, rows: int) -> Instance:
        """Return the instance on a data set of so many rows, its parts in the same proportions.

        Raises
        ------
        StudyError
            When no row is left to hold out.
        """
        share = min(1.0, rows / (self.rows + 2 * self.held_out))
        held_out = math.floor(share * self.held_out)
        if held_out == 0 < self.held_out:
            raise StudyError(f"{self.data} has {rows} rows, too few to hold any out for testing")
        return replace(self, rows=min(self.rows, rows - 2 * held_out), held_out=held_out)


@dataclass(frozen=True)
class Method:
    """What is solved at each α: by default Problem (1), layer pruning.

    Attributes
    ----------
    polish
        How the trees that are left are weighed anew, Problem (2); None for not at all.
    joint
        Whether depths and weights are chosen together instead, Problem (5), with the penalty
        on the weights that ``polish`` says.
    alpha2
        That penalty, in units of the variance of y.
    n_trees
        How many trees polishing may leave; None for a price of ``alpha2`` for each.
    shape
        ``"depth"``: whole layers are cut; ``"subtree"``: every branch where it serves best.
    weights
        What a layer costs: ``"nodes"``, its nodes; ``"depth"``, the same for each.
    """

    polish: Polish | None = None
    joint: bool = False
    alpha2: float = 0.0
    n_trees: int | None = None
    shape: Shape = "depth"
    weights: Weights = "nodes"

    def __post_init__(self) -> None:
        if self.joint and self.shape != "depth":
            raise ValueError("a joint method chooses depths")
        if self.weights != "nodes" and (self.joint or self.shape != "depth"):
            raise ValueError("depth weights are for depths that are chosen first")

    @property
    def name(self) -> str:
        """The method for people."""
        if self.joint:
            return "joint, ρ = 2" if self.polish == "ridge" else "joint, ρ = 0"
        pruned = "pruned" if self.shape == "depth" else "pruned to subtrees"
        if self.weights != "nodes":
            pruned += " by depth weights"
        if self.polish is None:
            return pruned
        if self.polish == "ridge":
            return f"{pruned}, then ridge"
        most = "best subset" if self.n_trees is None else f"best {self.n_trees} trees"
        return f"{pruned}, then {most}"


PRUNED = Method()


@dataclass(frozen=True)
class Call:
    """What is run on instances: one problem, or a path of α.

    Attributes
    ----------
    solver
        A label, as `solvers.solve` takes it.
    task
        ``"solve"`` or ``"path"``.
    scope
        Whether it runs on every instance of a grid or on the smallest only.
    method
        What is solved.
    values, span
        Number of α of a path, and the part of its first α that the last one is.
    """

    solver: str
    task: Task = "solve"
    scope: Scope = "every"
    method: Method = PRUNED
    values: int = PATH_VALUES
    span: float = PATH_SPAN


@dataclass(frozen=True)
class Cell:
    """One measurement: a call on an instance, with its repeats and limits.

    Attributes
    ----------
    alpha
        In units of the variance of y; a path has its own.
    repeats
        Warm calls after the first, cold one.
    time_limit
        Seconds for build and solve of one call.
    threads
        Threads the solver may use.
    method, values, span
        As in `Call`.
    """

    instance: Instance
    alpha: float
    solver: str
    task: Task
    repeats: int
    time_limit: float
    threads: int
    method: Method = PRUNED
    values: int = PATH_VALUES
    span: float = PATH_SPAN

    @property
    def name(self) -> str:
        """What is run, for people."""
        called = call_name(self.solver, self.task, self.values)
        return called if self.method == PRUNED else f"{called}: {self.method.name}"

    @property
    def setting(self) -> str:
        """The α, for people."""
        return f"α = {self.alpha:<6g}"

    @property
    def identity(self) -> tuple[Any, ...]:
        """The instance, and what is solved by what; neither repeats nor limits."""
        along = self.values, self.span
        return self.instance, self.alpha, self.task, self.solver, self.method, along

    def as_dict(self) -> dict[str, Any]:
        """Return the cell as nested plain values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, given: dict[str, Any]) -> Cell:
        """Return the cell that `as_dict` wrote."""
        own = {"instance": Instance(**given["instance"]), "method": Method(**given["method"])}
        return cls(**{**given, **own})


@dataclass(frozen=True)
class Request:
    """What a user asks a study for; None where the study decides.

    Attributes
    ----------
    size
        Name of a size.
    solvers
        Labels to restrict the study to; empty for no restriction.
    available
        Names of the solvers that can run here.
    models
        Names of the models to restrict a study of streams to, or labels of the methods that a
        study of methods compares with; empty for all of its own.
    data, target, data_dir, ensemble, seed
        As in `Instance`.
    alpha, repeats, time_limit, threads
        As in `Cell`.
    protocol
        ``"sound"`` or ``"published"``: how a study of methods divides, scales and chooses.
    """

    size: str
    solvers: tuple[str, ...] = ()
    available: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    data: str | None = None
    target: str | None = None
    data_dir: str | None = None
    ensemble: str | None = None
    alpha: float | None = None
    repeats: int | None = None
    time_limit: float | None = None
    threads: int = 1
    seed: int = 0
    protocol: Protocol | None = None

    def cell(
        self, instance: Instance, alpha: float, call: Call, repeats: int, time_limit: float
    ) -> Cell:
        """Return a cell with the study's repeats and limit, where the user has none."""
        return Cell(
            instance=instance,
            alpha=alpha,
            solver=call.solver,
            task=call.task,
            repeats=repeats if self.repeats is None else self.repeats,
            time_limit=time_limit if self.time_limit is None else self.time_limit,
            threads=self.threads,
            method=call.method,
            values=call.values,
            span=call.span,
        )

    def calls(
        self, named: Iterable[Call], others: Scope, left_out: Iterable[str] = ()
    ) -> list[Call]:
        """Return which of a study's calls to run, and those the study does not know.

        Parameters
        ----------
        named
            The study's own calls.
        others
            Where solvers run that no call names, so that new ones appear by themselves.
        left_out
            Names of solvers that do not run unless asked for. A call that is asked for
            runs on every instance.
        """
        calls = list(named)
        if self.solvers:
            known = [call for call in calls if call.solver in self.solvers]
            solved = {call.solver for call in known if call.task == "solve"}
            widened = [replace(c, scope="every") if c.task == "solve" else c for c in known]
            return widened + [Call(label) for label in self.solvers if label not in solved]
        seen = {solver_name(call.solver) for call in calls} | set(left_out)
        return calls + [
            Call(name, scope=others) for name in sorted(self.available) if name not in seen
        ]


def call_name(solver: str, task: str, values: int = PATH_VALUES) -> str:
    """Return what is run, for people: ``cbcd, path of 50 α``."""
    return solver if task == "solve" else f"{solver}, path of {values} α"


def solver_name(label: str) -> str:
    """Return the solver's name without its options."""
    return label.partition("[")[0].strip()
