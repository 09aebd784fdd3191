"""Subtrees in the product: pruned ensembles, their polishing, budgets, files and paths."""

from __future__ import annotations

import pickle
import re
import warnings
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import SUBTREES, random_trees
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import Ridge

import forestprune as fp
from forestprune import InvalidInput, Polishing, PrunedEnsemble, SubtreePruning, prune, solve
from formulations import cut_trees
from solvers import UnsupportedProblem

Rows = tuple[Any, Any]


@pytest.fixture(scope="module")
def rows() -> Rows:
    generator = np.random.default_rng(4)
    X = generator.normal(size=(250, 4))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * generator.normal(size=250) + 5.0


@pytest.fixture(scope="module")
def forest(rows: Rows) -> RandomForestRegressor:
    return RandomForestRegressor(12, max_depth=6, random_state=0).fit(*rows)


@pytest.fixture(scope="module")
def boosted(rows: Rows) -> GradientBoostingRegressor:
    return GradientBoostingRegressor(n_estimators=15, max_depth=4, random_state=0).fit(*rows)


@pytest.fixture(params=["forest", "boosted"])
def model(request: pytest.FixtureRequest) -> Any:
    """An ensemble of either kind."""
    return request.getfixturevalue(request.param)


def level_order(tree: Any) -> list[int]:
    """Nodes of a scikit-learn tree, layer by layer."""
    order = [0]
    for node in order:
        if tree.children_left[node] >= 0:
            order += [int(tree.children_left[node]), int(tree.children_right[node])]
    return order


def tree_predictions(model: Any, X: Any, marks: Any) -> tuple[Any, Any, list[int]]:
    """Offset (m,), predictions (m, n) of the source's trees of which marked nodes are kept,
    root at 0, and the depth of what is kept; by scikit-learn's own paths."""
    trees = np.ravel(model.estimators_)
    boosting = isinstance(model, GradientBoostingRegressor)
    gamma = model.learning_rate if boosting else 1.0 / len(trees)
    offset = model.init_.predict(X) if boosting else np.zeros(len(X))
    T = np.zeros((len(X), len(trees)))
    depths, begin = [], 0
    for i, estimator in enumerate(trees):
        order = level_order(estimator.tree_)
        kept = {node for place, node in enumerate(order) if marks[begin + place]} | {0}
        begin += len(order)
        value = estimator.tree_.value[:, 0, 0]
        offset = offset + gamma * value[0]
        depth = 0
        for row, path in enumerate(estimator.decision_path(X.astype(np.float32))):
            inside = [node for node in path.indices if node in kept]
            T[row, i] = gamma * (value[inside[-1]] - value[0])
            depth = max(depth, len(inside) - 1)
        depths.append(depth)
    assert begin == len(marks)
    return offset, T, depths


def random_marks(data: fp.PruningData, seed: int) -> Any:
    """Marks of random subtrees, some trees removed and some whole."""
    generator = np.random.default_rng(seed)
    problem = SubtreePruning(data, 0.0)
    share = np.repeat(
        generator.choice([0.0, 0.6, 0.9, 1.0], data.n_trees), np.diff(data.node_start)
    )
    made = generator.random(len(data.parent)) < share
    z = np.array([made[node] for node in data.splits.node], dtype=float)
    return problem.rounded(z)


def test_it_predicts_what_the_problem_says(rows: Rows, model: Any) -> None:
    X, y = rows
    pruned = prune(model, X, y, shape="subtree", alpha=0.3, polish=None)
    marks = pruned.result.choice
    offset, T, depths = tree_predictions(model, X, marks)
    np.testing.assert_allclose(pruned.predict(X), offset + T.sum(axis=1), rtol=1e-12)
    np.testing.assert_array_equal(pruned.depths, depths)
    assert pruned.n_nodes == marks.sum() > 20
    assert pruned.n_trees == np.count_nonzero(depths)
    problem = SubtreePruning(fp.pruning_data(model, X, y), 0.3 * np.var(y))
    total = len(marks) - len(depths)
    paid = pruned.n_nodes - pruned.n_trees
    loss = ((y - pruned.predict(X)) ** 2).mean()
    assert pruned.alpha == pytest.approx(problem.alpha)
    assert pruned.result.objective == pytest.approx(loss + problem.alpha * paid / total)
    assert pruned.result.objective == problem.objective(marks)
    assert not pruned.by_depth
    # Some branch ends before the tree does, or these would be depth layers.
    assert any(
        (tree.layer[tree.leaves] < tree.depth).any()
        for tree, source in zip(
            pruned.model.trees,
            [t for t, d in zip(fp.read_ensemble(model).trees, depths, strict=True) if d],
            strict=True,
        )
        if (source.layer[source.leaves] == source.depth).all() or tree.n_nodes < source.n_nodes
    )


def test_any_subtrees_and_weights_are_cut_out(rows: Rows, model: Any) -> None:
    X, y = rows
    ensemble = fp.read_ensemble(model)
    data = ensemble.pruning_data(X, y)
    result = solve(SubtreePruning(data, 1.0))
    fresh = np.random.default_rng(5).normal(size=(60, 4))
    for seed in range(4):
        marks = random_marks(data, seed)
        beta = np.random.default_rng(seed).choice([0.0, 0.5, 1.0, -2.0], data.n_trees)
        pruned = PrunedEnsemble.cut(ensemble, replace(result, choice=marks, beta=beta), 1.0)
        offset, T, depths = tree_predictions(model, fresh, marks)
        np.testing.assert_allclose(pruned.predict(fresh), offset + T @ beta, rtol=1e-11)
        np.testing.assert_array_equal(pruned.depths > 0, (beta != 0.0) & (np.array(depths) > 0))
        for tree in pruned.model.trees:
            inner = np.flatnonzero(tree.left >= 0)
            np.testing.assert_array_equal(tree.parent[tree.left[inner]], inner)
            np.testing.assert_array_equal(tree.parent[tree.left[inner] + 1], inner)
            np.testing.assert_array_equal(np.sort(tree.layer), tree.layer)
            assert (tree.feature[tree.left < 0] == -1).all()
    with pytest.raises(InvalidInput, match="its choice has 3 entries"):
        PrunedEnsemble.cut(ensemble, replace(result, choice=np.ones(3, dtype=int)), 1.0)


def test_cut_data_predicts_as_the_choice_does(rows: Rows, model: Any) -> None:
    weight = np.random.default_rng(0).integers(0, 4, size=len(rows[1]))
    data = fp.pruning_data(model, *rows, sample_weight=weight)
    layers, subtrees = fp.LayerPruning(data, 1.0), SubtreePruning(data, 1.0)
    depths = np.arange(data.n_trees) % (data.depths + 1)
    choices = [(layers, depths), (layers, layers.zero()), (subtrees, subtrees.full())]
    choices += [(subtrees, random_marks(data, seed)) for seed in range(4)]
    for problem, choice in choices:
        cut = cut_trees(data, choice)
        whole = SubtreePruning(cut, 1.0)
        assert whole.loss(whole.full()) == pytest.approx(problem.loss(choice), rel=1e-12)
        assert whole.kept_nodes(whole.full()) == problem.kept_nodes(choice)
        np.testing.assert_array_equal(cut.offset, data.offset)
        np.testing.assert_array_equal(cut.target, data.target)
        assert cut.n_trees == data.n_trees
    np.testing.assert_array_equal(cut_trees(data, depths).depths, depths)
    for wrong in (depths[:3], depths + 99, np.ones(len(data.parent) + 1, dtype=int)):
        with pytest.raises(InvalidInput, match="choice"):
            cut_trees(data, wrong)
    broken = subtrees.full()
    broken[-1] = 0
    with pytest.raises(InvalidInput, match="sibling"):
        cut_trees(data, broken)


def test_cut_data_of_depth_layers_polishes_to_the_same_weights(rows: Rows, boosted: Any) -> None:
    data = fp.pruning_data(boosted, *rows)
    depths = solve(fp.LayerPruning(data, 0.2)).choice
    plain = solve(Polishing(data, depths, 0.05))
    cut = cut_trees(data, depths)
    again = solve(Polishing(cut, cut.depths, 0.05))
    np.testing.assert_allclose(plain.beta, again.beta, atol=1e-8)
    layers = fp.PruningData.from_layers([np.eye(4)[:, :2], np.ones((4, 3))], np.arange(4.0))
    assert cut_trees(layers, [1, 0]).depths.tolist() == [1, 0]
    leaves = fp.PruningData.from_layers([np.zeros((4, 0))], np.arange(4.0))
    assert cut_trees(leaves, [0]).depths.tolist() == [0]


@pytest.mark.parametrize("weighted", [False, True])
def test_polishing_is_that_of_scikit_learn(rows: Rows, model: Any, weighted: bool) -> None:
    X, y = rows
    weight = np.random.default_rng(0).integers(0, 4, size=len(X)) if weighted else None
    pruned = prune(model, X, y, shape="subtree", alpha=1.0, alpha2=0.05, sample_weight=weight)
    assert pruned.polishing is not None
    assert pruned.polishing.guarantee == "optimal"
    omega = np.ones(len(X)) if weight is None else weight
    offset, T, _ = tree_predictions(model, X, pruned.result.choice)
    kept = np.flatnonzero(pruned.depths)
    assert len(kept) > 1
    ridge = 0.05 * float(omega @ (y - np.average(y, weights=omega)) ** 2 / omega.sum())
    theirs = Ridge(alpha=ridge, fit_intercept=False).fit(T[:, kept], y - offset, omega)
    np.testing.assert_allclose(pruned.beta[kept], theirs.coef_, rtol=0, atol=1e-8)
    np.testing.assert_allclose(pruned.predict(X), offset + T @ pruned.beta, rtol=1e-11)


def test_best_subset_validation_and_text(rows: Rows, boosted: Any) -> None:
    X, y = rows
    pruned = prune(
        boosted, X, y, shape="subtree", alpha=0.3, polish="best_subset", n_trees=3,
        validation_data=(X, y + 100.0 * X[:, 3]),
    )  # fmt: skip
    assert pruned.validation is not None
    few = prune(boosted, X, y, shape="subtree", alpha=0.3, polish="best_subset", n_trees=3)
    assert few.n_trees == 3
    offset, T, _ = tree_predictions(boosted, X, few.result.choice)
    np.testing.assert_allclose(few.predict(X), offset + T @ few.beta, rtol=1e-11)
    assert "GradientBoostingRegressor pruned to subtrees at α = " in few.summary()
    assert "at most" not in few.summary()
    copy: PrunedEnsemble = pickle.loads(pickle.dumps(few))
    assert copy.summary() == few.summary()
    np.testing.assert_array_equal(copy.predict(X), few.predict(X))


def test_the_problem_of_polishing_must_be_about_these_subtrees(rows: Rows, boosted: Any) -> None:
    data = fp.pruning_data(boosted, *rows)
    plain = prune(boosted, *rows, shape="subtree", alpha=0.3, polish=None)
    uncut = Polishing(data, plain.depths)
    with pytest.raises(InvalidInput, match=r"trees of this ensemble.*cut_trees"):
        plain.polished(uncut, solve(uncut))
    cut = Polishing(cut_trees(data, plain.result.choice), plain.depths, intercept=True)
    result = solve(cut)
    polished = plain.polished(cut, result)
    loss = ((rows[1] - polished.predict(rows[0])) ** 2).mean()
    assert loss == pytest.approx(cut.loss(cut.full(), result.beta))


def test_subtrees_are_better_than_layers_of_as_many_nodes(rows: Rows, model: Any) -> None:
    X, y = rows
    losses = [
        ((y - prune(model, X, y, shape=shape, max_nodes=150, polish=None).predict(X)) ** 2).mean()
        for shape in ("depth", "subtree")
    ]
    assert losses[1] < losses[0]


@pytest.mark.parametrize("shape", ["depth", "subtree"])
@pytest.mark.parametrize("limit", [3, 40, 200, 400])
def test_a_budget_is_kept_and_used(rows: Rows, model: Any, shape: str, limit: int) -> None:
    X, y = rows
    pruned = prune(model, X, y, shape=shape, max_nodes=limit, polish=None)
    used = 0.9 if shape == "subtree" else 0.6  # a layer of a forest has up to 64 nodes
    assert used * limit <= pruned.n_nodes <= limit
    assert pruned.max_nodes == limit
    assert f"({pruned.compactness:.2%}), at most {limit} asked for" in pruned.summary()
    assert f"at α = {pruned.alpha:.4g} (units of y²)" in pruned.summary()
    # It is what pruning at its α gives.
    kind = SubtreePruning if shape == "subtree" else fp.LayerPruning
    problem = kind(fp.pruning_data(model, X, y), pruned.alpha)
    assert pruned.result.objective == problem.objective(pruned.result.choice)
    assert fp.verify(problem, pruned.result).sound
    # A little less of α is too little, or the limit is met.
    lower = solve(problem.with_alpha(pruned.alpha / 1.002), warm_start=pruned.result)
    larger = problem.kept_nodes(lower.choice)
    assert pruned.n_nodes == limit or larger > limit or larger == pruned.n_nodes


@pytest.mark.parametrize("shape", ["depth", "subtree"])
def test_budgets_at_both_ends(rows: Rows, boosted: Any, shape: str) -> None:
    X, y = rows
    for limit in (0, 2):
        with pytest.warns(UserWarning, match=f"max_nodes={limit}.*smallest tree .* has 3 nodes"):
            empty = prune(boosted, X, y, shape=shape, max_nodes=limit)
        assert (empty.n_nodes, empty.n_trees) == (0, 0)
        np.testing.assert_allclose(empty.predict(X), boosted.init_.predict(X))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        whole = prune(boosted, X, y, shape=shape, max_nodes=10**6, polish=None)
    assert whole.alpha == 0.0
    free = prune(boosted, X, y, shape=shape, alpha=0.0, polish=None)
    np.testing.assert_array_equal(whole.result.choice, free.result.choice)
    constant = np.full(len(X), 3.0)
    with pytest.warns(UserWarning, match="no tree survives"):
        flat = prune(boosted, X, constant, shape=shape, max_nodes=50)
    assert flat.n_nodes == 0


def test_a_budget_with_other_solvers_and_joint(rows: Rows, boosted: Any) -> None:
    X, y = rows
    joint = prune(boosted, X, y, joint=True, max_nodes=60)
    assert 20 <= joint.n_nodes <= 60
    exact = prune(
        boosted, X, y, shape="subtree", max_nodes=30, solver="branch_and_bound", polish=None
    )
    assert exact.result.guarantee == "optimal"
    assert 20 <= exact.n_nodes <= 30
    weights = [np.zeros(tree.n_nodes) for tree in fp.read_ensemble(boosted).trees]
    with pytest.raises(InvalidInput, match="max_nodes=10 is not met by raising alpha"):
        prune(boosted, X, y, shape="subtree", max_nodes=10, weights=weights)


def test_a_search_that_is_ended(rows: Rows, boosted: Any) -> None:
    X, y = rows
    calls: list[object] = []

    def after_a_while(entry: object) -> bool:
        calls.append(entry)
        return len(calls) > 2

    early = prune(boosted, X, y, max_nodes=100, callback=after_a_while, polish=None)
    assert early.n_nodes <= 100
    late = prune(boosted, X, y, max_nodes=100, polish=None)
    assert early.n_nodes < late.n_nodes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shape": "branch"}, 'shape must be "depth" or "subtree", not'),
        ({"alpha": 1.0, "max_nodes": 5}, "not both"),
        ({"max_nodes": -1}, "max_nodes must be an integer of at least 0, not -1"),
        ({"max_nodes": 10.0}, "max_nodes must be an integer"),
        ({"max_nodes": True}, "max_nodes must be an integer"),
        ({"max_nodes": 9, "warm_start": [1]}, "warm_start is for one alpha"),
        ({"max_nodes": 9, "time_limit": -1.0}, "time_limit must be"),
        ({"shape": "subtree", "weights": "depth"}, 'weights must be "nodes", "leaves"'),
    ],
)
def test_bad_arguments(rows: Rows, boosted: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        prune(boosted, *rows, **options)


def test_several_outputs(rows: Rows) -> None:
    X, y = rows
    both = np.column_stack([y, X[:, 0] - X[:, 3]])
    model = RandomForestRegressor(6, max_depth=4, random_state=0).fit(X, both)
    pruned = prune(model, X, both, shape="subtree", alpha=0.2, validation_data=(X, both))
    assert pruned.polishing is not None
    loss = ((both - pruned.predict(X)) ** 2).sum(axis=1).mean()
    ridge = 0.01 * both.var(axis=0).sum() * (pruned.beta @ pruned.beta) / len(X)
    assert pruned.polishing.objective == pytest.approx(loss + ridge, rel=1e-10)


@pytest.mark.parametrize("name", sorted(SUBTREES))
def test_saved_problems_come_back(name: str, tmp_path: Path) -> None:
    problem = SUBTREES[name]()
    fp.save_problem(problem, tmp_path / "problem.npz")
    loaded = fp.load_problem(tmp_path / "problem.npz")
    assert isinstance(loaded, SubtreePruning)
    assert loaded.alpha == problem.alpha
    for marks in (problem.zero(), problem.full(), random_marks(problem.data, 1)):
        assert loaded.objective(marks) == problem.objective(marks)
    one, other = solve(problem), solve(loaded)
    np.testing.assert_array_equal(one.choice, other.choice)
    assert one.bound == other.bound


def test_a_path_over_alpha(rows: Rows, forest: Any) -> None:
    problem = SubtreePruning(fp.pruning_data(forest, *rows), 1.0)
    path = fp.solve_path(problem, values=12)
    frame = path.to_frame()
    assert (np.diff(frame["objective"][:-1]) <= problem.tolerance).all()
    assert (np.diff(frame["alpha"][:-1]) < 0.0).all()
    assert frame["nodes"][0] == 0
    assert frame["nodes"].iloc[-2] > 100
    assert frame["nodes"].iloc[-1] == len(problem.data.parent)
    layers = fp.solve_path(
        fp.LayerPruning(problem.data, 1.0), values=path.values, solver="branch_and_bound", gap=1e-4
    )
    for index, (result, layer) in enumerate(zip(path, layers, strict=True)):
        assert fp.verify(path.problem_at(index), result).sound
        assert result.bound <= layer.objective + problem.tolerance


def by_enumeration(path: Path, trees: int) -> tuple[float, Any]:
    """Optimum and marks of a file of matrices, from nothing but what the file says."""
    f = np.load(path, allow_pickle=False)
    assert "choice[c] marks by 1" in str(f["about"])
    best, chosen = np.inf, np.empty(0, dtype=int)
    for columns in product(*(range(begin, end) for begin, end in pairwise(f["block_start"]))):
        c = np.array(columns, dtype=int)
        value = f["constant"] + f["linear"][c].sum() + f["gram"][np.ix_(c, c)].sum()
        if value < best:
            best, chosen = float(value), c
    marks = f["settled"].copy()
    start = f["choice_start"]
    assert len(start) == trees + 1
    for column in chosen:
        here = slice(start[f["tree"][column]], start[f["tree"][column] + 1])
        marks[here] = f["choice"][column, : here.stop - here.start]
    return best, marks


EXPORTED = [name for name in sorted(SUBTREES) if not name.endswith("single_leaves")]


@pytest.mark.parametrize("presolve", [False, True])
@pytest.mark.parametrize("name", EXPORTED)
def test_exported_matrices_have_the_optimum(name: str, presolve: bool, tmp_path: Path) -> None:
    problem = SUBTREES[name]()
    optimum = solve(problem, "brute_force").objective
    fp.export_problem(problem, tmp_path / "problem.npz", presolve=presolve, rows=True)
    value, marks = by_enumeration(tmp_path / "problem.npz", problem.data.n_trees)
    assert value == pytest.approx(optimum, rel=1e-9, abs=1e-12)
    assert problem.objective(marks) == pytest.approx(optimum, rel=1e-9, abs=1e-12)


def test_exported_programs_have_the_optimum(tmp_path: Path) -> None:
    import highspy
    from pyomo.common.tee import capture_output

    problem = SUBTREES["subtrees"]()
    path = tmp_path / "problem.lp"
    fp.export_problem(problem, path)
    assert "takes block_choices(3)[2] of the problem" in path.read_text(encoding="ascii")
    with capture_output(capture_fd=True):
        highs: Any = highspy.Highs()
        highs.readModel(str(path))
        highs.setOptionValue("mip_rel_gap", 0.0)
        highs.run()
    optimum = solve(problem, "brute_force").objective
    assert highs.getInfo().objective_function_value == pytest.approx(optimum, rel=1e-7)
    marks = problem.zero()
    values = zip(highs.getLp().col_names_, highs.getSolution().col_value, strict=True)
    for column, value in values:
        found = re.fullmatch(r"x_t(\d+)_c(\d+)", column)
        if found and value > 0.5:
            i, place = map(int, found.groups())
            nodes = slice(problem.data.node_start[i], problem.data.node_start[i + 1])
            marks[nodes] = problem.block_choices(i)[place]
    assert problem.objective(marks) == pytest.approx(optimum, rel=1e-9)


def test_programs_that_are_not_exported(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedProblem, match=r"after presolve.*\.npz can"):
        fp.export_problem(SUBTREES["subtrees"](), tmp_path / "problem.mps", presolve=True)
    large = SubtreePruning(fp.PruningData.from_trees(*random_trees(40, 100, [30] * 4)), 0.5)
    for presolve in (False, True):
        with pytest.raises(UnsupportedProblem, match="too many choices to be written"):
            fp.export_problem(large, tmp_path / "problem.npz", presolve=presolve)
    assert list(tmp_path.iterdir()) == []
