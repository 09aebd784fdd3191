"""Two paths side by side: subtrees against depth layers, at equal numbers of nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import median

from studies.reporting.curves import SAME, Curve, Point, couples, matched
from studies.spec import Instance

SHAPE_NAMES = {"depth": "layers", "subtree": "subtrees"}


@dataclass(frozen=True)
class Comparison:
    """A model of subtrees, with the test error of layers at its size.

    Attributes
    ----------
    share
        Its nodes as a part of the full model's.
    ratio
        Its test error, divided by that of layers.
    """

    share: float
    ratio: float

    @property
    def no_worse(self) -> bool:
        """Whether subtrees have a lower or equal test error."""
        return self.ratio <= 1.0 + SAME


@dataclass(frozen=True)
class Pair:
    """Paths of layers and of subtrees on the same instance, with the same polishing."""

    layers: Curve
    subtrees: Curve

    @property
    def instance(self) -> Instance:
        """The instance."""
        return self.layers.instance

    @property
    def polished(self) -> bool:
        """Whether the trees got new weights."""
        return self.layers.cell.method.polish is not None

    @cached_property
    def compared(self) -> tuple[Comparison, ...]:
        """Every model of subtrees, the smallest first, of a size that layers reach."""
        found = []
        for point in _by_size(self.subtrees):
            error = self.layers.error_at(point["nodes"])
            if error is not None:
                ratio = point["test_mse"] / error
                found.append(Comparison(self.subtrees.share(point), ratio))
        return tuple(found)

    @property
    def apart(self) -> int:
        """Number of models of subtrees that no layers are as small or as large as."""
        return len(_by_size(self.subtrees)) - len(self.compared)

    @property
    def no_worse(self) -> int:
        """Number of compared models at which subtrees are no worse."""
        return sum(one.no_worse for one in self.compared)

    @property
    def worse(self) -> tuple[Comparison, ...]:
        """The compared models at which they are worse."""
        return tuple(one for one in self.compared if not one.no_worse)

    @property
    def error_ratio(self) -> float | None:
        """Median of the compared test errors of subtrees, divided by those of layers."""
        return median(one.ratio for one in self.compared) if self.compared else None

    @property
    def time_ratio(self) -> float | None:
        """Time of the α that both paths have, of subtrees divided by that of layers."""
        points = list(matched(self.layers, self.subtrees))
        before = sum(one["seconds"] for one, _ in points)
        return sum(other["seconds"] for _, other in points) / before if before > 0.0 else None


def named(curves: list[Curve]) -> list[Curve]:
    """Return the paths that are compared, those of the first solver, by their names here."""
    first = curves[0].cell.solver if curves else None
    return [replace(curve, name=name_of(curve)) for curve in curves if curve.cell.solver == first]


def name_of(curve: Curve) -> str:
    """Return a path's shape and polishing, for people."""
    method = curve.cell.method
    shape = SHAPE_NAMES[method.shape]
    return shape if method.polish is None else f"{shape}, then {method.polish}"


def pairs_of(curves: list[Curve]) -> list[Pair]:
    """Return the pairs among paths, instance by instance."""
    return [
        Pair(one, other)
        for one, other in couples(curves, _is("depth"), _is("subtree"))
        if one.cell.method == replace(other.cell.method, shape="depth")
    ]


def _is(shape: str) -> Callable[[Curve], bool]:
    return lambda curve: curve.cell.method.shape == shape


def _by_size(curve: Curve) -> list[Point]:
    return sorted((p for p in curve.points if p["nodes"]), key=lambda p: p["nodes"])
