"""`forestprune study report`: all runs on one page and in LaTeX, whatever is in their folders."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from typer.testing import CliRunner

import studies
from studies import catalogue
from studies.case.cell import CaseCell
from studies.case.published import comparisons as case_comparisons
from studies.case.tables import PUBLISHED as CASE_PUBLISHED
from studies.cli import app
from studies.drawing.style import new_figure
from studies.planning import make_plan
from studies.reporting import latex
from studies.reporting.curves import Curve
from studies.reporting.html import page as html_page
from studies.reporting.html import picture, svg
from studies.reporting.html import table as html_table
from studies.reporting.published import Compared, Comparison, published_table, summary
from studies.reporting.report import Report, Run, RunOf
from studies.reporting.tables import Group, Table
from studies.running.records import RunFolder
from studies.spec import PRUNED, Cell, Instance, Method, Request
from studies.study import Study
from studies.table1.published import comparisons as time_comparisons
from studies.table1.tables import Grid
from studies.weights.chosen import families
from studies.weights.published import comparisons as weight_comparisons

HOSTILE = "<script>alert(\"1\")</script> & 'x' | $y_1$ \\end{table} 50 % #~^ […] `é` 価 [2]"
INSTANCE = Instance("d", 10, 20)
ENVIRONMENT = {
    "kind": "environment",
    "python": "3.11.7",
    "cpu": "Processor <b>",
    "cores": 2,
    "memory_mb": 25325.3,
    "versions": {"numpy": "2.4.6"},
    "started": "2026-11-28T10:00:00+00:00",
}
BAGGING = Comparison(
    "bagging, φ = 0.01: test MSE",
    (
        Compared("houses", 0.2213, 0.2105, 0.004, 0.0061, note="Other folds."),
        Compared("wind", 0.2, 0.203, 0.002, note="Other folds."),
        Compared("gone", 0.5, None, 0.01),
        Compared(HOSTILE, None, 0.25),
    ),
)


def cell_row(solver: str, status: str = "ok", **more: Any) -> dict[str, Any]:
    cell = Cell(INSTANCE, 1.0, solver, "solve", 1, 5.0, 1)
    return {"kind": "cell", "cell": cell.as_dict(), "status": status, **more}


def drawn(points: int = 2) -> Figure:
    figure = new_figure(4.0, 3.0)
    panel = figure.subplots()
    panel.scatter(*np.random.default_rng(0).normal(size=(2, points)), label="runs <i>")
    panel.set_title("A panel", loc="left")
    panel.set_xlabel("nodes")
    panel.set_ylabel("MSE")
    panel.legend()
    return figure


def fake_report(run: Run) -> Report:
    """A report with something of each kind."""
    if any(row["status"] == "broken" for _, row in run.cells):
        raise KeyError("objective")
    rows = tuple((cell.solver, row["status"]) for cell, row in run.cells)
    shown = Table(f"Shown {HOSTILE}", ("solver", "status"), (Group(HOSTILE, rows),))
    more = Table("Further", ("x", "²"), (Group("", ((HOSTILE, "1"), ("* two", "−0.5"))),))
    return Report(
        tables=(shown, more),
        shown=(shown,),
        notes=(f"A note {HOSTILE}",),
        figures={"figure": drawn()},
        conclusion=f"It ends well. So {HOSTILE}",
        violations=("One is two.",) if len(rows) > 1 else (),
        published=(BAGGING,),
    )


@pytest.fixture(scope="module", autouse=True)
def fake() -> Iterator[None]:
    """A study by the name ``fake``."""
    study = Study("fake", HOSTILE, ("small",), lambda request: [], fake_report)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(catalogue.STUDIES, "fake", study)
        yield


def make_run(path: Path, rows: list[dict[str, Any]], **config: Any) -> Path:
    """Write the folder of a run."""
    folder = RunFolder(path)
    folder.open({"study": "fake", "size": "small", "title": "x", "calls": [], **config})
    for row in [ENVIRONMENT, *rows]:
        folder.append(row)
    return path


def report(folder: Path, *words: str) -> tuple[int, str, str]:
    """Run the command: exit code, output, errors."""
    done = CliRunner().invoke(app, ["study", "report", "--out", str(folder), *words])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout, done.stderr


class Page(HTMLParser):
    """What a page is made of and refers to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: Counter[str] = Counter()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.sources: list[str] = []
        self.alts: list[str] = []
        self.text = ""
        self.rows: list[list[str]] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.tags[tag] += 1
        self.ids += [found["id"]] if "id" in found else []
        self.links += [found["href"]] if "href" in found else []
        self.sources += [found["src"]] if "src" in found else []
        self.alts += [found["alt"]] if "alt" in found else []
        assert not any(name.startswith("on") for name in found)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("th", "td") and self.rows:
            self.rows[-1].append("")
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data.replace("\N{NO-BREAK SPACE}", " ")
        if self.open and set(self.open) & {"th", "td"}:
            self.rows[-1][-1] += data.replace("\N{NO-BREAK SPACE}", " ")


def some_runs(folder: Path) -> Path:
    """A whole run, an unfinished one, one with a failure, and folders that are none."""
    whole = [cell_row("cbcd", finished="2026-11-30T09:00:00+00:00")]
    make_run(folder / "fake small", whole, cells=1)
    make_run(folder / "fake-small", [cell_row("a"), cell_row("b", "failed")], cells=7)
    make_run(folder / "<b>", [cell_row("a"), cell_row("b", "failed")])
    make_run(folder / "fake-new", [], cells=3)
    (folder / "notes").mkdir()
    (folder / "notes" / "config.json").write_text("not a run", encoding="utf-8")
    (folder / "file.txt").write_text("", encoding="utf-8")
    return folder


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return some_runs(tmp_path / "results")


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Some runs with their report, and what the command printed."""
    folder = some_runs(tmp_path_factory.mktemp("report"))
    code, said, errors = report(folder)
    assert (code, errors) == (0, "")
    assert "4 runs in" in said
    return folder, said


def test_the_page_has_all_runs_and_needs_nothing_else(reported: tuple[Path, str]) -> None:
    results, _ = reported
    text = (results / "report.html").read_text(encoding="utf-8")
    page = Page(text)
    assert page.open == []
    assert not {"script", "link", "iframe", "i", "b"} & set(page.tags)
    assert "url(" not in text
    assert "@import" not in text
    assert all(source.startswith("data:image/") for source in page.sources)
    assert page.tags["img"] == len(page.sources) == len(page.alts) == 4
    assert all("A panel: MSE against nodes" in alt and "runs <i>" in alt for alt in page.alts)
    assert len(set(page.ids)) == len(page.ids)
    assert sorted(page.links) == sorted(f"#{name}" for name in page.ids)
    # Once at each run's title, caption, group and table; as it was given.
    assert page.text.count(HOSTILE) > 4 * 5
    assert "Processor <b>" in page.text
    assert page.tags["details"] == 4 * 2
    assert text.count('class="bad">Wrong: One is two.') == 2


def test_the_page_says_what_is_missing(reported: tuple[Path, str]) -> None:
    results, said = reported
    lines = dict(line.split(": ", 1) for line in said.splitlines() if ": " in line)
    assert lines == {
        "fake small": "1 cell, 2026-11-30",
        "fake-small": "2 cells, 2026-11-28, unfinished: 1 of 7 cells done, 1 failed",
        "<b>": "2 cells, 2026-11-28, partial: 1 of 2 cells failed",
        "fake-new": "0 cells, 2026-11-28, unfinished: 0 of 3 cells done",
    }
    page = Page((results / "report.html").read_text(encoding="utf-8"))
    for words in lines.values():
        assert page.text.count(words.replace(", 2026", " · 2026").replace("28, ", "28 · ")) == 2


def test_the_top_of_the_page_has_one_sentence_of_each_conclusion(
    reported: tuple[Path, str],
) -> None:
    results, _ = reported
    text = (results / "report.html").read_text(encoding="utf-8")
    assert text.count("<p>It ends well.</p></li>") == 4
    assert text.count("<p>It ends well. So &lt;script") == 4


def test_runs_that_cannot_be_read_are_told(results: Path) -> None:
    damaged = make_run(results / "damaged", [cell_row("a")])
    with (damaged / "rows.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"kind": "cell"}\n')
    (make_run(results / "garbled", []) / "config.json").write_text("{", encoding="utf-8")
    make_run(results / "list", [])
    (results / "list" / "config.json").write_text("[]", encoding="utf-8")
    make_run(results / "unknown", [], study="fales")
    make_run(results / "other <i>", [cell_row("a", "broken")])
    code, said, errors = report(results)
    assert (code, errors) == (0, "")
    page = Page((results / "report.html").read_text(encoding="utf-8"))
    for name, reason in {
        "damaged": "rows.jsonl, line 3 is not a row of results",
        "garbled": "config.json is not the configuration of a study",
        "list": "config.json is not the configuration of a study",
        "unknown": "unknown study 'fales'",
        "other <i>": "KeyError: 'objective'",
    }.items():
        for told in (said, page.text):
            assert re.search(rf"{name} could not be read: .*{re.escape(reason)}", told)
    assert "4 runs" in said
    assert page.tags["section"] == 4


def test_a_folder_of_damaged_runs_still_has_a_page(tmp_path: Path) -> None:
    make_run(tmp_path / "unknown", [], study="fales")
    assert report(tmp_path)[0] == 0
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert "unknown could not be read" in page.text
    assert latex_problems((tmp_path / "report.tex").read_text(encoding="utf-8")) == []


def test_without_runs_it_says_how_to_make_one(tmp_path: Path) -> None:
    code, said, errors = report(tmp_path)
    assert (code, said) == (2, "")
    assert errors.count("\n") == 1
    assert "forestprune study weights --size small" in errors
    code, _, errors = report(tmp_path / "missing")
    assert code == 2
    assert "cannot read the folder" in errors
    run = make_run(tmp_path / "run", [])
    assert "give the folder above" in report(run)[2]
    assert not list(tmp_path.glob("*.html"))


def test_where_nothing_can_be_written_it_says_so(results: Path) -> None:
    (results / "report.html").mkdir()
    code, _, errors = report(results)
    assert code == 2
    assert "cannot write to" in errors


@pytest.mark.parametrize(
    "words", [("--size", "small"), ("--fresh",), ("--data-dir", "x"), ("--jobs", "2")]
)
def test_options_of_measurements_are_refused(results: Path, words: tuple[str, ...]) -> None:
    code, _, errors = report(results, *words)
    assert code == 2
    assert f"report only reads what there is: leave out {words[0]}" in errors
    assert errors.count("\n") == 1
    assert not (results / "report.html").exists()


def test_the_list_of_studies_has_it() -> None:
    assert "\nreport  All runs on one page" in CliRunner().invoke(app, ["study"]).stdout


# LaTeX


def latex_problems(text: str) -> list[str]:
    """Return what is wrong with a LaTeX document; braces, environments, signs and columns."""
    lines = [line for line in text.splitlines() if not line.startswith(("%", r"\def"))]
    body = re.sub(r"\\[\\{}%&#$_^~]", "", "\n".join(lines))
    found = [f"sign {sign}" for sign in sorted(set(body)) if not sign.isascii() and sign != "é"]
    depth = 0
    for sign in body:
        depth += {"{": 1, "}": -1}.get(sign, 0)
        if depth < 0:
            break
    if depth:
        found.append("braces")
    if body.count("$") % 2:
        found.append("dollars")
    open_: list[str] = []
    columns = 0
    for line in lines:
        for what, name in re.findall(r"\\(begin|end)\{(\w+)\}", line):
            if what == "begin":
                open_.append(name)
            elif open_.pop() != name:
                found.append(f"end of {name}")
        if line.startswith(r"\begin{tabular}"):
            columns = len(line.partition("}{")[2]) - 1
        elif line.endswith(r"\\") and "multicolumn" not in line:
            cells = len(re.findall(r"(?<!\\)&", line)) + 1
            found += [f"{cells} cells of {columns}: {line}"] * (cells != columns)
            found += ["option of a line's end"] * line.startswith(("[", "*"))
    labels = re.findall(r"\\label\{([^}]*)\}", text)
    return (
        found
        + [f"environment {name}" for name in open_ if name != "document"]
        + (["labels"] if len(set(labels)) != len(labels) else [])
    )


def test_latex_is_balanced_and_has_only_signs_it_knows(reported: tuple[Path, str]) -> None:
    results, _ = reported
    text = (results / "report.tex").read_text(encoding="utf-8")
    assert latex_problems(text) == []
    assert text.count(r"\begin{table}") == 1 + 4 * 2
    assert r"\label{tab:published}" in text
    assert r"\label{tab:fake-small-2-2}" in text  # of the second run that is called so
    assert r"{[}$...$" not in text
    assert r"\texttt{U+4FA1}" in text  # 価
    assert r"$-$0.5" in text


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
def test_latex_takes_it_by_itself_and_within_another_document(reported: tuple[Path, str]) -> None:
    results, _ = reported
    (results / "outer.tex").write_text(
        "\\documentclass{article}\\usepackage[T1]{fontenc}"
        "\\usepackage{booktabs,graphicx,amssymb}\n"
        "\\begin{document}Before\\input{report}\\typeout{AND AFTER}\\end{document}\n",
        encoding="utf-8",
    )
    for name in ("report", "outer"):
        done = subprocess.run(
            ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", name],
            cwd=results,
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout.decode(errors="replace")[-2000:]
        assert (results / f"{name}.pdf").exists()
    assert b"AND AFTER" in done.stdout


def test_every_sign_of_the_studies_is_known_to_latex() -> None:
    (package,) = studies.__path__
    signs = set()
    for path in Path(package).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                signs |= {sign for sign in node.value if not sign.isascii()}
    assert {"×", "α", "±", "✓", "–", "÷", "²", "ρ"} <= signs
    unknown = {sign for sign in signs if "U+" in latex.escaped(sign)}
    assert unknown == set()


def test_a_long_table_in_latex_has_every_line_once() -> None:
    rows = tuple((f"row {k}", str(k)) for k in range(150))
    groups = (Group("a", rows[:35]), Group("b", rows[35:36]), Group("c", rows[36:]))
    text = latex.floating(Table("Long", ("x", "y"), groups), "tab:long", ("Read this.",))
    assert latex_problems(text) == []
    assert re.findall(r"^row (\d+) & \1 ", text, re.MULTILINE) == [str(k) for k in range(150)]
    assert text.count(r"\begin{table}") == text.count(r"\begin{tabular}") == 5
    assert text.count(r"\caption{Long}\label{tab:long}") == 1
    assert text.count("Read this.") == 1
    tops = [part.count(r" \\") for part in text.split(r"\begin{tabular}")[1:]]
    assert all(lines <= 37 for lines in tops)  # with that of the columns' names


def test_texts_of_several_lines_stay_comments() -> None:
    assert latex.comment("one\ntwo\r\u2028three") == "% one two  three"
    assert latex.escaped("Größe ≤ Łódź, λ_1") == r"Größe $\le$ Łódź, $\lambda$\_1"


# published figures


def test_published_figures_and_ours() -> None:
    table, notes = published_table([BAGGING, Comparison("empty", ())])
    (group,) = table.groups
    assert group.rows == (
        ("houses [1]", "0.2213", "0.004", "0.2105", "0.0061", "−0.011", "−4.9", "✓"),
        ("wind [1]", "0.2", "0.002", "0.203", "–", "+0.0030", "+1.5", "no"),
        ("gone", "0.5", "0.01", "–", "–", "–", "–", "–"),
        (HOSTILE, "–", "–", "0.25", "–", "–", "–", "–"),
    )
    assert notes[0] == "[1] Other folds."
    assert "Within" in notes[-1]
    assert summary([BAGGING]) == "1 of 2 figures are within what is published or better."
    assert published_table([]) == (replace(table, groups=()), ())
    assert summary([]) == ""


def test_which_direction_is_better_and_how_far_ours_may_be_off() -> None:
    assert Compared("x", 1.0, 1.25, 0.25).within is True
    assert Compared("x", 1.0, 1.26, 0.25).within is False
    assert Compared("x", 1.0, 1.0).within is True
    assert Compared("x", 1.0, 1.01).within is False
    assert Compared("x", 1.0, 0.75, 0.25, better="higher").within is True
    assert Compared("x", 1.0, 0.74, 0.25, better="higher").within is False
    assert Compared("x", 1.0, 9.0, better=None).within is None
    assert Compared("x", 1.0, float("nan")).within is None
    assert Compared("x", 1.0, float("inf")).difference is None


def test_percentages_and_units_are_written() -> None:
    rows = (
        Compared("rise", 220.0, 180.5, unit="%"),
        Compared("size", 7247.0, 1234.56),
        Compared("none", 0.0, 0.5, better=None),
    )
    ((first, second, third),) = (
        group.rows for group in published_table([Comparison("c", rows)])[0].groups
    )
    assert first == ("rise (%)", "220", "–", "180.5", "–", "−40", "–", "✓")
    assert second[1:6:2] == ("7,247", "1,235", "−6,012")
    assert second[6] == "−83"
    assert third[5:] == ("+0.5", "–", "–") or third[5:] == ("+0.50", "–", "–")


def test_table1_compares_calls_of_the_same_size_alone() -> None:
    instance = Instance("diamonds", 1145, 100)
    path = Cell(instance, 1.0, "cbcd", "path", 1, 5.0, 1)
    others = [
        replace(path, task="solve"),
        replace(path, solver="cbcd[local_search=False]"),
        replace(path, instance=replace(instance, rows=1000)),
        replace(path, solver="clarabel"),
    ]
    rows = [{"status": "ok", "cold": {"solve": 9.0}, "warm": [{"solve": 0.25}]} for _ in range(5)]
    rows[-1]["status"] = "over_limit"
    run = RunOf({}, tuple(zip([path, *others], rows, strict=True)), {"versions": {}}, {})
    ((row,),) = (comparison.rows for comparison in time_comparisons(Grid.of(run)))
    assert (row.published, row.ours, row.unit, row.within) == (0.2, 0.25, "s", None)
    assert row.name == "CBCD, path, 1,145 × 100"
    assert "diamonds, random forest, 50 α" in row.note


def test_the_case_compares_errors_above_the_full_model() -> None:
    cell = CaseCell(INSTANCE, 10, 150, None, 30, 1e-3, 5.0, 1)
    errors = {"full": 2.0, "few": 2.2, "cart": 3.0}
    row = {"models": {name: {"test_rmse": error} for name, error in errors.items()}}
    run: Any = RunOf({}, ((cell, row), (cell, {})), {"versions": {}}, {})
    ((ten, one),) = (comparison.rows for comparison in case_comparisons(run))
    assert ten.ours == pytest.approx(10.0)
    assert one.ours == pytest.approx(50.0)
    assert ten.published == pytest.approx(100.0 * (CASE_PUBLISHED["best ten"][0] / 7.54 - 1.0))
    assert (ten.unit, ten.better) == ("%", None)


def test_weights_compare_ratios() -> None:
    full = {"nodes": 1000, "trees": 20, "mean_depth": 9.0}
    full["full"] = {"validation_mse": 0.3, "test_mse": 0.4}  # type: ignore[assignment]
    curves = []
    for method, nodes, trees in ((PRUNED, 100, 10), (Method(weights="depth"), 250, 5)):
        point = {"alpha": 1.0, "nodes": nodes, "trees": trees, "mean_depth": 5.0}
        point |= {"validation_mse": 0.3, "test_mse": 0.4}
        cell = Cell(INSTANCE, 1.0, "cbcd", "path", 0, 5.0, 1, method)
        curves.append(Curve(cell, full, (point,), method.name))
    ((nodes_row, trees_row),) = (
        comparison.rows for comparison in weight_comparisons(list(families(curves)))
    )
    assert (nodes_row.ours, trees_row.ours) == (2.5, 0.5)
    assert nodes_row.published == pytest.approx(21588 / 7247)
    assert trees_row.published == pytest.approx(62 / 95)


# parts


def test_a_figure_is_drawn_by_lines_unless_dots_are_shorter() -> None:
    assert picture(drawn(), "few").uri.startswith("data:image/svg+xml;base64,")
    assert picture(drawn(5000), "many").uri.startswith("data:image/png;base64,")
    assert svg(drawn(), "a").uri == svg(drawn(), "a").uri  # the same at every time
    assert svg(drawn(), "a").width == pytest.approx(4.0 * 72.0)


def test_tables_of_pages_keep_groups_and_escape() -> None:
    groups = (Group("<one>", (("a & b", "1"),)), Group("", (("c", "2"), ("d", "3"))))
    page = Page(html_page("<t>", html_table(Table("<c>", ("", "<n>"), groups))))
    assert page.rows == [["", "<n>"], ["<one>"], ["a & b", "1"], ["c", "2"], ["d", "3"]]
    assert page.open == []
    assert page.tags["tbody"] == 2
    assert "<c>" in page.text


def test_a_plan_says_how_many_cells_it_has(tmp_path: Path) -> None:
    cells = [Cell(INSTANCE, 1.0, name, "solve", 1, 5.0, 1) for name in ("a", "b")]
    request = Request(size="small", available=())
    for count in (1, 2):  # a run that goes on with other calls is the same run
        study = Study("fake", "t", ("small",), lambda request: cells[:count], fake_report)  # noqa: B023
        plan = make_plan(study, request, lambda instance: 10)
        RunFolder(tmp_path / "run").open(plan.settings())
        config = json.loads((tmp_path / "run" / "config.json").read_text(encoding="utf-8"))
        assert config["cells"] == count
