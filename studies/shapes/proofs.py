"""What is proven of unpolished paths: the best bound that any solver has at an α."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from studies.reporting.curves import ROUNDING, Curve, Point, by_instance, matched


def plain(curves: list[Curve]) -> list[Curve]:
    """Return the paths without polishing: of others the last problem is another one."""
    return [curve for curve in curves if curve.cell.method.polish is None]


def own_gap(curve: Curve, least_alpha: float = 0.0) -> float | None:
    """Return the largest gap that a path's solver proves itself; None where it proves nothing.

    Parameters
    ----------
    least_alpha
        Smaller α, in units of the variance of y, do not count.
    """
    return _largest(p["gap"] for p in curve.points if p["alpha"] >= least_alpha)


def proven_gap(curve: Curve, curves: list[Curve], least_alpha: float = 0.0) -> float | None:
    """Return the largest gap of a path by the best bounds of all solvers.

    Parameters
    ----------
    curves
        All paths.
    least_alpha
        As for `own_gap`.
    """
    others = [dict(_bounds(curve, other)) for other in plain(curves) if _same_problem(curve, other)]
    gaps: list[float | None] = []
    for point in curve.points:
        if point["alpha"] >= least_alpha:
            known = [found[point["alpha"]] for found in others if point["alpha"] in found]
            gaps.append(_gap(point["objective"], max(known)) if known else None)
    return _largest(gaps)


def contradictions(curves: list[Curve]) -> Iterator[str]:
    """Yield each bound that is above what a path reaches of the same problem, or a narrower one.

    Layers are subtrees too, with the same node weights: no bound of subtrees is above an
    objective of layers.
    """
    for own in by_instance(plain(curves)):
        for bounding in own:
            for reaching in own:
                if bounding.cell.method.shape == "subtree" or _same_problem(bounding, reaching):
                    for bound, reached in matched(bounding, reaching):
                        excess = -1.0 if bound["bound"] is None else _excess(bound, reached)
                        if excess > ROUNDING:
                            yield (
                                f"{reaching.instance.kind}, {reaching.instance.grid}, "
                                f"α = {bound['alpha']:.3g}: the bound {bound['bound']!r} of "
                                f"{bounding.name} is {excess:.2g} above the objective "
                                f"{reached['objective']!r} of {reaching.name}"
                            )


def _excess(bound: Point, reached: Point) -> float:
    return float(bound["bound"] - reached["objective"])


def _bounds(curve: Curve, other: Curve) -> Iterator[tuple[float, float]]:
    """Yield the α of a path with what another one proves there."""
    for point, proof in matched(curve, other):
        if proof["bound"] is not None:
            yield point["alpha"], proof["bound"]


def _same_problem(one: Curve, other: Curve) -> bool:
    return one.instance == other.instance and one.cell.method == other.cell.method


def _gap(objective: float, bound: float) -> float:
    return max(objective - bound, 0.0) / objective if objective > 0.0 else 0.0


def _largest(gaps: Iterable[float | None]) -> float | None:
    """Return the largest; None where there is none, or one of them is not known."""
    found = list(gaps)
    known = [gap for gap in found if gap is not None]
    return max(known) if known and len(known) == len(found) else None
