"""Every reader reproduces its model, and a tree cut at depth k is a prefix column."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csc_array, csr_array
from sklearn.ensemble import (
    AdaBoostRegressor,
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor, ExtraTreeRegressor

from forestprune import InvalidInput, LayerPruning, pruning_data, read_ensemble

FEATURES = ["a", "b", "c", "d", "e"]


def sample(rows: int = 120, outputs: int = 1) -> tuple[Any, Any]:
    """Rows whose values sit on float32 boundaries, and a response."""
    generator = np.random.default_rng(0)
    X = np.round(generator.normal(size=(rows, 5)), 1)
    X[:, 1] = np.nextafter(np.float32(0.1), np.float32(1.0)) * generator.integers(1, 9, rows)
    y = X[:, 0] * X[:, 1] + np.abs(X[:, 2]) + 0.1 * generator.normal(size=rows) + 3.0
    return X, y if outputs == 1 else np.column_stack(
        [y * (o + 1) + X[:, o] for o in range(outputs)]
    )


class Clipped(RandomForestRegressor):
    """A subclass that predicts something else."""

    def predict(self, X: Any) -> Any:
        return np.maximum(super().predict(X), 3.0)


class Mine(RandomForestRegressor):
    """A user's own subclass."""


def forest(**options: Any) -> Any:
    return RandomForestRegressor(**{"n_estimators": 7, "random_state": 0} | options)


def boosting(**options: Any) -> Any:
    return GradientBoostingRegressor(**{"n_estimators": 9, "random_state": 0} | options)


MODELS: dict[str, Callable[[], Any]] = {
    "forest": forest,
    "forest_depth": lambda: forest(max_depth=3),
    "forest_no_bootstrap": lambda: forest(bootstrap=False, max_features=2),
    "forest_max_samples": lambda: forest(max_samples=0.3, max_leaf_nodes=6),
    "forest_poisson": lambda: forest(criterion="poisson", max_depth=4),
    "extra_trees": lambda: ExtraTreesRegressor(6, random_state=0),
    "boosting": boosting,
    "boosting_zero": lambda: boosting(init="zero", subsample=0.5),
    "boosting_linear": lambda: boosting(init=LinearRegression()),
    "boosting_forest": lambda: boosting(init=forest(max_depth=2)),
    "tree": lambda: DecisionTreeRegressor(random_state=0),
    "stump": lambda: DecisionTreeRegressor(max_depth=1),
    "subclass": lambda: Mine(5, max_depth=4, random_state=0),
}
RECOMPUTED: dict[str, Callable[[], Any]] = {
    "forest_absolute": lambda: forest(criterion="absolute_error", max_depth=4),
    "boosting_absolute": lambda: boosting(loss="absolute_error"),
    "boosting_huber": lambda: boosting(loss="huber"),
    "boosting_quantile": lambda: boosting(loss="quantile", alpha=0.8),
    "forest_monotonic": lambda: forest(monotonic_cst=[1, -1, 0, 0, 1], max_depth=5),
}


def same(given: Any, expected: Any) -> None:
    np.testing.assert_allclose(given, expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())


def sources(model: Any) -> list[Any]:
    """The scikit-learn trees of a model."""
    if isinstance(model, DecisionTreeRegressor):
        return [model]
    return list(np.ravel(model.estimators_))


@pytest.mark.parametrize("name", sorted(MODELS))
def test_the_full_model_is_the_source(name: str) -> None:
    X, y = sample()
    model = MODELS[name]().fit(X, y)
    ensemble = read_ensemble(model)
    new, _ = sample(60)
    for kind in (new, new.astype(np.float32), csr_array(new), csr_array(new.astype(np.float32))):
        same(ensemble.predict(kind), model.predict(kind))
    same(ensemble.predict(pd.DataFrame(new, columns=FEATURES)), model.predict(new))
    data = ensemble.pruning_data(X, y)
    problem = LayerPruning(data, 1.0)
    residual = problem.residual(problem.leaf_values(problem.full()))
    same(y - residual[:, 0], model.predict(X))
    same(data.offset + data.target, y[:, None])


@pytest.mark.parametrize("depth", [2, None])
def test_a_bagged_tree_keeps_the_values_of_its_own_rows(depth: int | None) -> None:
    X, y = sample()
    model = forest(max_depth=depth).fit(X, y)
    for tree, source in zip(read_ensemble(model).trees, model.estimators_, strict=True):
        assert tree.value[0, 0] == source.tree_.value[0, 0, 0] != y.mean()
        assert sorted(tree.value[:, 0]) == sorted(source.tree_.value[:, 0, 0])


@pytest.mark.parametrize("name", sorted(RECOMPUTED))
def test_inner_values_are_recomputed_with_one_warning(name: str) -> None:
    X, y = sample()
    model = RECOMPUTED[name]().fit(X, y)
    with pytest.warns(
        UserWarning, match=f"{type(model).__name__}: in .* trees inner values"
    ) as seen:
        ensemble = read_ensemble(model)
    assert len(seen) == 1
    same(ensemble.predict(X), model.predict(X))
    assert all(tree.has_mean_values for tree in ensemble.trees)


@pytest.mark.parametrize("name", ["forest", "boosting_linear", "extra_trees", "tree"])
def test_a_tree_cut_at_depth_k_is_the_prefix_column(name: str) -> None:
    X, y = sample()
    model = MODELS[name]().fit(X, y)
    ensemble = read_ensemble(model)
    data = ensemble.pruning_data(X, y)
    problem = LayerPruning(data, 0.0)
    for i, (source, tree, gamma) in enumerate(
        zip(sources(model), ensemble.trees, ensemble.scale, strict=True)
    ):
        paths = source.decision_path(X).tocsr()
        for k in range(tree.depth + 1):
            choice = problem.zero()
            choice[i] = k
            column = data.target - problem.residual(problem.leaf_values(choice))
            # The k-th node on a row's path, or its leaf: nodes of a path come in order.
            seen = [row.indices[min(k, len(row.indices) - 1)] for row in paths]
            means = source.tree_.value[seen, 0, 0]
            same(column[:, 0], gamma * (means - source.tree_.value[0, 0, 0]))
            cut = tree.cut(k)
            assert cut.depth <= k
            assert cut.n_nodes == (tree.layer <= k).sum()


def test_leaves_are_scikit_learns_on_float32_boundaries() -> None:
    X, y = sample(400)
    model = forest(n_estimators=20).fit(X, y)
    near = np.concatenate([X, np.nextafter(X, 9), np.nextafter(X, -9), X.astype(np.float32)])
    thresholds = model.estimators_[0].tree_.threshold
    near[: len(thresholds), 0] = thresholds[: len(near)]
    near[0], near[1], near[2] = 1e37, -1e37, 5e-324
    codes = read_ensemble(model).apply(near)
    for code, source in zip(codes, model.estimators_, strict=True):
        pairs = set(zip(code.tolist(), source.apply(near).tolist(), strict=True))
        assert len(pairs) == len({leaf for _, leaf in pairs}) == len({c for c, _ in pairs})
    assert codes.dtype == np.uint8 if codes.max() < 256 else codes.dtype == np.uint16


@pytest.mark.parametrize("trained_with_nan", [True, False])
def test_missing_values_take_the_sources_way(trained_with_nan: bool) -> None:
    X, y = sample()
    holes = X.copy()
    holes[np.random.default_rng(1).random(X.shape) < 0.2] = np.nan
    model = forest().fit(holes if trained_with_nan else X, y)
    same(read_ensemble(model).predict(holes), model.predict(holes))


def test_several_outputs() -> None:
    X, y = sample(outputs=3)
    model = forest(max_depth=4).fit(X, y)
    ensemble = read_ensemble(model)
    same(ensemble.predict(X), model.predict(X))
    problem = LayerPruning(ensemble.pruning_data(X, y), 1.0)
    assert problem.loss(problem.full()) == pytest.approx(
        ((y - model.predict(X)) ** 2).sum() / len(y)
    )


def test_constant_response_gives_single_leaves() -> None:
    X, _ = sample()
    model = forest().fit(X, np.full(len(X), 2.5))
    data = pruning_data(model, X, np.full(len(X), 2.5))
    assert not data.depths.any()
    assert data.y_variance == 0.0
    same(read_ensemble(model).predict(X), model.predict(X))


def test_a_list_of_trees_with_weights() -> None:
    X, y = sample()
    trees = [DecisionTreeRegressor(max_depth=k).fit(X, y) for k in (1, 3, 5)]
    weighted = read_ensemble(trees, weights=[0.5, 0.2, 0.3])
    same(
        weighted.predict(X),
        sum(w * t.predict(X) for w, t in zip([0.5, 0.2, 0.3], trees, strict=True)),
    )
    same(read_ensemble(trees).predict(X), np.mean([t.predict(X) for t in trees], axis=0))


def test_a_list_takes_missing_values_only_if_all_its_trees_do() -> None:
    X, y = sample()
    trees = [
        DecisionTreeRegressor(max_depth=2).fit(X, y),
        ExtraTreeRegressor(max_depth=2).fit(X, y),
    ]
    trees.append(ExtraTreeRegressor(splitter="best", max_depth=2).fit(X, y))
    assert read_ensemble(trees[:2]).allow_nan
    assert not read_ensemble(trees).allow_nan


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (lambda X, y: (X[FEATURES[:3]], y), "n_features_in_ = 3, model.0. has 5"),
        (lambda X, y: (X[FEATURES[::-1]], y), "feature_names_in_ = .* has"),
        (lambda X, y: (X.to_numpy(), y), "feature_names_in_ = unknown, model.0. has"),
        (lambda X, y: (X, np.column_stack([y, y])), "n_outputs_ = 2, model.0. has 1"),
    ],
)
def test_trees_of_a_list_that_do_not_match(second: Callable[..., Any], message: str) -> None:
    X, y = sample()
    frame = pd.DataFrame(X, columns=FEATURES)
    trees = [DecisionTreeRegressor().fit(frame, y), DecisionTreeRegressor().fit(*second(frame, y))]
    with pytest.raises(InvalidInput, match=message):
        read_ensemble(trees)


@pytest.mark.parametrize("weights", [[1.0], [[1.0, 2.0]], [1.0, np.nan], ["a", "b"]])
def test_bad_weights_of_a_list(weights: Any) -> None:
    X, y = sample()
    trees = [DecisionTreeRegressor(max_depth=1).fit(X, y)] * 2
    with pytest.raises(InvalidInput, match="weights must"):
        read_ensemble(trees, weights)


def test_an_ensemble_is_read_once() -> None:
    X, y = sample()
    ensemble = read_ensemble(forest().fit(X, y))
    assert read_ensemble(ensemble) is ensemble


def test_a_start_that_was_fitted_on_names_gives_no_warning() -> None:
    X, y = sample()
    frame = pd.DataFrame(X, columns=FEATURES)
    start = FrozenEstimator(LinearRegression().fit(frame, y))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        model = boosting(init=start).fit(frame, y)
        expected = model.predict(frame)
    same(read_ensemble(model).predict(frame), expected)


def test_frozen_estimators_are_unwrapped() -> None:
    X, y = sample()
    model = forest().fit(X, y)
    same(read_ensemble(FrozenEstimator(model)).predict(X), model.predict(X))


def test_every_kind_of_matrix_gives_the_same(tmp_path: Path) -> None:
    X, y = sample()
    frame = pd.DataFrame(X, columns=FEATURES)
    model = forest().fit(frame, y)
    ensemble = read_ensemble(model)
    expected = model.predict(frame)
    read_only = X.copy()
    read_only.flags.writeable = False
    X.tofile(tmp_path / "rows")
    kinds = [
        np.memmap(tmp_path / "rows", mode="r", dtype=X.dtype, shape=X.shape),
        pd.DataFrame(X),  # whose columns are 0, 1, …: no names
        frame.convert_dtypes(),
        csc_array(X),
        X,
        frame,
        frame[FEATURES[::-1]],
        csr_array(X),
        read_only,
        np.asfortranarray(X),
        X.tolist(),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kind in kinds:
            same(ensemble.predict(kind), expected)


def test_zero_weights_are_as_if_removed() -> None:
    X, y = sample()
    model = forest().fit(X, y)
    weight = (np.arange(len(y)) % 3).astype(float)
    kept = weight > 0
    all_rows = LayerPruning(pruning_data(model, X, y, weight), 0.3)
    fewer = LayerPruning(pruning_data(model, X[kept], y[kept], weight[kept]), 0.3)
    assert all_rows.objective(all_rows.full()) == fewer.objective(fewer.full())


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (forest(), "model must be fitted .* RandomForestRegressor is not"),
        (AdaBoostRegressor(), "weighted median of its trees"),
        (make_pipeline(StandardScaler(), forest()), r"pipeline\[:-1\]"),
        (HistGradientBoostingRegressor(), "this HistGradientBoostingRegressor is not"),
        (LinearRegression(), "LinearRegression is not supported"),
        (RandomForestRegressor, "the class RandomForestRegressor itself"),
        (FrozenEstimator(boosting()), "this GradientBoostingRegressor is not"),
        ("forest", "str is not supported"),
        ([], "at least one tree"),
        ([3], r"model\[0\] must be a fitted DecisionTreeRegressor, not int"),
        ([DecisionTreeRegressor()], r"model\[0\] must be fitted"),
    ],
)
def test_models_that_cannot_be_read(model: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        read_ensemble(model)


def test_bad_rows_are_refused() -> None:
    X, y = sample()
    frame = pd.DataFrame(X, columns=FEATURES)
    boosted, named = read_ensemble(boosting().fit(X, y)), read_ensemble(forest().fit(frame, y))
    holes = X.copy()
    holes[3, 2] = np.nan
    with pytest.raises(InvalidInput, match=r"contains NaN.*\n.*GradientBoostingRegressor"):
        boosted.predict(holes)
    with pytest.raises(InvalidInput, match="infinity"):
        named.predict(np.full((2, 5), np.inf))
    with pytest.raises(InvalidInput, match="too large for dtype"):
        named.predict(np.full((2, 5), 1e300))
    with pytest.raises(InvalidInput, match="contains NaN"):
        named.predict(csr_array(holes))
    with pytest.raises(InvalidInput, match="missing 'a'"):
        named.predict(frame.rename(columns={"a": 0}))
    with pytest.raises(InvalidInput, match="X has 3 features, but the GradientBoostingRegressor"):
        boosted.predict(X[:, :3])
    with pytest.raises(InvalidInput, match="missing 'e'; not seen at fit 'z'"):
        named.predict(frame.rename(columns={"e": "z"}))
    with pytest.raises(InvalidInput, match="twice"):
        named.predict(frame[[*FEATURES, "a"]])
    with pytest.raises(InvalidInput, match="could not convert string"):
        boosted.predict(np.array([["x"] * 5]))
    with pytest.raises(InvalidInput, match="1D array"):
        boosted.predict(X[0])
    with pytest.raises(InvalidInput, match="0 sample"):
        boosted.predict(X[:0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.zeros(7)}, r"one entry for each of the 120 rows of X, got shape \(7,\)"),
        ({"y": np.full(120, np.nan)}, "y must be finite"),
        ({"y": np.zeros((120, 2))}, "y must have 1 outputs, got 2"),
        ({"y": ["a"] * 120}, "y must be numeric"),
        ({"y": [[1.0], [1.0, 2.0]]}, "y must be numeric"),
        ({"y": 3.0}, r"got shape \(\)"),
        ({"y": np.zeros((120, 1, 1))}, r"got shape \(120, 1, 1\)"),
        ({"y": np.r_[np.inf, np.zeros(119)]}, "y must be finite; found inf at 0"),
        ({"sample_weight": np.full(120, -1.0)}, "sample_weight must not be negative"),
        ({"sample_weight": np.zeros(3)}, "sample_weight must have shape"),
        ({"sample_weight": np.full(120, np.nan)}, "sample_weight must be finite"),
        ({"sample_weight": np.zeros(120)}, "sample_weight must have a positive entry"),
        ({"weights": [1.0]}, "weights go with a list of trees"),
    ],
)
def test_bad_responses_and_weights_are_refused(change: dict[str, Any], message: str) -> None:
    X, y = sample()
    model = forest().fit(X, y)
    with pytest.raises(InvalidInput, match=message):
        pruning_data(model, X, **({"y": y} | change))


def test_a_subclass_that_predicts_otherwise_is_refused() -> None:
    X, y = sample()
    with pytest.raises(InvalidInput, match="Clipped has a predict of its own"):
        read_ensemble(Clipped(3, random_state=0).fit(X, y))
