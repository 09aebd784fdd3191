"""Forgetful models as ensembles for pruning."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import forestprune as fp


def forest(classes: int, late: bool = False, **options: Any) -> tuple[Any, Any, Any]:
    """A forest that has learnt six batches, and the rows."""
    rng = np.random.default_rng(classes)
    X = rng.normal(size=(600, 4))
    signal = X[:, 0] + X[:, 1] * X[:, 2]
    if classes:
        names = np.array(["d", "c", "b", "a"])[:classes]
        y = names[np.searchsorted(np.quantile(signal, np.arange(1, classes) / classes), signal)]
        model: Any = fp.ForgetfulForestClassifier(5, random_state=0, max_rows=300, **options)
    else:
        y = signal
        model = fp.ForgetfulForestRegressor(5, random_state=0, max_rows=300, **options)
    order = np.argsort(-signal) if late else np.arange(600)  # classes that come one by one
    X, y = X[order], y[order]
    for begin in range(0, 600, 100):
        model.partial_fit(X[begin : begin + 100], y[begin : begin + 100])
    return model, X, y


@pytest.mark.parametrize("classes", [0, 1, 2, 4])
@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("options", [{}, {"bagging": True, "min_statistic": 0.0}])
def test_the_full_ensemble_predicts_what_the_forest_does(
    classes: int, late: bool, options: dict[str, Any]
) -> None:
    model, X, y = forest(classes, late, **options)
    ensemble = fp.read_ensemble(model)
    if classes:
        np.testing.assert_allclose(
            ensemble.predict_proba(X), model.predict_proba(X), rtol=0, atol=1e-12
        )
        assert ensemble.classes.tolist() == model.classes_.tolist()
    else:
        np.testing.assert_allclose(ensemble.predict(X), model.predict(X), rtol=0, atol=1e-12)
    problem = fp.LayerPruning(fp.pruning_data(model, X, y), alpha=0.0)
    if classes == 2:
        error = model.predict_proba(X)[:, 1] - (y == model.classes_[1])
    elif classes == 0:
        error = model.predict(X) - y
    else:
        return
    assert problem.objective(problem.full()) == pytest.approx(np.mean(error**2), rel=1e-12)


@pytest.mark.parametrize("classes", [0, 2, 4])
def test_pruning_on_what_is_remembered(classes: int) -> None:
    model, X, y = forest(classes)
    data = fp.pruning_data(model)
    held = [model.retained(t)[0] for t in range(5)]
    union = {row.tobytes() for rows in held for row in rows}
    assert data.n_rows == len(union) > 300
    for problem in (fp.LayerPruning(data, alpha=1.0), fp.SubtreePruning(data, alpha=1.0)):
        result = fp.solve(problem, "cbcd")
        assert result.objective <= problem.objective(problem.full()) + 1e-9
    pruned = fp.prune(model, X, y, alpha=0.1)
    assert pruned.predict(X).shape == (600,)


def test_equal_rows_are_counted_as_often_as_they_are_remembered() -> None:
    X = np.array([[0.0], [0.0], [1.0]])
    model = fp.ForgetfulForestClassifier(3, random_state=0).partial_fit(X, [1, 1, 0])
    model.partial_fit(X, [1, 0, 0])
    data = fp.pruning_data(model)
    assert data.n_rows == 6


def test_later_batches_do_not_change_what_was_read() -> None:
    model, X, y = forest(2)
    ensemble = fp.read_ensemble(model)
    before = ensemble.predict_proba(X)
    model.partial_fit(X, y[::-1])
    np.testing.assert_array_equal(fp.read_ensemble(ensemble).predict_proba(X), before)


def test_what_cannot_be_read_is_told() -> None:
    with pytest.raises(fp.InvalidInput, match="learnt a batch"):
        fp.read_ensemble(fp.ForgetfulTreeClassifier())
    from sklearn.tree import DecisionTreeRegressor

    tree = DecisionTreeRegressor(max_depth=2).fit([[0.0], [1.0]], [0.0, 1.0])
    with pytest.raises(fp.InvalidInput, match="remembers no rows"):
        fp.pruning_data(tree)
    model, X, y = forest(2)
    for half in ({"X": X}, {"y": y}):
        with pytest.raises(fp.InvalidInput, match="both X and y"):
            fp.pruning_data(model, **half)


def test_without_rows_it_is_pruned_on_what_it_remembers() -> None:
    model, X, _ = forest(2)
    here = fp.prune(model, alpha=0.1)
    data = fp.pruning_data(model)
    result = fp.solve(fp.LayerPruning(data, alpha=0.1 * data.y_variance))
    assert here.result.objective == result.objective
    with pytest.raises(fp.InvalidInput, match="both X and y"):
        fp.prune(model, X)
