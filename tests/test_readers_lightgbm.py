"""LightGBM's models: missing values of three kinds, zeros, infinities, categories, links."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from reading import COLUMNS, INFINITE, SPECIAL, diamonds, hard_rows, same, sample
from scipy.sparse import csr_array

from forestprune import InvalidInput, prune, pruning_data, read_ensemble

lightgbm = pytest.importorskip("lightgbm")

OPTIONS: dict[str, Any] = {
    "n_estimators": 8,
    "num_leaves": 12,
    "min_child_samples": 5,
    "verbose": -1,
    "n_jobs": 1,
    "random_state": 0,
}

MODELS: dict[str, dict[str, Any]] = {
    "squared": {},
    "zero_as_missing": {"zero_as_missing": True},
    "no_missing": {"use_missing": False},
    "dart": {"boosting_type": "dart", "drop_rate": 0.5},
    "forest": {"boosting_type": "rf", "subsample": 0.5, "subsample_freq": 1},
    "goss": {"data_sample_strategy": "goss"},
    "large": {"num_leaves": 200, "min_child_samples": 1, "n_estimators": 2},
    "no_average": {"boost_from_average": False},
    "l1": {"objective": "l1"},
    "quantile": {"objective": "quantile", "alpha": 0.2},
    "huber": {"objective": "huber"},
    "root": {"reg_sqrt": True},
    "poisson": {"objective": "poisson"},
    "tweedie": {"objective": "tweedie"},
    "odds": {"objective": "cross_entropy"},
    "constant": {"min_child_samples": 10**6},
}
SCORED = ("root", "poisson", "tweedie", "odds")


@pytest.mark.parametrize("name", sorted(MODELS))
def test_the_full_model_is_the_source(name: str) -> None:
    X, y = sample()
    y = y / y.max() if name == "odds" else y
    model = lightgbm.LGBMRegressor(**OPTIONS | MODELS[name]).fit(X, y)
    ensemble = read_ensemble(model)
    rows = hard_rows(ensemble, SPECIAL + INFINITE)
    same(ensemble.predict(rows), model.predict(rows))
    same(read_ensemble(model.booster_).predict(rows), model.predict(rows))
    assert ensemble.target_is_score == (name in SCORED)
    if name == "forest":
        assert set(ensemble.scale) == {1 / 8}


@pytest.mark.parametrize("objective", ["binary", "multiclass", "multiclassova", "two"])
def test_classifiers(objective: str) -> None:
    X, y = sample()
    target = np.array(["p", "q", "r"])[np.digitize(y, np.quantile(y, [0.4, 0.7]))]
    options: dict[str, Any] = {"objective": objective, "sigmoid": 1.7}
    if objective in ("binary", "two"):
        target = np.where(target == "p", "p", "q")
    if objective == "two":
        options = {"objective": "multiclass", "num_class": 2}
    model = lightgbm.LGBMClassifier(**OPTIONS | options).fit(X, target)
    ensemble = read_ensemble(model)
    rows = hard_rows(ensemble, SPECIAL + INFINITE)
    same(ensemble.raw_predict(rows), model.predict(rows, raw_score=True))
    same(ensemble.predict_proba(rows), model.predict_proba(rows))
    np.testing.assert_array_equal(ensemble.predict(rows), model.predict(rows))
    pruned = prune(model, X, target, alpha=0.2)
    assert (pruned.predict(X) == model.predict(X)).mean() > 0.8
    numbered = read_ensemble(model.booster_)
    assert numbered.classes is not None
    np.testing.assert_array_equal(model.classes_[numbered.predict(rows)], model.predict(rows))


def test_inner_values_are_those_of_lightgbm() -> None:
    X, y = sample()
    model = lightgbm.LGBMRegressor(**OPTIONS).fit(X, y)
    tree = read_ensemble(model).trees[0]
    root = model.booster_.dump_model()["tree_info"][0]["tree_structure"]
    assert tree.value[0, 0] == pytest.approx(root["internal_value"], rel=1e-5)
    assert tree.value[1, 0] == pytest.approx(root["left_child"]["internal_value"], rel=1e-5)
    assert tree.cover[0] == len(y)


def test_real_data_with_names_early_stopping_and_weights() -> None:
    X, y = diamonds()
    X = X.rename(columns={"carat": "weight in carat"})
    weight = 1.0 + np.arange(len(y)) % 3
    half = slice(0, 400)
    model = lightgbm.LGBMRegressor(**OPTIONS | {"n_estimators": 60, "learning_rate": 0.5})
    with warnings.catch_warnings():
        # The argument has another name in newer versions, and spaces in names are replaced.
        warnings.filterwarnings("ignore", "The argument 'eval_set'|Found whitespace")
        model.fit(
            X[half],
            y[half],
            sample_weight=weight[half],
            eval_set=[(X[400:], y[400:])],
            callbacks=[lightgbm.early_stopping(2, verbose=False)],
        )
    ensemble = read_ensemble(model)
    assert ensemble.n_trees == model.best_iteration_ < 60
    same(ensemble.predict(X), model.predict(X))
    same(ensemble.predict(X[X.columns[::-1]]), model.predict(X))
    pruned = prune(model, X[half], y[half], alpha=0.1, sample_weight=weight[half])
    assert pruned.n_nodes < ensemble.n_nodes
    assert np.mean((pruned.predict(X[400:]) - y[400:]) ** 2) < 0.15 * np.var(y)


def test_every_kind_of_matrix_gives_the_same() -> None:
    X, y = sample()
    model = lightgbm.LGBMRegressor(**OPTIONS).fit(X, y)
    ensemble = read_ensemble(model)
    assert ensemble.feature_names is None
    expected = model.predict(X)
    for kind in (csr_array(X), np.asfortranarray(X), pd.DataFrame(X, columns=COLUMNS), X.tolist()):
        same(ensemble.predict(kind), expected)
    single = X.astype(np.float32)
    same(ensemble.predict(single), model.predict(single))


@pytest.mark.parametrize("leaves", [8, 200])
def test_categories_that_are_numbers(leaves: int) -> None:
    X, y = sample(800)
    X[:, 3] = np.abs(np.round(X[:, 4] * 30))
    y = y + np.nan_to_num(np.sin(X[:, 3]))
    model = lightgbm.LGBMRegressor(
        **OPTIONS | {"num_leaves": leaves, "min_child_samples": 2},
        min_data_per_group=2,
        cat_smooth=1.0,
    ).fit(X, y, categorical_feature=[3])
    ensemble = read_ensemble(model)
    assert any(tree.categories is not None for tree in ensemble.trees)
    rows = hard_rows(ensemble, SPECIAL + INFINITE)
    rows[:, 3] = np.random.default_rng(0).choice(
        [np.nan, -1, -0.5, 0.0, 0.9, 1, 2.7, 31, 63, 64, 65, 1e3, 1e10, -1e10, 1e300, np.inf],
        len(rows),
    )
    same(ensemble.predict(rows), model.predict(rows))
    pruned = prune(ensemble, X, y, alpha=0.3, polish=None)
    assert 0 < pruned.n_nodes <= ensemble.n_nodes


def test_categories_of_a_data_frame() -> None:
    X, y = diamonds()
    colours = np.array(["red", "green", "blue", "white"])[(np.arange(len(y)) * 7) % 4]
    X.insert(1, "colour", pd.Categorical(colours))
    X.insert(4, "shade", pd.Categorical(np.arange(len(y)) % 3, categories=[2, 0, 1]))
    y = y + np.where(colours == "red", 1.0, 0.0) - 0.5 * (np.arange(len(y)) % 3 == 1)
    model = lightgbm.LGBMRegressor(**OPTIONS, min_data_per_group=2).fit(X, y)
    ensemble = read_ensemble(model)
    assert any(tree.categories is not None for tree in ensemble.trees)
    same(ensemble.predict(X), model.predict(X))
    same(ensemble.predict(X[X.columns[::-1]]), model.predict(X))
    other = X.copy()
    other["colour"] = pd.Categorical(["mauve", None, "blue", "red"] * (len(y) // 4))
    same(ensemble.predict(other), model.predict(other))


def test_poisson_is_pruned_against_scores() -> None:
    X, y = sample()
    model = lightgbm.LGBMRegressor(**OPTIONS, objective="poisson").fit(X, y)
    data = pruning_data(model, X, y)
    same((data.target + data.offset)[:, 0], model.predict(X, raw_score=True))


def own(y: Any, raw: Any) -> Any:
    return raw - y, np.ones_like(y)


def test_an_objective_of_ones_own_has_no_link() -> None:
    X, y = sample()
    model = lightgbm.LGBMRegressor(**OPTIONS, objective=own).fit(X, y)
    same(read_ensemble(model).predict(X), model.predict(X))
    classifier = lightgbm.LGBMClassifier(**OPTIONS, objective=own).fit(X, y > 3.0)
    with pytest.raises(InvalidInput, match="says nothing about how its scores make probabilities"):
        read_ensemble(classifier)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"linear_tree": True}, "linear functions in its leaves"),
        ({"objective": "lambdarank"}, "objective 'lambdarank', whose scores have no least"),
        ({"objective": "binary"}, "must be an LGBMClassifier"),
    ],
)
def test_models_that_are_refused(options: dict[str, Any], message: str) -> None:
    X, y = sample()
    X, y = np.nan_to_num(X), y
    kind = lightgbm.LGBMRegressor
    fit: dict[str, Any] = {}
    if options.get("objective") == "lambdarank":
        kind, fit = lightgbm.LGBMRanker, {"group": [200, 200]}
    y = np.round(y).clip(0, 4).astype(int) if fit else y
    y = (y > 3.0) * 1.0 if options.get("objective") == "binary" else y
    with pytest.raises(InvalidInput, match=message):
        read_ensemble(kind(**OPTIONS | options).fit(X, y, **fit))


def test_parts_that_take_zeros_differently_are_refused() -> None:
    X, y = sample()
    parts: Any = None
    for zero in (False, True):
        options = {"zero_as_missing": zero, "verbose": -1, "num_threads": 1}
        data = lightgbm.Dataset(X, y, params=dict(options))
        parts = lightgbm.train(options, data, 5, init_model=parts)
    with pytest.raises(InvalidInput, match=r"in which zeros of feature . are missing in one and"):
        read_ensemble(parts)


def test_a_single_class_is_predicted_always() -> None:
    X, _ = sample()
    model = lightgbm.LGBMClassifier(**OPTIONS).fit(X, ["only"] * len(X))
    ensemble = read_ensemble(model)
    assert set(ensemble.predict(X)) == {"only"}
    assert ensemble.predict_proba(X).shape == (len(X), 1)


def test_a_model_that_was_not_fitted() -> None:
    with pytest.raises(InvalidInput, match="this LGBMRegressor is not"):
        read_ensemble(lightgbm.LGBMRegressor())


def test_a_dump_that_is_read_wrongly_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = sample()
    model = lightgbm.LGBMRegressor(**OPTIONS).fit(X, y)
    dump = model.booster_.dump_model()
    dump["tree_info"].pop()
    monkeypatch.setattr(model.booster_, "dump_model", lambda: dump)
    with pytest.raises(InvalidInput, match="store trees in a way that this version does not know"):
        read_ensemble(model)
