"""Work in a process of its own, with a deadline, and its answer by file.

A process apart from the runner can be ended for good, its peak memory is its own, and an
engine that crashes takes nothing along. Run as ``python -m studies.running.child``, it calls
one function with a request and a way to save outcomes. It imports nothing but the standard
library and its neighbour before that function, so that what is measured is the function's.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from studies.running.ending import started

Outcome = dict[str, Any]
Save = Callable[[Outcome], None]
Tell = Callable[[str], None]

# Seconds between two looks at whether a process has something to say.
_LOOK_SECONDS = 0.5

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "RAYON_NUM_THREADS",
    "LOKY_MAX_CPU_COUNT",  # what joblib takes for the number of cores
)


def run_in_child(
    function: str,
    request: dict[str, Any],
    folder: Path,
    *,
    threads: int | None,
    deadline: float | None,
    run: str = "",
    tell: Tell | None = None,
) -> Outcome | None:
    """Call a function in a new process and return the last outcome it saved.

    Parameters
    ----------
    function
        ``"module:name"`` of a function of (request, save).
    request
        Plain values.
    folder
        A folder for temporary files; the new process removes it when this one is killed.
    threads
        Threads that numerical libraries may use; None to leave the environment as it is.
    deadline
        Seconds after which the process is ended, with every process it started; None for
        no end.
    run
        What `end_run` is told to end it early.
    tell
        Takes a sentence for the user, while the process goes on: that it compiles kernels.

    Returns
    -------
    dict or None
        The last outcome saved; None when the deadline passed before there was one. A
        process that failed before saving gives ``{"status": "failed", "reason": …}``.

    Raises
    ------
    RunEnded
        When its run has been ended.
    """
    saved, said = folder / "outcome.json", folder / "said"
    saved.unlink(missing_ok=True)
    said.unlink(missing_ok=True)
    (folder / "request.json").write_text(json.dumps(request), encoding="utf-8")
    with (folder / "log").open("wb") as log:
        command = [sys.executable, "-P", "-m", "studies.running.child", function, str(folder)]
        streams = {
            "stdin": subprocess.PIPE,  # closes when this process dies: see _end_with_parent
            "stdout": log,
            "stderr": log,
        }
        code: int | None = None
        with (
            started(command, run, env=_environment(threads), **streams) as child,
            contextlib.suppress(subprocess.TimeoutExpired),
        ):
            code = _wait(child, deadline, said, tell)
    outcome = _read(saved)
    if outcome is not None or code is None:
        return outcome
    return {"status": "failed", "reason": _last_words(code, folder / "log")}


def _wait(
    child: subprocess.Popen[bytes], deadline: float | None, said: Path, tell: Tell | None
) -> int:
    """Return the exit code; tell what the process says before it ends."""
    left = math.inf if deadline is None else deadline
    code = None
    while tell is not None and code is None and left > _LOOK_SECONDS:
        begin = time.monotonic()
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = child.wait(_LOOK_SECONDS)
        left -= time.monotonic() - begin
        if said.exists():
            tell(said.read_text(encoding="utf-8"))
            tell = None
    if code is None:
        code = child.wait(None if deadline is None else max(left, 0.0))
    return code


def _environment(threads: int | None) -> dict[str, str]:
    """Return the environment of a child: our import path, and fixed threads."""
    environment = dict(os.environ)
    environment["PYTHONPATH"] = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
    if threads is not None:
        environment.update({name: str(threads) for name in THREAD_VARIABLES})
    return environment


def _read(path: Path) -> Outcome | None:
    try:
        outcome: Outcome = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return outcome


def _last_words(code: int, log: Path) -> str:
    """Return why a process ended that saved nothing."""
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    said = f": {lines[-1]}" if lines else ""
    if code < 0:
        name = signal.Signals(-code).name
        hint = ", probably out of memory" if name == "SIGKILL" else ""
        return f"the process was ended by {name}{hint}{said}"
    return f"the process ended with exit code {code}{said}"


def _end_with_parent(folder: Path) -> None:
    """Remove the folder and end this process group when the parent dies, however it dies."""

    def wait_for_end_of_input() -> None:
        while os.read(0, 1):  # not sys.stdin, whose lock must be free when Python ends
            pass
        shutil.rmtree(folder, ignore_errors=True)
        if hasattr(os, "killpg"):
            os.killpg(0, signal.SIGKILL)
        os._exit(1)

    threading.Thread(target=wait_for_end_of_input, daemon=True).start()


def _die_first() -> None:
    """Have the system end this process, and no other, should memory run out (Linux)."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")


def _compiling_told(tell: Tell) -> contextlib.AbstractContextManager[None]:
    """Tell when kernels are compiled; a function without any is spared the import of numba."""
    if "numba" not in sys.modules:
        return contextlib.nullcontext()
    from studies.compiling import compiling_told

    return compiling_told(tell)


def _main(function: str, folder: Path) -> None:
    _end_with_parent(folder)
    _die_first()

    def write(name: str, text: str) -> None:
        # Written beside and moved, so that the runner never reads half of it.
        written = folder / f"{name}.part"
        written.write_text(text, encoding="utf-8")
        written.replace(folder / name)

    def save(outcome: Outcome) -> None:
        write("outcome.json", json.dumps(outcome, allow_nan=False))

    request = json.loads((folder / "request.json").read_text(encoding="utf-8"))
    module, _, name = function.partition(":")
    try:
        called = getattr(importlib.import_module(module), name)
        with _compiling_told(lambda text: write("said", text)):
            called(request, save)
    except Exception as error:
        save(
            {
                "status": "failed",
                "reason": " ".join(f"{type(error).__name__}: {error}".split()),
                "traceback": traceback.format_exc(),
            }
        )


if __name__ == "__main__":
    _main(sys.argv[1], Path(sys.argv[2]))
