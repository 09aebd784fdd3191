"""`solve`: runs a solver by name and has its answer judged."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from time import perf_counter
from types import FrameType
from typing import Any

import numpy.typing as npt

from formulations import Formulation, InvalidInput
from formulations.arrays import FloatArray, IntArray
from solvers._core.arguments import (
    at_least_zero,
    checked_callback,
    checked_count,
    checked_limit,
    checked_start,
)
from solvers._core.base import Answer, Callback, Control, Solver
from solvers._core.judging import judged
from solvers._core.registry import make_solver, require_ready, solver_class
from solvers._core.result import Result, Termination
from solvers._core.threads import limited_threads
from solvers._engines.process import STARTING_SECONDS, ProcessEnded, engine_process, peak_bytes


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
    warm_choice, warm_beta = checked_start(problem, warm_start)
    control = Control(
        time_limit=checked_limit(time_limit),
        gap=at_least_zero("gap", gap),
        seed=checked_count("seed", seed, 0),
        threads=checked_count("threads", threads, 1),
        verbose=checked_count("verbose", verbose, 0),
        warm_start=warm_choice,
        warm_beta=warm_beta,
        callback=checked_callback(callback),
    )
    run = _run_beside if chosen.own_process else _run_here
    with _ctrl_c_stops(control):
        answer, build_seconds, solve_seconds = run(chosen, problem, control)
    return judged(problem, label, chosen, answer, control, build_seconds, solve_seconds)


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
