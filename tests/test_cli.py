"""The command line: what it prints, and errors in one line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from terminal import without_compiling

from forestprune import available_competitors
from solvers import available_solvers
from studies import solving
from studies.cli import app
from studies.running import work


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def tiny(tmp_path: Path) -> str:
    lines = [f"{k % 7},{k % 5},{(k % 7) * (k % 5) + k % 3}" for k in range(60)]
    (tmp_path / "tiny.csv").write_text("a,b,y\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return "tiny.csv"


def called(*arguments: str) -> int:
    """Run the command line and return its exit code."""
    with pytest.raises(SystemExit) as ended:
        app(list(arguments))
    code = ended.value.code
    assert code is None or isinstance(code, int)
    return code or 0


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert called("--version") == 0
    assert capsys.readouterr().out.startswith("forestprune 0.")
    assert called() == 0
    assert "solvers" in capsys.readouterr().out


def test_study_without_a_name_lists_the_studies(capsys: pytest.CaptureFixture[str]) -> None:
    assert called("study") == 0
    assert "table1" in capsys.readouterr().out


def test_solvers_are_listed_with_what_they_can_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert called("solvers", "--markdown") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("| solver | method |")
    assert {line.split(" | ")[0].strip("| ") for line in lines[2:]} >= set(available_solvers())
    assert called("solvers") == 0
    assert "cbcd" in capsys.readouterr().out


def test_competitors_are_listed_with_options_and_names_in_tables(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert called("competitors", "--markdown") == 0
    table, variants = capsys.readouterr().out.split("\n\n")
    header, _, *lines = (line.strip("| ").split(" | ") for line in table.splitlines())
    assert header == ["competitor", "in tables", "summary", "exact", "path over", "options"]
    assert [line[0] for line in lines] == available_competitors()
    (rule_lasso,) = (line for line in lines if line[0] == "rule_lasso")
    assert (rule_lasso[1], rule_lasso[4]) == ("node lasso", "lambda")
    assert rule_lasso[5] == "columns=indicator (or step)"
    assert "| lasso[refit=True] | lasso, refitted |" in variants.splitlines()
    assert called("competitors") == 0
    shown = capsys.readouterr().out
    assert "node lasso" in shown
    assert "lasso[refit=True]" in shown


def test_who_asks_for_a_model_is_told_where_they_are_listed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert called("study", "bagging", "--model", "laso") == 2
    assert_one_line("did you mean 'lasso'", capsys, ends="see: forestprune competitors\n")
    assert called("study", "--help") == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "method to compare with: see forestprune competitors" in told


def test_solve_prints_a_row_for_each_solver(tiny: str, capsys: pytest.CaptureFixture[str]) -> None:
    given = ("solve", tiny, "--target", "y", "--trees", "4", "--depth", "2")
    assert called(*given, "--solver", "cbcd", "--solver", "brute_force") == 0
    captured = capsys.readouterr()
    assert "tiny: 60 rows, random forest of 4 trees" in captured.out
    (optimal,) = [line for line in captured.out.splitlines() if "brute_force" in line]
    assert "✓" in optimal
    assert without_compiling(captured.err) == ""


def test_solve_says_what_it_leaves_out(tiny: str, capsys: pytest.CaptureFixture[str]) -> None:
    with Path(tiny).open("a") as file:
        file.write("1,\n")
    assert called("solve", tiny, "--target", "y", "--trees", "2", "--depth", "2") == 0
    assert "tiny: 60 rows (1 without target left out), random" in capsys.readouterr().out


def test_solve_goes_on_after_a_refusal(tiny: str, capsys: pytest.CaptureFixture[str]) -> None:
    given = ("solve", tiny, "--target", "y", "--trees", "40")
    assert called(*given, "--solver", "brute_force", "--solver", "cbcd") == 0
    captured = capsys.readouterr().out
    assert "no answer from brute_force: solver 'brute_force' cannot take this problem" in captured


ERRORS = {
    "study": (("study", "tabel1"), "unknown study 'tabel1'; did you mean 'table1'?"),
    "size": (("study", "table1", "--size", "smal"), "no 'smal'; did you mean 'small'"),
    "solver": (
        ("study", "table1", "--solver", "cbdc"),
        "unknown solver 'cbdc'; did you mean 'cbcd'",
    ),
    "option": (
        ("study", "table1", "--solver", "cbcd[local_serch=False]"),
        "no option 'local_serch'; did you mean 'local_search'",
    ),
    "value": (
        ("study", "table1", "--solver", "clarabel[form=x]"),
        "form must be one of gram, rows",
    ),
    "label": (("study", "table1", "--solver", "cbcd[local_search"), "a solver is a name or"),
    "alpha": (("study", "table1", "--alpha", "-1"), "of at least 0, not -1"),
    "infinite alpha": (
        ("study", "table1", "--alpha", "inf"),
        "must be a finite number of at least 0, not inf",
    ),
    "limit": (("study", "table1", "--time-limit", "0"), "above 0, not 0"),
    "ensemble": (("study", "table1", "--ensemble", "trees"), "forest"),
    "data set": (("study", "table1", "--data", "diamond"), "did you mean 'diamonds'"),
    "usage": (("study", "table1", "--sise", "small"), "--sise"),
    "twice": (("study", "--data", "a.csv", "bagging", "--data=b.csv"), "--data is given twice"),
    "twice, a number": (("solve", "tiny.csv", "--trees", "4", "--trees", "4"), "--trees is given"),
    "command": (("studdy",), "studdy"),
    "file": (("solve", "absent.csv", "--target", "y"), "'absent.csv' does not exist"),
    "no target": (("solve", "tiny.csv"), "target must name the column"),
    "target": (("solve", "tiny.csv", "--target", "yy"), "target 'yy' is not a column"),
    "words": (("solve", "words.csv", "--target", "y"), "must be numeric; data row 2 has 'high'"),
    "infinity": (("solve", "inf.csv", "--target", "y"), "first in data row 2 (inf)"),
    "number": (("solve", "openml:iris"), "openml: and a whole number above 0"),
    "negative": (
        ("solve", "tiny.csv", "--target", "y", "--alpha", "-0.5"),
        "of at least 0, not -0.5",
    ),
    "no answer": (
        ("solve", "tiny.csv", "--target", "y", "--solver", "brute_force"),
        "no solver gave an answer; brute_force: ",
    ),
}


@pytest.mark.parametrize("case", ERRORS)
@pytest.mark.usefixtures("tiny")
def test_an_error_is_one_line_and_exit_code_2(
    case: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("words.csv").write_text("a,y\n1,2\n2,high\n")
    Path("inf.csv").write_text("a,y\n1,2\n2,inf\n")
    arguments, said = ERRORS[case]
    assert called(*arguments) == 2
    assert_one_line(said, capsys)
    assert not Path("results").exists()


def assert_one_line(said: str, capsys: pytest.CaptureFixture[str], ends: str = "") -> None:
    error = without_compiling(capsys.readouterr().err)
    assert error.startswith("error: ")
    assert error.endswith(ends)
    assert said in error
    assert error.count("\n") == 1


def study_of(tiny: str, out: str | Path) -> tuple[str, ...]:
    return (
        "study",
        "table1",
        "--size",
        "small",
        "--data",
        tiny,
        "--target",
        "y",
        "--out",
        str(out),
    )


def test_a_folder_that_cannot_be_made_is_an_error(
    tiny: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("file").write_text("")
    assert called(*study_of(tiny, "file/out")) == 2
    assert_one_line("cannot write to the output folder file", capsys)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_the_right_to_write_is_an_error(
    tiny: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("closed").mkdir(mode=0o500)
    assert called(*study_of(tiny, "closed")) == 2
    assert_one_line("cannot write to the output folder closed", capsys)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("rows.jsonl", "line 1 is not a row of results"),
        ("config.json", "is not the configuration of a study"),
    ],
)
def test_what_is_in_the_folder_already_must_be_a_run(
    tiny: str, name: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("out").mkdir()
    Path("out", name).write_text("something else\n")
    assert called(*study_of(tiny, "out")) == 2
    assert_one_line(said, capsys)
    assert Path("out", name).read_text() == "something else\n"


def test_a_study_of_which_nothing_worked_is_an_error(
    tiny: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(work, "run_in_child", lambda *_, **__: {"status": "failed", "reason": "no"})
    assert called(*study_of(tiny, "out")) == 2
    assert_one_line("every cell failed; the reasons are in ", capsys)
    assert "the instance failed: no" in Path("out", "table.md").read_text(encoding="utf-8")


def test_ctrl_c_ends_with_a_line(
    tiny: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(solving.datasets, "load", interrupt)
    assert called("solve", tiny, "--target", "y") == 130
    assert capsys.readouterr().err == "interrupted: nothing was kept\n"
