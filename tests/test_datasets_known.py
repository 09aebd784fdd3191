"""Data sets that are known by name: files, folders, and the names of published figures."""

from __future__ import annotations

import gzip
import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from forestprune import InvalidInput
from studies import datasets
from studies.datasets import KNOWN, PUBLISHED, SHIPPED


def _write(folder: Path, **files: str) -> None:
    for name, content in files.items():
        (folder / f"{name}.csv").write_text(content)


def test_files_with_a_known_name_need_no_target(tmp_path: Path) -> None:
    _write(tmp_path, cal_housing="a,medianHouseValue\n1,2\n", wind="MAL,b\n3,4\n")
    assert datasets.load("cal_housing", data_dir=tmp_path).y.tolist() == [2.0]
    assert datasets.load("wind.csv", data_dir=tmp_path).y.tolist() == [3.0]
    assert datasets.load(str(tmp_path / "wind.csv")).y.tolist() == [3.0]
    assert datasets.load("wind", target="b", data_dir=tmp_path).y.tolist() == [4.0]


def test_a_target_has_the_name_that_its_source_gives_it(tmp_path: Path) -> None:
    _write(tmp_path, houses="median_house_value,b\n3,4\n")
    assert datasets.load("houses", data_dir=tmp_path).y.tolist() == [3.0]
    _write(tmp_path, houses="a,medianHouseValue\n1,2\n")
    assert datasets.load("houses", data_dir=tmp_path).y.tolist() == [2.0]


def test_a_known_target_that_is_not_there_is_named(tmp_path: Path) -> None:
    _write(tmp_path, stock="company1,company2\n1,2\n")
    said = r"^data file '.*stock\.csv': target 'company10' is not a column; .*company1, "
    with pytest.raises(InvalidInput, match=said):
        datasets.load("stock", data_dir=tmp_path)


def test_what_would_give_the_target_away_is_no_feature(tmp_path: Path) -> None:
    _write(
        tmp_path,
        tecator="a1,moisture,fat,protein\n1,2,3,4\n",
        balloon="id,raw,residual\n1,2,3\n",
        humandevel="rank,country,hdi,gnp_per_capita\n1,Niger,0.1,20\n",
    )
    tecator = datasets.load("tecator", data_dir=tmp_path)
    assert (list(tecator.table), tecator.y.tolist()) == (["a1"], [3.0])
    assert list(datasets.load("balloon", data_dir=tmp_path).table) == ["raw"]
    assert list(datasets.load("humandevel", data_dir=tmp_path).table) == ["gnp_per_capita"]
    # For another target, which is a question of one's own, nothing is left out.
    other = datasets.load("balloon", target="raw", data_dir=tmp_path)
    assert (list(other.table), other.y.tolist()) == (["id", "residual"], [2.0])


def test_diamonds_are_the_same_from_a_file(tmp_path: Path) -> None:
    datasets.shipped_table("diamonds").head(300).to_csv(tmp_path / "diamonds.csv", index=False)
    shipped, file = datasets.load("diamonds"), datasets.load("diamonds", data_dir=tmp_path)
    pd.testing.assert_frame_equal(file.X, shipped.X.head(300))
    np.testing.assert_array_equal(file.y, shipped.y[:300])
    assert file.orders == shipped.orders


def test_an_order_is_for_categories_that_it_knows(tmp_path: Path) -> None:
    _write(tmp_path, diamonds="cut,color,price\nFair,E,1\nAwful,J,2\n")
    diamonds = datasets.load("diamonds", data_dir=tmp_path)
    assert list(diamonds.orders) == ["color"]
    assert list(diamonds.X) == ["cut=Awful", "cut=Fair", "color"]
    _write(tmp_path, diamonds="cut,price\nFair,0\n")
    with pytest.raises(InvalidInput, match=r"'price' of diamonds must be above 0, .* not 0"):
        datasets.load("diamonds", data_dir=tmp_path)


@pytest.mark.parametrize("name", ["humandevel", "us_crime_unnormalized"])
def test_a_known_name_without_a_source_says_what_to_give(name: str) -> None:
    assert KNOWN[name].openml is None
    with pytest.raises(InvalidInput, match=rf"'{name}' does not come along.*{name}\.csv in it"):
        datasets.load(name)


def test_a_folder_tells_what_can_be_loaded_without_a_target(tmp_path: Path) -> None:
    _write(tmp_path, wind="MAL,b\n3,4\n", own="a,b\n1,2\n", pol="foo,b\n1,2\n")
    (tmp_path / "stock.csv.gz").write_bytes(gzip.compress(b"company1,company10\n1,2\n"))
    for name in ("abalone.parquet", "other.pq", "README.md", "notes.csv.txt"):
        (tmp_path / name).touch()
    assert datasets.names_in(tmp_path) == ["abalone", "pol", "stock", "wind"]
    assert datasets.without_target(str(tmp_path)) == ["other", "own"]
    assert datasets.names_in(None) == ["abalone", "diamonds"]
    assert datasets.without_target(None) == []
    for function in (datasets.names_in, datasets.without_target):
        with pytest.raises(InvalidInput, match="data_dir 'no/such' cannot be listed"):
            function("no/such")


@pytest.mark.parametrize(
    ("name", "published"),
    [
        ("cal_housing", "houses"),
        ("houses", "houses"),
        ("abalone", "abalone"),
        ("openml:201", "pol"),
        ("some/folder/cal_housing.csv.gz", "houses"),
        ("wind.parquet", "wind"),
        ("us_crime", "us_crime"),
        ("us_crime_unnormalized", None),
        ("diamonds", None),
        ("openml:61", None),
        ("openml:None", None),
        ("own.csv", None),
    ],
)
def test_published_names(name: str, published: str | None) -> None:
    assert datasets.published_name(name) == published


def test_every_published_name_is_its_own() -> None:
    assert {name: datasets.published_name(name) for name in PUBLISHED} == {n: n for n in PUBLISHED}
    assert len(PUBLISHED) == 24
    assert set(PUBLISHED) | set(SHIPPED) < set(KNOWN)


def test_parquet_reads_as_csv_does(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    table = pd.DataFrame({"a": [1.5, None], "word": pd.Series(["u", "v"], dtype="category")})
    table["residual"] = [1, 2]
    table.to_csv(tmp_path / "from_csv.csv", index=False)
    expected = datasets.load("from_csv", target="residual", data_dir=tmp_path)
    for name in ("some.parquet", "other.pq", "balloon.parquet"):
        table.to_parquet(tmp_path / name)
        for given in (name, name.partition(".")[0], str(tmp_path / name)):
            target = None if name.startswith("balloon") else "residual"
            found = datasets.load(given, target=target, data_dir=tmp_path)
            assert found.name == name.partition(".")[0]
            pd.testing.assert_frame_equal(found.X, expected.X)
            assert found.y.tolist() == [1.0, 2.0]


def test_files_that_are_no_parquet_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    (tmp_path / "some.parquet").write_bytes(b"PAR1 not quite")
    with pytest.raises(
        InvalidInput, match=r"some\.parquet' cannot be read as Parquet: ."
    ) as caught:
        datasets.load("some", target="y", data_dir=tmp_path)
    assert "\n" not in str(caught.value)


def test_parquet_without_pyarrow_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "some.parquet").write_bytes(b"PAR1")
    with pytest.raises(InvalidInput, match=r"needs pyarrow.* pip install 'forestprune\[parquet\]'"):
        datasets.load("some", target="y", data_dir=tmp_path)


def test_every_known_data_set_of_a_folder_of_one_s_own_is_loaded() -> None:
    folder = os.environ.get("FORESTPRUNE_DATA")
    if folder is None:
        pytest.skip("FORESTPRUNE_DATA names no folder of data sets")
    for name in datasets.names_in(folder):
        found = datasets.load(name, data_dir=folder)
        assert len(found.y) > 100
        assert found.X.shape[0] == len(found.y)


def test_the_guide_lists_what_is_known() -> None:
    guide = Path(__file__).resolve().parents[1] / "docs" / "data.md"
    if not guide.is_file():
        pytest.skip("there is no source tree with guides")
    rows = []
    for name, known in PUBLISHED.items():
        targets = " or ".join(f"`{target}`" for target in known.targets)
        others = ", ".join(f"`{column}`" for column in (*known.identifiers, *known.outputs))
        without = f" (without {others})" if others else ""
        rows.append(f"| `{name}` | {known.openml or ''} | {targets}{without} |")
    table = [line for line in guide.read_text(encoding="utf-8").splitlines() if "| `" in line[:3]]
    assert table == rows
