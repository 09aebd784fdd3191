"""Pruned ensembles become models of other libraries that predict the same."""

from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from small_models import LABELS, NAMES, X, Y, pruned, rows_of

from forestprune import InvalidInput, PrunedEnsemble, prune
from forestprune.links import Link

NUMERICAL = [name for name in NAMES if name != "categories"]


def assert_same(model: PrunedEnsemble, estimator: Any, rows: Any) -> None:
    expected, given = model.predict(rows), estimator.predict(rows)
    assert given.shape == expected.shape
    if model.classes is None:
        largest = np.abs(expected).max()
        np.testing.assert_allclose(given, expected, rtol=0.0, atol=1e-12 * largest)
        return
    np.testing.assert_array_equal(given, expected)
    assert estimator.classes_.tolist() == model.classes.tolist()
    probabilities = estimator.predict_proba(rows)
    if isinstance(estimator, RandomForestClassifier):  # frequencies, not clipped
        probabilities = model.model.link.probabilities(probabilities, len(model.classes))
    np.testing.assert_allclose(probabilities, model.predict_proba(rows), rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("name", NUMERICAL)
def test_scikit_learn_predicts_the_same(name: str) -> None:
    model = pruned(name)
    estimator = model.to_scikit_learn()
    assert_same(model, estimator, rows_of(model).astype(np.float32))
    if hasattr(estimator, "estimators_") and not hasattr(estimator, "final_estimator_"):
        counts = [one.tree_.node_count for one in estimator.estimators_]
        assert sum(counts) == max(model.n_nodes, 1)


def test_scikit_learn_needs_nothing_else(tmp_path: Path) -> None:
    models = [pruned(name) for name in ("boosting", "classes", "objects")]
    made = [(model.to_scikit_learn(), model.predict(X).tolist()) for model in models]
    (tmp_path / "made.pickle").write_bytes(pickle.dumps((X.tolist(), made)))
    code = (
        "import sys, pickle\n"
        "for name in ('forestprune', 'formulations', 'solvers'):\n"
        "    sys.modules[name] = None\n"
        "rows, made = pickle.load(open('made.pickle', 'rb'))\n"
        "for model, expected in made:\n"
        "    for one, other in zip(model.predict(rows).tolist(), expected, strict=True):\n"
        "        assert one == other or abs(one - other) < 1e-12, (model, one, other)\n"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_two_classes_and_their_clipped_frequencies() -> None:
    labels = LABELS == "high"
    source = RandomForestClassifier(6, max_depth=4, random_state=0).fit(X, labels)
    model = prune(source, X, labels, alpha=0.3, polish="best_subset", n_trees=4)
    estimator = model.to_scikit_learn()
    np.testing.assert_array_equal(estimator.predict(X), model.predict(X))
    given = estimator.predict_proba(X)
    assert (given < 0.0).any()  # or there is nothing to clip, and the test says nothing
    np.testing.assert_allclose(np.clip(given, 0.0, 1.0), model.predict_proba(X), atol=1e-12)


def test_scores_of_two_classes() -> None:
    labels = LABELS == "high"
    source = GradientBoostingClassifier(n_estimators=5, random_state=0).fit(X, labels)
    model = prune(source, X, labels, alpha=0.01)
    assert_same(model, model.to_scikit_learn(), X)


def test_an_unpruned_forest_has_its_importances_and_names() -> None:
    import pandas as pd

    frame = pd.DataFrame(X, columns=["north", "east", "up"])
    source = RandomForestRegressor(8, max_depth=4, random_state=0).fit(frame, Y)
    again = prune(source, frame, Y, alpha=0.0, polish=None).to_scikit_learn()
    np.testing.assert_allclose(again.feature_importances_, source.feature_importances_)
    assert again.feature_names_in_.tolist() == ["north", "east", "up"]
    np.testing.assert_allclose(again.predict(frame), source.predict(frame), rtol=1e-12)
    with pytest.raises(ValueError, match="feature names"):
        again.predict(frame.rename(columns={"up": "down"}))


@pytest.mark.parametrize(
    ("link", "response"),
    [(Link("log"), np.exp), (Link("logistic"), lambda x: 1 / (1 + np.exp(-x)))],
)
def test_a_response_behind_a_link(link: Link, response: Any) -> None:
    model = pruned("boosting")
    model = replace(model, model=replace(model.model, link=link))
    estimator = model.to_scikit_learn()
    np.testing.assert_allclose(estimator.predict(X), response(model.raw_predict(X)), rtol=1e-12)
    assert_same(model, pickle.loads(pickle.dumps(estimator)), X)


@pytest.mark.parametrize("library", ["scikit_learn", "onnx", "treelite"])
def test_what_rows_cannot_say_is_refused(library: str) -> None:
    if library != "scikit_learn":
        pytest.importorskip(library)
    model = pruned("missing")
    for change, message in (
        ({"missing": -1.0}, "cannot take -1 for missing values"),
        ({"zero_is_missing": np.array([True, False, False])}, "cannot take zeros for missing"),
    ):
        rules = replace(model.model.rules, **change)
        other = replace(model, model=replace(model.model, rules=rules))
        with pytest.raises(InvalidInput, match=message):
            getattr(other, f"to_{library}")()


def test_what_scikit_learn_cannot_say_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no categorical splits"):
        pruned("categories").to_scikit_learn()
    for name, link, message in (
        ("objects", Link("one_vs_all"), "probabilities of 3 classes of scores by 'one_vs_all'"),
        ("boosting", Link("signed_square"), "a response of a score by 'signed_square'"),
        ("boosting", Link("logistic", 2.0), "by 'logistic' with factor 2"),
    ):
        model = pruned(name)
        model = replace(model, model=replace(model.model, link=link))
        with pytest.raises(InvalidInput, match=message):
            model.to_scikit_learn()


def test_double_precision_is_told() -> None:
    source = HistGradientBoostingRegressor(max_iter=4, max_depth=3, max_bins=20).fit(X, Y)
    model = prune(source, X, Y, alpha=0.001)
    # Thresholds are values of the data, many of which are larger in single precision.
    limits = np.concatenate([tree.threshold[tree.left >= 0] for tree in model.model.trees])
    assert (np.isin(limits, X) & (limits.astype(np.float32) > limits)).any()
    with pytest.warns(UserWarning, match="in double precision") as caught:
        estimator = model.to_scikit_learn()
    assert caught[0].filename == __file__
    assert_same(model, estimator, X)


@pytest.mark.parametrize("name", NAMES)
def test_treelite_predicts_the_same(name: str) -> None:
    treelite = pytest.importorskip("treelite")
    model = pruned(name)
    rows = rows_of(model)
    if model.model.rules.dtype == "float32":
        rows = rows.astype(np.float32).astype(np.float64)
    given = treelite.gtil.predict(model.to_treelite(), rows, nthread=1)
    expected = model.raw_predict(rows)
    if not model.model.link.is_identity:
        expected = model.predict_proba(rows)  # its softmax is in single precision
        np.testing.assert_allclose(given.reshape(expected.shape), expected, atol=1e-6)
        return
    largest = np.abs(expected).max()
    np.testing.assert_allclose(given.reshape(expected.shape), expected, atol=1e-12 * largest)


@pytest.mark.parametrize("name", NUMERICAL)
def test_onnx_predicts_the_same(name: str) -> None:
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    model = pruned(name)
    rows = rows_of(model).astype(np.float32)
    session = runtime.InferenceSession(
        model.to_onnx().SerializeToString(), providers=["CPUExecutionProvider"]
    )
    given = session.run(None, {"X": rows})
    if model.classes is None:
        expected = model.predict(rows).reshape(len(rows), -1)
        largest = np.abs(expected).max()
        np.testing.assert_allclose(given[0], expected, rtol=0.0, atol=2e-6 * largest)
        return
    np.testing.assert_array_equal(given[0], model.predict(rows))
    np.testing.assert_allclose(given[1], model.predict_proba(rows), atol=1e-6)


@pytest.mark.parametrize("kind", ["identity", "logistic", "log", "signed_square", "one_vs_all"])
def test_onnx_knows_every_link(kind: str) -> None:
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    links = [("boosting", None)] if kind != "one_vs_all" else []
    links += [("objects", None)] if kind in ("one_vs_all", "identity") else []
    links += [("boosting", np.array([-1, 7]))] if kind in ("logistic", "identity") else []
    for name, classes in links:
        model = pruned(name)
        changes: dict[str, Any] = {"link": Link(kind, 0.5)}
        if classes is not None:
            changes["classes"] = classes
        model = replace(model, model=replace(model.model, **changes))
        made = model.to_onnx().SerializeToString()
        session = runtime.InferenceSession(made, providers=["CPUExecutionProvider"])
        given = session.run(None, {"X": X.astype(np.float32)})
        if model.classes is None:
            np.testing.assert_allclose(given[0][:, 0], model.predict(X), rtol=1e-5)
        else:
            np.testing.assert_array_equal(given[0], model.predict(X))
            np.testing.assert_allclose(given[1], model.predict_proba(X), atol=1e-6)


def test_onnx_compares_in_double_precision_where_the_source_does() -> None:
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    near = 1.0 + np.arange(40) * 1e-12  # one number in single precision
    y = (np.arange(40) >= 20).astype(float)
    source = HistGradientBoostingRegressor(max_iter=2, min_samples_leaf=5).fit(near[:, None], y)
    model = prune(source, near[:, None], y, alpha=1e-6)
    assert model.n_trees > 0
    made = model.to_onnx().SerializeToString()
    session = runtime.InferenceSession(made, providers=["CPUExecutionProvider"])
    (given,) = session.run(None, {"X": near[:, None]})
    np.testing.assert_allclose(given[:, 0], model.predict(near[:, None]), atol=1e-6)
    assert np.ptp(given) > 0.1


def test_onnx_takes_the_ways_of_rows_at_the_thresholds() -> None:
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    model = pruned("forest")
    made = model.to_onnx().SerializeToString()
    session = runtime.InferenceSession(made, providers=["CPUExecutionProvider"])
    limits = np.concatenate([tree.threshold for tree in model.model.trees]).astype(np.float32)
    for beside in (
        limits,
        np.nextafter(limits, np.float32(9)),
        np.nextafter(limits, np.float32(-9)),
    ):
        rows = np.repeat(beside[:, None], 3, axis=1)
        (given,) = session.run(None, {"X": rows})
        np.testing.assert_allclose(given[:, 0], model.predict(rows), rtol=1e-5, atol=1e-5)


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("onnx", "treelite"):
        for module in [one for one in sys.modules if one.partition(".")[0] == package]:
            monkeypatch.delitem(sys.modules, module)
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(InvalidInput, match=f"to_{package} needs .*pip install {package}"):
            getattr(pruned("forest"), f"to_{package}")()
