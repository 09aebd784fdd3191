"""Statistics over many problems that one outlier, or one failure, does not decide."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence

# Of the order of the fastest solves: what differs below it hardly counts.
SHIFT_SECONDS = 0.01


def shifted_geometric_mean(seconds: Iterable[float], shift: float = SHIFT_SECONDS) -> float:
    """Return exp(mean log(t + s)) − s, inf for no times or an infinite one.

    Parameters
    ----------
    seconds
        Times of at least 0.
    shift
        s > 0, in seconds.
    """
    logarithms = [math.log(second + shift) for second in seconds]
    if not logarithms or math.inf in logarithms:
        return math.inf
    return math.exp(statistics.fmean(logarithms)) - shift


def median(values: Iterable[float]) -> float:
    """Return the median where inf stands for not reached; inf for no values.

    Of an even number of values it is the upper one of the middle two when that is inf.
    """
    ordered = sorted(values)
    return statistics.median(ordered) if ordered else math.inf


def time_to_gap(trace: Iterable[tuple[float, float]], gap: float) -> float:
    """Return the seconds of the first (seconds, gap) of a trace that is at most ``gap``, or inf."""
    return next((seconds for seconds, reached in trace if reached <= gap), math.inf)


def performance_profile(
    times: Mapping[str, Sequence[float]],
) -> dict[str, list[tuple[float, float]]]:
    """Return the profiles of Dolan and Moré (2002).

    Parameters
    ----------
    times
        By solver, the seconds to solve each problem, inf where it did not; all sequences in
        the same order of problems.

    Returns
    -------
    dict
        By solver, steps (τ, share): from τ on, that share of all problems was solved within
        τ times the time of the fastest solver on the problem. No steps: solved none.
    """
    fastest = [min(column) for column in zip(*times.values(), strict=True)]
    profiles = {}
    for solver, own in times.items():
        ratios = sorted(
            own_time / max(best, 1e-9)
            for own_time, best in zip(own, fastest, strict=True)
            if math.isfinite(own_time)
        )
        profiles[solver] = [(ratio, (k + 1) / len(fastest)) for k, ratio in enumerate(ratios)]
    return profiles
