"""Word for the user that kernels are being compiled, when nothing else can be seen to happen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import event

KEPT = "compiling kernels, which may take a minute; they are kept for later runs"
NOT_KEPT = (
    "compiling kernels, which may take a minute; in every process anew, for there is no folder "
    "to keep them in: set NUMBA_CACHE_DIR to one"
)


class _First(event.Listener):
    """Tells of the first kernel that is compiled; those loaded from disk make no event."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell: Callable[[str], None] | None = tell

    def on_start(self, begun: Any) -> None:
        tell, self._tell = self._tell, None
        if tell is not None:
            tell(KEPT if begun.data["dispatcher"].stats.cache_path else NOT_KEPT)

    def on_end(self, ended: Any) -> None:
        """Nothing to say."""


@contextmanager
def compiling_told(tell: Callable[[str], None]) -> Iterator[None]:
    """Call a function with a sentence once a kernel must be compiled, at most once."""
    with event.install_listener("numba:compile", _First(tell)):
        yield
