"""What a run has started in this process, so that all of it ends with the run.

Ctrl-C reaches one thread only; the others wait for processes, and learn of it by their end.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# Seconds that threads have to remove their folders.
TIDY_SECONDS = 2.0

_lock = threading.Lock()
_processes: dict[subprocess.Popen[bytes], str] = {}
_folders: dict[str, str] = {}
_ended: set[str] = set()


class RunEnded(Exception):
    """The run that something belongs to has been ended."""


def end_run(run: str) -> None:
    """End all processes of a run that were started here, and let it start no others.

    Returns when their folders are gone, too.
    """
    with _lock:
        _ended.add(run)
        for process, of in _processes.items():
            if of == run:
                kill_group(process)
    end = time.monotonic() + TIDY_SECONDS
    while run in list(_folders.values()) and time.monotonic() < end:
        time.sleep(0.01)


@contextlib.contextmanager
def started(command: list[str], run: str, **more: Any) -> Iterator[subprocess.Popen[bytes]]:
    """Start a process, in a group of its own, that `end_run` ends; end the group in any case.

    Raises
    ------
    RunEnded
        When the run has been ended, before or since.
    """
    with _lock:
        _require_going_on(run)
        process = subprocess.Popen(command, start_new_session=True, **more)
        _processes[process] = run
    try:
        yield process
    finally:
        with _lock:
            del _processes[process]
        kill_group(process)
        process.wait()
        if process.stdin is not None:
            process.stdin.close()
    _require_going_on(run)


@contextlib.contextmanager
def scratch_folder(run: str) -> Iterator[Path]:
    """Make a folder for temporary files of a run; it is removed at the end."""
    temporary = tempfile.TemporaryDirectory(prefix="forestprune-")
    _folders[temporary.name] = run
    try:
        with temporary as name:
            yield Path(name)
    finally:
        del _folders[temporary.name]


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a process, if it still runs, and all that it started."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()


def _require_going_on(run: str) -> None:
    if run in _ended:
        raise RunEnded(run)
