"""The machine a study runs on: versions, processor, memory."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from solvers import peak_bytes

_PACKAGES = (
    "forestprune",
    "numpy",
    "scipy",
    "scikit-learn",
    "numba",
    "cvxpy",
    "ecos",
    "clarabel",
    "pyomo",
    "highspy",
    "pyscipopt",
    "mosek",
)


def environment() -> dict[str, Any]:
    """Return versions, interpreter, machine and time, as plain values."""
    return {
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "system": platform.platform(),
        "host": platform.node(),
        "machine": platform.machine(),
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "memory_mb": _megabytes(_total_bytes()),
        "versions": {name: version for name in _PACKAGES if (version := _version(name))},
        "started": now(),
    }


def now() -> str:
    """Return the time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def cpu_model() -> str:
    """Return the processor's name as the system gives it."""
    for line in _lines("/proc/cpuinfo"):
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def free_bytes() -> int | None:
    """Return how much memory a new process can have, or None where that is not known.

    The smaller of what the system has free and what a container's limit leaves.
    """
    known = [amount for amount in (_system_free(), _container_free()) if amount is not None]
    return min(known, default=None)


def peak_megabytes(*others: int | None) -> float | None:
    """Return the most memory that this process, or one it started, has held.

    Parameters
    ----------
    *others
        Peaks of processes still running, in bytes.
    """
    try:
        import resource
    except ImportError:  # Windows
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    ended = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * unit
    return _megabytes(max(peak_bytes() or 0, ended, *(amount or 0 for amount in others)))


def _megabytes(amount: int | None) -> float | None:
    return None if amount is None else round(amount / 1e6, 1)


def _total_bytes() -> int | None:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _system_free() -> int | None:
    free = _kilobytes("/proc/meminfo", "MemAvailable")
    return _total_bytes() if free is None else free


def _container_free() -> int | None:
    limit, used = (_lines(f"/sys/fs/cgroup/memory.{name}")[:1] for name in ("max", "current"))
    if not limit or not used or not limit[0].isdigit():
        return None
    return max(int(limit[0]) - int(used[0]), 0)


def _kilobytes(path: str, field: str) -> int | None:
    """Return a field of a file of lines such as ``VmHWM:   1234 kB``, in bytes."""
    for line in _lines(path):
        name, _, amount = line.partition(":")
        if name == field:
            return int(amount.split()[0]) * 1024
    return None


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
