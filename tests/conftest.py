"""Tiny problems with names, small enough for brute force."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from forestprune import LayerPruning, PruningData, SubtreePruning


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


def random_parents(generator: Any, splits: int) -> tuple[list[int], int]:
    """Parents in level order of a tree that has grown at random leaves, and its leaves."""
    children: dict[int, tuple[int, int]] = {}
    leaves = [0]
    for _ in range(splits):
        node = leaves.pop(int(generator.integers(len(leaves))))
        children[node] = (2 * len(children) + 1, 2 * len(children) + 2)
        leaves += children[node]
    order, parents = [0], [-1]
    for place, node in enumerate(order):
        if node in children:
            order += children[node]
            parents += [place, place]
    return parents, len(leaves)


def random_trees(
    seed: int, rows: int, splits: list[int], outputs: int = 1, signal: float = 0.6
) -> tuple[list[list[int]], list[Any], Any, Any]:
    """Parents, values and codes of trees with so many splits, and a response near their sum."""
    generator = np.random.default_rng(seed)
    parents, values, codes = [], [], []
    y = generator.normal(size=(rows, outputs))
    for count in splits:
        parent, leaves = random_parents(generator, count)
        value = np.zeros((len(parent), outputs))
        for node in range(1, len(parent)):
            value[node] = value[parent[node]] + generator.normal(size=outputs)
        code = generator.integers(leaves, size=rows)
        ends = np.setdiff1d(np.arange(len(parent)), parent)
        y += signal * value[ends[code]]
        parents.append(parent)
        values.append(value)
        codes.append(code)
    return parents, values, np.stack(codes), y


def _subtrees(seed: int, rows: int, splits: list[int], outputs: int = 1) -> PruningData:
    return PruningData.from_trees(*random_trees(seed, rows, splits, outputs))


def _subtree_outputs() -> SubtreePruning:
    weight = np.random.default_rng(1).integers(0, 4, size=15).astype(float)
    parents, values, codes, y = random_trees(24, 15, [3, 2, 4], outputs=3)
    data = PruningData.from_trees(parents, values, codes, y, sample_weight=weight)
    return SubtreePruning(data, 0.7)


def _subtree_ties() -> SubtreePruning:
    parents, values = [-1, 0, 0, 1, 1], [0.0, 1.0, -1.0, 1.0, 1.0]
    codes = np.tile([0, 1, 2, 0, 1, 2], (2, 1))
    y = [-1.0, 1.0, 1.0, -1.0, 0.5, -0.5]
    return SubtreePruning(PruningData.from_trees([parents] * 2, [values] * 2, codes, y), 0.0)


def _subtree_duplicates() -> SubtreePruning:
    parents, values, codes, y = random_trees(25, 10, [2, 3])
    twice = [0, 1, 1, 0]
    data = PruningData.from_trees(
        [parents[i] for i in twice], [0.5 * values[i] for i in twice], codes[twice], y
    )
    return SubtreePruning(data, 0.2)


def _subtree_constant() -> SubtreePruning:
    parents, values, codes, _ = random_trees(29, 10, [3, 3])
    return SubtreePruning(PruningData.from_trees(parents, values, codes, np.zeros(10)), 0.1)


def _subtree_weights() -> SubtreePruning:
    data = _subtrees(32, 12, [3, 2, 1])
    weights = np.split(np.arange(len(data.parent)) % 3 / 2.0, data.node_start[1:-1])
    return SubtreePruning(data, 0.2, weights)


SUBTREES: dict[str, Callable[[], SubtreePruning]] = {
    "subtrees": lambda: SubtreePruning(_subtrees(23, 14, [3, 4, 1, 2]), 0.8),
    "subtrees_outputs": _subtree_outputs,
    "subtrees_ties": _subtree_ties,
    "subtrees_duplicates": _subtree_duplicates,
    "subtrees_one_tree": lambda: SubtreePruning(_subtrees(26, 12, [7]), 0.5),
    "subtrees_stumps": lambda: SubtreePruning(_subtrees(27, 20, [1] * 8), 1.5),
    "subtrees_single_leaves": lambda: SubtreePruning(_subtrees(28, 5, [0] * 3), 1.0),
    "subtrees_some_single_leaves": lambda: SubtreePruning(_subtrees(28, 9, [0, 5, 0, 1]), 0.1),
    "subtrees_free": lambda: SubtreePruning(_subtrees(23, 14, [3, 4, 1, 2]), 0.0),
    "subtrees_costly": lambda: SubtreePruning(_subtrees(23, 14, [3, 4, 1, 2]), 1e6),
    "subtrees_constant": _subtree_constant,
    "subtrees_few_rows": lambda: SubtreePruning(_subtrees(30, 3, [2, 1, 3, 2]), 0.2),
    "subtrees_leaves": lambda: SubtreePruning(_subtrees(31, 12, [3, 3, 2]), 0.5, "leaves"),
    "subtrees_given_weights": _subtree_weights,
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
