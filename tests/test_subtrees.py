"""Subtree pruning against enumeration and dense arithmetic."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from forestprune import InvalidInput, LayerPruning, PruningData, SubtreePruning, solve, verify
from solvers._choices.descent import Descent
from solvers._core.base import Control


def random_tree(generator: Any, most: int) -> tuple[list[int], int]:
    """Parents in level order of a random binary tree with at most so many splits."""
    parents, layer = [-1], [0]
    left = int(generator.integers(0, most + 1))
    while left and layer:
        split = [v for v in layer if generator.random() < 0.7][:left]
        layer = []
        for v in split:
            layer += [len(parents), len(parents) + 1]
            parents += [v, v]
        left -= len(split)
        if not split:
            break
    leaves = len(parents) - len(set(parents) - {-1})
    return parents, leaves


def make_data(seed: int, outputs: int = 1, trees: int = 4, most: int = 4) -> PruningData:
    """Random trees with random node values, rows in random leaves."""
    generator = np.random.default_rng(seed)
    rows = int(generator.integers(4, 25))
    shapes = [random_tree(generator, most) for _ in range(trees)]
    values, codes = [], []
    for parents, leaves in shapes:
        value = generator.normal(size=(len(parents), outputs))
        value[0] = 0.0
        values.append(value)
        codes.append(generator.integers(0, leaves, size=rows))
    y = generator.normal(size=(rows, outputs))
    weight = generator.integers(1, 4, size=rows) if seed % 3 == 0 else None
    return PruningData.from_trees(
        [parents for parents, _ in shapes], values, np.stack(codes), y, sample_weight=weight
    )


def subtrees_of(parents: list[int]) -> list[Any]:
    """All rooted subtrees as marks, by trying every set of splits."""
    inner = sorted(set(parents) - {-1})
    found = []
    for made in product([0, 1], repeat=len(inner)):
        chosen = {v for v, m in zip(inner, made, strict=True) if m}
        if all(parents[v] == -1 or parents[v] in chosen for v in chosen):
            marks = [int(p in chosen) for p in parents]
            marks[0] = int(bool(chosen))
            found.append(np.array(marks))
    return found


def parents_of(data: PruningData, i: int) -> list[int]:
    return [int(p) for p in data.parent[data.node_start[i] : data.node_start[i + 1]]]


def predicted(data: PruningData, i: int, marks: Any) -> Any:
    """What tree i predicts on the rows when some of its nodes are kept."""
    parents = parents_of(data, i)
    values = data.value[data.node_start[i] : data.node_start[i + 1]]
    leaves = data.leaf_node[data.leaf_start[i] : data.leaf_start[i + 1]]
    rows = []
    for node in leaves[data.codes[i]]:
        while node > 0 and not marks[node]:
            node = parents[node]
        rows.append(values[node])
    return np.array(rows)


def objective(problem: SubtreePruning, choice: Any) -> float:
    data = problem.data
    residual = np.array(data.target)
    for i in range(data.n_trees):
        residual -= predicted(data, i, choice[data.node_start[i] : data.node_start[i + 1]])
    loss = (data.row_weight[:, None] * residual**2).sum() / data.total_weight
    roots = data.node_start[:-1]
    inner = np.ones(len(choice), dtype=bool)
    inner[roots] = False
    return float(loss + problem.alpha * choice[inner].sum() / max(inner.sum(), 1))


def every(data: PruningData) -> list[Any]:
    per_tree = [subtrees_of(parents_of(data, i)) for i in range(data.n_trees)]
    return [np.concatenate(parts) for parts in product(*per_tree)]


@pytest.mark.parametrize("seed", range(12))
def test_objective_and_bounds_by_plain_arithmetic(seed: int) -> None:
    data = make_data(seed, outputs=1 + seed % 2)
    problem = SubtreePruning(data, 0.3 * data.target_square)
    choices = every(data)
    assert problem.count_choices() == len(choices)
    values = [objective(problem, choice) for choice in choices]
    least = min(values)
    for k in np.random.default_rng(seed).permutation(len(choices))[:20]:
        assert problem.objective(choices[k]) == pytest.approx(values[k], rel=1e-12)
        assert problem.linear_bound(problem.point(choices[k])) <= least + problem.tolerance
        np.testing.assert_array_equal(problem.rounded(problem.point(choices[k])), choices[k])
    generator = np.random.default_rng(seed)
    for _ in range(20):
        point = generator.uniform(-0.2, 1.2, len(problem.point(choices[0])))
        assert problem.linear_bound(point) <= least + problem.tolerance
        feasible = problem.repaired(point)
        mixed = problem.mixture(*problem.parts(feasible))
        np.testing.assert_allclose(mixed, feasible, atol=1e-12)
        form = problem.canonical()
        assert form.value(feasible) == pytest.approx(problem.relaxed_objective(point), rel=1e-10)


@pytest.mark.parametrize("seed", range(40))
def test_solvers_equal_enumeration(seed: int) -> None:
    data = make_data(seed, outputs=1 + seed % 2, most=3)
    problem = SubtreePruning(data, 10.0 ** (seed % 4 - 3) * data.target_square)
    least = min(objective(problem, choice) for choice in every(data))
    exact = solve(problem, "brute_force")
    assert exact.objective == pytest.approx(least, rel=1e-12, abs=problem.tolerance)
    for label in ("cbcd", "relaxation", "branch_and_bound", "relaxation[form=gram]"):
        result = solve(problem, label)
        assert result.bound <= least + problem.tolerance
        assert result.objective >= least - problem.tolerance
        assert verify(problem, result).sound
        if label == "branch_and_bound" or result.guarantee == "optimal":
            assert result.objective == pytest.approx(least, rel=1e-6, abs=problem.tolerance)
    labels = [f"relaxation[form={form},tolerance=1e-10]" for form in ("rows", "gram")]
    rows, gram = (solve(problem, label).bound for label in labels)
    assert rows == pytest.approx(gram, rel=1e-6, abs=1e-9 * data.target_square)


@pytest.mark.parametrize("seed", range(15))
def test_every_block_update_is_the_best(seed: int) -> None:
    data = make_data(seed, trees=3)
    problem = SubtreePruning(data, 0.1 * data.target_square)
    result = solve(problem, "cbcd[local_search=False]")
    assert result.termination in ("converged", "gap_reached")
    for i in range(data.n_trees):
        nodes = slice(data.node_start[i], data.node_start[i + 1])
        for marks in subtrees_of(parents_of(data, i)):
            other = result.choice.copy()
            other[nodes] = marks
            assert objective(problem, other) >= result.objective - 10 * problem.tolerance


@pytest.mark.parametrize("seed", range(10))
def test_depth_layers_never_have_a_lower_optimum(seed: int) -> None:
    data = make_data(seed)
    alpha = 0.2 * data.target_square
    layers, subtrees = LayerPruning(data, alpha), SubtreePruning(data, alpha)
    best = solve(layers, "brute_force"), solve(subtrees, "brute_force")
    assert best[1].objective <= best[0].objective + layers.tolerance
    relaxed = [solve(p, "relaxation[tolerance=1e-10]").bound for p in (layers, subtrees)]
    assert relaxed[1] <= relaxed[0] + 1e-8 * data.target_square


@pytest.mark.parametrize("seed", range(10))
def test_zero_is_left_exactly_below_alpha_max(seed: int) -> None:
    data = make_data(seed)
    problem = SubtreePruning(data, 1.0)
    top, certified = problem.alpha_max(), problem.alpha_max_certified()
    if top > 0.0:
        label = "cbcd[local_search=False]"
        assert not solve(problem.with_alpha(1.001 * top), label).choice.any()
        assert solve(problem.with_alpha(0.999 * top), label).choice.any()
    assert certified >= top - 1e-12
    at = problem.with_alpha(max(certified, 1e-9) * 1.000001)
    zero = at.zero()
    assert at.linear_bound(at.point(zero)) >= at.objective(zero) - 10 * at.tolerance


@pytest.mark.parametrize("seed", range(8))
def test_marks_are_accepted_exactly_when_they_are_subtrees(seed: int) -> None:
    data = make_data(seed, trees=1, most=3)
    problem = SubtreePruning(data, 1.0)
    right = {choice.tobytes() for choice in every(data)}
    for marks in product([0, 1], repeat=len(data.parent)):
        choice = np.array(marks)
        if choice.tobytes() in right:
            np.testing.assert_array_equal(problem.checked(choice), choice)
        else:
            with pytest.raises(InvalidInput):
                problem.checked(choice)


def test_leaf_weights_count_the_leaves_of_kept_trees() -> None:
    data = make_data(1)
    problem = SubtreePruning(data, 1.0, "leaves")
    total = problem.penalty(problem.full())
    for choice in every(data)[:50]:
        leaves = 0
        for i in range(data.n_trees):
            marks = choice[data.node_start[i] : data.node_start[i + 1]]
            kept = np.flatnonzero(marks)
            parents = parents_of(data, i)
            leaves += len(set(kept) - {parents[v] for v in kept})
        all_leaves = sum(
            len(parents_of(data, i)) - len(set(parents_of(data, i)) - {-1})
            for i in range(data.n_trees)
            if len(parents_of(data, i)) > 1
        )
        assert problem.penalty(choice) == pytest.approx(total * leaves / all_leaves)


def test_what_is_not_accepted() -> None:
    data = make_data(2, trees=2, most=4)
    problem = SubtreePruning(data, 1.0)
    full = problem.full()
    assert full.sum() > 4
    with pytest.raises(InvalidInput, match="one mark for each"):
        problem.checked([1, 0])
    with pytest.raises(InvalidInput, match="0 or 1"):
        problem.checked(2 * full)
    child = int(np.flatnonzero(data.parent >= 0)[0])
    wrong = full.copy()
    wrong[child] = 0
    with pytest.raises(InvalidInput, match=r"sibling|children of node"):
        problem.checked(wrong)
    root_alone = problem.zero()
    root_alone[int(data.node_start[0])] = 1
    with pytest.raises(InvalidInput, match="a root, differs from its children"):
        problem.checked(root_alone)
    with pytest.raises(InvalidInput, match='weights must be "nodes"'):
        SubtreePruning(data, 1.0, "depth")
    with pytest.raises(InvalidInput, match=r"weights\[0\] must have shape"):
        SubtreePruning(data, 1.0, [[1.0], [1.0]])
    plain = PruningData.from_layers([np.ones((3, 1))], [1.0, 2.0, 3.0])
    with pytest.raises(InvalidInput, match="needs the trees"):
        SubtreePruning(plain, 1.0)


@pytest.mark.parametrize("kind", [LayerPruning, SubtreePruning])
def test_a_swap_taken_back_leaves_nothing_behind(kind: Any) -> None:
    data = make_data(1, trees=12, most=6)
    problem = kind(data, 0.1 * data.target_square)
    descent = Descent(problem, problem.zero())
    descent.run(Control())
    saved, objective = descent.saved(), descent.objective
    before = descent.saved()
    for out, into in ((0, 1), (2, None), (None, 3)):
        descent.exchange(out, into)
        choice = descent.state.choice.copy()
        assert descent.objective == pytest.approx(problem.objective(choice), rel=1e-12)
        assert out is None or not descent.kept[out]
        descent.settle(Control())
        descent.restore(saved, objective)
        for now, then in zip(descent.state, before, strict=True):
            np.testing.assert_array_equal(now, then)
    descent.exchange(0, None)
    changed, objective = descent.state.choice.copy(), descent.objective
    descent.save(saved)
    descent.exchange(1, 0)
    descent.restore(saved, objective)
    np.testing.assert_array_equal(descent.state.choice, changed)
    np.testing.assert_allclose(
        descent.state.residual, problem.residual(problem.leaf_values(changed)), atol=1e-12
    )


@pytest.mark.parametrize("kind", [LayerPruning, SubtreePruning])
def test_no_block_that_wants_to_move_is_passed_over(kind: Any) -> None:
    """Coarse sweeps leave small gains; the slacks they leave must not hide these for good."""
    for seed in range(10):
        data = make_data(seed, outputs=1 + seed % 2, trees=12, most=6)
        problem = kind(data, 0.03 * data.target_square)
        descent = Descent(problem, problem.zero())
        descent._sweep(1.0, 0.1 * descent.objective)
        descent._sweep(3.0, 0.01 * descent.objective)
        assert descent.run(Control())
        found = descent.state.choice.copy()
        descent.state.slack[:] = -1.0
        assert descent._sweep(1.0) == 0
        np.testing.assert_array_equal(descent.state.choice, found)
