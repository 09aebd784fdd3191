"""That kernels are being compiled is said once, while it happens, and of no kernel kept on disk."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from test_jobs import KIND, Told, cells_of

from formulations.kernels.compiled import kernel
from studies import solving
from studies.cli import app
from studies.compiling import KEPT, NOT_KEPT, compiling_told
from studies.kinds import Plan
from studies.running.child import run_in_child
from studies.running.records import RunFolder
from studies.running.runner import run_plan

# Measured are kernels: one that numba can keep, and one that has no file to be kept for.
WORK = """
import time
from pathlib import Path

from formulations.kernels.compiled import kernel

@kernel
def doubled(number):
    return 2.0 * number

space = {}
exec("def halved(number): return number / 2.0", space)
halved = kernel(space["halved"])

def measure(request, save):
    function = halved if request.get("cell") else doubled
    assert function(3.0) in (6.0, 1.5)
    begin = time.monotonic()
    while "heard" in request and not Path(request["heard"]).exists():
        assert time.monotonic() - begin < 60.0
        time.sleep(0.05)
    save({"status": "ok", "cold": {"solve": 1.0, "build": 0.0}, "warm": []})
"""

PLAIN = """
def prepare(request, save):
    save({"status": "ok"})
"""


@pytest.fixture(autouse=True)
def _work(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "trial_kernels.py").write_text(WORK, encoding="utf-8")
    (tmp_path / "trial_plain.py").write_text(PLAIN, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)  # children get it as their import path
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "kernels"))


def homeless() -> Callable[[float], float]:
    """Return a kernel that numba must compile: it has no file."""
    space: dict[str, Any] = {}
    exec("def tripled(number): return 3.0 * number", space)
    compiled: Callable[[float], float] = kernel(space["tripled"])
    return compiled


def test_the_first_kernel_is_told_and_no_other() -> None:
    told: list[str] = []
    with compiling_told(told.append):
        assert told == []
        assert homeless()(2.0) == 6.0
        assert told == [NOT_KEPT]
        homeless()(2.0)
    homeless()(2.0)
    assert told == [NOT_KEPT]


def test_a_process_says_so_while_it_goes_on_unless_the_kernel_is_on_disk(tmp_path: Path) -> None:
    told: list[str] = []
    heard = tmp_path / "heard"

    def tell(text: str) -> None:
        told.append(text)
        heard.touch()

    for request in ({"heard": str(heard)}, {}):  # the first one waits until it is heard
        outcome = run_in_child(
            "trial_kernels:measure", request, tmp_path, threads=1, deadline=90.0, tell=tell
        )
        assert outcome is not None
        assert outcome["status"] == "ok", outcome
        assert told == [KEPT]


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_run_says_it_once(jobs: int, tmp_path: Path) -> None:
    kind = replace(KIND, prepare="trial_plain:prepare", measure="trial_kernels:measure")
    plan = Plan("trial", "only", "A trial", cells_of("x y", "a"), kind)
    folder, told = RunFolder(tmp_path / "out"), Told()
    folder.open(plan.settings())
    run_plan(plan, folder, told, jobs)
    assert [row["status"] for row in folder.rows() if row["kind"] == "cell"] == ["ok", "ok"]
    assert [text for what, text in told.told if what == "notice"] == [NOT_KEPT]


@pytest.mark.parametrize("compiles", [True, False])
def test_a_command_says_it_beside_its_output(
    compiles: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def solved(*_: object, **__: object) -> None:
        if compiles:
            homeless()(2.0)
        print("a table")

    monkeypatch.setattr(solving, "solve_file", solved)
    with pytest.raises(SystemExit):
        app(["solve", "abalone"])
    captured = capsys.readouterr()
    assert captured.out == "a table\n"
    assert captured.err == (f"note: {NOT_KEPT}\n" if compiles else "")
