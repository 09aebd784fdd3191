"""Problems come back from files as they were, and no file can do harm."""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import TINY
from sklearn.ensemble import GradientBoostingRegressor

import forestprune as fp
from formulations import Formulation, JointPruning, Polishing, archive


def assert_equal(one: Any, other: Any) -> None:
    """The fields of two problems, or of their data, are equal bit for bit."""
    assert type(one) is type(other)
    for field in fields(one):
        mine, theirs = getattr(one, field.name), getattr(other, field.name)
        if isinstance(mine, fp.PruningData):
            assert_equal(mine, theirs)
        elif isinstance(mine, np.ndarray):
            assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape), field.name
            assert mine.tobytes() == theirs.tobytes(), field.name
            assert not theirs.flags.writeable
        elif isinstance(mine, list):
            for here, there in zip(mine, theirs, strict=True):
                np.testing.assert_array_equal(here, there)
        else:
            assert (mine, type(mine)) == (theirs, type(theirs)), field.name


def sent(problem: Formulation, folder: Path) -> Any:
    fp.save_problem(problem, folder / "problem.npz")
    return fp.load_problem(folder / "problem.npz")


def test_tiny_problems_come_back_bit_for_bit(tiny: fp.LayerPruning, tmp_path: Path) -> None:
    loaded = sent(tiny, tmp_path)
    assert_equal(tiny, loaded)
    for choice in (tiny.zero(), tiny.full(), tiny.full() // 2):
        assert loaded.objective(choice) == tiny.objective(choice)
    assert loaded.data.total_weight == tiny.data.total_weight
    assert loaded.data.y_variance == tiny.data.y_variance


def test_a_fitted_ensemble_comes_back_with_its_nodes(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    X = generator.normal(size=(200, 3))
    y = 1e3 + X[:, 0] ** 2 + generator.normal(size=200)
    model = GradientBoostingRegressor(n_estimators=12, max_depth=3, random_state=0).fit(X, y)
    data = fp.pruning_data(model, X, y, sample_weight=np.arange(200) % 4)
    problem = fp.LayerPruning(data, 0.3, "nodes")
    loaded = sent(problem, tmp_path)
    assert_equal(problem, loaded)
    assert loaded.kept_nodes(loaded.full()) == problem.kept_nodes(problem.full())
    one, other = fp.solve(problem, seed=3), fp.solve(loaded, seed=3)
    assert one.objective == other.objective
    np.testing.assert_array_equal(one.choice, other.choice)


def test_formulations_bring_their_own_parameters(problem: fp.LayerPruning, tmp_path: Path) -> None:
    data, full = problem.data, problem.full()
    rows_of_weights = [np.arange(1.0, depth + 1.0) for depth in data.depths]
    for other in (
        Polishing(data, full, alpha2=0.125, nonnegative=True),
        Polishing(data, full - 1, rho=0, n_trees=2, intercept=True),
        JointPruning(data, 0.1, 0.7, rho=0, weights="depth", ridge=1e-3),
        JointPruning(data, 0.1, weights=rows_of_weights),
    ):
        loaded = sent(other, tmp_path)
        assert_equal(other, loaded)
        beta = np.zeros(data.n_trees)
        beta[:2] = 0.5, 2.0
        assert loaded.objective(other.full(), beta) == other.objective(other.full(), beta)
    fewest = Polishing(data, full, rho=0, n_trees=np.int64(2))
    assert sent(fewest, tmp_path).n_trees == 2


def test_a_file_is_replaced_whole_or_not_at_all(
    problem: fp.LayerPruning, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "problem.npz"
    fp.save_problem(problem, path)

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", fail)
    with pytest.raises(OSError, match=r"No space left.*problem\.npz") as caught:
        fp.save_problem(problem.with_alpha(9.0), path)
    assert caught.value.filename == str(path)
    assert fp.load_problem(path).alpha == problem.alpha  # type: ignore[attr-defined]
    assert [found.name for found in tmp_path.iterdir()] == ["problem.npz"]


def test_what_cannot_be_saved_or_opened_is_said(problem: fp.LayerPruning, tmp_path: Path) -> None:
    with pytest.raises(fp.InvalidInput, match=r"one of .*LayerPruning.*not Prun"):
        fp.save_problem(problem.data, tmp_path / "data.npz")  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError, match=r"absent/problem\.npz"):
        fp.save_problem(problem, tmp_path / "absent" / "problem.npz")
    with pytest.raises(FileNotFoundError, match=r"absent\.npz"):
        fp.load_problem(tmp_path / "absent.npz")


def entries_of(path: Path) -> dict[str, Any]:
    with np.load(path, allow_pickle=False) as stored:
        return dict(stored)


def with_header(**changes: Any) -> Callable[[dict[str, Any]], None]:
    def change(entries: dict[str, Any]) -> None:
        header = json.loads(entries["header"].item())
        entries["header"] = np.array(json.dumps({**header, **changes}))

    return change


def with_entry(name: str, given: Any) -> Callable[[dict[str, Any]], None]:
    return lambda entries: entries.update({name: given(entries) if callable(given) else given})


def altered(name: str, place: Any, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(entries: dict[str, Any]) -> None:
        entries[name] = entries[name].copy()
        entries[name][place] = value

    return change


HOSTILE: dict[str, tuple[Callable[[dict[str, Any]], None], str]] = {
    "no header": (lambda entries: entries.pop("header"), "has no header"),
    "not JSON": (with_entry("header", np.array("{")), "header is not JSON"),
    "deep JSON": (with_entry("header", np.array("[" * 100_000)), "header is not JSON"),
    "another header": (with_entry("header", np.array("[1]")), "does not say that it is a"),
    "later format": (
        with_header(version=2, forestprune="9.9"),
        r"has version 2 of the format and was written by forestprune 9\.9; version .* reads 1",
    ),
    "no kind": (with_header(kind=None), "'kind' is missing"),
    "unknown kind": (with_header(kind="trees"), "no formulation of kind 'trees'"),
    "counts": (with_header(node_counts_known=1), "'node_counts_known' is missing.*not bool"),
    "parameters": (with_header(parameters={"alpha": 1.0}), r"has parameters \['alpha', 'weights'"),
    "other parameters": (
        with_header(parameters={"alpha": 1.0, "weights": "depth", "gamma": 2}),
        "has parameters",
    ),
    "negative alpha": (with_header(parameters={"alpha": -1, "weights": "depth"}), "alpha must be"),
    "infinite alpha": (
        with_header(parameters={"alpha": float("inf"), "weights": "depth"}),
        "alpha must be a finite",
    ),
    "absurd alpha": (
        with_header(parameters={"alpha": 10**400, "weights": "depth"}),
        "parameters do not make a problem",
    ),
    "alpha as text": (with_header(parameters={"alpha": "1", "weights": "depth"}), "alpha must be"),
    "weights by number": (
        with_header(parameters={"alpha": 1.0, "weights": 3}),
        "weights must be a name or one array per tree, not 3",
    ),
    "weights by name": (
        with_header(parameters={"alpha": 1.0, "weights": "nodes"}),
        "comes from plain D arrays",
    ),
    "weights that are not there": (
        with_header(parameters={"alpha": 1.0, "weights": {"stored": "arrays"}}),
        r"no entry 'parameter\.weights'",
    ),
    "stored elsewhere": (
        with_header(parameters={"alpha": 1.0, "weights": {"stored": "/etc/passwd"}}),
        "'weights' must be a number, a string or stored",
    ),
    "missing": (lambda entries: entries.pop("codes"), "no entry 'codes'"),
    "unknown": (with_entry("more", np.ones(2)), "unknown entry 'more'"),
    "code out of range": (altered("codes", (0, 0), 250), "codes must lie between 0 and"),
    "signed codes": (
        with_entry("codes", lambda entries: entries["codes"].astype(np.int64) - 1),
        "entry 'codes' is of type int64",
    ),
    "codes of fewer rows": (
        with_entry("codes", lambda entries: entries["codes"][:, 1:]),
        "codes must have shape",
    ),
    "NaN": (altered("target", (1, 0), np.nan), r"target must be finite; found nan at \(1, 0\)"),
    "infinite value": (altered("value", (1, 0), np.inf), "value must be finite"),
    "value at a root": (altered("value", (0, 0), 1.0), "must be 0 at the root"),
    "flat target": (with_entry("target", np.ones(12)), "entry 'target' is of type"),
    "complex target": (with_entry("target", np.ones((12, 1), complex)), "entry 'target' is of"),
    "offset": (with_entry("offset", np.ones((12, 2))), "offset must have the shape of target"),
    "more outputs": (with_entry("value", lambda e: np.zeros((len(e["value"]), 2))), "1 outputs"),
    "zero weight": (altered("row_weight", 3, 0.0), "row_weight must be positive; found 0"),
    "weights of fewer rows": (with_entry("row_weight", np.ones(11)), "must have shape"),
    "no rows": (
        lambda entries: entries.update(
            codes=entries["codes"][:, :0],
            target=np.empty((0, 1)),
            offset=np.empty((0, 1)),
            row_weight=np.empty(0),
        ),
        "y must have shape",
    ),
    "starts too far": (altered("node_start", -1, 10**15), "'node_start' does not say where"),
    "starts that fall": (altered("node_start", 1, -5), "'node_start' does not say where"),
    "a tree without nodes": (altered("node_start", 1, 0), "'node_start' does not say where"),
    "no trees": (with_entry("node_start", np.array([0])), "'node_start' does not say where"),
    "parent later": (altered("parent", 1, 10**6), "must be in level order"),
    "parent before": (altered("parent", 2, -7), "must be in level order"),
    "root": (altered("parent", 0, 0), "begin with the root"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_entries_are_refused(case: str, tmp_path: Path) -> None:
    change, said = HOSTILE[case]
    path = tmp_path / "problem.npz"
    fp.save_problem(TINY["random"](), path)
    entries = entries_of(path)
    change(entries)
    np.savez(path, **entries)
    with pytest.raises(fp.InvalidInput, match=rf"(?s)problem\.npz cannot be loaded: .*{said}"):
        fp.load_problem(path)


def test_weights_of_the_wrong_length_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "problem.npz"
    fp.save_problem(TINY["given_weights"](), path)
    for starts, said in (
        ([0, 1, 5, 6], r"weights\[0\] must have shape \(2,\)"),
        ([0, 6], "one array for each of the 3 trees"),
        ([0, 9, 6], "does not say where"),
    ):
        entries = entries_of(path)
        entries["parameter.weights.start"] = np.array(starts)
        np.savez(tmp_path / "other.npz", **entries)
        with pytest.raises(fp.InvalidInput, match=said):
            fp.load_problem(tmp_path / "other.npz")


class Harmful:
    """Leaves a mark when it is unpickled."""

    unpickled = False

    def __setstate__(self, state: object) -> None:
        Harmful.unpickled = True


def test_objects_are_never_unpickled(problem: fp.LayerPruning, tmp_path: Path) -> None:
    path = tmp_path / "problem.npz"
    fp.save_problem(problem, path)
    harmful = Harmful()
    harmful.__dict__["x"] = 1
    np.savez(path, **{**entries_of(path), "target": np.array([[harmful]], dtype=object)})
    with pytest.raises(fp.InvalidInput, match="holds objects, which are never unpickled"):
        fp.load_problem(path)
    path.write_bytes(pickle.dumps(harmful))
    with pytest.raises(fp.InvalidInput, match="not an archive of arrays"):
        fp.load_problem(path)
    assert not Harmful.unpickled


def npy(shape: tuple[int, ...], content: bytes) -> bytes:
    stream = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(stream, header)
    return stream.getvalue() + content


@pytest.mark.parametrize("shape", [(10**12,), (10**9, 10**9, 10**9), (-1, -2), (3,), (0,)])
def test_an_array_that_claims_to_be_larger_is_refused(
    shape: tuple[int, ...], tmp_path: Path
) -> None:
    path = tmp_path / "bomb.npz"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("target.npy", npy(shape, bytes(16)))
    with pytest.raises(fp.InvalidInput, match=r"bomb\.npz cannot be loaded"):
        fp.load_problem(path)


def test_a_compressed_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("target.npy", npy((10**7,), bytes(8 * 10**7)))

    def unpack(*_: object) -> bytes:
        raise AssertionError("unpacked")

    monkeypatch.setattr(archive.zipfile.ZipFile, "read", unpack)
    with pytest.raises(fp.InvalidInput, match="its entries are compressed"):
        fp.load_problem(path)


def test_two_entries_of_one_name_are_refused(problem: fp.LayerPruning, tmp_path: Path) -> None:
    path = tmp_path / "problem.npz"
    fp.save_problem(problem, path)
    with (
        zipfile.ZipFile(path, "a") as file,
        pytest.warns(UserWarning, match="Duplicate name"),
    ):
        file.writestr("codes.npy", npy((0,), b""))
    with pytest.raises(fp.InvalidInput, match="two entries of the same name"):
        fp.load_problem(path)


def test_files_cut_short_or_damaged_are_refused_or_unharmed(
    problem: fp.LayerPruning, tmp_path: Path
) -> None:
    path = tmp_path / "problem.npz"
    fp.save_problem(problem, path)
    whole = path.read_bytes()
    for length in range(0, len(whole), 97):
        path.write_bytes(whole[:length])
        with pytest.raises(fp.InvalidInput, match=r"problem\.npz cannot be loaded"):
            fp.load_problem(path)
    generator = np.random.default_rng(0)
    refused = 0
    for _ in range(600):
        damaged = bytearray(whole)
        damaged[int(generator.integers(len(whole)))] ^= 1 << int(generator.integers(8))
        path.write_bytes(damaged)
        try:
            loaded = fp.load_problem(path)
        except fp.InvalidInput:
            refused += 1
        else:
            assert_equal(problem, loaded)  # a bit that carries nothing, such as a date
    assert refused > 400
