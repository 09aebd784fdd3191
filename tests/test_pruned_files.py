"""Pruned ensembles come back from files as they were, and no file can do harm."""

from __future__ import annotations

import json
import os
import pickle
import zipfile
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from small_models import NAMES, X, Y, pruned, rows_of

from forestprune import InvalidInput, PrunedEnsemble, prune
from forestprune.exporting.files import VERSION

FORMATS = ("npz", "json")


def assert_equal(one: Any, other: Any, place: str = "") -> None:
    """Two objects are equal, bit for bit, in all their fields."""
    if is_dataclass(one):
        assert type(one) is type(other), place
        for field in fields(one):
            assert_equal(
                getattr(one, field.name), getattr(other, field.name), f"{place}.{field.name}"
            )
    elif isinstance(one, np.ndarray):
        assert (one.dtype, one.shape) == (other.dtype, other.shape), place
        assert one.tolist() == other.tolist() or one.tobytes() == other.tobytes(), place
        assert not other.flags.writeable, place
    elif isinstance(one, tuple):
        assert len(one) == len(other), place
        for i, (mine, theirs) in enumerate(zip(one, other, strict=True)):
            assert_equal(mine, theirs, f"{place}[{i}]")
    else:
        assert type(one) is type(other), place
        assert one == other or one != one, place


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", NAMES)
def test_models_come_back_bit_for_bit(name: str, form: str, tmp_path: Path) -> None:
    model = pruned(name)
    model.save(tmp_path / f"model.{form}")
    loaded = PrunedEnsemble.load(tmp_path / f"model.{form}")
    # A constant start is added to the constant; these parts of results are not kept.
    unkept = {"relaxed": None, "log": "", "extra": {}}
    start = 0.0
    if model.model.init is not None:
        start = model.model.init.constant_.ravel()
    expected = replace(
        model,
        model=replace(model.model, init=None, constant=loaded.model.constant),
        result=replace(model.result, **unkept),
        polishing=None if model.polishing is None else replace(model.polishing, **unkept),
    )
    np.testing.assert_array_equal(loaded.model.constant, model.model.constant + start)
    assert_equal(expected, loaded)
    rows = rows_of(model)
    answer, again = model.predict(rows), loaded.predict(rows)
    assert answer.dtype == again.dtype
    np.testing.assert_array_equal(answer, again)
    np.testing.assert_array_equal(model.raw_predict(rows), loaded.raw_predict(rows))
    assert loaded.summary() == model.summary()
    assert loaded.result.gap == model.result.gap


def test_a_model_without_a_bound_comes_back(tmp_path: Path) -> None:
    model = pruned("forest")
    model = replace(model, result=replace(model.result, bound=-np.inf))
    for form in FORMATS:
        model.save(tmp_path / f"model.{form}")
        assert PrunedEnsemble.load(tmp_path / f"model.{form}").result.bound == -np.inf


def test_json_is_json_of_any_parser(tmp_path: Path) -> None:
    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    pruned("infinite").save(tmp_path / "model.JSON")
    content = json.loads((tmp_path / "model.JSON").read_text("utf-8"), parse_constant=refuse)
    assert content["format"] == "forestprune model"
    assert content["source"] == "RandomForestRegressor"
    assert "inf" in content["arrays"]["threshold"]["values"]


def test_another_start_is_refused_with_the_reason(tmp_path: Path) -> None:
    source = GradientBoostingRegressor(n_estimators=3, init=LinearRegression()).fit(X, Y)
    model = prune(source, X, Y, alpha=0.01)
    for export in (lambda: model.save(tmp_path / "model.npz"), model.to_scikit_learn):
        with pytest.raises(InvalidInput, match="starts from the predictions of a LinearRegr"):
            export()
    assert list(tmp_path.iterdir()) == []
    assert model.to_text().startswith("prediction = LinearRegression(x) + ")


def test_labels_of_mixed_types_are_refused(tmp_path: Path) -> None:
    model = pruned("objects")
    mixed = np.array([1, "two", None], dtype=object)
    model = replace(model, model=replace(model.model, classes=mixed))
    with pytest.raises(InvalidInput, match="classes of type NoneType, int, str cannot be written"):
        model.save(tmp_path / "model.npz")


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The text of a sound JSON file."""
    path = tmp_path_factory.mktemp("sound") / "model.json"
    pruned("categories").save(path)
    return path.read_text("utf-8")


Change = Callable[[dict[str, Any]], object]


def put(entry: str, index: int, value: object) -> Change:
    return lambda c: c["arrays"][entry]["values"].__setitem__(index, value)


def head(name: str, value: object, inner: str | None = None) -> Change:
    return lambda c: (c if inner is None else c[inner]).__setitem__(name, value)


CHANGES: list[tuple[Change, str]] = [
    (head("version", VERSION + 1), "was written by forestprune 0.*reads 1"),
    (head("version", True), "version True of the format"),
    (head("format", "forestprune problem"), "does not say that it is a forestprune model"),
    (head("arrays", None), "has no arrays"),
    (head("n_features", 0), "'n_features' in its header must be at least 1"),
    (head("n_features", 10**30), "'n_features' in its header must be at least 1"),
    (head("n_features", 1), "feature must be one of 1"),
    (head("feature_names", ["a"]), "feature_names must be 2 texts"),
    (head("feature_names", [1, 2]), "feature_names must be 2 texts"),
    (head("alpha", ["long"] * 10_000), "'alpha' in its header must be a number"),
    (head("alpha", "1"), "'alpha' in its header must be a number"),
    (head("alpha", 10**400), "'alpha' in its header must be finite"),
    (head("source_nodes", 3), "more nodes than its source"),
    (head("source", None), "'source' is missing"),
    (head("allow_nan", 1), "'allow_nan' is missing"),
    (head("validation", [1.0]), "validation must be two errors"),
    (head("max_nodes", True), "'max_nodes' in its header must be at least 0"),
    (head("termination", "soon", "result"), "'termination' in its header must be one of conv"),
    (head("versions", {"numpy": 2}, "result"), "version of 'numpy' must be a text"),
    (head("kind", "probit", "link"), "kind must be one of identity"),
    (head("factor", None, "link"), "'factor' in its header must be a number"),
    (head("dtype", "object", "rules"), "'dtype' in its header must be one of float32"),
    (head("sparse", "maybe", "rules"), "'sparse' in its header must be one of zero"),
    (head("categories", [None] * 3, "rules"), "categories must be there for 2 features"),
    (head("categories", {"0": None}, "rules"), "'categories' is missing"),
    (head("categories", [{"objects": 1}, None], "rules"), "'objects' is missing"),
    (head("zero_is_missing", True, "rules"), "no entry 'rules.zero_is_missing'"),
    (head("classes", {"objects": False}), "no entry 'classes'"),
    (head("result", None), "'result' is missing"),
    (lambda c: c.pop("polishing"), "'polishing' is missing"),
    (lambda c: c["arrays"].pop("cover"), "no entry 'cover'"),
    (lambda c: c["arrays"].__setitem__("more", c["arrays"]["cover"]), "unknown entry 'more'"),
    (put("left", 0, 0), "left does not make tree 0 a tree"),  # its own child
    (put("left", 0, 3), "left does not make tree 0 a tree"),
    (put("left", 0, -1), "feature must be one of 2 at a split"),
    (put("left", 0, 2**40), "does not make an array"),
    (put("left", 0, 1.0), "a value that is not int32"),
    (put("feature", 0, 2), "feature must be one of 2"),
    (put("feature", 0, -1), "feature must be one of 2"),
    (put("feature", -1, -2), "feature must be one of 2"),
    (put("value", 0, "inf"), "value must be finite"),
    (put("value", 0, "1"), "a value that is not float64"),
    (put("cover", 0, -1.0), "cover must not be negative"),
    (put("cover", 0, "nan"), "cover must be finite"),
    (put("threshold", -1, "nan"), "a leaf must not have NaN"),
    (put("scale", 0, "nan"), "scale must be finite"),
    (put("constant", 0, "-inf"), "constant must be finite"),
    (put("missing_left", 0, 1), "a value that is not bool"),
    (put("depths", 0, -1), "depths has a negative one"),
    (put("depths", 0, 30), "trees do not have the depths"),
    (put("node_start", 0, 1), "node_start does not say"),
    (put("node_start", 1, 10**6), "node_start does not say"),
    (put("node_start", -1, 10**6), "must have shape"),
    (put("result.beta", 0, "nan"), "result.beta must be finite"),
    (lambda c: c["arrays"]["result.choice"].update(shape=[1], values=[1]), "has 1 entries"),
    (lambda c: c["arrays"]["cover"].update(shape=[10**12]), "says it has shape"),
    (lambda c: c["arrays"]["cover"].update(shape=[-1, -1]), r"shape \[-1, -1\]"),
    (lambda c: c["arrays"]["cover"].update(type="object"), "of type object and shape"),
    (lambda c: c["arrays"]["cover"].update(more=1), "a type, a shape and values, nothing"),
    (lambda c: c["arrays"]["categories"].update(type="int64"), "of type int64"),
]


@pytest.mark.parametrize(("change", "message"), CHANGES)
def test_what_does_not_fit_is_refused(
    content: str, change: Change, message: str, tmp_path: Path
) -> None:
    changed = json.loads(content)
    change(changed)
    path = tmp_path / "model.json"
    path.write_text(json.dumps(changed), "utf-8")
    with pytest.raises(InvalidInput, match=message) as caught:
        PrunedEnsemble.load(path)
    told = str(caught.value)
    assert told.startswith(f"{path} cannot be loaded: ")
    assert "written by forestprune 0" in told or "does not say that it is" in told
    assert len(told) < len(str(path)) + 400


def test_circles_and_nodes_out_of_reach_are_refused(tmp_path: Path) -> None:
    # Right for the wrong order: both splits point at each other's children.
    pruned("forest").save(tmp_path / "model.json")
    content = json.loads((tmp_path / "model.json").read_text("utf-8"))
    values, starts = content["arrays"]["left"]["values"], content["arrays"]["node_start"]["values"]
    tree = next(i for i in range(len(starts) - 1) if values[starts[i] + 1] == 3)
    values[starts[tree]], values[starts[tree] + 1] = 3, 1
    (tmp_path / "model.json").write_text(json.dumps(content), "utf-8")
    with pytest.raises(InvalidInput, match=f"left does not make tree {tree} a tree"):
        PrunedEnsemble.load(tmp_path / "model.json")


def test_a_child_that_does_not_come_after_its_parent_is_refused(tmp_path: Path) -> None:
    pruned("forest").save(tmp_path / "model.json")
    content = json.loads((tmp_path / "model.json").read_text("utf-8"))
    arrays = {name: array["values"] for name, array in content["arrays"].items()}
    end = arrays["node_start"][1]
    # The root of the first tree becomes a leaf, its last leaf a split; children stay in order.
    arrays["feature"][0], arrays["feature"][end - 1] = -1, 0
    arrays["threshold"][0] = 0.0
    splits = [node for node in range(end) if arrays["feature"][node] >= 0]
    arrays["left"][:end] = [-1] * end
    for number, node in enumerate(splits):
        arrays["left"][node] = 1 + 2 * number
    assert splits[0] >= arrays["left"][splits[0]]  # itself, or a node before it
    (tmp_path / "model.json").write_text(json.dumps(content), "utf-8")
    with pytest.raises(InvalidInput, match="left does not make tree 0 a tree"):
        PrunedEnsemble.load(tmp_path / "model.json")


@pytest.mark.parametrize("form", FORMATS)
def test_every_truncated_file_is_refused(form: str, tmp_path: Path) -> None:
    path = tmp_path / f"model.{form}"
    pruned("classes").save(path)
    sound = path.read_bytes()
    for length in range(0, len(sound), len(sound) // 60):
        path.write_bytes(sound[:length])
        with pytest.raises(InvalidInput, match="cannot be loaded"):
            PrunedEnsemble.load(path)


@pytest.mark.parametrize("form", FORMATS)
def test_a_changed_byte_is_refused_or_gives_a_model(form: str, tmp_path: Path) -> None:
    path = tmp_path / f"model.{form}"
    pruned("forest").save(path)
    sound = path.read_bytes()
    refused, generator = 0, np.random.default_rng(0)
    for _ in range(150):
        damaged = bytearray(sound)
        damaged[generator.integers(len(sound))] ^= 1 << int(generator.integers(8))
        path.write_bytes(damaged)
        try:
            assert np.isfinite(PrunedEnsemble.load(path).raw_predict(X[:5])).all()
        except InvalidInput:
            refused += 1
    assert refused > 20


@pytest.mark.parametrize(
    ("written", "message"),
    [
        (b"", "neither an archive of arrays nor JSON"),
        (b"[" * 100_000, "neither an archive"),
        (b'{"format": NaN}', "NaN is no number of JSON"),
        (b"[1]", "does not say that it is a forestprune model"),
        (b"\xff\xfe\x00", "neither an archive"),
        (b"PK\x03\x04 and more", "not an archive of arrays"),
        (pickle.dumps({"format": "forestprune model"}), "neither an archive"),
    ],
)
def test_other_files_are_refused(written: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "model"
    path.write_bytes(written)
    with pytest.raises(InvalidInput, match=message):
        PrunedEnsemble.load(path)


def test_bombs_and_pickles_in_archives_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("value.npy", b"\0" * 10_000_000)
    with pytest.raises(InvalidInput, match="its entries are compressed"):
        PrunedEnsemble.load(path)
    np.savez(path, header=np.array([{}], dtype=object))
    with pytest.raises(InvalidInput, match="never unpickled"):
        PrunedEnsemble.load(path)
    np.savez(path, value=np.zeros(3))
    with pytest.raises(InvalidInput, match="has no header"):
        PrunedEnsemble.load(path)


def test_what_is_no_file_is_not_read(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="absent"):
        PrunedEnsemble.load(tmp_path / "absent")
    with pytest.raises(InvalidInput, match="it is not a file"):
        PrunedEnsemble.load(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InvalidInput, match="it is not a file"):
        PrunedEnsemble.load(tmp_path / "pipe")


def test_saving_replaces_at_once(tmp_path: Path) -> None:
    model = pruned("forest")
    for form in FORMATS:
        path = tmp_path / f"model.{form}"
        path.write_text("old")
        model.save(path)
        PrunedEnsemble.load(path)
    assert {path.name for path in tmp_path.iterdir()} == {"model.npz", "model.json"}
    with pytest.raises(OSError, match=r"model\.json"):
        model.save(tmp_path / "no such folder" / "model.json")
