"""A process beside ours in which an engine runs, so that it can be ended.

Engines differ in how well they keep a time limit (ECOS has none), and one that runs out of
memory takes its process along. The process starts when first needed, serves one call after
the other and is replaced after it had to be ended. It is started as a module of its own, not
by multiprocessing, so that a user's script is never imported a second time.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pickle
import queue
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any, BinaryIO

from formulations import InvalidInput
from solvers._core.errors import EngineFailure, SolverError

_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "RAYON_NUM_THREADS",
)


# Starting the process is not counted up to so many seconds; what is beyond goes off the limit.
STARTING_SECONDS = 0.8


class ProcessEnded(Exception):
    """The process was ended on purpose, before it answered."""


class EngineProcess:
    """A process that takes (function, arguments) and answers with what it returns."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        environment = dict(os.environ)
        environment.update({name: str(threads) for name in _THREAD_VARIABLES})
        environment["PYTHONPATH"] = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
        self._child = subprocess.Popen(
            [sys.executable, "-P", "-c", "from solvers._engines.process import serve; serve()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
        )
        self._answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    @property
    def alive(self) -> bool:
        """Whether the process is still running."""
        return self._child.poll() is None

    def call(
        self,
        function: Callable[..., Any],
        *arguments: Any,
        limit: float,
        stopped: Callable[[], bool],
    ) -> Any:
        """Return ``function(*arguments)``, computed in the process.

        Parameters
        ----------
        function
            A function at the top of a module.
        limit
            Seconds after which the process is ended.
        stopped
            Asked a few times a second; when true, the process is ended.

        Raises
        ------
        ProcessEnded
            When the process was ended by the limit or by ``stopped``.
        SolverError, InvalidInput
            When the function raised one.
        EngineFailure
            When the process died, or the function raised anything else.
        """
        started = perf_counter()
        assert self._child.stdin is not None
        try:
            pickle.dump((function, arguments), self._child.stdin, pickle.HIGHEST_PROTOCOL)
            self._child.stdin.flush()
        except BrokenPipeError:
            raise self._died() from None
        while True:
            left = limit - (perf_counter() - started)
            if left <= 0.0 or stopped():
                self.end()
                raise ProcessEnded
            try:
                answer = self._answers.get(timeout=min(left, 0.05))
            except queue.Empty:
                continue
            if answer is None:
                raise self._died()
            succeeded, outcome = answer
            if succeeded:
                return outcome
            if isinstance(outcome, SolverError | InvalidInput):
                raise outcome
            raise EngineFailure(
                f"the engine failed: {type(outcome).__name__}: {outcome}"
            ) from outcome

    def end(self) -> None:
        """End the process."""
        self._child.kill()
        self._child.wait()
        self._listener.join()
        for pipe in (self._child.stdin, self._child.stdout):
            with contextlib.suppress(BrokenPipeError):  # what was not sent is not missed
                if pipe is not None:
                    pipe.close()

    def _died(self) -> EngineFailure:
        code = self._child.wait()
        hint = "; it may have run out of memory" if code == -9 else ""
        return EngineFailure(f"the engine's process ended with exit code {code}{hint}")

    def _listen(self) -> None:
        assert self._child.stdout is not None
        with contextlib.suppress(EOFError, pickle.UnpicklingError):
            while True:
                self._answers.put(pickle.load(self._child.stdout))
        self._answers.put(None)


_running: EngineProcess | None = None


def engine_process(threads: int) -> EngineProcess:
    """Return the running process, or start one; it uses so many threads."""
    global _running
    if _running is None or not _running.alive or _running.threads != threads:
        end_engine_process()
        _running = EngineProcess(threads)
    return _running


@atexit.register
def end_engine_process() -> None:
    """End the process, if one is running."""
    global _running
    if _running is not None:
        _running.end()
        _running = None


def peak_bytes() -> int | None:
    """Return the most memory this process has held, or None where that is not known."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    with contextlib.suppress(OSError):
        # The kernel's mark of this process image; ru_maxrss is inherited from the parent.
        for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def serve() -> None:
    """Answer calls until the parent closes the pipe; what the process runs."""
    import signal

    # Ctrl-C reaches the whole group; the parent decides what becomes of this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what an engine prints must not mix with the answers
    _serve(sys.stdin.buffer, answers)


def _serve(requests: BinaryIO, answers: BinaryIO) -> None:
    while True:
        try:
            function, arguments = pickle.load(requests)
        except EOFError:
            return
        try:
            answer = (True, function(*arguments))
        except Exception as error:
            answer = (False, error)
        try:
            text = pickle.dumps(answer, pickle.HIGHEST_PROTOCOL)
        except Exception as error:
            problem = EngineFailure(f"the engine's answer cannot be sent: {error}; {answer[1]!r}")
            text = pickle.dumps((False, problem), pickle.HIGHEST_PROTOCOL)
        answers.write(text)
        answers.flush()
