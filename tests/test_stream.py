"""`forestprune stream`: rows as they come, late labels, scores, and going on where it stopped."""

from __future__ import annotations

import io
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
from sklearn.metrics import accuracy_score, f1_score, r2_score
from terminal import without_compiling
from typer.testing import CliRunner

from formulations import InvalidInput
from studies.cli import app
from studies.streaming.late import Lateness, Waiting
from studies.streaming.scores import ClassScore, NumberScore
from studies.streaming.session import Session, Settings
from studies.streaming.store import load_session, save_session
from studies.streams.columns import Columns
from studies.streams.csv_rows import CsvRows, open_csv


def run(*words: str, given: str | None = None) -> tuple[int, str, str]:
    """Run the command: exit code, output, errors."""
    done = CliRunner().invoke(app, ["stream", *words], input=given)
    return done.exit_code, done.stdout, without_compiling(done.stderr)


def lines(rows: int, seed: int = 0) -> list[str]:
    """A stream of numbers and a word, whose class changes its meaning half way."""
    generator = np.random.default_rng(seed)
    a, b = generator.normal(size=(2, rows))
    word = generator.choice(["red", "green", "blue"], rows)
    truth = (a + (word == "red") > b * (np.arange(rows) < rows / 2)).astype(int)
    return [f"{a[k]:.4f},{word[k]},{b[k]:.4f},{'yes' if truth[k] else 'no'}" for k in range(rows)]


HEADER = "a,colour,b,class"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of 1,000 rows."""
    found = tmp_path_factory.mktemp("stream") / "rows.csv"
    found.write_text("\n".join([HEADER, *lines(1000)]) + "\n")
    return found


def csv_rows(text: str) -> CsvRows:
    return CsvRows(io.StringIO(text), "f")


def test_rows_are_taken_as_they_come_and_what_is_no_row_is_named() -> None:
    rows = csv_rows('a,"b c"\n1,2\n\n3,"4, five"\n')
    assert rows.header == ["a", "b c"]
    assert rows.take(1) == [["1", "2"]]
    assert rows.take(5) == [["3", "4, five"]]
    assert rows.take(5) == []
    with pytest.raises(InvalidInput, match=r"data row 2: every row must have 2 cells.*has 1"):
        csv_rows("a,b\n1,2\n3\n").take(3)
    with pytest.raises(InvalidInput, match="is empty"):
        csv_rows("")
    with pytest.raises(InvalidInput, match="several columns named 'a'"):
        csv_rows("a,b,a\n")
    with pytest.raises(InvalidInput, match=r"cannot be opened: No such file"), open_csv("none.csv"):
        pass


def test_columns_learn_categories_in_the_order_they_come() -> None:
    rows = [["1", "red", "x"], ["2.5", "blue", "y"]]
    columns = Columns.decide(["n", "c", "t"], "t", rows)
    assert columns.encode(rows, [1, 2]).tolist() == [[1.0, 0.0], [2.5, 1.0]]
    assert columns.encode([["0", "green", "x"], ["0", "red", ""]], [3, 4])[:, 1].tolist() == [2, 0]
    again = Columns.from_dict(columns.as_dict())
    assert again.encode([["0", "grey", "x"], ["0", "blue", ""]], [5, 6])[:, 1].tolist() == [3, 1]
    numbers = Columns.decide(["n", "t"], "t", [["1", "x"]], categorical=["n"])
    assert numbers.encode([["7", "x"], ["1", "x"]], [1, 2]).tolist() == [[0.0], [1.0]]


def test_a_row_that_does_not_fit_teaches_no_category() -> None:
    columns = Columns.decide(["c", "n", "t"], "t", [["red", "1", "x"]])
    for cells, said in (
        (["new", "", "x"], "'n' has no value in data row 7"),
        (["new", "many", "x"], "'n' must hold finite numbers.*data row 7 has 'many'.*--categ"),
        (["new", "inf", "x"], "'n' must hold finite numbers.*data row 7 has 'inf'"),
        (["new", "1e39", "x"], "'n' must hold numbers of single precision.*row 7 has '1e39'"),
        (["?", "1", "x"], "'c' has no value in data row 7"),
    ):
        with pytest.raises(InvalidInput, match=said):
            columns.encode([cells], [7])
    assert columns.as_dict()["categories"] == [[], None]
    with pytest.raises(InvalidInput, match=r"target 'u' is not a column.*t"):
        Columns.decide(["c", "t"], "u", [])


def test_labels_come_when_they_are_due_whatever_the_batches() -> None:
    def order(batch: int, **late: Any) -> list[tuple[int, float]]:
        waiting = Waiting(Lateness(**late), 1)
        found = []
        for start in range(0, 60, batch):
            places = np.arange(start, min(start + batch, 60))
            waiting.add(places, places[:, None] * 1.0, places * 1.0)
            for now in range(start + 1, start + len(places) + 1):
                _, y = waiting.come(now)
                found += [(now, value) for value in y]
        return found + [(99, value) for value in waiting.come(999)[1]]

    assert order(10) == [(k + 1, float(k)) for k in range(60)]
    assert order(1, delay=5) == [(min(k + 6, 99) if k < 55 else 99, float(k)) for k in range(60)]
    drawn = order(1, random_delay=9, unlabelled=0.3, seed=1)
    assert order(1, random_delay=9, unlabelled=0.3, seed=1) == drawn
    delays = {now - value for now, value in drawn if now < 99}
    assert 25 < len(drawn) < 55
    assert min(delays) == 1
    assert 8 <= max(delays) <= 10
    # Of rows that are added together labels come at the same times.
    assert sorted(v for _, v in order(20, random_delay=9, unlabelled=0.3, seed=1)) == sorted(
        v for _, v in drawn
    )
    with pytest.raises(InvalidInput, match="unlabelled must be at least 0 and below 1, not 1"):
        Lateness(unlabelled=1.0)


def test_running_scores_are_those_of_all_rows_at_once() -> None:
    generator = np.random.default_rng(0)
    y, said = generator.integers(4, size=(2, 300)).astype(float)
    said[:100] = y[:100]
    classes, numbers = ClassScore(), NumberScore()
    for part in np.split(np.arange(300), 7 * np.arange(1, 40)):
        classes.add(y[part], said[part])
        numbers.add(1e6 + y[part], 1e6 + said[part])
    classes.add(np.array([np.nan]), np.array([1.0]))
    assert classes.values()["accuracy"] == pytest.approx(accuracy_score(y, said))
    assert classes.values()["macro F1"] == pytest.approx(f1_score(y, said, average="macro"))
    assert numbers.values()["R²"] == pytest.approx(r2_score(y, said))
    assert numbers.values()["last"] == pytest.approx(r2_score(y, said))
    assert numbers.values()["RMSE"] == pytest.approx(np.sqrt(np.mean((y - said) ** 2)))
    again = ClassScore()
    again.restore(classes.as_dict())
    assert again.values() == classes.values()
    assert all(np.isnan(value) for value in NumberScore().values().values())


def test_the_report_says_how_it_goes(path: Path) -> None:
    code, out, _ = run(str(path), "--target", "class", "--trees", "4", "--every", "500")
    assert code == 0
    assert out.count(" rows   accuracy ") == 2
    for word in ("forgetful forest", "no change", "majority", "macro F1", "1,000 labels learnt"):
        assert word in out
    (last,) = (line for line in out.splitlines() if "forgetful forest" in line)
    assert float(last.split("│")[2].split()[0]) > 65.0


def test_a_regression_is_scored_by_what_it_explains(path: Path) -> None:
    code, out, _ = run(str(path), "--target", "b", "--regression", "--model", "tree")
    assert code == 0
    assert "R²" in out
    assert "mean" in out
    code, _, error = run(str(path), "--target", "class", "--regression")
    assert code == 2
    assert error.count("\n") == 1
    assert (
        "target 'class' must be a finite number for a regression, between ±1e+70; data row 1"
        in error
    )


def scores_of(out: str) -> list[str]:
    return [line for line in out.splitlines() if line.startswith("│")]


LATE = ("--delay", "30", "--random-delay", "40", "--unlabelled", "0.2")


@pytest.mark.parametrize("model", ["tree", "forest"])
def test_a_run_that_goes_on_ends_like_one_that_was_not_interrupted(
    model: str, path: Path, tmp_path: Path
) -> None:
    asked = (str(path), "--target", "class", "--model", model, "--trees", "4", "--seed", "3", *LATE)
    _, whole, _ = run(*asked, "--save", str(tmp_path / "whole"))
    saved = str(tmp_path / "model")
    assert run(*asked, "--rows", "300", "--save", saved)[0] == 0
    code, out, _ = run(str(path), "--resume", saved, "--save", saved)
    assert code == 0
    assert "going on after 300 rows, from row 301" in out
    assert scores_of(out) == scores_of(whole)
    one, _, _ = load_session(tmp_path / "whole")
    other, _, _ = load_session(tmp_path / "model")
    assert pickle.dumps(one.model) == pickle.dumps(other.model)
    assert "no new rows" not in out
    code, out, _ = run(str(path), "--resume", saved)
    assert scores_of(out) == scores_of(whole)
    assert f"no new rows in {str(path)!r}" in out.replace("\n", "")
    assert "µs" not in out


def test_standard_input_goes_on_with_the_rows_after(path: Path, tmp_path: Path) -> None:
    _, whole, _ = run(str(path), "--target", "class", "--trees", "4")
    saved, rows = str(tmp_path / "model"), path.read_text().splitlines()
    first = "\n".join(rows[:401])
    assert run("-", "--target", "class", "--trees", "4", "--save", saved, given=first)[0] == 0
    rest = "\n".join([rows[0], *rows[401:]])
    code, out, _ = run("-", "--resume", saved, given=rest)
    assert code == 0
    assert scores_of(out) == scores_of(whole)


def test_a_wrong_row_ends_the_run_and_loses_nothing(path: Path, tmp_path: Path) -> None:
    rows = path.read_text().splitlines()
    broken, saved = tmp_path / "broken.csv", tmp_path / "model"
    broken.write_text("\n".join([*rows[:251], "x,red,1,yes", *rows[251:]]))
    asked = ("--target", "class", "--trees", "4", "--save", str(saved))
    code, _, error = run(str(broken), *asked)
    assert code == 2
    assert error.count("\n") == 1
    assert "column 'a' must hold finite numbers, as in the first rows; data row 251" in error
    assert str(saved) in error
    session, _, tail = load_session(saved)
    assert (session.rows, session.learnt, tail) == (200, 200, [])
    broken.write_text("\n".join(rows))
    _, out, _ = run(str(broken), "--resume", str(saved))
    assert scores_of(out) == scores_of(run(str(path), *asked[:4])[1])


def test_rows_without_values_and_without_labels(path: Path, tmp_path: Path) -> None:
    rows = path.read_text().splitlines()
    holes = tmp_path / "holes.csv"
    unlabelled = [row.rsplit(",", 1)[0] + "," for row in rows[101:301]]
    holes.write_text("\n".join([*rows[:101], "1,,2,yes", *unlabelled, *rows[301:]]))
    code, _, error = run(str(holes), "--target", "class", "--trees", "2")
    assert code == 2
    assert "column 'colour' has no value in data row 101" in error
    assert "--skip-incomplete" in error
    asked = ("--target", "class", "--trees", "2", "--skip-incomplete")
    code, out, _ = run(str(holes), *asked)
    assert code == 0
    assert "1,001 rows in batches" in out.replace("\n", " ")
    assert "800 labels learnt; 1 row without a value left out" in " ".join(out.split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--target", "clas"), "target 'clas' is not a column; did you mean"),
        ((), "--target must name the column of"),
        (("--target", "class", "--batch", "0"), "--batch"),
        (("--target", "class", "--unlabelled", "1.5"), "unlabelled must be"),
        (("--target", "class", "--categorical", "d"), "categorical 'd' is not a column"),
        (("--resume", "none", "--batch", "5"), "a saved model goes on as it is: leave out --batch"),
        (("--resume", "none"), "there is no saved model 'none'"),
        (("--target", "class", "--save", "no/such/folder"), "cannot save to 'no/such/folder'"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(
    words: tuple[str, ...], said: str, path: Path
) -> None:
    code, _, error = run(str(path), *words)
    assert code == 2
    assert error.count("\n") == 1
    assert said in error


class Evil:
    def __reduce__(self) -> Any:
        return os.system, ("echo harm",)


def test_a_saved_model_is_read_only_as_far_as_it_is_one(path: Path, tmp_path: Path) -> None:
    saved = tmp_path / "model"
    assert run(str(path), "--target", "class", "--rows", "100", "--save", str(saved))[0] == 0
    session, source, _ = load_session(saved)
    session.model = Evil()
    save_session(session, saved, source, [])
    with pytest.raises(InvalidInput, match=r"is not one of ours: it asks for \w+\.system"):
        load_session(saved)
    saved.write_bytes(saved.read_bytes()[:500])
    with pytest.raises(InvalidInput, match=r"is not a model saved by forestprune stream$"):
        load_session(saved)
    with pytest.raises(InvalidInput, match=r"is not a model saved by forestprune stream$"):
        load_session(path)
    other = tmp_path / "other.csv"
    other.write_text("a,b,class\n1,2,yes\n")
    run(str(path), "--target", "class", "--rows", "100", "--save", str(saved))
    assert "must have the columns of the saved model" in run(str(other), "--resume", str(saved))[2]


def test_a_session_survives_its_file_in_the_middle_of_anything(tmp_path: Path) -> None:
    settings = Settings("tree", False, 50, {"random_state": 0}, Lateness(20, 30, 0.1, 5))
    cells = [row.split(",") for row in lines(400)]
    whole = Session(settings, Columns.decide(HEADER.split(","), "class", cells[:50]))
    parts = Session(settings, Columns.decide(HEADER.split(","), "class", cells[:50]))
    for start in range(0, 400, 50):
        whole.step(cells[start : start + 50])
        parts.step(cells[start : start + 50])
        save_session(parts, tmp_path / "s", "x", [["1"]])
        parts, source, tail = load_session(tmp_path / "s")
        assert (source, tail) == ("x", [["1"]])
    for name, score in whole.scores.items():
        assert parts.scores[name].values() == score.values()
    assert (parts.rows, parts.learnt, len(parts.waiting)) == (
        *(whole.rows, whole.learnt, len(whole.waiting)),
    )


def test_an_endless_stream_is_read_line_by_line_and_ctrl_c_keeps_all(tmp_path: Path) -> None:
    saved = tmp_path / "model"
    # Where tests run in the background, Ctrl-C is ignored unless it is asked for.
    program = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler);"
    program += "from studies.cli import app; app()"
    command = [sys.executable, "-c", program, "stream", "-"]
    command += ["--target", "class", "--model", "tree", "--batch", "20", "--save", str(saved)]
    pipe = subprocess.PIPE
    command += ["--every", "20"]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            child.stdin.write("\n".join([HEADER, *lines(45)]) + "\n")
            child.stdin.flush()
            # The pipe stays open: both whole batches are reported before it ends.
            assert "20 rows" in child.stdout.readline()
            assert "40 rows" in child.stdout.readline()
            time.sleep(0.2)
            child.send_signal(signal.SIGINT)
            child.wait(30)
            errors = child.stderr.read() if child.stderr is not None else ""
        finally:
            child.kill()
    assert child.returncode == 130
    assert "the model after 40 rows is in" in errors
    session, _, tail = load_session(saved)
    assert session.rows == 40
    assert len(tail) == 5
