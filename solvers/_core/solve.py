"""`solve`: runs a solver and judges its answer."""

from __future__ import annotations

import contextlib
import importlib.metadata
import platform
import signal
import threading
from collections.abc import Iterator
from functools import cache
from time import perf_counter
from types import FrameType
from typing import Any

import numpy as np
import numpy.typing as npt

from formulations import (
    ChoiceFormulation,
    Formulation,
    InvalidInput,
)
from formulations.arrays import FloatArray, IntArray
from solvers._core.base import Answer, Callback, Control, Solver
from solvers._core.errors import EngineFailure
from solvers._core.registry import make_solver, require_ready, solver_class
from solvers._core.result import BoundSource, Guarantee, Result, Termination
from solvers._core.threads import limited_threads
from solvers._engines.process import STARTING_SECONDS, ProcessEnded, engine_process, peak_bytes

# Relative to the target's mean square: two values closer than this are the same to rounding.
_ROUNDING = 1e-9


def solve(
    problem: Formulation,
    solver: str = "cbcd",
    *,
    time_limit: float | None = 60.0,
    gap: float = 1e-6,
    seed: int = 0,
    warm_start: Result | npt.ArrayLike | None = None,
    threads: int = 1,
    verbose: int = 0,
    callback: Callback | None = None,
    **options: Any,
) -> Result:
    """Solve a problem with a solver chosen by name, and check what it returns.

    Engines are imported and kernels compiled before the clock starts. The objective and the
    feasibility of the answer are recomputed from the data, and so is its bound where it
    belongs to a relaxed point. Ctrl-C ends the run and keeps the incumbent and the bound.

    Parameters
    ----------
    problem
        A formulation, such as `LayerPruning`.
    solver
        A name, or a label such as ``"cbcd[local_search=False]"``; see `available_solvers`.
    time_limit
        Seconds for build and solve together, above 0; None for no limit.
    gap
        Relative gap, at least 0, that is good enough to stop at and to be called OPTIMAL.
    seed
        Seed of everything random, at least 0.
    warm_start
        A result or a feasible choice to start from; solvers that cannot use it ignore none
        of it: the answer is never worse.
    threads
        Threads the solver may use, at least 1.
    verbose
        0 for silence; engines print at 1 and more.
    callback
        Called with every `TraceEntry`; a true answer ends the run. Solvers that run in a
        process of their own (ecos, clarabel, mosek) do not call it.
    **options
        Options of the solver; they go before those in the label.

    Returns
    -------
    Result
        The checked answer.

    Raises
    ------
    UnknownSolver, InvalidOption, MissingEngine, UnsupportedProblem
        When the solver cannot be asked; each says what can be done.
    InvalidInput
        When another argument is not accepted.
    EngineFailure
        When the solver breaks off, returns an infeasible choice, or a bound above the
        objective of a feasible choice.
    """
    if not isinstance(problem, Formulation):
        raise InvalidInput(
            f"problem must be a formulation such as LayerPruning, not {type(problem).__name__}"
        )
    label, chosen = make_solver(solver, options, problem)
    name = label.partition("[")[0]
    require_ready(name, solver_class(name), problem)
    warm_choice, warm_beta = _start(problem, warm_start)
    control = Control(
        time_limit=checked_limit(time_limit),
        gap=_at_least_zero("gap", gap),
        seed=_count("seed", seed, 0),
        threads=_count("threads", threads, 1),
        verbose=_count("verbose", verbose, 0),
        warm_start=warm_choice,
        warm_beta=warm_beta,
        callback=_callable(callback),
    )
    run = _run_beside if chosen.own_process else _run_here
    with _ctrl_c_stops(control):
        answer, build_seconds, solve_seconds = run(chosen, problem, control)
    return _judged(problem, label, chosen, answer, control, build_seconds, solve_seconds)


def _run_here(
    solver: Solver[Any], problem: Formulation, control: Control
) -> tuple[Answer, float, float]:
    """Prepare, build and run in this process; return the answer and both times."""
    with limited_threads(control.threads):
        solver.prepare(problem)
        control.started = perf_counter()
        model = solver.build(problem)
        built = perf_counter()
        answer = solver.run(problem, model, control)
        return answer, built - control.started, perf_counter() - built


def _run_beside(
    solver: Solver[Any], problem: Formulation, control: Control
) -> tuple[Answer, float, float]:
    """Prepare, build and run in a process that is ended at the limit.

    The process must be started and must import the engine first. That is not counted, but
    beyond a second it goes off the time for build and solve, so that the call keeps its limit.
    """

    def stopped() -> bool:
        return control.interrupted

    began = perf_counter()
    latest = control.time_limit + STARTING_SECONDS
    try:
        process = engine_process(control.threads)
        process.call(_prepare, solver, problem, limit=latest, stopped=stopped)
        control.started = perf_counter()
        outcome: tuple[Answer, float, float] = process.call(
            _remote_run,
            solver,
            problem,
            control.gap,
            control.seed,
            control.threads,
            control.verbose,
            control.time_limit,
            control.warm_start,
            control.warm_beta,
            limit=min(control.time_limit, latest - (control.started - began)),
            stopped=stopped,
        )
    except ProcessEnded:
        reason = Termination.INTERRUPTED if control.interrupted else Termination.TIME_LIMIT
        return Answer(reason), 0.0, control.elapsed
    return outcome


def _prepare(solver: Solver[Any], problem: Formulation) -> None:
    solver.prepare(problem)


def _remote_run(
    solver: Solver[Any],
    problem: Formulation,
    gap: float,
    seed: int,
    threads: int,
    verbose: int,
    time_limit: float,
    warm_start: IntArray | None,
    warm_beta: FloatArray | None,
) -> tuple[Answer, float, float]:
    control = Control(
        time_limit=time_limit,
        gap=gap,
        seed=seed,
        threads=threads,
        verbose=verbose,
        warm_start=warm_start,
        warm_beta=warm_beta,
    )
    outcome = _run_here(solver, problem, control)
    outcome[0].extra["engine_peak_bytes"] = peak_bytes()
    return outcome


def _judged(
    problem: Formulation,
    label: str,
    solver: Solver[Any],
    answer: Answer,
    control: Control,
    build_seconds: float,
    solve_seconds: float,
) -> Result:
    """Recompute what the solver says, and turn it into a result."""
    choice, beta, objective = None, None, np.inf
    if answer.choice is not None:
        try:
            choice = problem.checked(answer.choice)
            beta = problem.checked_beta(choice, answer.beta)
        except InvalidInput as error:
            raise EngineFailure(f"{label} returned an infeasible choice: {error}") from None
        objective = problem.objective(choice, beta)
    local = answer.local
    if control.warm_start is not None:
        started_at = problem.objective(control.warm_start, control.warm_beta)
        if started_at < objective:
            choice, objective, local = control.warm_start, started_at, False
            beta = problem.checked_beta(choice, control.warm_beta)
    bound, source = answer.bound, answer.bound_source
    if answer.relaxed is not None:
        recomputed = problem.linear_bound(answer.relaxed)
        if recomputed > bound:
            fixed = isinstance(problem, ChoiceFormulation)
            bound, source = recomputed, BoundSource.FRANK_WOLFE if fixed else BoundSource.DUAL
    rounding = _ROUNDING * problem.data.target_square
    if bound > objective + rounding:
        raise EngineFailure(
            f"{label} returned a bound {bound!r} above a feasible objective {objective!r}"
        )
    bound = min(bound, objective)
    if choice is None:
        guarantee = Guarantee.NONE if bound == -np.inf else Guarantee.BOUND_ONLY
    elif control.close_enough(objective, bound) or objective - bound <= problem.tolerance:
        guarantee = Guarantee.OPTIMAL
    else:
        guarantee = Guarantee.LOCAL if local else Guarantee.FEASIBLE
    return Result(
        solver=label,
        choice=choice,
        beta=beta,
        objective=objective,
        bound=bound,
        bound_source=source,
        relaxed=answer.relaxed,
        termination=answer.termination,
        guarantee=guarantee,
        build_seconds=build_seconds,
        solve_seconds=solve_seconds,
        trace=tuple(control.trace),
        versions=_versions(solver.engines),
        log=answer.log,
        extra=answer.extra,
    )


@contextlib.contextmanager
def _ctrl_c_stops(control: Control) -> Iterator[None]:
    """Let the first Ctrl-C ask the run to stop; a second one interrupts as usual."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)

    def ask_to_stop(number: int, frame: FrameType | None) -> None:
        if control.interrupted and callable(before):
            before(number, frame)
        control.interrupted = True

    signal.signal(signal.SIGINT, ask_to_stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _versions(engines: tuple[str, ...]) -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for package in ("forestprune", "numpy", "numba", *engines):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[package] = _version(package)
    return versions


@cache
def _version(package: str) -> str:
    # Looking it up takes longer than a small problem.
    return importlib.metadata.version(package)


def _start(
    problem: Formulation, given: Result | npt.ArrayLike | None
) -> tuple[IntArray | None, FloatArray | None]:
    """Return a choice and its coefficients to start from, or None twice."""
    if given is None:
        return None, None
    beta: FloatArray | None = None
    start: npt.ArrayLike
    if isinstance(given, Result):
        if given.choice is None:
            raise InvalidInput("warm_start is a result without a choice")
        start, beta = given.choice, given.beta
    else:
        start = given
    try:
        choice = problem.checked(start)
        if isinstance(problem, ChoiceFormulation):
            return choice, problem.checked_beta(choice, None)
        # A result of a problem with fixed coefficients has ones for removed trees too.
        beta = None if beta is None else np.where(problem.keeps(choice), beta, 0.0)
        return choice, problem.checked_beta(choice, beta)
    except InvalidInput as error:
        raise InvalidInput(f"warm_start is not feasible: {error}") from None


def _callable(callback: Callback | None) -> Callback | None:
    if callback is not None and not callable(callback):
        raise InvalidInput(f"callback must be a function of a TraceEntry, not {callback!r}")
    return callback


def checked_limit(given: float | None) -> float:
    if given is None:
        return np.inf
    limit = _at_least_zero("time_limit", given)
    if limit == 0.0:
        raise InvalidInput("time_limit must be above 0 seconds, or None for no limit")
    return limit


def _at_least_zero(name: str, given: object) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float | np.number) or not given >= 0:
        raise InvalidInput(f"{name} must be a number of at least 0, not {given!r}")
    return float(given)


def _count(name: str, given: object, least: int) -> int:
    if isinstance(given, bool) or not isinstance(given, int | np.integer) or given < least:
        raise InvalidInput(f"{name} must be an integer of at least {least}, not {given!r}")
    return int(given)
