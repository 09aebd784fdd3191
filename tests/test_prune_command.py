"""`forestprune prune` and `forestprune predict`: one's own table in, a model and a report out."""

from __future__ import annotations

import gzip
import json
import re
import shutil
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    AdaBoostRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from terminal import without_compiling
from typer.testing import CliRunner

from forestprune import PrunedEnsemble
from studies.cli import app
from studies.encoding import Encoding
from studies.own_data.choosing import _smallest

SMALL = ("--trees", "6", "--depth", "3")


def run(*words: object) -> tuple[int, str, str]:
    """Run the command: exit code, output, errors."""
    done = CliRunner().invoke(app, [str(word) for word in words])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout, without_compiling(done.stderr)


def table(rows: int = 240, seed: int = 0) -> pd.DataFrame:
    """Numbers, a word, a number that is missing now and then, and three kinds of target."""
    generator = np.random.default_rng(seed)
    a, b = generator.normal(size=(2, rows)).round(3)
    colour = generator.choice(["red", "green", "blue"], rows)
    y = (2 * a + 3 * (colour == "red") + np.abs(b) + 0.1 * generator.normal(size=rows)).round(3)
    b[::17] = np.nan
    level = np.where(y > 2.5, "high", np.where(y > 0.5, "mid", "low"))
    return pd.DataFrame({"a": a, "colour": colour, "b": b, "y": y, "level": level})


@pytest.fixture(scope="module", autouse=True)
def few_points() -> Iterator[None]:
    """Paths with fewer models than users get, to save time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("studies.own_data.choosing._POINTS", 13)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables in files."""
    place = tmp_path_factory.mktemp("own")
    table().drop(columns="level").to_csv(place / "numbers.csv", index=False)
    table().drop(columns="y").to_csv(place / "classes.csv.gz", index=False)
    table(80, seed=1).drop(columns="level").to_csv(place / "later.csv", index=False)
    return place


@pytest.fixture(scope="module")
def result(folder: Path) -> Path:
    """What is left of a forest for the numbers, its size chosen by validation."""
    out = folder / "numbers-out"
    words = ("--target", "y", *SMALL, "--within", "0.3", "--out", out)
    code, said, errors = run("prune", folder / "numbers.csv", *words)
    assert (code, errors) == (0, "")
    assert "192 rows of training, 48 to test on; 5 features of 3 columns; y is a number" in said
    assert "proven" in said
    assert "about the size-penalised problem on the training rows, not about the error" in said
    assert re.search(r"On test rows, the mean squared error is .* that of the whole ensemble", said)
    return out


def test_three_files_and_nothing_else_are_written(result: Path, folder: Path) -> None:
    assert sorted(path.name for path in result.iterdir()) == [
        "columns.json",
        "model.npz",
        "report.html",
    ]
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


def test_predictions_are_those_of_the_model_on_columns_in_any_order(
    result: Path, folder: Path, tmp_path: Path
) -> None:
    later = table(80, seed=1)
    shuffled = tmp_path / "shuffled.csv"
    later[["level", "b", "colour", "a"]].to_csv(shuffled, index=False)
    code, said, errors = run("predict", result / "model.npz", shuffled)
    assert (code, errors) == (0, "")
    lines = said.splitlines()
    assert lines[0] == "prediction"
    reds = {name: (later["colour"] == name).astype(float) for name in ("blue", "green", "red")}
    X = pd.DataFrame({"a": later["a"], **{f"colour={k}": v for k, v in reds.items()}})
    X["b"] = later["b"]
    expected = PrunedEnsemble.load(result / "model.npz").predict(X)
    np.testing.assert_array_equal(np.array(lines[1:], dtype=float), expected)
    assert np.corrcoef(expected, later["y"])[0, 1] > 0.8

    out = tmp_path / "predicted.csv.gz"
    code, said, errors = run("predict", result, folder / "later.csv", "--out", out)
    assert code == 0
    assert said == ""
    assert "80 predictions in" in errors
    assert re.search(r"R² 0\.\d{4} against 'y'", errors)
    with gzip.open(out, "rt") as file:
        assert file.read().splitlines() == lines


def test_a_category_that_the_fit_did_not_see_is_none_of_the_known(
    result: Path, tmp_path: Path
) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text("a,colour,b\n0.5,violet,1\n0.5,red,1\n")
    code, said, errors = run("predict", result, rows)
    assert code == 0
    assert "column 'colour' has 1 cell of a category that the fit did not see" in errors
    first, second = map(float, said.splitlines()[1:])
    assert first < second


class _Page(HTMLParser):
    """What a page refers to, and whether its pictures say what they show."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.tags: list[str] = []
        self.open: list[str] = []
        self.alts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.append(tag)
        self.addresses += [str(given[name]) for name in ("src", "href") if name in given]
        if tag == "img":
            self.alts.append(given.get("alt") or "")
        if tag not in ("img", "meta", "br", "link"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_report_stands_alone_and_says_what_was_kept(result: Path) -> None:
    text = (result / "report.html").read_text(encoding="utf-8")
    page = _Page(text)
    assert page.open == []
    assert "script" not in page.tags
    assert "link" not in page.tags
    assert all(address.startswith("data:image/svg+xml;base64,") for address in page.addresses)
    assert len(page.alts) == 4
    assert all(len(alt) > 40 for alt in page.alts)
    for resource in ("url(", "@import", "http-equiv"):
        assert resource not in text
    pruned = PrunedEnsemble.load(result / "model.npz")
    assert f"{pruned.n_nodes} nodes in {pruned.n_trees} tree" in text
    assert "forestprune prune" in text
    assert "--within 0.3" in text
    assert re.search(r"proven to be (the best one|within)", text)


def test_classes_keep_their_labels_and_have_probabilities(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ("--target", "level", "--forest", "hist", *SMALL, "--alpha", "0.05", "--out", out)
    code, said, _ = run("prune", folder / "classes.csv.gz", *words)
    assert code == 0
    assert "level is a class" in said
    assert "accuracy, test rows" in said
    code, said, _ = run("predict", out, folder / "classes.csv.gz", "--proba")
    assert code == 0
    lines = [line.split(",") for line in said.splitlines()]
    assert lines[0] == ["prediction", "P(high)", "P(low)", "P(mid)"]
    chances = np.array([line[1:] for line in lines[1:]], dtype=float)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    predicted = np.array([line[0] for line in lines[1:]])
    assert (predicted == np.array(["high", "low", "mid"])[chances.argmax(axis=1)]).all()
    assert (predicted == table()["level"]).mean() > 0.7


@pytest.mark.parametrize(
    ("labels", "classify", "kind"),
    [
        ([True, False], "auto", "class"),
        ([3, 7], "auto", "class"),
        ([1, 2, 3], "auto", "number"),
        ([1, 2, 3], "yes", "class"),
        ([0.5, 1.5], "yes", "class"),
        ([0, 1], "no", "number"),
    ],
)
def test_labels_of_every_type(labels: list[Any], classify: str, kind: str, tmp_path: Path) -> None:
    a = np.tile([0.0, 1.0, 2.0], 20)
    y = [labels[int(value) % len(labels)] for value in a]
    data, out = tmp_path / "data.csv", tmp_path / "out"
    pd.DataFrame({"a": a, "y": y}).to_csv(data, index=False)
    words = ("--target", "y", "--classify", classify, "--alpha", "0", "--test", "0", "--out", out)
    code, said, _ = run("prune", data, "--trees", "3", *words)
    assert code == 0
    assert f"y is a {kind}" in said
    pruned = PrunedEnsemble.load(out / "model.npz")
    if kind == "number":
        assert pruned.classes is None
        return
    assert pruned.classes is not None
    assert {str(label) for label in pruned.classes} == {str(label) for label in labels}
    if all(type(label) is int for label in labels):
        assert pruned.classes.dtype.kind == "i"


def test_a_saved_model_finds_its_columns_and_a_table_tests_it(folder: Path, tmp_path: Path) -> None:
    rows = table().drop(columns=["level", "colour"])
    model = RandomForestRegressor(5, max_depth=4, random_state=0)
    model.fit(rows[["b", "a"]], rows["y"])
    saved, out = tmp_path / "model.joblib", tmp_path / "out"
    joblib.dump(model, saved)
    words = ("--target", "y", "--model", saved, "--test", folder / "later.csv")
    code, said, _ = run("prune", folder / "numbers.csv", *words, "--max-nodes", 25, "--out", out)
    assert code == 0
    assert "240 rows of training, 80 to test on; 2 features of 2 columns" in said
    assert "note: the model was fitted before" in said
    pruned = PrunedEnsemble.load(out / "model.npz")
    assert pruned.n_nodes <= 25
    code, said, _ = run("predict", out, folder / "later.csv")
    expected = pruned.predict(table(80, seed=1)[["a", "b"]])
    np.testing.assert_array_equal(np.array(said.splitlines()[1:], dtype=float), expected)
    # Moved away from its folder, the model still has the names of its features.
    alone = tmp_path / "alone.npz"
    shutil.copy(out / "model.npz", alone)
    assert run("predict", alone, folder / "later.csv")[1] == said


def test_a_saved_model_may_know_categories_and_labels_by_another_type(tmp_path: Path) -> None:
    rows = table()
    X = rows[["a", "colour"]].astype({"colour": "category"})
    y = (rows["y"] > 1.0).astype(int).astype(str)
    model = HistGradientBoostingClassifier(
        max_iter=5, max_depth=3, categorical_features="from_dtype"
    ).fit(X, y)
    saved, out, data = tmp_path / "m.joblib", tmp_path / "out", tmp_path / "data.csv"
    joblib.dump(make_pipeline("passthrough", model), saved)
    rows[["colour", "a"]].assign(y=y).to_csv(data, index=False)
    words = ("--target", "y", "--model", saved, "--alpha", "0", "--polish", "none", "--out", out)
    code, said, _ = run("prune", data, *words)
    assert code == 0, said
    code, said, _ = run("predict", out, data)
    np.testing.assert_array_equal(np.array(said.splitlines()[1:]), model.predict(X))


def test_validation_decides_about_new_weights(folder: Path, tmp_path: Path) -> None:
    nodes = {}
    for polish in ("auto", "none"):
        out = tmp_path / polish
        words = ("--target", "y", *SMALL, "--choose", "best", "--polish", polish, "--out", out)
        assert run("prune", folder / "numbers.csv", *words)[0] == 0
        pruned = PrunedEnsemble.load(out / "model.npz")
        nodes[polish] = pruned.n_nodes
        text = (out / "report.html").read_text(encoding="utf-8")
        assert ("With the trees’ own weights that error is" in text) == (polish == "auto")
        if polish == "none":
            assert pruned.polishing is None


def test_a_result_is_only_written_over_when_that_is_asked_for(
    result: Path, folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    shutil.copytree(result, out)
    before = (out / "model.npz").read_bytes()
    words = ("prune", folder / "numbers.csv", "--target", "y", *SMALL, "--alpha", 3, "--out", out)
    code, _, errors = run(*words)
    assert code == 2
    assert "is not empty" in errors
    assert (out / "model.npz").read_bytes() == before
    assert run(*words, "--overwrite")[0] == 0
    assert (out / "model.npz").read_bytes() != before
    # Files of two results do not go together.
    shutil.copy(result / "columns.json", out / "columns.json")
    code, _, errors = run("predict", out, folder / "later.csv")
    assert code == 2
    assert "belongs to another model" in errors


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "x"}, "does not say that it is forestprune columns"),
        ({"version": 2}, "version 2"),
        ({"features": [{"name": "a", "kind": "code", "categories": []}]}, "not told as it must"),
        ({"features": [{"name": "a"}]}, "cannot be read"),
        ({"target": 3}, "must be texts"),
    ],
)
def test_damaged_columns_are_refused(
    result: Path, folder: Path, tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    out = tmp_path / "out"
    shutil.copytree(result, out)
    content = json.loads((out / "columns.json").read_text()) | change
    (out / "columns.json").write_text(json.dumps(content))
    code, said, errors = run("predict", out, folder / "later.csv")
    assert (code, said) == (2, "")
    assert message in errors
    assert errors.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "--target must name the column of numbers to predict; it has a, colour, b, y"),
        (("--target", "z"), "target 'z' is not a column"),
        (("--target", "y", "--test", "1.5"), "--test must be a file, or a share"),
        (("--target", "y", "--test", "none.csv"), "'none.csv' does not exist"),
        (("--target", "y", "--test", "0.001"), "--test must leave rows on both sides"),
        (("--target", "y", "--validation", "0"), "--validation must be a share"),
        (("--target", "y", "--alpha", "1", "--within", "1"), "give --within or --alpha, not both"),
        (("--target", "y", "--alpha", "1", "--validation", "0.1"), "leave out --validation"),
        (("--target", "y", "--forest", "boosting"), "column 'b' has no value in data row 1,"),
        (("--target", "y", "--keep-trees", "3"), "n_trees is for polish"),
        (("--target", "y", "--categorical", "x"), "categorical 'x' is not a feature"),
        (("--target", "y", "--solver", "cbdc"), "cbcd"),
        (("--target", "y", "--out", "no/such/place"), "there is no folder"),
        (("--target", "y", "--model", "none.joblib"), "'none.joblib' does not exist"),
        (("--target", "y", "--model", "x", "--trees", "3"), "leave out --trees"),
    ],
)
def test_what_cannot_be_had_is_told_in_a_line_and_nothing_is_written(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: Any, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, errors = run("prune", folder / "numbers.csv", *words)
    assert code == 2
    assert message in errors
    assert errors.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def _fitted() -> RandomForestRegressor:
    return RandomForestRegressor(2, max_depth=2).fit(table()[["a", "b"]], table()["y"])


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (3, "int is not supported"),
        (RandomForestRegressor(), "must be fitted"),
        (AdaBoostRegressor(), "weighted median"),
        (make_pipeline(StandardScaler(), RandomForestRegressor()), "(standardscaler)"),
        (RandomForestRegressor(2).fit([[1.0], [2.0]], [0.0, 1.0]), "1 features without names"),
        (RandomForestRegressor(2).fit(pd.DataFrame({"c": [1, 2]}), [0, 1]), "on a column 'c'"),
        (RandomForestRegressor(2).fit(pd.DataFrame({"c_x": [1, 2]}), [0, 1]), "as encoded"),
        (RandomForestRegressor(2).fit(pd.DataFrame({"colour": [1, 2]}), [0, 1]), "hold numbers"),
        (RandomForestClassifier(2).fit(pd.DataFrame({"a": [1, 2]}), ["u", "v"]), "classes of the"),
    ],
)
def test_models_that_cannot_be_pruned(
    folder: Path, tmp_path: Path, model: Any, message: str
) -> None:
    joblib.dump(model, tmp_path / "model.joblib")
    words = ("--target", "y", "--model", tmp_path / "model.joblib", "--out", tmp_path / "out")
    code, _, errors = run("prune", folder / "numbers.csv", *words)
    assert code == 2
    assert message in errors
    assert errors.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["model.joblib"]


def test_a_file_that_is_no_model_is_told_in_a_line(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "m.joblib").write_bytes(b"\x80\x04\x95 not a pickle")
    words = ("--target", "y", "--model", tmp_path / "m.joblib", "--out", tmp_path / "out")
    code, _, errors = run("prune", folder / "numbers.csv", *words)
    assert code == 2
    assert "cannot be loaded" in errors
    words = ("--target", "y", "--model", folder / "numbers.csv", "--out", tmp_path / "out")
    assert "is text, not a joblib file" in run("prune", folder / "numbers.csv", *words)[2]
    code, _, errors = run("predict", tmp_path / "m.joblib", folder / "numbers.csv")
    assert code == 2
    assert "cannot be loaded" in errors


def test_loading_is_said_to_be_unsafe() -> None:
    assert "trust" in " ".join(run("prune", "--help")[1].split())
    assert "safe to open" in " ".join(run("predict", "--help")[1].split())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b\n1,2\n", "no column 'colour'"),
        ("a,colour,b\nx,red,2\n", "column 'a' must hold numbers; data row 1 has 'x'"),
        ("a,colour,b\n1e300,red,2\n", "single precision"),
    ],
)
def test_rows_that_do_not_fit_are_not_predicted(
    result: Path, tmp_path: Path, content: str, message: str
) -> None:
    rows, out = tmp_path / "rows.csv", tmp_path / "out.csv"
    rows.write_text(content)
    code, _, errors = run("predict", result, rows, "--out", out)
    assert code == 2
    assert message in errors
    assert not out.exists()


def test_an_error_that_rises_is_told_with_what_to_ask_for(folder: Path, tmp_path: Path) -> None:
    words = ("prune", folder / "numbers.csv", "--target", "y", *SMALL, "--overwrite")
    words = (*words, "--polish", "none", "--out", tmp_path / "out")
    _, said, _ = run(*words, "--max-nodes", "0")
    found = re.search(r"test rows, the mean squared error is ([\d.]+) % above that of", said)
    assert found is not None
    # Without nodes the mean is left, whose error is about the variance of y.
    shares = re.search(r"R², test rows\W+([\d.]+)[ │]+(-?[\d.]+)", said)
    assert shares is not None
    whole, left = (1.0 - float(share) for share in shares.groups())
    assert float(found[1]) == pytest.approx(100 * (left / whole - 1), rel=0.01)
    assert "; larger and more accurate: a larger --max-nodes" in said
    _, said, _ = run(*words, "--alpha", "0")
    assert "larger and more accurate" not in said


def test_one_standard_error_is_that_of_the_difference_where_it_is_smaller() -> None:
    error, nodes = np.array([3.0, 1.4, 1.0, 1.1]), np.array([0, 3, 9, 5])
    assert _smallest(error, np.array([1.0, 0.5, 0.0, 0.2]), nodes) == 1
    assert _smallest(error, np.array([1.0, 0.3, 0.0, 0.2]), nodes) == 3
    assert _smallest(error, np.full(4, np.nan), nodes) == 2


def test_other_words_of_predict_that_do_not_serve(result: Path, folder: Path) -> None:
    later = folder / "later.csv"
    assert "for classes" in run("predict", result, later, "--proba")[2]
    assert "must end in .csv" in run("predict", result, later, "--out", "p.txt")[2]
    assert "does not exist" in run("predict", "none.npz", later)[2]
    # The folder is looked for before any work: the model is not there either.
    errors = run("predict", "none.npz", later, "--out", "nodir/p.csv")[2]
    assert errors == "error: --out: cannot write to 'nodir/p.csv': its folder does not exist\n"


def test_parquet_is_a_table_like_any_other(
    result: Path, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyarrow")
    rows = tmp_path / "later.parquet"
    later = table(80, seed=1).astype({"colour": "category"})
    later.set_index("level").to_parquet(rows)
    assert run("predict", result, rows)[1] == run("predict", result, folder / "later.csv")[1]
    rows.write_bytes(b"PAR1 not quite")
    code, _, errors = run("predict", result, rows)
    assert code == 2
    assert "cannot be read as Parquet" in errors


def test_parquet_without_pyarrow_says_what_to_install(
    result: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    rows = tmp_path / "later.parquet"
    rows.write_bytes(b"PAR1")
    code, _, errors = run("predict", result, rows)
    assert code == 2
    assert "pip install 'forestprune[parquet]'" in errors


def test_times_are_refused_and_numbers_may_be_categories() -> None:
    times = pd.DataFrame({"when": pd.to_datetime(["2020-01-01", "2021-01-01"])})
    with pytest.raises(ValueError, match="column 'when' holds times"):
        Encoding.decide(times)
    codes = pd.DataFrame({"zip": [10, 20, 10]})
    encoding = Encoding.decide(codes, categorical=["zip"])
    assert encoding.columns == ["zip=10", "zip=20"]
    # A missing cell makes whole numbers floats: they are the same categories.
    later = encoding.encode(pd.DataFrame({"zip": [20.0, np.nan]}))
    np.testing.assert_array_equal(later, [[0.0, 1.0], [np.nan, np.nan]])
