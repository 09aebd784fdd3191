"""`forestprune stream` on files, options and saved models that are not what they should be."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from terminal import without_compiling
from typer.testing import CliRunner

from formulations import InvalidInput
from studies.cli import app
from studies.streaming.late import Lateness, Waiting
from studies.streaming.session import MOST_CLASSES
from studies.streaming.store import load_session, save_session

COMMAND = [sys.executable, "-c", "from studies.cli import app; app()", "stream"]
ASKED = ("--target", "t", "--model", "tree")


def run(*words: str, given: bytes | None = None) -> tuple[int, str, str]:
    """Run the command: exit code, output, errors."""
    done = CliRunner().invoke(app, ["stream", *words], input=given)
    return done.exit_code, done.stdout, without_compiling(done.stderr)


def lines(rows: int) -> list[str]:
    """Rows of two numbers, and which is the larger."""
    pairs = np.random.default_rng(0).random((rows, 2))
    return ["a,b,t", *(f"{a:.4f},{b:.4f},{int(a > b)}" for a, b in pairs)]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of 300 rows."""
    found = tmp_path_factory.mktemp("hostile") / "rows.csv"
    found.write_text("\n".join(lines(300)))
    return found


def test_standard_input_is_read_as_a_file_is() -> None:
    code, out, _ = run("-", *ASKED, given=b"\xef\xbb\xbft,b\r\nx,1\r\ny,2\r\n")
    assert code == 0
    assert "2 rows in batches" in " ".join(out.split())
    code, _, error = run("-", *ASKED, given=b"t,b\nx,1\n\xe4,2\n")
    assert code == 2
    assert "standard input cannot be read as CSV" in error
    assert error.count("\n") == 1


def test_standard_input_that_is_closed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    from studies.streams.csv_rows import open_csv

    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(InvalidInput, match="standard input is closed"), open_csv("-"):
        pass


@pytest.mark.parametrize(
    ("option", "given"),
    [
        ("--delay", str(2**63 - 1)),
        ("--delay", "1" + "0" * 30),
        ("--random-delay", str(2**63 - 1)),
        ("--seed", str(2**32)),
        ("--trees", "1" + "0" * 10),
        ("--max-rows", "1" + "0" * 30),
    ],
)
def test_options_that_overflow_are_refused_in_a_line(option: str, given: str, path: Path) -> None:
    code, _, error = run(str(path), "--target", "t", option, given)
    assert code == 2
    assert error.count("\n") == 1
    assert option.strip("-").replace("-", "_") in error.replace("-", "_")


@pytest.mark.parametrize("rows", [1, 150])
def test_a_target_too_large_to_square_is_named(rows: int, tmp_path: Path) -> None:
    table, saved = tmp_path / "t.csv", tmp_path / "model"
    table.write_text("\n".join(["a,t", *(f"{k},1" for k in range(1, rows)), "0,1e200"]))
    code, _, error = run(str(table), *ASKED, "--regression", "--batch", "10", "--save", str(saved))
    assert code == 2
    assert error.count("\n") == 1
    assert f"between ±1e+70; data row {rows} has '1e200'" in error
    assert load_session(saved)[0].rows == (rows - 1) // 10 * 10


def test_a_number_given_for_a_class_is_asked_about(tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("\n".join(["a,t", *(f"0,{k}" for k in range(MOST_CLASSES + 200))]))
    code, _, error = run(str(table), *ASKED, "--batch", "1200")
    assert code == 2
    assert "target 't' has more than 1,000 classes" in error
    assert "--regression" in error


def test_only_files_are_written_to(path: Path, tmp_path: Path) -> None:
    for place in (str(tmp_path), "", "/dev/null"):
        code, _, error = run(str(path), *ASKED, "--save", place)
        assert code == 2
        assert "cannot save to" in error
        assert error.count("\n") == 1
    assert not Path("/dev/null").is_file()
    link, kept = tmp_path / "link", tmp_path / "kept"
    link.symlink_to(kept)
    assert run(str(path), *ASKED, "--save", str(link))[0] == 0
    assert link.is_symlink()
    assert load_session(kept)[0].rows == 300


def _asking_for(module: str, name: str) -> bytes:
    """A pickle that asks for a name of a module."""
    words = b"".join(b"\x8c" + bytes([len(w)]) + w.encode() for w in (module, name))
    return b"\x80\x04" + words + b"\x93."


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("forestprune.forgetful.engine", "ThreadPoolExecutor"),
        ("forestprune.forgetful.engine", "partial"),
        ("forestprune.forgetful.engine", "np.memmap"),
        ("forestprune.forgetful.engine", "np.ctypeslib.ctypes.CDLL"),
        ("forestprune.forgetful.nothing", "Nothing"),
        ("builtins", "eval"),
    ],
)
def test_a_saved_model_reaches_nothing_through_our_modules(
    module: str, name: str, path: Path, tmp_path: Path
) -> None:
    saved = tmp_path / "model"
    assert run(str(path), *ASKED, "--rows", "100", "--save", str(saved))[0] == 0
    with np.load(saved) as file:
        arrays = {key: file[key] for key in file.files}
    arrays["model"] = np.frombuffer(_asking_for(module, name), dtype=np.uint8)
    with saved.open("wb") as opened:
        np.savez(opened, **arrays)
    with pytest.raises(InvalidInput, match="is not one of ours: it asks for"):
        load_session(saved)


def test_damage_anywhere_in_a_saved_model_is_said(path: Path, tmp_path: Path) -> None:
    saved = tmp_path / "model"
    assert run(str(path), *ASKED, "--rows", "100", "--save", str(saved))[0] == 0
    with np.load(saved) as file:
        arrays: dict[str, Any] = {key: file[key] for key in file.files}
    for damaged in (
        {"session": np.array("[]")},
        {"session": np.array("{}")},
        {"session": np.array('{"format": 1}')},
        {"session": np.array("[" * 10**5)},
        {"model": arrays["model"][:-9]},
        {"model": np.frombuffer(pickle.dumps([1, 2]), dtype=np.uint8)},
        {"model": np.array(5)},
    ):
        with saved.open("wb") as opened:
            np.savez(opened, **{**arrays, **damaged})
        with pytest.raises(InvalidInput):
            load_session(saved)


def test_labels_that_wait_long_are_not_touched() -> None:
    waiting = Waiting(Lateness(delay=500, random_delay=40, seed=1), 1)
    seen: list[float] = []
    for begin in range(0, 2000, 10):
        places = np.arange(begin, begin + 10)
        waiting.add(places, places[:, None].astype(np.float64), places.astype(np.float64))
        state, draws = waiting.arrays(), waiting.draws()
        X, y = waiting.come(begin + 10)
        assert (X[:, 0] == y).all()
        seen += y.tolist()
        again = Waiting(Lateness(delay=500, random_delay=40, seed=1), 1)
        again.restore(state, draws)
        assert again.come(begin + 10)[1].tolist() == y.tolist()
        assert len(again) == len(waiting) == begin + 10 - len(seen)
        waiting = again if begin % 300 == 0 else waiting
    assert len(seen) == len(set(seen))
    assert 1440 < len(seen) < 1500


def test_a_killed_run_goes_on_from_its_last_save(path: Path, tmp_path: Path) -> None:
    saved = tmp_path / "model"
    asked = [*ASKED, "--batch", "20", "--every", "20"]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [*COMMAND, "-", *asked, "--save", str(saved)], stdin=pipe, stdout=pipe, text=True
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            child.stdin.write("\n".join(lines(300)[:66]) + "\n")
            child.stdin.flush()
            for _ in range(3):
                child.stdout.readline()
            time.sleep(0.3)
        finally:
            os.kill(child.pid, signal.SIGKILL)
    session, _, tail = load_session(saved)
    assert (session.rows, tail) == (60, [])
    rest = "\n".join(["a,b,t", *lines(300)[61:]]).encode()
    code, out, _ = run("-", "--resume", str(saved), given=rest)
    assert code == 0
    whole = run(str(path), *asked)[1]
    ends = [[row for row in text.splitlines() if row.startswith("│")] for text in (out, whole)]
    assert ends[0] == ends[1]


def test_a_bad_row_is_counted_in_the_file_that_has_it(path: Path, tmp_path: Path) -> None:
    saved, other = tmp_path / "model", tmp_path / "other.csv"
    assert run(str(path), *ASKED, "--rows", "100", "--save", str(saved))[0] == 0
    other.write_text("a,b,t\n1,2,0\nx,2,0\n")
    code, _, error = run(str(other), "--resume", str(saved))
    assert code == 2
    assert "data row 2 has 'x'" in error


def test_a_session_with_late_labels_is_saved_whole(path: Path, tmp_path: Path) -> None:
    saved = tmp_path / "model"
    assert run(str(path), *ASKED, "--delay", "1000", "--save", str(saved))[0] == 0
    session, source, _ = load_session(saved)
    assert len(session.waiting) == 300
    save_session(session, saved, source, [])
    assert len(load_session(saved)[0].waiting) == 300
