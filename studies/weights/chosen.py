"""Which models of two paths are compared: the smallest that are good enough on validation rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from statistics import median

from studies.reporting.curves import Curve, Point
from studies.spec import Instance

NAMES = {"nodes": "node weights", "depth": "depth weights"}

# How much more than the full model's the error on validation rows may be, in units of the
# variance of y, as the paper's φ; one is below what it has.
RISES = (0.0025, 0.01, 0.025, 0.05)


@dataclass(frozen=True)
class Model:
    """A chosen model, or the median of several seeds' models.

    Attributes
    ----------
    nodes, trees, mean_depth
        What is left, roots counted; the depth is the mean over the kept trees.
    test_mse
        On rows that had no say.
    rise
        That error as a part of the full model's there, less 1.
    """

    nodes: float
    trees: float
    mean_depth: float
    test_mse: float
    rise: float


@dataclass(frozen=True)
class Family:
    """Paths of both weights on the same data, one of each for a seed.

    Attributes
    ----------
    instance
        The first one.
    curves
        All paths.
    """

    instance: Instance
    curves: tuple[Curve, ...]

    def of(self, weights: str) -> list[Curve]:
        """Return the paths of some weights, seed by seed."""
        return [curve for curve in self.curves if curve.cell.method.weights == weights]

    @property
    def seeds(self) -> int:
        """Number of seeds."""
        return len({curve.instance.seed for curve in self.curves})

    @property
    def full(self) -> Model:
        """The full model, the median over seeds."""
        first = {curve.instance.seed: curve for curve in self.curves}
        return _median([_full(curve) for curve in first.values()])

    def model(self, weights: str, rise: float) -> Model | None:
        """Return the median of the chosen models; None where a seed has none."""
        return _median_of_all([chosen_model(curve, rise) for curve in self.of(weights)])

    def ratios(self, rise: float) -> Model | None:
        """Return the median of what depth weights leave, divided by what node weights do.

        ``rise`` then is that of the test error over the one of node weights. None where a seed
        has no model of one of the two.
        """
        by_seed = {curve.instance.seed: curve for curve in self.of("depth")}
        pairs = [
            (chosen_model(curve, rise), chosen_model(by_seed[curve.instance.seed], rise))
            for curve in self.of("nodes")
            if curve.instance.seed in by_seed
        ]
        return _median_of_all([_ratio(other, one) for one, other in pairs])


def families(curves: list[Curve]) -> Iterator[Family]:
    """Yield the paths of each data set and ensemble, whatever the seed."""

    def common(curve: Curve) -> Instance:
        return replace(curve.instance, seed=0)

    order = {instance: k for k, instance in enumerate(dict.fromkeys(map(common, curves)))}
    for _, members in groupby(sorted(curves, key=lambda curve: order[common(curve)]), key=common):
        own = tuple(members)
        yield Family(own[0].instance, own)


def chosen(curve: Curve, rise: float) -> Point | None:
    """Return the point of fewest nodes whose validation error is near enough to the full model's.

    The test rows have no say; of models of the same size it is the one of the smaller error.

    Parameters
    ----------
    rise
        How much more the error may be, in units of the variance of y.
    """
    most = curve.full["full"]["validation_mse"] + rise
    good = [p for p in curve.points if p["nodes"] and p["validation_mse"] <= most]
    return min(good, key=lambda p: (p["nodes"], p["validation_mse"]), default=None)


def chosen_model(curve: Curve, rise: float) -> Model | None:
    """Return the chosen point as a model."""
    point = chosen(curve, rise)
    if point is None:
        return None
    return Model(
        nodes=point["nodes"],
        trees=point["trees"],
        mean_depth=point["mean_depth"],
        test_mse=point["test_mse"],
        rise=point["test_mse"] / curve.full["full"]["test_mse"] - 1.0,
    )


def _full(curve: Curve) -> Model:
    full = curve.full
    return Model(full["nodes"], full["trees"], full["mean_depth"], full["full"]["test_mse"], 0.0)


def _ratio(one: Model | None, other: Model | None) -> Model | None:
    if one is None or other is None:
        return None
    return Model(
        nodes=one.nodes / other.nodes,
        trees=one.trees / other.trees,
        mean_depth=one.mean_depth / other.mean_depth,
        test_mse=one.test_mse / other.test_mse,
        rise=one.test_mse / other.test_mse - 1.0,
    )


def _median_of_all(models: list[Model | None]) -> Model | None:
    found = [model for model in models if model is not None]
    return _median(found) if found and len(found) == len(models) else None


def _median(models: list[Model]) -> Model:
    return Model(
        nodes=median(one.nodes for one in models),
        trees=median(one.trees for one in models),
        mean_depth=median(one.mean_depth for one in models),
        test_mse=median(one.test_mse for one in models),
        rise=median(one.rise for one in models),
    )
