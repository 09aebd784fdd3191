"""One run at a time in a folder: a lock that the system takes back when its process ends."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from studies.errors import StudyError

LOCK = "run.lock"

# What a file system says that has no locks, such as some of networks.
_WITHOUT_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP}

# Windows lets nobody read what is locked: a byte far behind the process's number is.
_BEHIND = 1 << 20


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[str | None]:
    """Keep other runs out of a folder as long as this is entered.

    What holds is the lock on the file ``run.lock``, not the file itself: one that a killed run
    left behind keeps nobody out.

    Parameters
    ----------
    folder
        Must exist.

    Yields
    ------
    str or None
        A notice for the user where files cannot be locked, so that nobody is kept out.

    Raises
    ------
    StudyError
        When another run, of this process or another one, writes into the folder.
    OSError
        When the folder cannot be written.
    """
    path = folder / LOCK
    file: int | None = None
    try:
        file = _open(path)
    except OSError as error:
        if error.errno not in _WITHOUT_LOCKS:
            raise
        path.unlink(missing_ok=True)
    if file is None:
        yield f"files cannot be locked here; let no other run write into {folder} meanwhile"
        return
    try:
        os.ftruncate(file, 0)
        os.write(file, str(os.getpid()).encode())
        yield None
    finally:
        if sys.platform == "win32":  # where nobody can remove what is open
            os.close(file)
            with contextlib.suppress(OSError):
                path.unlink()
        else:
            path.unlink(missing_ok=True)
            os.close(file)


def _open(path: Path) -> int:
    """Return the lock file, open and locked."""
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            _lock(file)
            # The run that had it may have removed it between the two lines above.
            if _is_at(path, file):
                return file
        except BlockingIOError:
            holder = os.read(file, 20).decode(errors="replace").strip()
            by = f"process {holder}" if holder.isdecimal() else "another process"
            os.close(file)
            raise StudyError(
                f"{path.parent} is being written by {by}; wait for its end, or choose another --out"
            ) from None
        except BaseException:
            os.close(file)
            raise
        os.close(file)


def _is_at(path: Path, file: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(file))
    except FileNotFoundError:
        return False


if sys.platform == "win32":
    import msvcrt

    def _lock(file: int) -> None:
        """Lock an open file, or raise BlockingIOError when another one has locked it."""
        os.lseek(file, _BEHIND, os.SEEK_SET)
        try:
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            raise BlockingIOError from None
        finally:
            os.lseek(file, 0, os.SEEK_SET)

else:
    try:
        import fcntl
    except ImportError:  # as in a browser

        def _lock(file: int) -> None:
            """Raise OSError, for there are no locks."""
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    else:

        def _lock(file: int) -> None:
            """Lock an open file, or raise BlockingIOError when another one has locked it."""
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
