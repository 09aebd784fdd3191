"""How many threads numerical libraries may use while something runs."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any

from threadpoolctl import ThreadpoolController


def limited_threads(threads: int) -> AbstractContextManager[Any]:
    """Limit the threads of all libraries that are loaded, and restore them at the end.

    Parameters
    ----------
    threads
        At least 1.
    """
    limits: AbstractContextManager[Any] = _libraries(len(sys.modules)).limit(limits=threads)
    return limits


@lru_cache(maxsize=1)
def _libraries(modules: int) -> ThreadpoolController:
    # Looking for them takes longer than a small problem. They come with modules: so long as
    # there are as many modules as before, there are no others.
    return ThreadpoolController()
