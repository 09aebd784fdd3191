"""The tables of `shapes`: subtrees beside layers, and what is proven of both."""

from __future__ import annotations

from collections.abc import Sequence

from studies.reporting import formats
from studies.reporting.curves import Curve, by_instance
from studies.reporting.tables import NOT_RUN, Group, Table
from studies.shapes.pairs import SHAPE_NAMES, Comparison, Pair
from studies.shapes.proofs import own_gap, plain, proven_gap

# From this α on, in units of the variance of y, forests are to be proven within 0.1 %.
LEAST_ALPHA = 0.1

BRIEF_PAIRS = ("trees' weights", "points", "no worse at", "median change %", "time ratio")


def pair_table(pairs: list[Pair]) -> Table:
    """Return how the test errors of subtrees and layers compare at equal numbers of nodes."""
    header = (
        *BRIEF_PAIRS[:4],
        "worse at nodes %",
        "by at most %",
        "sizes without layers",
        BRIEF_PAIRS[4],
    )
    groups: dict[str, list[tuple[str, ...]]] = {}
    for pair in pairs:
        title = f"{pair.instance.kind}, {pair.instance.grid}"
        groups.setdefault(title, []).append(_pair_row(pair))
    return Table(
        "Test error of subtrees against layers at equal numbers of nodes",
        header,
        tuple(Group(title, tuple(rows)) for title, rows in groups.items()),
    )


def _pair_row(pair: Pair) -> tuple[str, ...]:
    worst = max((one.ratio for one in pair.worse), default=None)
    ratio = pair.time_ratio
    return (
        "after ridge" if pair.polished else "as they were",
        f"{len(pair.compared)}",
        f"{pair.no_worse}",
        formats.change(pair.error_ratio),
        sizes_of(pair.worse),
        formats.change(worst),
        f"{pair.apart}",
        NOT_RUN if ratio is None else formats.factor(ratio),
    )


def sizes_of(models: Sequence[Comparison]) -> str:
    """Return at which shares of the nodes models are, in percent."""
    return ", ".join(formats.percent(one.share) for one in models) or NOT_RUN


def proof_table(curves: list[Curve]) -> Table:
    """Return the largest gaps of the unpolished paths, and what the paths take."""
    header = (
        "unpolished path",
        f"own gap %, α ≥ {LEAST_ALPHA:g}",
        f"proven gap %, α ≥ {LEAST_ALPHA:g}",
        "proven gap %, all α",
        "path s",
    )
    groups = tuple(
        Group(
            f"{own[0].instance.kind}, {own[0].instance.grid}",
            tuple(_proof_row(curve, own) for curve in own),
        )
        for own in by_instance(plain(curves))
    )
    return Table("Largest gap along each path, by the best bound of any solver", header, groups)


def _proof_row(curve: Curve, own: list[Curve]) -> tuple[str, ...]:
    return (
        f"{SHAPE_NAMES[curve.cell.method.shape]} ({curve.cell.solver})",
        formats.percent(own_gap(curve, LEAST_ALPHA)),
        formats.percent(proven_gap(curve, own, LEAST_ALPHA)),
        formats.percent(proven_gap(curve, own)),
        formats.seconds(curve.seconds),
    )
