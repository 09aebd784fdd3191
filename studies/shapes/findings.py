"""What the rows say of subtrees against layers: where they predict better, where not, and time."""

from __future__ import annotations

from statistics import median

from studies.reporting import formats
from studies.reporting.curves import SAME, Curve, matched
from studies.shapes.pairs import Pair
from studies.shapes.proofs import plain, proven_gap
from studies.shapes.tables import LEAST_ALPHA, sizes_of
from studies.spec import ENSEMBLE_NAMES

# Where subtrees are worse by less, relatively, it is not said where.
_SLIGHTLY = 0.01


def conclusion(curves: list[Curve], pairs: list[Pair]) -> str:
    """Return in a few sentences what came out; of paths that are not there nothing is said.

    Parameters
    ----------
    curves
        All paths.
    pairs
        Those that are compared.
    """
    said = [_error_sentence(pairs), _where_not_sentence(pairs), _objective_sentence(pairs)]
    said += [_time_sentence(pairs), _proof_sentence(curves, pairs)]
    return " ".join(filter(None, said))


def _error_sentence(pairs: list[Pair]) -> str:
    """Say at how many points subtrees are no worse, without and with polishing."""
    parts = []
    for polished, how in ((False, "as they were"), (True, "after ridge polishing")):
        own = [pair for pair in pairs if pair.polished == polished and pair.compared]
        if own:
            total = sum(len(pair.compared) for pair in own)
            won = sum(pair.no_worse for pair in own)
            parts.append(f"{won} of {total} points with the trees' weights {how}")
    if not parts:
        return ""
    return (
        "At equal numbers of nodes, subtrees have a lower or equal test error than layers at "
        f"{' and at '.join(parts)}."
    )


def _where_not_sentence(pairs: list[Pair]) -> str:
    """Say by how much they are worse at the others, and where that is not slightly."""
    worse = [one for pair in pairs for one in pair.worse]
    if not worse:
        return ""
    slightly = sum(one.ratio <= 1.0 + _SLIGHTLY for one in worse)
    said = f"Of the other {len(worse)}, {slightly} are worse by at most {100 * _SLIGHTLY:g} %"
    parts = [
        f"{pair.instance.kind}{', ridge' if pair.polished else ''}: at {sizes_of(clearly)} % of "
        f"the nodes, by at most {formats.percent(max(one.ratio for one in clearly) - 1.0)} %"
        for pair in pairs
        if (clearly := [one for one in pair.worse if one.ratio > 1.0 + _SLIGHTLY])
    ]
    return f"{said}; by more on {'; on '.join(parts)}." if parts else f"{said}."


def _objective_sentence(pairs: list[Pair]) -> str:
    """Say at how many α their objective is no worse; the optimum never is."""
    values = [
        (one["objective"], other["objective"])
        for pair in pairs
        if not pair.polished
        for one, other in matched(pair.layers, pair.subtrees)
    ]
    if not values:
        return ""
    no_worse = sum(other <= one + SAME * abs(one) for one, other in values)
    return f"Their objective is at most that of layers at {no_worse} of {len(values)} α."


def _time_sentence(pairs: list[Pair]) -> str:
    """Say how the times of whole paths compare."""
    ratios = sorted(
        ratio for pair in pairs if not pair.polished and (ratio := pair.time_ratio) is not None
    )
    if not ratios:
        return ""
    middle, low, high = map(formats.factor, (median(ratios), ratios[0], ratios[-1]))
    spread = f" ({low} to {high})" if len(ratios) > 1 else ""
    return f"An unpolished path of subtrees takes {middle} the time of one of layers{spread}."


def _proof_sentence(curves: list[Curve], pairs: list[Pair]) -> str:
    """Say within what subtrees are proven, by kind of ensemble."""
    parts = []
    for kind, name in ENSEMBLE_NAMES.items():
        gaps = [
            proven_gap(pair.subtrees, plain(curves), LEAST_ALPHA)
            for pair in pairs
            if not pair.polished and pair.instance.ensemble == kind
        ]
        known = [gap for gap in gaps if gap is not None]
        if known and len(known) == len(gaps):
            parts.append(f"{formats.percent(max(known))} % for {name}")
    if not parts:
        return ""
    return (
        f"From α = {LEAST_ALPHA:g} on, unpolished subtrees are within {' and '.join(parts)} of "
        "the optimum, proven."
    )
