"""A dask cluster as joblib's backend."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import joblib

from studies.errors import StudyError
from studies.running.dispatch import slots

CONNECT_SECONDS = 5


@contextmanager
def dask_cluster(address: str) -> Iterator[None]:
    """Have joblib hand its work to a dask cluster.

    Parameters
    ----------
    address
        Of the scheduler: ``tcp://HOST:PORT``.

    Raises
    ------
    StudyError
        When dask is not installed, no scheduler answers within seconds, or the cluster takes
        fewer than two tasks at once: joblib would then work here instead.
    """
    try:
        client = _client_class()(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except StudyError:
        raise
    except Exception as error:  # whatever an answer that is none of dask's is taken for
        raise StudyError(f"no dask scheduler answers at {address!r}: {error}") from None
    with client, joblib.parallel_config(backend="dask", client=client):
        places = slots(None)
        if places < 2:
            raise StudyError(
                f"the cluster at {address} takes {places} task at once, at least 2 are needed; "
                "start more workers, or one with more threads"
            )
        yield


def _client_class() -> Any:
    try:
        return importlib.import_module("distributed").Client
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("distributed", "dask"):
            raise
        raise StudyError(
            "--dask needs dask, which is not here; install it with: pip install 'forestprune[dask]'"
        ) from None
