"""Tiny problems with names, small enough for brute force."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from forestprune import LayerPruning, PruningData


def random_layers(
    seed: int, rows: int, depths: list[int], outputs: int = 1, signal: float = 0.5
) -> tuple[list[Any], Any]:
    """D arrays of the given depths and a response that partly follows them."""
    generator = np.random.default_rng(seed)
    shape = (outputs,) if outputs > 1 else ()
    layers = [generator.normal(size=(rows, depth, *shape)) for depth in depths]
    response = generator.normal(size=(rows, *shape))
    return layers, response + signal * sum(layer.sum(axis=1) for layer in layers)


def _random(**options: Any) -> LayerPruning:
    layers, y = random_layers(3, 12, [2, 3, 1, 2], **options)
    return LayerPruning(PruningData.from_layers(layers, y, 0.7), 0.4, "depth")


def _weighted_outputs() -> LayerPruning:
    layers, y = random_layers(4, 15, [2, 2, 3], outputs=3)
    weight = np.random.default_rng(0).integers(0, 4, size=15).astype(float)
    return LayerPruning(PruningData.from_layers(layers, y, 0.9, weight), 0.5, "depth")


def _ties() -> LayerPruning:
    layers = [np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0], [0.0, 0.0]])] * 2
    return LayerPruning(PruningData.from_layers(layers, [1.0, -1.0, 0.5, -0.5]), 0.0, "depth")


def _duplicates() -> LayerPruning:
    layers, y = random_layers(5, 10, [2, 3])
    data = PruningData.from_layers([layers[0], layers[1], layers[1], layers[0]], y, 0.4)
    return LayerPruning(data, 0.2, "depth")


def _one_tree() -> LayerPruning:
    layers, y = random_layers(6, 8, [4])
    return LayerPruning(PruningData.from_layers(layers, y), 0.3, "depth")


def _stumps() -> LayerPruning:
    layers, y = random_layers(7, 20, [1] * 8)
    return LayerPruning(PruningData.from_layers(layers, y, 0.5), 1.0, "depth")


def _single_leaves() -> LayerPruning:
    layers = [np.zeros((5, 0))] * 3
    return LayerPruning(PruningData.from_layers(layers, [1.0, 2.0, 0.0, -1.0, 3.0]), 1.0, "depth")


def _some_single_leaves() -> LayerPruning:
    layers, y = random_layers(8, 9, [0, 3, 0, 1])
    return LayerPruning(PruningData.from_layers(layers, y), 0.1, "depth")


def _free() -> LayerPruning:
    return _random().with_alpha(0.0)


def _costly() -> LayerPruning:
    return _random().with_alpha(1e6)


def _zero_target() -> LayerPruning:
    layers, _ = random_layers(9, 10, [2, 2])
    return LayerPruning(PruningData.from_layers(layers, np.zeros(10)), 0.1, "depth")


def _few_rows() -> LayerPruning:
    layers, y = random_layers(10, 3, [2, 1, 2, 1, 2])
    return LayerPruning(PruningData.from_layers(layers, y), 0.2, "depth")


def _collinear() -> LayerPruning:
    layers, y = random_layers(11, 12, [2, 2])
    return LayerPruning(
        PruningData.from_layers([layers[0], 2.0 * layers[0], -layers[0], layers[1]], y),
        0.1,
        "depth",
    )


def _given_weights() -> LayerPruning:
    layers, y = random_layers(12, 12, [2, 3, 1])
    weights = [[0.0, 1.0], [2.0, 0.0, 3.0], [0.5]]
    return LayerPruning(PruningData.from_layers(layers, y), 0.6, weights)


TINY: dict[str, Callable[[], LayerPruning]] = {
    "random": _random,
    "weighted_outputs": _weighted_outputs,
    "ties": _ties,
    "duplicates": _duplicates,
    "one_tree": _one_tree,
    "stumps": _stumps,
    "single_leaves": _single_leaves,
    "some_single_leaves": _some_single_leaves,
    "free": _free,
    "costly": _costly,
    "zero_target": _zero_target,
    "few_rows": _few_rows,
    "collinear": _collinear,
    "given_weights": _given_weights,
}


@pytest.fixture(params=sorted(TINY))
def tiny(request: pytest.FixtureRequest) -> LayerPruning:
    """Each of the named tiny problems in turn."""
    return TINY[request.param]()


@pytest.fixture
def problem() -> LayerPruning:
    """One ordinary tiny problem."""
    return _random()


@pytest.fixture
def larger() -> LayerPruning:
    """A problem with too many choices to enumerate, on which solvers take a while."""
    layers, y = random_layers(13, 1500, [4] * 40, signal=0.1)
    return LayerPruning(PruningData.from_layers(layers, y, 0.2), 0.5, "depth")


@pytest.fixture
def make_random() -> Callable[[int], LayerPruning]:
    """A random tiny problem for every seed, with weights and several outputs now and then."""

    def make(seed: int) -> LayerPruning:
        generator = np.random.default_rng(seed)
        rows, trees = int(generator.integers(2, 25)), int(generator.integers(1, 6))
        outputs = int(generator.choice([1, 1, 2]))
        layers, y = random_layers(
            seed, rows, [int(d) for d in generator.integers(0, 4, size=trees)], outputs
        )
        weight = generator.integers(1, 4, size=rows) if seed % 3 == 0 else None
        data = PruningData.from_layers(layers, y, generator.uniform(0.2, 1.5, trees), weight)
        alpha = 10.0 ** generator.uniform(-2, 1) * data.target_square
        return LayerPruning(data, alpha, "depth")

    return make
