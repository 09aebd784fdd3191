"""Two runs never write into one folder; a run that was killed leaves it free."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from studies import studying
from studies.cli import app
from studies.errors import StudyError
from studies.overview.runs import read_runs
from studies.planning import Plan
from studies.running import lock
from studies.running.records import RunFolder
from studies.study import Study

HOLDER = """
import sys
from pathlib import Path
from studies.running.records import RunFolder
with RunFolder(Path(sys.argv[1])).held() as notice:
    print(notice, flush=True)
    sys.stdin.read()
"""


def holder(folder: Path) -> subprocess.Popen[str]:
    """Start a process that holds a folder until it is told to end."""
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    other = subprocess.Popen([sys.executable, "-c", HOLDER, str(folder)], **pipes)
    assert other.stdout is not None
    assert other.stdout.readline() == "None\n"
    return other


def test_a_folder_is_held_by_one_process(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with holder(out) as other:
        with (
            pytest.raises(StudyError, match=f"out is being written by process {other.pid}; "),
            RunFolder(out).held(),
        ):
            pass
        assert (out / lock.LOCK).exists()
        other.communicate()
    with RunFolder(out).held() as notice:
        assert notice is None
    assert list(out.iterdir()) == []


def test_a_folder_is_held_by_one_run_of_a_process(tmp_path: Path) -> None:
    with RunFolder(tmp_path).held():
        said = f"is being written by process {os.getpid()}; "
        with pytest.raises(StudyError, match=said), RunFolder(tmp_path).held():
            pass
        # The one that was refused has taken nothing away.
        with pytest.raises(StudyError, match=said), RunFolder(tmp_path).held():
            pass


def test_a_run_that_was_killed_leaves_the_folder_free(tmp_path: Path) -> None:
    with holder(tmp_path) as other:
        other.kill()
        other.wait()
        assert (tmp_path / lock.LOCK).read_text() == str(other.pid)
        with RunFolder(tmp_path).held() as notice:
            assert notice is None
            assert (tmp_path / lock.LOCK).read_text() == str(os.getpid())


def test_a_run_that_failed_leaves_the_folder_free(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), RunFolder(tmp_path).held():
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []
    with RunFolder(tmp_path).held():
        pass


@pytest.mark.skipif(os.name == "nt", reason="an open file cannot be removed there")
def test_a_lock_on_a_file_that_was_removed_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Another run ends, and removes the file, between opening and locking it.
    tried: list[int] = []
    take = lock._lock

    def late(file: int) -> None:
        if not tried:
            (tmp_path / lock.LOCK).unlink()
        tried.append(file)
        take(file)

    monkeypatch.setattr(lock, "_lock", late)
    with RunFolder(tmp_path).held():
        assert len(tried) == 2
        monkeypatch.setattr(lock, "_lock", take)
        with pytest.raises(StudyError, match="is being written"), RunFolder(tmp_path).held():
            pass


def test_where_files_cannot_be_locked_the_user_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without(file: int) -> None:
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr(lock, "_lock", without)
    with RunFolder(tmp_path).held() as notice:
        assert notice is not None
        assert notice.startswith("files cannot be locked here")
        assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(StudyError, match=r"cannot write to the output folder .*file"),
        RunFolder(tmp_path / "file").held(),
    ):
        pass


@pytest.mark.parametrize("fresh", [[], ["--fresh"]])
def test_a_second_run_is_refused_in_one_line(
    tmp_path: Path, fresh: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with holder(tmp_path) as other:
        with pytest.raises(SystemExit) as ended:
            app(["study", "weights", "--size", "small", "--out", str(tmp_path), *fresh])
        assert ended.value.code == 2
        error = capsys.readouterr().err
        assert error.startswith(f"error: {tmp_path} is being written by process {other.pid}; ")
        assert error.count("\n") == 1
        assert {path.name for path in tmp_path.iterdir()} == {lock.LOCK}


def test_a_run_holds_its_folder_to_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[str] = []

    def measured(plan: Plan, folder: RunFolder, *_: Any) -> None:
        with pytest.raises(StudyError, match="is being written"), folder.held():
            pass
        held.append("measuring")

    def reported(study: Study, folder: RunFolder) -> Any:
        with pytest.raises(StudyError, match="is being written"), folder.held():
            pass
        held.append("reporting")
        raise StudyError("enough")

    monkeypatch.setattr(studying, "run_plan", measured)
    monkeypatch.setattr(studying, "_reported", reported)
    with pytest.raises(StudyError, match="enough"):
        studying.run("weights", size="small", out=tmp_path)
    assert held == ["measuring", "reporting"]
    assert {path.name for path in tmp_path.iterdir()} == {"config.json", "rows.jsonl"}


def test_the_page_of_all_runs_neither_locks_nor_waits(tmp_path: Path) -> None:
    with RunFolder(tmp_path / "one").held():
        with pytest.raises(StudyError, match="has no run of a study"):
            read_runs(tmp_path)  # a lock makes no run
        for name in ("config.json", "rows.jsonl"):
            (tmp_path / "one" / name).touch()
        ((name, reason),) = ((one.name, one.reason) for one in read_runs(tmp_path)[1])
    assert name == "one"
    assert "is not the configuration of a study" in reason
