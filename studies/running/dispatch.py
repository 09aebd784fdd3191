"""Work handed to joblib: threads of this process, or the backend that the user has chosen."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import joblib
from joblib.parallel import get_active_backend

from studies.errors import StudyError

T = TypeVar("T")
R = TypeVar("R")


def slots(jobs: int | None) -> int:
    """Return how many tasks run at once.

    Parameters
    ----------
    jobs
        As many; -1 for one a core; None for what `joblib.parallel_config` says, or else 1. A
        cluster's workers say themselves how many they take.

    Raises
    ------
    StudyError
        For 0 and numbers below -1, and when a cluster has no workers.
    """
    if jobs is not None and jobs < 1 and jobs != -1:
        raise StudyError(f"jobs must be a number above 0, or -1 for one a core, not {jobs}")
    asked = joblib.Parallel(jobs).n_jobs  # as the backend has it for None
    try:
        return int(joblib.effective_n_jobs(asked))
    except TimeoutError:
        raise StudyError("the cluster has no workers") from None


def in_this_process() -> bool:
    """Return whether workers would be threads of this process."""
    return bool(getattr(_backend(), "supports_sharedmem", False))


def arrivals(
    work: Callable[[T], R], tasks: Sequence[T], jobs: int
) -> Generator[tuple[T, R | Exception], None, None]:
    """Yield each task with its answer, or with the error of its worker, in order of arrival.

    Where a worker dies, most backends do not say with which task: those that were in flight
    are handed out once more, one by one.

    Parameters
    ----------
    work
        What is called with a task; both can be pickled.
    jobs
        From `slots`.
    """
    left = set(range(len(tasks)))  # places of tasks without an answer
    suspects: set[int] = set()  # those that may have killed a worker
    # A backend that answers only when it has all answers, as ray's, gets round after round.
    as_they_come = bool(getattr(_backend(), "supports_return_generator", False))
    while left:
        in_flight: set[int] = set()
        # Threads are enough where the work is done in processes that they start; this is no
        # more than a hint, which a backend chosen by the user goes before.
        parallel = joblib.Parallel(
            jobs,
            prefer="threads",
            return_as="generator_unordered" if as_they_come else "list",
            pre_dispatch="n_jobs",  # a task waits here until there is a slot for it
            batch_size=1,
        )
        places = [min(suspects)] if suspects else sorted(left)[: None if as_they_come else jobs]
        answers: Any = None
        try:
            with _lost_tasks_told():
                answers = parallel(_handed_out(work, tasks, places, in_flight))
                for place, answer in answers:
                    for those in (in_flight, left, suspects):
                        those.discard(place)
                    yield tasks[place], answer
        except Exception as error:
            if not in_flight:
                raise
            found = in_flight & suspects
            suspects = (suspects | in_flight) - found
            left -= found
            yield from ((tasks[place], error) for place in found)
        finally:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that tasks were in flight
                if isinstance(answers, Generator):
                    answers.close()


def _handed_out(
    work: Callable[[T], R], tasks: Sequence[T], places: list[int], in_flight: set[int]
) -> Iterator[Any]:
    """Yield calls, and keep account of them."""
    for place in places:
        in_flight.add(place)
        yield joblib.delayed(_answer)(place, work, tasks[place])


def _answer(place: int, work: Callable[[T], R], task: T) -> tuple[int, R]:
    return place, work(task)


def _backend() -> Any:
    return get_active_backend(prefer="threads")[0]


@contextmanager
def _lost_tasks_told() -> Iterator[None]:
    """Have joblib's backend for dask answer for tasks that dask gives up.

    It keeps their errors to itself, and joblib waits for ever (as of joblib 1.6).
    """
    backend = _backend()
    if type(backend).__name__ != "DaskDistributedBackend":
        yield
        return
    submit = backend.submit

    def submit_and_tell(batch: Any, callback: Callable[[list[Any]], None]) -> Any:
        job = submit(batch, callback)
        ((_, (place, *_), _),) = batch.items  # of `_answer`

        def tell(done: Any) -> None:
            if done.exception() is not None:
                callback([(place, done.exception())])

        job.add_done_callback(tell)
        return job

    backend.submit = submit_and_tell
    try:
        yield
    finally:
        del backend.submit
