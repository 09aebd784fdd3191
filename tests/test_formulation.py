"""The formulation says what the mathematics says, whichever way it is asked."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
from conftest import random_layers

from forestprune import InvalidInput, LayerPruning, PruningData


def all_choices(problem: LayerPruning) -> list[tuple[int, ...]]:
    return list(itertools.product(*(range(depth + 1) for depth in problem.data.depths)))


def test_objective_is_the_formula() -> None:
    layers, y = random_layers(0, 9, [2, 3, 0], outputs=2)
    gamma = np.array([0.5, 2.0, 1.0])
    weight = np.arange(9.0)
    problem = LayerPruning(PruningData.from_layers(layers, y, gamma, weight), 0.8, "depth")
    for choice in all_choices(problem):
        prediction = sum(
            g * D[:, :k].sum(axis=1) for g, D, k in zip(gamma, layers, choice, strict=True)
        )
        loss = (weight[:, None] * (y - prediction) ** 2).sum() / weight.sum()
        expected = loss + 0.8 / (3 * 3) * sum(choice)
        assert problem.objective(choice) == pytest.approx(expected, rel=1e-12)


def test_node_weights_count_the_nodes_of_each_layer() -> None:
    data = PruningData.from_trees(
        [[-1, 0, 0, 1, 1], [-1, 0, 0]],
        [[0.0, 1.0, -1.0, 2.0, 0.5], [0.0, 1.0, 3.0]],
        np.array([[0, 1, 2], [0, 1, 1]]),
        [1.0, 2.0, 3.0],
    )
    problem = LayerPruning(data, 6.0, "nodes")
    assert [problem.penalty([2, 1]), problem.penalty([1, 0])] == [6.0, 2.0]
    assert [problem.kept_nodes([2, 1]), problem.kept_nodes([1, 0])] == [8, 3]
    # Leaves are numbered in level order: the first is the layer-1 node of value −1.
    np.testing.assert_array_equal(3.0 * data.trees.value[data.leaf_node[:3], 0], [-3.0, 6.0, 1.5])
    assert problem.objective([1, 1]) == pytest.approx(
        ((1 + 1 - 1) ** 2 + (2 - 1 - 3) ** 2 + (3 - 1 - 3) ** 2) / 3 + 4.0
    )


def test_canonical_forms_have_the_same_value_at_any_point(tiny: LayerPruning) -> None:
    form = tiny.canonical()
    gram, vector, constant = form.gram
    columns, target = form.rows()
    generator = np.random.default_rng(0)
    for _ in range(5):
        point = tiny.repaired(generator.uniform(size=form.n_variables))
        expected = pytest.approx(tiny.relaxed_objective(point), rel=1e-10, abs=1e-12)
        assert form.value(point) == expected
        linear = form.cost @ point
        assert point @ gram @ point - 2.0 * vector @ point + constant + linear == expected
        assert ((target - columns @ point) ** 2).sum() + linear == expected
        assert (point[form.upper] >= point[form.lower]).all()


def test_a_choice_and_its_point_agree(tiny: LayerPruning) -> None:
    for choice in all_choices(tiny)[:200]:
        point = tiny.point(choice)
        assert tiny.relaxed_objective(point) == pytest.approx(tiny.objective(choice), rel=1e-12)
        np.testing.assert_array_equal(tiny.rounded(point), choice)
        np.testing.assert_array_equal(tiny.repaired(point), point)


def test_linear_bound_is_below_every_choice_whatever_the_point(tiny: LayerPruning) -> None:
    best = min(tiny.objective(choice) for choice in all_choices(tiny))
    generator = np.random.default_rng(1)
    size = len(tiny.point(tiny.zero()))
    for _ in range(10):
        point = generator.uniform(-0.2, 1.2, size=size)
        assert tiny.linear_bound(point) <= best + tiny.tolerance


def test_prefix_products_are_inner_products() -> None:
    layers, y = random_layers(2, 11, [3, 1], outputs=2)
    weight = np.random.default_rng(0).uniform(0.5, 2.0, 11)
    data = PruningData.from_layers(layers, y, [0.5, 2.0], weight)
    for i, (D, gamma) in enumerate(zip(layers, [0.5, 2.0], strict=True)):
        prefixes = gamma * np.concatenate([np.zeros((11, 1, 2)), D.cumsum(axis=1)], axis=1)
        expected = np.einsum("j,jko,jlo->kl", weight, prefixes, prefixes)
        table = data.prefix_products[data.product_start[i] : data.product_start[i + 1]]
        np.testing.assert_allclose(table.reshape(expected.shape), expected, atol=1e-12)


def test_alpha_max_bounds_where_the_empty_model_stays(tiny: LayerPruning) -> None:
    certified = tiny.alpha_max_certified()
    assert tiny.alpha_max() <= certified + tiny.tolerance
    if np.all(tiny.canonical().cost > 0.0):
        above = tiny.with_alpha(certified * 1.001)
        empty = above.objective(above.zero())
        assert empty <= min(above.objective(choice) for choice in all_choices(above))
        assert above.linear_bound(above.point(above.zero())) == pytest.approx(empty)


def test_rows_of_weight_zero_are_as_if_removed() -> None:
    layers, y = random_layers(1, 10, [2, 3])
    weight = np.array([1.0, 0, 2, 0, 1, 1, 0, 3, 1, 1])
    kept = weight > 0
    whole = PruningData.from_layers(layers, y, 1.0, weight)
    fewer = PruningData.from_layers([D[kept] for D in layers], y[kept], 1.0, weight[kept])
    choice = [2, 1]
    for data in (whole, fewer):
        assert data.n_rows == kept.sum()
    assert LayerPruning(whole, 1.0, "depth").objective(choice) == pytest.approx(
        LayerPruning(fewer, 1.0, "depth").objective(choice), rel=1e-14
    )


def test_data_and_problems_survive_pickling(tiny: LayerPruning) -> None:
    tiny.objective(tiny.full())
    copy = pickle.loads(pickle.dumps(tiny))
    assert copy.objective(copy.full()) == tiny.objective(tiny.full())
    assert not copy.data.codes.flags.writeable


def test_arrays_of_the_data_cannot_be_changed(problem: LayerPruning) -> None:
    with pytest.raises(ValueError, match="read-only"):
        problem.data.target[0] = 1.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": [1.0, np.nan, 0.0]}, r"y must be finite; found nan at 1"),
        ({"y": [1.0, 2.0]}, r"D_list\[0\] must have shape \(2, depth\), got \(3, 2\)"),
        ({"y": ["a", "b", "c"]}, r"y must be numeric"),
        ({"y": [1.0, 2.0j, 3.0]}, r"y must be numeric: complex"),
        ({"y": None}, r"y must be finite, not None"),
        ({"D_list": []}, r"D_list must hold at least one array"),
        ({"D_list": [np.full((3, 1), np.inf)]}, r"D_list\[0\] must be finite"),
        ({"gamma": [1.0, 2.0]}, r"gamma must be a scalar or hold one number for each of the 1"),
        ({"sample_weight": [1.0, -1.0, 1.0]}, r"sample_weight must not be negative; found -1"),
        ({"sample_weight": [0.0, 0.0, 0.0]}, r"sample_weight must have a positive entry"),
        ({"sample_weight": [1.0]}, r"sample_weight must have shape \(3,\), got \(1,\)"),
    ],
)
def test_bad_layers_are_refused(change: dict[str, object], message: str) -> None:
    given: dict[str, object] = {"D_list": [np.ones((3, 2))], "y": [1.0, 2.0, 3.0]} | change
    with pytest.raises(InvalidInput, match=message):
        PruningData.from_layers(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"alpha": -1.0}, "alpha must be a finite number of at least 0, not -1.0"),
        ({"alpha": "big"}, "alpha must be a number of at least 0, not 'big'"),
        ({"alpha": np.nan}, "alpha must be a finite number"),
        ({"alpha": "1"}, "alpha must be a number of at least 0, not '1'"),
        ({"alpha": True}, "alpha must be a number of at least 0, not True"),
        ({"weights": "nodes"}, 'accepted here: "depth"'),
        ({"weights": "leaves"}, "weights must be .* not 'leaves'"),
        ({"weights": [[1.0]]}, "one array for each of the 2 trees, got 1"),
        ({"weights": [[1.0], [1.0]]}, r"weights\[0\] must have shape \(2,\)"),
        ({"weights": [[1.0, -1.0], [1.0]]}, r"weights\[0\] must not be negative; found -1"),
        ({"data": [[1.0]]}, "data must be PruningData .* not list"),
    ],
)
def test_bad_problems_are_refused(change: dict[str, object], message: str) -> None:
    layers, y = random_layers(0, 5, [2, 1])
    given: dict[str, object] = {
        "data": PruningData.from_layers(layers, y),
        "alpha": 1.0,
        "weights": "depth",
    } | change
    with pytest.raises(InvalidInput, match=message):
        LayerPruning(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ([0, 0], "one depth for each of the 4 trees"),
        ([0, 4, 0, 0], r"choice\[1\] must lie between 0 and the tree's depth 3, got 4"),
        ([-1, 0, 0, 0], r"choice\[0\]"),
        ([0.5, 0, 0, 0], "choice must hold integers"),
    ],
)
def test_bad_choices_are_refused(problem: LayerPruning, choice: list[float], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        problem.objective(choice)
    with pytest.raises(InvalidInput, match="beta must be None or 4 ones"):
        problem.objective(problem.zero(), beta=[1.0, 2.0, 1.0, 1.0])


@pytest.mark.parametrize(
    ("parents", "values", "codes", "message"),
    [
        ([[0, 0]], [[0.0, 1.0]], [[0, 0]], "begin with the root's"),
        ([[-1, 2, 1]], [[0.0, 1.0, 1.0]], [[0, 0]], "level order"),
        ([[-1, 0, 1, 0]], [[0.0, 1.0, 1.0, 1.0]], [[0, 0]], "level order"),
        ([[-1, 0]], [[1.0, 1.0]], [[0, 0]], "must be 0 at the root"),
        ([[-1, 0, 0]], [[0.0, 1.0, 1.0]], [[0, 2]], "codes must lie between 0"),
        ([[-1, 0, 0]], [[0.0, 1.0, 1.0]], [[0, 0, 0]], "codes must have shape"),
    ],
)
def test_bad_trees_are_refused(
    parents: list[list[int]], values: list[list[float]], codes: list[list[int]], message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        PruningData.from_trees(parents, values, np.array(codes), [1.0, 2.0])
