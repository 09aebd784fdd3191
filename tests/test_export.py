"""What is written for other software has the problem's optimum."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import highspy
import numpy as np
import pytest
from conftest import TINY, random_layers
from pyomo.common.tee import capture_output
from terminal import without_compiling

import forestprune as fp
from formulations import Polishing
from solvers import UnsupportedProblem
from solvers._exporting import export as _export
from studies.cli import app

TINY_ENOUGH = [name for name in sorted(TINY) if name != "stumps"]


def solved(path: Path) -> tuple[float, dict[str, float], list[str]]:
    """Optimum and solution of a program in a file, as HiGHS reads it, and the file's lines."""
    with capture_output(capture_fd=True):
        highs: Any = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    assert highs.readModel(str(path)) == highspy.HighsStatus.kOk
    highs.setOptionValue("mip_rel_gap", 0.0)
    highs.setOptionValue("mip_feasibility_tolerance", 1e-9)
    highs.run()
    assert highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
    values = highs.getSolution().col_value
    names = highs.getLp().col_names_
    return (
        highs.getInfo().objective_function_value,
        dict(zip(names, values, strict=True)),
        path.read_text(encoding="ascii").splitlines(),
    )


def choice_of(values: dict[str, float], trees: int) -> Any:
    """The depths that a solution names."""
    depths = {}
    for name, value in values.items():
        found = re.fullmatch(r"x_t(\d+)_k(\d+)", name)
        if found and value > 0.5:
            tree, depth = map(int, found.groups())
            assert tree not in depths
            depths[tree] = depth
    return np.array([depths[i] for i in range(trees)])


@pytest.mark.parametrize("suffix", [".mps", ".lp"])
@pytest.mark.parametrize("presolve", [False, True])
@pytest.mark.parametrize("name", TINY_ENOUGH)
def test_programs_have_the_optimum(name: str, presolve: bool, suffix: str, tmp_path: Path) -> None:
    problem = TINY[name]()
    optimum = fp.solve(problem, "brute_force").objective
    path = tmp_path / f"problem{suffix}"
    exported = fp.export_problem(problem, path, presolve=presolve)
    value, solution, lines = solved(path)
    scale = problem.data.target_square or 1.0
    assert value == pytest.approx(optimum, rel=1e-7, abs=1e-9 * scale)
    found = choice_of(solution, problem.data.n_trees)
    assert problem.objective(found) == pytest.approx(optimum, rel=1e-7, abs=1e-9 * scale)
    products = [name for name in solution if name.startswith("y_")]
    assert len(products) == exported.products
    for product in products:
        _, i, k, j, l = product.split("_")  # noqa: E741
        assert solution[product] == pytest.approx(
            solution[f"x_{i}_{k}"] * solution[f"x_{j}_{l}"], abs=1e-6
        )
    assert "written by forestprune" in lines[0]
    assert [found.name for found in tmp_path.iterdir()] == [path.name]


@pytest.mark.skipif(find_spec("pyscipopt") is None, reason="SCIP is not installed")
@pytest.mark.parametrize("suffix", [".mps", ".lp"])
def test_another_reader_sees_the_same_program(
    suffix: str, problem: fp.LayerPruning, tmp_path: Path
) -> None:
    import pyscipopt

    path = tmp_path / f"problem{suffix}"
    dearer = problem.with_alpha(3.0)  # with a tree that is settled
    assert fp.export_problem(dearer, path, presolve=True).blocks < problem.data.n_trees
    model = pyscipopt.Model()
    model.hideOutput()
    model.readProblem(str(path))
    model.optimize()
    optimum = fp.solve(dearer, "brute_force").objective
    assert model.getObjVal() == pytest.approx(optimum, rel=1e-9)
    solution = {variable.name: model.getVal(variable) for variable in model.getVars()}
    found = choice_of(solution, problem.data.n_trees)
    assert dearer.objective(found) == pytest.approx(optimum, rel=1e-9)


def by_enumeration(path: Path) -> tuple[float, Any]:
    """Optimum and choice of a file of matrices, from nothing but what the file says."""
    f = np.load(path, allow_pickle=False)
    starts = f["block_start"]
    blocks = [range(begin, end) for begin, end in itertools.pairwise(starts)]
    best, chosen = np.inf, np.empty(0, dtype=int)
    for columns in itertools.product(*blocks):
        c = np.array(columns, dtype=int)
        value = f["constant"] + f["linear"][c].sum() + f["gram"][np.ix_(c, c)].sum()
        if value < best:
            best, chosen = float(value), c
    depths = f["settled"].copy()
    depths[f["tree"][chosen]] = f["choice"][chosen, 0]
    return best, depths


@pytest.mark.parametrize("presolve", [False, True])
def test_matrices_have_the_optimum(tiny: fp.LayerPruning, presolve: bool, tmp_path: Path) -> None:
    optimum = fp.solve(tiny, "brute_force").objective
    path = tmp_path / "problem.npz"
    fp.export_problem(tiny, path, presolve=presolve)
    value, choice = by_enumeration(path)
    assert value == pytest.approx(optimum, rel=1e-9, abs=1e-12)
    assert tiny.objective(choice) == pytest.approx(optimum, rel=1e-9, abs=1e-12)


def test_random_problems_and_their_rows(
    make_random: Callable[[int], fp.LayerPruning], tmp_path: Path
) -> None:
    path = tmp_path / "problem.npz"
    fixed = 0
    for seed in range(40):
        problem = make_random(seed)
        optimum = fp.solve(problem, "brute_force").objective
        exported = fp.export_problem(problem, path, presolve=True, rows=True)
        assert by_enumeration(path)[0] == pytest.approx(optimum, rel=1e-9)
        fixed += exported.columns < (problem.data.depths + 1).sum()
        f = np.load(path, allow_pickle=False)
        A, b = f["A"], f["b"]
        np.testing.assert_allclose(f["gram"], A.T @ A, atol=1e-12)
        x = np.random.default_rng(seed).normal(size=len(f["linear"]))
        by_gram = f["constant"] + f["linear"] @ x + x @ f["gram"] @ x
        by_rows = f["rest"] + f["cost"] @ x + ((A @ x - b) ** 2).sum()
        assert by_rows == pytest.approx(by_gram, rel=1e-9)
        assert A.shape == (problem.data.target.size, exported.columns)
    assert fixed > 20


def test_all_choices_are_written_without_presolve(problem: fp.LayerPruning, tmp_path: Path) -> None:
    exported = fp.export_problem(problem, tmp_path / "all.lp")
    depths = problem.data.depths
    columns = (depths + 1).sum()
    assert exported.columns == columns
    assert exported.products == (columns**2 - ((depths + 1) ** 2).sum()) // 2
    fewer = fp.export_problem(problem.with_alpha(3.0), tmp_path / "some.lp", presolve=True)
    assert 0 < fewer.columns < columns


def test_a_failure_leaves_the_old_file(
    problem: fp.LayerPruning, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "problem.mps"
    fp.export_problem(problem, path)
    before = path.read_bytes()

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("solvers._exporting.program.shutil.copyfileobj", fail)
    with pytest.raises(KeyboardInterrupt):
        fp.export_problem(problem.with_alpha(9.0), path)
    assert path.read_bytes() == before
    assert [found.name for found in tmp_path.iterdir()] == [path.name]


def test_nothing_is_printed(
    problem: fp.LayerPruning, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    fp.export_problem(problem, tmp_path / "problem.mps")
    assert capfd.readouterr() == ("", "")


def test_what_cannot_be_exported_is_said(
    problem: fp.LayerPruning, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(fp.InvalidInput, match=r"must end in \.mps, \.lp or \.npz, not 'a\.csv'"):
        fp.export_problem(problem, tmp_path / "a.csv")
    with pytest.raises(fp.InvalidInput, match=r"rows=True is for matrices"):
        fp.export_problem(problem, tmp_path / "a.lp", rows=True)
    with pytest.raises(UnsupportedProblem, match="'polishing' has free coefficients"):
        fp.export_problem(Polishing(problem.data, problem.full()), tmp_path / "a.lp")
    with pytest.raises(FileNotFoundError, match=r"absent/a\.mps"):
        fp.export_problem(problem, tmp_path / "absent" / "a.mps")
    monkeypatch.setattr(_export, "_MOST_ENTRIES", 20)
    with pytest.raises(UnsupportedProblem, match=r"would have 144 entries.*presolve=True"):
        fp.export_problem(problem, tmp_path / "a.npz")
    assert list(tmp_path.iterdir()) == []


def test_too_many_products_are_refused_before_any_work(tmp_path: Path) -> None:
    layers, y = random_layers(0, 5, [4] * 700)
    problem = fp.LayerPruning(fp.PruningData.from_layers(layers, y), 0.1, "depth")
    with pytest.raises(
        UnsupportedProblem,
        match=r"would have 6,116,250 products.*5,000,000.*presolve=True.*\.npz takes",
    ):
        fp.export_problem(problem, tmp_path / "a.mps")


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    lines = [f"{k % 7},{k % 5},{(k % 7) * (k % 5) + k % 3}" for k in range(60)]
    Path("table.csv").write_text("a,b,y\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return "table.csv"


def called(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        app(list(arguments))
    return int(ended.value.code or 0)


FIT = ("--target", "y", "--trees", "4", "--depth", "2", "--alpha", "0.5")


def test_the_command_writes_every_kind_of_file(
    table: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert called("export", table, "problem.npz", *FIT) == 0
    assert "wrote problem.npz: the problem with its data, " in capsys.readouterr().out
    problem = fp.load_problem("problem.npz")
    optimum = fp.solve(problem, "brute_force").objective
    for source, options in ((table, FIT), ("problem.npz", ())):
        for out in ("a.mps", "b.lp"):
            assert called("export", source, out, *options, "--presolve") == 0
            assert solved(Path(out))[0] == pytest.approx(optimum, rel=1e-7)
        assert called("export", source, "c.npz", *options, "--matrices") == 0
        assert by_enumeration(Path("c.npz"))[0] == pytest.approx(optimum, rel=1e-9)
        assert called("export", source, "c.npz", *options, "--rows") == 0
        assert np.load("c.npz")["A"].shape == (60, np.load("c.npz")["gram"].shape[0])
    assert "12 columns of 4 trees left to decide, as matrices, " in capsys.readouterr().out
    assert called("solve", "problem.npz", "--solver", "brute_force") == 0
    printed = capsys.readouterr().out
    assert "problem.npz: LayerPruning(PruningData(60 rows, 4 trees" in printed
    (row,) = [line for line in printed.splitlines() if "brute_force" in line]
    assert f"{optimum:#.6g}" in row
    assert "✓" in row


def test_a_problem_without_node_counts_is_solved(
    problem: fp.LayerPruning,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    fp.save_problem(problem, "plain.npz")
    assert called("solve", "plain.npz") == 0
    assert "cbcd" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("table.csv", "a.txt", *FIT), "must end in .mps, .lp or .npz, not 'a.txt'"),
        (("table.csv", "a.mps", *FIT, "--rows"), "--matrices and --rows are for files that end"),
        (("table.csv", "a.npz", *FIT, "--presolve"), "--presolve is for linear programs"),
        (("table.csv", "absent/a.npz", *FIT), "there is no folder absent"),
        (("absent.npz", "a.mps"), "No such file or directory: 'absent.npz'"),
        (("broken.npz", "a.mps"), "broken.npz cannot be loaded: it is not an archive"),
        (("broken.npz", "a.mps", "--trees", "3"), "leave out --trees"),
    ],
)
@pytest.mark.usefixtures("table")
def test_an_error_of_the_command_is_one_line(
    arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("broken.npz").write_text("not a problem")
    before = sorted(Path().iterdir())
    assert called("export", *arguments) == 2
    error = without_compiling(capsys.readouterr().err)
    assert error.startswith("error: ")
    assert said in error
    assert error.count("\n") == 1
    assert sorted(Path().iterdir()) == before
