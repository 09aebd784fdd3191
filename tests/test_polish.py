"""Pruned ensembles whose trees are weighed anew, after pruning or together with it."""

from __future__ import annotations

import pickle
import warnings
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import Ridge

from forestprune import (
    InvalidInput,
    JointPruning,
    Polishing,
    PrunedEnsemble,
    SolverError,
    prune,
    read_ensemble,
    solve,
)

Rows = tuple[Any, Any]


@pytest.fixture(scope="module")
def rows() -> Rows:
    generator = np.random.default_rng(1)
    X = generator.normal(size=(250, 4))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * generator.normal(size=250) + 5.0


@pytest.fixture(scope="module")
def forest(rows: Rows) -> RandomForestRegressor:
    return RandomForestRegressor(12, max_depth=5, random_state=0).fit(*rows)


@pytest.fixture(scope="module")
def boosted(rows: Rows) -> GradientBoostingRegressor:
    return GradientBoostingRegressor(n_estimators=12, max_depth=3, random_state=0).fit(*rows)


def tree_predictions(model: Any, X: Any, depths: Any) -> tuple[Any, Any]:
    """Offset (m,) and predictions T (m, n) of a source's trees at some depths, root at 0."""
    trees = np.ravel(model.estimators_)
    boosting = isinstance(model, GradientBoostingRegressor)
    gamma = model.learning_rate if boosting else 1.0 / len(trees)
    offset = model.init_.predict(X) if boosting else np.zeros(len(X))
    T = np.zeros((len(X), len(trees)))
    for i, (tree, depth) in enumerate(zip(trees, depths, strict=True)):
        value = tree.tree_.value[:, 0, 0]
        offset = offset + gamma * value[0]
        for j, path in enumerate(tree.decision_path(X.astype(np.float32))):
            T[j, i] = gamma * (value[path.indices[min(depth, len(path.indices) - 1)]] - value[0])
    return offset, T


@pytest.mark.parametrize("kind", ["forest", "boosted"])
@pytest.mark.parametrize("weighted", [False, True])
def test_ridge_is_that_of_scikit_learn(
    rows: Rows, kind: str, weighted: bool, request: pytest.FixtureRequest
) -> None:
    X, y = rows
    model = request.getfixturevalue(kind)
    weight = np.random.default_rng(0).integers(0, 4, size=len(X)) if weighted else None
    pruned = prune(model, X, y, alpha=0.3, alpha2=0.05, sample_weight=weight)
    assert pruned.polishing is not None
    assert pruned.polishing.guarantee == "optimal"
    omega = np.ones(len(X)) if weight is None else weight
    offset, T = tree_predictions(model, X, pruned.result.choice)
    kept = np.flatnonzero(pruned.result.choice)
    assert len(kept) > 1
    ridge = 0.05 * float(omega @ (y - np.average(y, weights=omega)) ** 2 / omega.sum())
    theirs = Ridge(alpha=ridge, fit_intercept=False).fit(T[:, kept], y - offset, omega)
    np.testing.assert_allclose(pruned.beta[kept], theirs.coef_, rtol=0, atol=1e-8)
    loss = omega @ (y - offset - T[:, kept] @ theirs.coef_) ** 2
    objective = (loss + ridge * theirs.coef_ @ theirs.coef_) / omega.sum()
    assert pruned.polishing.objective == pytest.approx(objective, rel=1e-10)
    np.testing.assert_allclose(pruned.predict(X), offset + T @ pruned.beta, rtol=1e-11)


def test_ridge_is_the_default_with_alpha2_of_the_paper(rows: Rows, boosted: Any) -> None:
    one, other = prune(boosted, *rows), prune(boosted, *rows, polish="ridge", alpha2=0.01)
    np.testing.assert_array_equal(one.beta, other.beta)
    assert (one.beta[one.depths > 0] != 1.0).all()


def test_polishing_lowers_the_loss_and_says_what_is_proven(rows: Rows, boosted: Any) -> None:
    X, y = rows
    plain = prune(boosted, X, y, alpha=0.3, polish=None)
    pruned = prune(boosted, X, y, alpha=0.3)
    np.testing.assert_array_equal(plain.depths, pruned.depths)
    assert plain.polishing is None
    assert plain.result.objective == pruned.result.objective
    assert ((y - pruned.predict(X)) ** 2).mean() < ((y - plain.predict(X)) ** 2).mean()
    lines = {line.split()[0]: line for line in pruned.summary().splitlines()}
    assert f"{pruned.result.objective:.6g}, proven within" in lines["objective"]
    assert "(cbcd: optimal)" in lines["polished"]
    assert "weights" in lines
    assert "polished 0.00%" in repr(pruned)


def test_best_subset_is_that_of_enumeration(rows: Rows, boosted: Any) -> None:
    X, y = rows
    pruned = prune(boosted, X, y, alpha=0.05, polish="best_subset", n_trees=3)
    assert pruned.polishing is not None
    offset, T = tree_predictions(boosted, X, pruned.result.choice)
    kept = np.flatnonzero(pruned.result.choice)
    assert len(kept) > 5
    fits = {
        three: np.linalg.lstsq(T[:, three], y - offset, rcond=None)
        for three in combinations(kept, 3)
    }
    best = min(fits, key=lambda three: float(fits[three][1][0]))
    np.testing.assert_array_equal(np.flatnonzero(pruned.depths), best)
    np.testing.assert_allclose(pruned.beta[list(best)], fits[best][0], rtol=1e-8)
    assert pruned.polishing.objective == pytest.approx(float(fits[best][1][0]) / len(X))
    assert pruned.n_trees == 3
    assert pruned.n_nodes == sum(
        tree.cut(depth).n_nodes
        for tree, depth in zip(read_ensemble(boosted).trees, pruned.depths.tolist(), strict=True)
        if depth > 0
    )
    np.testing.assert_allclose(pruned.predict(X), offset + T @ pruned.beta, rtol=1e-11)


def test_best_subset_chooses_ten_trees_by_default(rows: Rows, boosted: Any) -> None:
    pruned = prune(boosted, *rows, alpha=0.1, polish="best_subset")
    assert (pruned.result.choice > 0).sum() > 10
    assert pruned.n_trees == 10
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # fewer are no surprise where none were asked for
        few = prune(boosted, *rows, alpha=2.0, polish="best_subset")
    assert 0 < few.n_trees < 10


def test_best_subset_with_a_price(rows: Rows, boosted: Any) -> None:
    X, y = rows
    pruned = prune(boosted, X, y, alpha=0.1, polish="best_subset", alpha2=0.02)
    assert pruned.polishing is not None
    loss = ((y - pruned.predict(X)) ** 2).mean()
    assert 0 < pruned.n_trees < 10
    assert pruned.polishing.objective == pytest.approx(loss + 0.02 * np.var(y) * pruned.n_trees)
    scaled = GradientBoostingRegressor(n_estimators=12, max_depth=3, random_state=0)
    scaled.fit(X, 1024.0 * y)
    other = prune(scaled, X, 1024.0 * y, alpha=0.1, polish="best_subset", alpha2=0.02)
    np.testing.assert_array_equal(pruned.depths, other.depths)


def test_more_trees_than_are_kept(rows: Rows, boosted: Any) -> None:
    with pytest.warns(UserWarning, match=r"n_trees=99 is above .* all \d+ may be used"):
        pruned = prune(boosted, *rows, alpha=0.05, polish="best_subset", n_trees=99)
    assert pruned.n_trees > 10
    np.testing.assert_array_equal(pruned.depths, pruned.result.choice)


def test_a_price_that_no_tree_is_worth(rows: Rows, boosted: Any) -> None:
    X, _ = rows
    with pytest.warns(UserWarning, match="no tree survives"):
        pruned = prune(boosted, *rows, polish="best_subset", alpha2=1e6)
    assert pruned.n_trees == 0
    offset, _ = tree_predictions(boosted, X, pruned.depths)
    np.testing.assert_allclose(pruned.predict(X), offset)


@pytest.mark.parametrize(("polish", "rho"), [("ridge", 2), ("best_subset", 0)])
def test_joint(rows: Rows, boosted: Any, polish: str, rho: int) -> None:
    X, y = rows
    joint = prune(boosted, X, y, alpha=0.5, polish=polish, alpha2=0.01, joint=True)
    assert joint.polishing is None
    assert joint.n_trees > 0
    offset, T = tree_predictions(boosted, X, joint.depths)
    prediction = offset + T @ joint.beta
    np.testing.assert_allclose(joint.predict(X), prediction, rtol=1e-11)
    data = read_ensemble(boosted).pruning_data(X, y)
    total = sum(sizes.sum() for sizes in data.layer_sizes)
    kept = sum(s[:k].sum() for s, k in zip(data.layer_sizes, joint.depths, strict=True))
    price = 0.01 * np.var(y)
    weight = price * (joint.beta @ joint.beta) / len(X)
    if rho == 0:
        weight = price * (joint.beta != 0.0).sum()
    objective = ((y - prediction) ** 2).mean() + 0.5 * np.var(y) * kept / total + weight
    assert joint.result.objective == pytest.approx(objective, rel=1e-10)
    after = prune(boosted, X, y, alpha=0.5, polish=polish, alpha2=0.01)
    problem = JointPruning(data, 0.5 * np.var(y), price, rho)
    assert problem.objective(joint.depths, joint.beta) == pytest.approx(objective, rel=1e-10)
    assert joint.result.objective <= problem.objective(after.depths, after.beta) + 1e-12


def test_validation_decides(rows: Rows, boosted: Any) -> None:
    X, y = rows
    plain, polished = prune(boosted, X, y, polish=None), prune(boosted, X, y)
    fresh = np.random.default_rng(9).normal(size=(40, 4))
    for winner in (plain, polished):
        response = winner.predict(fresh)
        chosen = prune(boosted, X, y, validation_data=(fresh, response))
        np.testing.assert_array_equal(chosen.beta, winner.beta)
        assert (chosen.polishing is None) == (winner is plain)
        assert chosen.validation is not None
        errors = [((response - one.predict(fresh)) ** 2).mean() for one in (plain, polished)]
        np.testing.assert_allclose(chosen.validation, errors, rtol=1e-12)
        assert f"validated {errors[0]:.6g} unpolished" in chosen.summary()


def test_an_intercept_is_added_to_the_predictions(rows: Rows, boosted: Any) -> None:
    X, y = rows
    plain = prune(boosted, X, y + X[:, 3], polish=None)
    data = read_ensemble(boosted).pruning_data(X, y + X[:, 3] + 2.0)
    problem = Polishing(data, plain.depths, 0.1, intercept=True)
    pruned = plain.polished(problem, solve(problem))
    offset, T = tree_predictions(boosted, X, plain.depths)
    theirs = Ridge(alpha=0.1).fit(T[:, plain.depths > 0], y + X[:, 3] + 2.0 - offset)
    assert abs(theirs.intercept_) > 1.5
    np.testing.assert_allclose(
        pruned.predict(X), offset + theirs.predict(T[:, plain.depths > 0]), rtol=1e-8
    )


def test_only_an_unpolished_ensemble_is_polished_with_its_own_trees(
    rows: Rows, boosted: Any
) -> None:
    plain, polished = prune(boosted, *rows, polish=None), prune(boosted, *rows)
    data = read_ensemble(boosted).pruning_data(*rows)
    same, other = Polishing(data, plain.depths), Polishing(data, data.depths)
    with pytest.raises(InvalidInput, match="polished already"):
        polished.polished(same, solve(same))
    with pytest.raises(InvalidInput, match="trees of this ensemble"):
        plain.polished(other, solve(other))


def test_several_outputs(rows: Rows) -> None:
    X, y = rows
    both = np.column_stack([y, X[:, 0] - X[:, 3]])
    model = RandomForestRegressor(6, max_depth=4, random_state=0).fit(X, both)
    pruned = prune(model, X, both, alpha=0.2, validation_data=(X, both))
    assert pruned.polishing is not None
    loss = ((both - pruned.predict(X)) ** 2).sum(axis=1).mean()
    ridge = 0.01 * both.var(axis=0).sum() * (pruned.beta @ pruned.beta) / len(X)
    assert pruned.polishing.objective == pytest.approx(loss + ridge, rel=1e-10)


def test_a_polished_ensemble_survives_pickling(rows: Rows, boosted: Any) -> None:
    pruned = prune(boosted, *rows, polish="best_subset", n_trees=2)
    copy: PrunedEnsemble = pickle.loads(pickle.dumps(pruned))
    np.testing.assert_array_equal(copy.predict(rows[0]), pruned.predict(rows[0]))
    assert copy.summary() == pruned.summary()


def test_options_of_the_first_solver_are_not_the_second_ones(rows: Rows, boosted: Any) -> None:
    exact = prune(
        boosted,
        *rows,
        solver="branch_and_bound",
        node_limit=500,
        gap=1e-7,
        polish="best_subset",
        n_trees=2,
        polish_solver="brute_force",
    )
    assert exact.polishing is not None
    assert (exact.result.solver, exact.polishing.solver) == (
        "branch_and_bound[node_limit=500]",
        "brute_force",
    )
    assert exact.polishing.guarantee == "optimal"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"polish": "lasso"}, 'polish must be "ridge", "best_subset" or None'),
        ({"alpha2": -1.0}, "alpha2 must be a finite number of at least 0"),
        ({"polish": "best_subset", "alpha2": np.nan}, "alpha2 must be a finite number"),
        ({"polish": "best_subset", "n_trees": 0}, "n_trees must be an integer of at least 1"),
        ({"polish": "best_subset", "n_trees": 2.0}, "n_trees must be an integer"),
        ({"polish": "best_subset", "n_trees": 2, "alpha2": 0.1}, "not both"),
        ({"n_trees": 5}, 'n_trees is for polish="best_subset"'),
        ({"polish": "best_subset", "n_trees": 5, "joint": True}, "with joint=False"),
        ({"polish": None, "alpha2": 0.1}, "alpha2 is for polishing"),
        ({"polish": None, "validation_data": ([], [])}, "validation_data is for polishing"),
        ({"polish": None, "joint": True}, "joint=True needs polish"),
        ({"joint": "yes"}, "joint must be True or False"),
        ({"joint": True, "validation_data": ([], [])}, "there is no choice"),
        ({"validation_data": 3}, "must be a pair"),
        ({"validation_data": (np.zeros((2, 3)), [1.0, 2.0])}, "validation_data: X has 3 features"),
        ({"validation_data": (np.zeros((2, 4)), [1.0])}, "each of the 2 rows"),
        ({"polish_solver": "cbdc"}, "did you mean 'cbcd'"),
    ],
)
def test_bad_arguments(rows: Rows, boosted: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises((InvalidInput, SolverError), match=message):
        prune(boosted, *rows, **options)
