"""Odd files, damaged folders and killed processes against the papers' experiments."""

from __future__ import annotations

import io
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from contests import fold_of
from rich.console import Console

from formulations import InvalidInput
from studies import datasets
from studies.boosting.figures import draw_paths
from studies.boosting.outcomes import Outcomes
from studies.comparing.published import published_as
from studies.contests.choosing import left_out
from studies.contests.points import outcome_of
from studies.encoding import Encoding
from studies.errors import StudyError
from studies.overview import runs
from studies.overview.command import PAGE, write_overview
from studies.reporting.formats import change
from studies.running.records import RunFolder
from studies.spec import Request


def test_what_is_named_like_a_table_but_is_none_is_not_at_hand(tmp_path: Path) -> None:
    (tmp_path / "abalone.csv").mkdir()
    (tmp_path / "wind.csv").symlink_to("nowhere")
    os.mkfifo(tmp_path / "pol.csv")
    (tmp_path / "own.csv").mkdir()
    assert datasets.names_in(tmp_path) == []
    assert datasets.without_target(tmp_path) == []
    (tmp_path / "stock.csv").write_text("a,company10\n1,2\n", encoding="utf-8")
    assert datasets.names_in(tmp_path) == ["stock"]


def test_a_number_of_openml_that_is_none_is_refused_in_a_line() -> None:
    for number in ("9" * 5000, "0" * 5000 + "1", "0", "-1", "²"):
        with pytest.raises(InvalidInput, match="whole number above 0"):
            datasets.load(f"openml:{number}")


@pytest.mark.parametrize("dtype", ["datetime64[ns]", "timedelta64[ns]"])
def test_times_are_no_response(dtype: str) -> None:
    column = pd.Series(np.arange(3), name="when").astype(dtype)
    with pytest.raises(InvalidInput, match="target 'when' must be numeric, but holds times"):
        datasets.numeric_target(column, "when")


def test_a_file_whose_name_cannot_be_written_down_is_refused(tmp_path: Path) -> None:
    odd = Path(os.fsdecode(os.fsencode(tmp_path / "odd") + b"\xff.csv"))
    try:
        odd.write_text("a,y\n1,2\n", encoding="utf-8")
    except OSError:
        pytest.skip("this file system has names in UTF-8 only")
    with pytest.raises(InvalidInput, match="must have a name in UTF-8"):
        datasets.load(str(odd), target="y")
    (told,) = left_out(Request("small", data_dir=str(tmp_path)))
    told.encode()  # a terminal could not show it otherwise
    assert "odd" in told


@pytest.mark.parametrize("ratio", [float("nan"), float("inf"), None])
def test_a_ratio_to_an_error_of_zero_is_a_dash(ratio: float | None) -> None:
    # Of a constant response the full model's error is 0.
    assert change(ratio) == "–"


def test_a_process_killed_before_the_last_method_has_failed() -> None:
    early = outcome_of({"entries": []}, ("lasso", "bsts"))
    assert early["status"] == "failed"
    assert early["reason"] == "the process ended before lasso was measured"
    last = outcome_of({"entries": []}, ())
    assert last["status"] == "ok"
    assert "reason" not in last


def test_published_figures_are_for_their_target_only() -> None:
    stock = fold_of("some/folder/stock.csv", target=None)
    assert published_as(stock) == "stock"
    assert published_as(replace(stock, target="company10")) == "stock"
    assert published_as(replace(stock, target="company1")) is None
    assert published_as(replace(stock, data="openml:223")) == "stock"
    assert published_as(replace(stock, data="own.csv", target="y")) is None


def test_a_name_is_drawn_as_it_is() -> None:
    name = r"a$\frac{$b_c^d"
    line = {"data": name, "fold": 0, "method": "forestprune", "trees": 1}
    points = pd.DataFrame(
        [
            {**line, "nodes": nodes, "validation": error, "test": error, "full_test": 0.5}
            for nodes, error in ((0, 1.0), (50, 0.7), (90, 0.6))
        ]
    )
    figure = draw_paths(Outcomes(points, ("forestprune",), (50.0,), "sound", {name: None}, 1.0))
    figure.savefig(io.BytesIO())
    assert name in {panel.get_title(loc="left") for panel in figure.axes}


def _run_folder(folder: Path, **config: Any) -> None:
    folder.mkdir()
    own = {"study": "bagging", "title": "Forests", "calls": [], "cells": 0, "instances": []}
    (folder / "config.json").write_text(json.dumps({**own, **config}), encoding="utf-8")
    (folder / "rows.jsonl").write_text("", encoding="utf-8")


def _overview(folder: Path) -> str:
    # As on a terminal in UTF-8, which refuses what is no character.
    shown = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="strict")
    write_overview(Console(file=shown, width=200), folder)
    shown.seek(0)
    return shown.read()


def test_a_run_with_a_name_that_is_no_text_is_on_the_page(tmp_path: Path) -> None:
    try:
        _run_folder(Path(os.fsdecode(os.fsencode(tmp_path / "run") + b"\xff")))
    except OSError:
        pytest.skip("this file system has names in UTF-8 only")
    _run_folder(tmp_path / "other", study="\udcff")
    said = _overview(tmp_path)
    assert "run?: 0 cells" in said
    assert "other could not be read" in said
    assert "run?" in (tmp_path / PAGE).read_text(encoding="utf-8")


def test_a_folder_that_may_not_be_entered_leaves_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _run_folder(tmp_path / "run")
    (tmp_path / "closed").mkdir()
    as_it_is = runs._is_run

    def is_run(path: Path) -> bool:
        if path.name == "closed":
            raise PermissionError(13, "Permission denied")
        return as_it_is(path)

    monkeypatch.setattr(runs, "_is_run", is_run)
    assert "closed could not be read: Permission denied" in _overview(tmp_path)
    (tmp_path / "run" / "rows.jsonl").unlink()
    with pytest.raises(StudyError, match="has no run of a study"):
        write_overview(Console(file=io.StringIO()), tmp_path)


def test_cells_that_hold_lists_are_refused_in_a_line() -> None:
    table = pd.DataFrame({"a": [[1, 2], [3], [4, 5]]})
    with pytest.raises(InvalidInput, match="must hold numbers or text"):
        Encoding.decide(table)


def test_a_carriage_return_in_a_damaged_row_ends_no_row(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    folder.open({"title": "one", "study": "weights", "calls": []})
    row = {"kind": "environment", "versions": {}}
    folder.append(row)
    with folder.rows_path.open("ab") as file:
        file.write(b'{"kind": "envi\ronment"}\n')
    folder.append(row)
    size = folder.rows_path.stat().st_size
    with pytest.raises(StudyError, match="line 2 is not a row"):
        folder.open({"title": "one", "study": "weights", "calls": []})
    assert folder.rows_path.stat().st_size == size  # nothing was cut off
