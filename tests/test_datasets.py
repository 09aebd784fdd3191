"""Data sets: what ships, and what users' files may hold."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor

from forestprune import InvalidInput
from studies.datasets import SHIPPED, Dataset, load


def _load(folder: Path, content: str | bytes, name: str = "some.csv") -> Dataset:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return load(str(path), target="y")


def test_diamonds_come_with_ranked_grades_and_the_logarithm_of_the_price() -> None:
    diamonds = load("diamonds")
    assert diamonds.name == "diamonds"
    assert diamonds.X.shape == (53_940, 9)
    assert diamonds.y[:2].tolist() == np.log([326.0, 326.0]).tolist()
    # The first: 0.23 carat, cut Ideal (best of 5), color E (second best of 7), clarity SI2.
    first = diamonds.X.iloc[0]
    assert first[["carat", "cut", "color", "clarity"]].tolist() == [0.23, 4.0, 5.0, 1.0]
    assert diamonds.X[["cut", "color", "clarity"]].max().tolist() == [4.0, 6.0, 7.0]


def test_abalone_comes_with_one_column_per_sex() -> None:
    abalone = load("abalone")
    assert abalone.X.shape == (4177, 10)
    assert (abalone.y.min(), abalone.y.max()) == (1.0, 29.0)
    assert abalone.X[["Sex=F", "Sex=I", "Sex=M"]].sum().tolist() == [1307.0, 1342.0, 1528.0]


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_what_ships_is_complete_numbers(name: str) -> None:
    dataset = load(name)
    assert set(map(str, dataset.X.dtypes)) == {"float64"}
    assert np.isfinite(dataset.X).all(axis=None)
    assert np.isfinite(dataset.y).all()


def test_another_target_of_a_shipped_data_set_is_taken_as_it_is() -> None:
    dataset = load("diamonds", target="carat")
    assert dataset.y[0] == 0.23
    assert dataset.X["price"].iloc[0] == 326.0


def test_a_file_gives_numbers_and_keeps_gaps(tmp_path: Path) -> None:
    dataset = _load(tmp_path, "a,word,flag,y\n1,u,True,2\n,v,False,3\n4,,True,5\n")
    assert dataset.name == "some"
    assert list(dataset.X) == ["a", "word=u", "word=v", "flag"]
    nan = np.nan
    expected = [[1, 1, 0, 1], [nan, 0, 1, 0], [4, nan, nan, 1]]
    np.testing.assert_array_equal(dataset.X, expected)
    np.testing.assert_array_equal(dataset.y, [2.0, 3.0, 5.0])


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["True", "False"], {"a": [1.0, 0.0]}),
        (["1" + "0" * 29, "2"], {"a": [1e29, 2.0]}),
        (["2020-01-31", "2021-01-31"], {"a=2020-01-31": [1.0, 0.0], "a=2021-01-31": [0.0, 1.0]}),
        (['"x, y"', "z"], {"a=x, y": [1.0, 0.0], "a=z": [0.0, 1.0]}),
        (['"x\ny"', "z"], {"a=x\ny": [1.0, 0.0], "a=z": [0.0, 1.0]}),
        (["NA", "b"], {"a=b": [np.nan, 1.0]}),
    ],
    ids=["truth values", "huge integers", "dates", "quoted commas", "quoted lines", "missing"],
)
def test_every_kind_of_cell_becomes_numbers(
    tmp_path: Path, cells: list[str], expected: dict[str, list[float]]
) -> None:
    dataset = _load(tmp_path, f"a,y\n{cells[0]},1\n{cells[1]},2\n")
    assert list(dataset.X) == list(expected)
    np.testing.assert_array_equal(dataset.X, np.transpose(list(expected.values())))
    assert dataset.X.to_numpy().dtype == np.float64


def test_rows_without_a_target_are_left_out_and_counted(tmp_path: Path) -> None:
    dataset = _load(tmp_path, "a,word,y\n1,u,2\n3,v,\n4,w,5\n6,u,nan\n")
    assert dataset.dropped == 2
    assert dataset.y.tolist() == [2.0, 5.0]
    # Not even a category is left of them.
    assert list(dataset.X) == ["a", "word=u", "word=w"]
    assert dataset.X["a"].tolist() == [1.0, 4.0]
    assert _load(tmp_path, "a,y\n1,2\n").dropped == 0


def test_a_target_of_truth_values_is_numbers(tmp_path: Path) -> None:
    assert _load(tmp_path, "a,y\n1,True\n2,False\n").y.tolist() == [1.0, 0.0]


def test_many_different_words_stay_one_column(tmp_path: Path) -> None:
    rows = "".join(f"name{i:05d},{i}\n" for i in range(5000))
    dataset = _load(tmp_path, f"word,y\n{rows}")
    assert dataset.X["word"].tolist() == list(map(float, range(5000)))


def test_forests_take_gaps_and_empty_columns(tmp_path: Path) -> None:
    dataset = _load(tmp_path, "a,none,word,y\n1,,u,2\n,,v,3\n4,,,5\n6,,u,1\n")
    RandomForestRegressor(3, random_state=0).fit(dataset.X, dataset.y).predict(dataset.X)


@pytest.mark.parametrize("many", [30, 31])
def test_many_categories_share_a_column(tmp_path: Path, many: int) -> None:
    rows = "".join(f"w{i:02d},{i}\n" for i in reversed(range(many)))
    dataset = _load(tmp_path, f"word,y\n{rows},0\n")
    if many == 30:
        assert dataset.X.shape == (31, 30)
        assert (dataset.X.iloc[:30].sum(axis=1) == 1.0).all()
    else:
        assert dataset.X["word"].iloc[:31].tolist() == list(map(float, reversed(range(31))))
    assert dataset.X.iloc[-1].isna().all()


@pytest.mark.parametrize(
    "content",
    [
        "y,a\n2,1\n4,3\n".encode("utf-8-sig"),
        b"a,y\r\n1,2\r\n3,4\r\n",
        b"a, y\n 1, 2\n 3, 4\n",
        b"a,y\n1,2\n\n3,4\n",
        b"a,y\n1,2,\n3,4,\n",
        b'"a","y"\n"1","2"\n"3","4"',
    ],
    ids=["byte order mark", "CRLF", "spaces", "blank line", "trailing commas", "quotes"],
)
def test_usual_ways_to_write_a_file_are_read(tmp_path: Path, content: bytes) -> None:
    dataset = _load(tmp_path, content)
    assert dataset.X["a"].tolist() == [1.0, 3.0]
    assert dataset.y.tolist() == [2.0, 4.0]


def test_files_are_found_by_name_in_a_folder(tmp_path: Path) -> None:
    for name, opener in (("plain.csv", open), ("small.csv.gz", gzip.open)):
        with opener(tmp_path / name, "wb") as file:
            file.write(b"a,y\n1,2\n")
    for given in ("plain", "plain.csv", "small", "small.csv.gz"):
        dataset = load(given, target="y", data_dir=tmp_path)
        assert dataset.name == given.partition(".")[0]
        assert dataset.y.tolist() == [2.0]
    with pytest.raises(InvalidInput, match=r"mean 'plain' or .*Known: .*, abalone, .*, small"):
        load("plane", target="y", data_dir=tmp_path)
    assert load("abalone", data_dir=tmp_path).name == "abalone"


@pytest.mark.parametrize(
    ("name", "data_dir", "message"),
    [
        ("diamond", None, "unknown data set 'diamond'; did you mean 'diamonds'.*abalone"),
        ("no/such.csv", None, r"data file 'no/such\.csv' does not exist"),
        (".", None, "is not a file"),
        ("diamonds", "no/such/folder", "data_dir 'no/such/folder' is not a folder"),
        ("", None, "unknown data set ''"),
        ("a\0.csv", None, "does not exist"),
        ("x" * 5000, None, "^data file .{1,120} cannot be opened: File name too long$"),
        ("x" * 5000, ".", "^data file .{1,120} cannot be opened: File name too long$"),
    ],
)
def test_what_is_not_there_is_named(name: str, data_dir: str | None, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        load(name, target="y", data_dir=data_dir)


def _denied(*_: object, **__: object) -> None:
    raise PermissionError(13, "Permission denied")


@pytest.mark.parametrize("ending", ["", ".csv"])
def test_what_may_not_be_looked_at_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    # Rights cannot be taken from the superuser, as whom these tests may run.
    monkeypatch.setattr(Path, "stat", _denied)
    with pytest.raises(InvalidInput, match=rf"other{ending}' cannot be opened: Permission denied"):
        load(str(tmp_path / f"other{ending}"), target="y")


def test_a_file_that_may_not_be_read_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "some.csv"
    path.write_text("a,y\n1,2\n")
    monkeypatch.setattr(Path, "open", _denied)
    with pytest.raises(
        InvalidInput, match=r"some\.csv' cannot be read as CSV: .*Permission denied"
    ):
        load(str(path), target="y")


def test_a_folder_that_may_not_be_listed_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "iterdir", _denied)
    with pytest.raises(InvalidInput, match=r"data_dir .* cannot be listed: Permission denied"):
        load("other", target="y", data_dir=tmp_path)


def test_an_empty_target_is_not_the_usual_one() -> None:
    with pytest.raises(InvalidInput, match=r"target '' is not a column; .*Columns: .*carat"):
        load("diamonds", target="")


def test_a_file_needs_a_target(tmp_path: Path) -> None:
    path = tmp_path / "some.csv"
    path.write_text("price,height\n1,2\n")
    with pytest.raises(InvalidInput, match=r"target must name the column of some\.csv.*height"):
        load(str(path))
    with pytest.raises(InvalidInput, match=r"'heigth' is not a column; did you mean 'height'\?"):
        load(str(path), target="heigth")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "cannot be read as CSV"),
        ("a,y\n", "has no rows"),
        ("y\n1\n2\n", "no feature columns beside the target 'y'"),
        ("a;y\n1;2\n", "is the file separated by commas"),
        ("a,y\n1,2\n1,2,3,4\n", "cannot be read as CSV: .*line 3"),
        ("a,y\n1,2,3\n4,5,6\n", "more cells in a row than its header has names"),
        ("a,y,y\n1,2,3\n", "several columns named 'y'"),
        ("a,y\n1,2\n3,two\n4,three\n", "'y' must be numeric; data row 2 has 'two'"),
        ("a,y\n1,\n3,\n4,\n", "target 'y' has no value in any of 3 rows"),
        ("a,y\n1,2\n3,-inf\n", r"'y' must be finite.*data row 2 \(-inf\)"),
        ("a,y\n1,2e200\n3,1\n", r"'y' must be finite, within ±1e\+150.*data row 1"),
        ("a,y\n1,2\ninf,3\n", "column 'a' must hold numbers of single precision.*row 2 has inf"),
        (f"a,y\n{'9' * 400},1\n2,3\n", "column 'a' must hold numbers of double precision"),
        (f"a,y\n1,{'9' * 400}\n2,3\n", "column 'y' must hold numbers of double precision"),
        (f"a,y\n1,{'x' * 9999}\n", r"'y' must be numeric; data row 1 has 'x+\.\.\.x+'$"),
        ("a,y\n1,2020-01-31\n", "'y' must be numeric; data row 1 has '2020-01-31'"),
        ("a,y\n1,\n2,1\n3,inf\n", r"'y' must be finite.*in 1 of 2 .*data row 3 \(inf\)"),
        ("a,y\n1,\ninf,1\n", "column 'a' must hold numbers of single precision.*row 2 has inf"),
        ("a,a,y\n1,2,3\n", "several columns named 'a'"),
        ("a,a=x,y\nx,1,2\nz,1,3\n", "a category gets the name 'a=x', which another column has"),
        ('a,y\n"x,1\nz,2\n', "cannot be read as CSV: .*inside string"),
        ('"a\nb",z\n1,2\n', r"target 'y' is not a column; Columns: a\\nb, z$"),
        ("\n\n", "cannot be read as CSV"),
        ("a,y\n1,2\n3e38,1\n4e38,3\n", "column 'a' must hold .*data row 3 has 4e"),
    ],
)
def test_tables_that_do_not_serve_are_refused(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message) as caught:
        _load(tmp_path, content)
    assert "\n" not in str(caught.value)


def test_a_mark_for_missing_numbers_is_refused(tmp_path: Path) -> None:
    rows = "".join(f"{i / 7:.3f},{i}\n" for i in range(40))
    with pytest.raises(InvalidInput, match=r"mostly numbers, but data row 41 has '\?'"):
        _load(tmp_path, f"a,y\n{rows}?,1\n")


_WHOLE = b"a,y\n" + b"".join(b"%d,%d\n" % (i * i, i) for i in range(5000))
_PACKED = gzip.compress(_WHOLE, mtime=0)
_NO_CSV = {
    "latin.csv": "größe,y\n1,2\n".encode("latin-1"),
    "utf16.csv": "a,y\n1,2\n".encode("utf-16"),
    "zeros.csv": bytes(1000),
    "picture.csv": b"\x89PNG\r\n\x1a\n" + bytes(range(256)),
    "packed.csv": _PACKED,
    "plain.csv.gz": _WHOLE,
    "cut.csv.gz": _PACKED[: len(_PACKED) // 2],
    "damaged.csv.gz": _PACKED[:100] + b"\xff\x00" * 50 + _PACKED[200:],
    "wrong_sum.csv.gz": _PACKED[:-8] + bytes(8),
    "nothing.csv.gz": b"",
}


@pytest.mark.parametrize("name", sorted(_NO_CSV))
def test_what_is_no_csv_file_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInput, match=rf"data file .*{name}' cannot be read as CSV: ."):
        _load(tmp_path, _NO_CSV[name], name)
