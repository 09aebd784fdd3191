"""Data sets of OpenML: what is asked for, what is kept, and what is said when it fails."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import time
from collections.abc import Callable
from email.message import Message
from http.client import RemoteDisconnected
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request

import numpy as np
import pytest
from sklearn.datasets import _openml as client

from forestprune import InvalidInput
from studies import datasets
from studies.datasets import KNOWN, PUBLISHED, Dataset

_SITE = "https://www.openml.org/"
_API = "api/v1/json/data/"


class _Answer(io.BytesIO):
    def info(self) -> dict[str, str]:
        return {}


class _OpenML:
    """A server that scikit-learn's client believes to be OpenML."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.asked: list[str] = []
        self.fails: Callable[[str], Exception | None] = lambda url: None

    def add(self, number: int, name: str, target: str | None, columns: str, rows: str) -> None:
        """Put up a data set; a column is ``name:type``, with ``!`` before one to be ignored."""
        features, header = [], [f"@relation {name}"]
        for column in columns.split():
            named, _, kind = column.removeprefix("!").partition(":")
            features.append(
                {
                    "name": named,
                    "data_type": "nominal" if kind.startswith("{") else kind or "numeric",
                    "nominal_value": kind.strip("{}").split(","),
                    "is_target": str(named == target).lower(),
                    "is_ignore": str(column.startswith("!")).lower(),
                    "is_row_identifier": "false",
                    "number_of_missing_values": "0",
                }
            )
            header.append(f"@attribute '{named}' {kind or 'numeric'}")
        arff = "\n".join([*header, "@data", *rows.split(), ""]).encode()
        place = f"data/v1/download/{number}/{name}.arff"
        description = {
            "name": name,
            "version": "1",
            "status": "active",
            "format": "ARFF",
            "description": "",
            "url": _SITE + place,
            "md5_checksum": hashlib.md5(arff).hexdigest(),
        }
        if target is not None:
            description["default_target_attribute"] = target
        self.files[place] = arff
        for path, content in (
            (f"{number}", {"data_set_description": description}),
            (f"features/{number}", {"data_features": {"feature": features}}),
            (f"qualities/{number}", {"data_qualities": {"quality": []}}),
        ):
            self.files[_API + path] = json.dumps(content).encode()

    def open(self, request: Request, *_: object, **__: object) -> _Answer:
        url = request.full_url
        self.asked.append(url)
        failure = self.fails(url)
        if failure is not None:
            raise failure
        content = self.files.get(url.removeprefix(_SITE))
        if content is None:
            raise _http(412, "Precondition Failed")
        return _Answer(content)


def _http(code: int, reason: str) -> HTTPError:
    return HTTPError(_SITE, code, reason, Message(), io.BytesIO())


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> _OpenML:
    found = _OpenML()
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "kept"))
    monkeypatch.setattr(client, "urlopen", found.open)
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    monkeypatch.chdir(tmp_path)
    return found


_CARS = (7, "cars", "price", "size:real kind:{a,b} !number:real price:real")


def test_a_data_set_is_downloaded_once_by_its_number(site: _OpenML, tmp_path: Path) -> None:
    site.add(*_CARS, "1,a,1,10 2,b,2,20 ?,b,3,30")
    cars = datasets.load("openml:7")
    assert cars.name == "cars"
    assert list(cars.X) == ["size", "kind=a", "kind=b"]  # what is to be ignored is left out
    np.testing.assert_array_equal(cars.X, [[1, 1, 0], [2, 0, 1], [np.nan, 0, 1]])
    assert cars.y.tolist() == [10.0, 20.0, 30.0]
    assert list((tmp_path / "kept").rglob("cars.arff.gz"))
    asked = len(site.asked)
    site.fails = lambda url: URLError("no network")
    assert datasets.load("openml:7", target="size").table.columns.tolist() == ["kind", "price"]
    assert len(site.asked) == asked


def test_rows_without_target_are_left_out_there_too(site: _OpenML) -> None:
    site.add(*_CARS, "1,a,1,? 2,b,2,20")
    cars = datasets.load("openml:7")
    assert (cars.y.tolist(), cars.dropped) == ([20.0], 1)


def test_nominal_columns_are_read_as_they_are_written(site: _OpenML) -> None:
    columns = "code:{1,2} name:{'a.b',c} rings:{1,2,3} flag:{True,False}"
    site.add(7, "rings", "rings", columns, "1,'a.b',3,True 2,c,1,False ?,?,2,?")
    rings = datasets.load("openml:7")
    assert rings.y.tolist() == [3.0, 1.0, 2.0]
    assert list(rings.X) == ["code", "name=a.b", "name=c", "flag"]
    expected = [[1, 1, 0, 1], [2, 0, 1, 0], [np.nan] * 4]
    np.testing.assert_array_equal(rings.X, expected)


@pytest.mark.parametrize("asked", ["houses", "openml:537"])
def test_published_names_come_from_openml(site: _OpenML, asked: str) -> None:
    site.add(537, "houses", "median_house_value", "median_house_value income", "1,2 3,4")
    houses = datasets.load(asked)
    assert houses.name == "houses"
    assert houses.y.tolist() == [1.0, 3.0]
    assert datasets.published_name(asked) == "houses"


@pytest.mark.parametrize("asked", ["tecator", "openml:505"])
def test_other_outputs_are_no_features_there_either(site: _OpenML, asked: str) -> None:
    site.add(505, "tecator", "fat", "a1 moisture fat protein", "1,2,3,4 5,6,7,8")
    assert list(datasets.load(asked).table) == ["a1"]
    assert datasets.load(asked, target="protein").y.tolist() == [4.0, 8.0]
    assert list(datasets.load(asked, target="protein").table) == ["a1"]
    assert list(datasets.load(asked, target="a1").table) == ["moisture", "fat", "protein"]


def test_a_file_in_the_folder_comes_before_openml(site: _OpenML, tmp_path: Path) -> None:
    (tmp_path / "houses.csv").write_text("a,medianHouseValue\n1,2\n")
    assert datasets.load("houses", data_dir=tmp_path).y.tolist() == [2.0]
    assert site.asked == []
    # OpenML comes before a path; a path is a path by what stands before the name.
    site.fails = lambda url: URLError("no network")
    (tmp_path / "houses").write_text("a,medianHouseValue\n1,3\n")
    with pytest.raises(InvalidInput, match="downloaded from OpenML"):
        datasets.load("houses")
    assert datasets.load("./houses").y.tolist() == [3.0]


@pytest.mark.parametrize(
    "failure",
    [
        URLError("Name or service not known"),
        URLError(ConnectionRefusedError(111, "Connection refused")),
        TimeoutError("timed out"),
        ConnectionResetError(104, "Connection reset by peer"),
        RemoteDisconnected("Remote end closed connection without response"),
    ],
    ids=lambda failure: type(failure).__name__,
)
def test_without_a_connection_the_way_out_is_told(site: _OpenML, failure: Exception) -> None:
    site.fails = lambda url: failure
    with pytest.raises(InvalidInput) as caught:
        datasets.load("houses")
    said = str(caught.value)
    assert said.startswith("data set 'houses' (openml:537) is not in ")
    assert "must be downloaded from OpenML once" in said
    assert str(failure.args[-1]) in said
    assert "give the path of a file, or data_dir with one of this name" in said
    assert "\n" not in said


def test_a_number_that_openml_does_not_have_is_told(site: _OpenML) -> None:
    with pytest.raises(InvalidInput, match=r"'openml:99' cannot be had.*99 not found;"):
        datasets.load("openml:99")


@pytest.mark.parametrize(("code", "reason"), [(404, "Not Found"), (503, "Unavailable")])
def test_what_openml_answers_is_told(site: _OpenML, code: int, reason: str) -> None:
    site.add(*_CARS, "1,a,1,10")
    site.fails = lambda url: _http(code, reason) if url.endswith(".arff") else None
    with pytest.raises(InvalidInput, match=f"'openml:7' cannot be had: .* {code} {reason}; try"):
        datasets.load("openml:7")


def _kept(folder: Path, name: str) -> Path:
    (found,) = (folder / "kept").rglob(name)
    return found


@pytest.mark.parametrize("content", [b"no gzip", gzip.compress(b"{no json", mtime=0), b""])
@pytest.mark.parametrize("name", ["7.gz", "cars.arff.gz"])
def test_damaged_files_are_fetched_anew_or_named(
    site: _OpenML, tmp_path: Path, content: bytes, name: str
) -> None:
    site.add(*_CARS, "1,a,1,10")
    datasets.load("openml:7")
    for path in (tmp_path / "kept").rglob(name):
        path.write_bytes(content)
    assert datasets.load("openml:7").y.tolist() == [10.0]
    for path in (tmp_path / "kept").rglob(name):
        path.write_bytes(content)
    site.fails = lambda url: URLError("no network")
    with pytest.raises(InvalidInput, match=r"'openml:7' is not in .*no network"):
        datasets.load("openml:7")


def test_where_nothing_can_be_kept_another_folder_is_asked_for(
    site: _OpenML, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "file" / "kept"))
    with pytest.raises(InvalidInput, match=r"'openml:7' cannot be kept: .*SCIKIT_LEARN_DATA"):
        datasets.load("openml:7")


def test_what_is_no_data_set_is_refused(site: _OpenML) -> None:
    site.add(*_CARS, "1,a,1,10")
    site.files[f"{_API}7"] = b"<html>"
    with pytest.raises(InvalidInput, match=r"'openml:7' cannot be had from OpenML: .*damaged"):
        datasets.load("openml:7")
    site.files[f"{_API}7"] = b"[]"
    with pytest.raises(InvalidInput, match=r"'openml:7' cannot be had from OpenML: .*damaged"):
        datasets.load("openml:7")


def test_files_other_than_promised_are_refused(site: _OpenML) -> None:
    site.add(*_CARS, "1,a,1,10")
    site.files["data/v1/download/7/cars.arff"] += b"2,b,2,20\n"
    with pytest.raises(InvalidInput, match="cannot be had from OpenML: The md5 checksum"):
        datasets.load("openml:7")


def test_sparse_data_are_refused(site: _OpenML) -> None:
    site.add(*_CARS, "1,a,1,10")
    path = f"{_API}7"
    site.files[path] = site.files[path].replace(b'"ARFF"', b'"Sparse_ARFF"')
    with pytest.raises(InvalidInput, match="cannot be had from OpenML: Sparse ARFF"):
        datasets.load("openml:7")


@pytest.mark.parametrize("usual", [None, "price,size"])
def test_without_a_usual_target_one_must_be_given(site: _OpenML, usual: str | None) -> None:
    site.add(7, "cars", usual, "size price", "1,10")
    with pytest.raises(InvalidInput, match=r"target must name .* openml:7 \(cars\).*size, price"):
        datasets.load("openml:7")
    assert datasets.load("openml:7", target="price").y.tolist() == [10.0]


def test_targets_of_text_are_refused(site: _OpenML) -> None:
    site.add(7, "cars", "kind", "size:real kind:{a,b}", "1,a 2,b")
    with pytest.raises(InvalidInput, match="target 'kind' must be numeric; data row 1 has 'a'"):
        datasets.load("openml:7")
    with pytest.raises(InvalidInput, match=r"target 'prize' is not a column; .*Columns: size"):
        datasets.load("openml:7", target="prize")


@pytest.mark.parametrize("number", ["", "0", "-1", "1.5", "iris", "٣"])
def test_numbers_are_whole_and_above_zero(number: str) -> None:
    with pytest.raises(InvalidInput, match="must be openml: and a whole number above 0"):
        datasets.load(f"openml:{number}")


def test_every_name_is_asked_for_by_its_number(
    site: _OpenML, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(name: str) -> Dataset | None:
        try:
            return datasets.load(name)
        except InvalidInput:
            return None

    site.fails = lambda url: URLError("no network")
    for name, known in PUBLISHED.items():
        site.asked.clear()
        came: Any = load(name)
        wanted = [] if came or known.openml is None else [f"{_SITE}{_API}{known.openml}"]
        assert list(dict.fromkeys(site.asked)) == wanted, name
    numbers = [known.openml for known in PUBLISHED.values() if known.openml]
    assert len(set(numbers)) == len(numbers) >= 23
    assert KNOWN["us_crime_unnormalized"].openml is None
