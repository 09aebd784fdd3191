"""What a solver is: a class with options, a build and a run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from formulations import ChoiceFormulation, Formulation
from formulations.arrays import FloatArray, IntArray
from solvers._core.errors import InvalidOption
from solvers._core.result import BoundSource, Termination, TraceEntry

Callback = Callable[[TraceEntry], object]

P = TypeVar("P", bound=Formulation)


@dataclass
class Control:
    """Limits of a run, and the record of how it goes.

    Attributes
    ----------
    time_limit
        Seconds for build and solve together; inf for none.
    gap
        Relative gap at which a solver may stop.
    seed
        Seed of everything random.
    threads
        Threads a solver may use.
    verbose
        0 for silence; engines print at 1 and more.
    warm_start, warm_beta
        A feasible choice to start from, and its coefficients.
    callback
        Called with every new entry of the trace; a true answer ends the run.
    """

    time_limit: float = np.inf
    gap: float = 1e-6
    seed: int = 0
    threads: int = 1
    verbose: int = 0
    warm_start: IntArray | None = None
    warm_beta: FloatArray | None = None
    callback: Callback | None = None
    started: float = field(default_factory=perf_counter)
    trace: list[TraceEntry] = field(default_factory=list)
    interrupted: bool = False
    ended_by_callback: bool = False

    @property
    def elapsed(self) -> float:
        """Seconds since the build began."""
        return perf_counter() - self.started

    def report(self, objective: float, bound: float = -np.inf) -> None:
        """Record an objective and a bound; the trace keeps the best of each so far."""
        if self.trace:
            objective = min(objective, self.trace[-1].objective)
            bound = max(bound, self.trace[-1].bound)
        entry = TraceEntry(self.elapsed, objective, bound)
        self.trace.append(entry)
        if self.callback is not None and self.callback(entry):
            self.ended_by_callback = True

    def stop(self) -> Termination | None:
        """Return the reason why the run must end now, or None."""
        if self.interrupted:
            return Termination.INTERRUPTED
        if self.ended_by_callback:
            return Termination.CALLBACK
        if self.elapsed > self.time_limit:
            return Termination.TIME_LIMIT
        return None

    def close_enough(self, objective: float, bound: float) -> bool:
        """Return whether the gap asked for is reached; relative, so that units do not matter."""
        return objective - bound <= self.gap * abs(objective)


@dataclass
class Answer:
    """What a solver says, before it is checked.

    Attributes
    ----------
    termination
        Why it stopped.
    choice, beta
        The best choice found, or None, and its coefficients where they are free.
    local
        Whether no single block can improve the choice.
    relaxed
        A relaxed point at which the Frank–Wolfe bound holds.
    bound
        A bound that does not come from ``relaxed``, with its source.
    """

    termination: Termination
    choice: IntArray | None = None
    beta: FloatArray | None = None
    local: bool = False
    relaxed: FloatArray | None = None
    bound: float = -np.inf
    bound_source: BoundSource = BoundSource.NONE
    log: str = ""
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class NoOptions:
    """Options of a solver that has none."""


class Solver(ABC, Generic[P]):
    """A way to solve problems; its public file's stem is the name a user types.

    Attributes
    ----------
    takes
        The problems it is written for.
    for_coefficients
        What runs under its name on problems with free coefficients, or None.
    summary
        One line for the capability table.
    method
        ``"heuristic"``, ``"relaxation"`` or ``"exact"``.
    proof
        What its bound rests on, for the capability table.
    engines
        Packages that must be installed, as imported.
    caveat
        What is not known of it, for the capability table: engines that need a licence.
    own_process
        Whether it runs in a process of its own, which is ended at the time limit: for
        engines that cannot be relied on to stop.
    Options
        Frozen dataclass of the options with their defaults, which refuses wrong values.
    """

    takes: ClassVar[type[Any]] = ChoiceFormulation
    for_coefficients: ClassVar[type[Solver[Any]] | None] = None
    summary: ClassVar[str]
    method: ClassVar[str]
    proof: ClassVar[str]
    engines: ClassVar[tuple[str, ...]] = ()
    caveat: ClassVar[str] = ""
    own_process: ClassVar[bool] = False
    Options: ClassVar[type] = NoOptions

    def __init__(self, options: Any) -> None:
        self.options = options

    @classmethod
    def unsupported(cls, problem: P) -> str | None:
        """Return why a problem cannot be taken, or None when it can."""
        del problem
        return None

    def predicted_bytes(self, problem: P) -> int | None:
        """Return about how much memory a run needs at its peak, or None when little."""
        del problem
        return None

    def prepare(self, problem: P) -> None:
        """Import engines and compile kernels, so that they are not timed."""

    def build(self, problem: P) -> Any:
        """Set the problem up in the form the solver works on."""

    @abstractmethod
    def run(self, problem: P, model: Any, control: Control) -> Answer:
        """Solve what `build` returned."""


def require_one_of(option: str, given: object, accepted: tuple[str, ...]) -> None:
    """Raise InvalidOption unless ``given`` is one of the accepted names."""
    if given not in accepted:
        raise InvalidOption(f"{option} must be one of {', '.join(accepted)}, not {given!r}")


def require_count(option: str, given: object, least: int = 0) -> None:
    """Raise InvalidOption unless ``given`` is an integer of at least ``least``."""
    if isinstance(given, bool) or not isinstance(given, int | np.integer) or given < least:
        raise InvalidOption(f"{option} must be an integer of at least {least}, not {given!r}")


def require_positive(option: str, given: object) -> None:
    """Raise InvalidOption unless ``given`` is a finite number above 0."""
    number = isinstance(given, int | float | np.number) and not isinstance(given, bool)
    if not (number and 0.0 < given < np.inf):  # type: ignore[operator]
        raise InvalidOption(f"{option} must be a number above 0, not {given!r}")


def require_bool(option: str, given: object) -> None:
    """Raise InvalidOption unless ``given`` is True or False."""
    if not isinstance(given, bool):
        raise InvalidOption(f"{option} must be True or False, not {given!r}")
