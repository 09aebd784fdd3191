"""README and guides: every snippet of Python runs, every command line is one that exists."""

from __future__ import annotations

import contextlib
import gc
import importlib.util
import io
import re
import sys
import tomllib
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import documents
import numpy as np
import pytest
import test_conformance as conformance
import test_formulation as formulas
import typer
from conftest import SUBTREES, TINY
from documents import DOCUMENTS, SOURCE, Snippet
from numba.core.caching import Cache
from sklearn.ensemble import RandomForestRegressor

import forestprune as fp
import formulations
import solvers
from forestprune import LayerPruning, make_competitor
from solvers._core import compiling
from solvers._core.registry import make_solver, solver_class, solver_names
from studies.bagging.study import MODELS as BAGGING_MODELS
from studies.boosting.study import MODELS as BOOSTING_MODELS
from studies.catalogue import find_study
from studies.cli import app
from studies.contests.methods import PLAIN, POLISHED, TUNED, method_name
from studies.datasets import load

if not (SOURCE / "docs").is_dir():
    pytest.skip("there is no source tree with guides", allow_module_level=True)

GUIDES = {
    "prune-my-forest",
    "choose-alpha",
    "compare-solvers",
    "read-a-certificate",
    "add-a-solver",
    "add-a-formulation",
    "streams",
    "files-and-other-libraries",
    "data",
    "many-cells",
    "papers",
}

# Numbers of printed output depend on versions; its words do not.
_NUMBER = re.compile(r"[-−]?\d[\d,.]*(?:e[-+]\d+)?")


def prepared() -> dict[str, Any]:
    """What the text takes as given: rows, responses, labels, a fitted forest, a stream."""
    data = load("abalone")
    rows = np.random.default_rng(0).permutation(len(data.y))[:600]
    X, y = data.X.iloc[rows].reset_index(drop=True), data.y[rows]
    labels = np.where(y > 9.0, "old", "young")
    return {
        "X": X[:300],
        "y": y[:300],
        "labels": labels[:300],
        "X_val": X[300:450],
        "y_val": y[300:450],
        "X_new": X[450:],
        "y_new": y[450:],
        "model": RandomForestRegressor(30, max_depth=5, random_state=0).fit(X[:300], y[:300]),
        "batches": [(X[k : k + 50], labels[k : k + 50]) for k in range(0, 600, 50)],
        "rows": [
            (x, bool(label == "old")) for x, label in zip(X.to_dict("records"), labels, strict=True)
        ],
    }


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder whose files count as files of the packages: a reader's clone."""
    before = set(sys.modules)
    for package in (solvers, formulations):
        (tmp_path / package.__name__).mkdir()
        places = [*package.__path__, str(tmp_path / package.__name__)]
        monkeypatch.setattr(package, "__path__", places)
    yield tmp_path
    for name in set(sys.modules) - before:
        module = sys.modules[name]
        if str(getattr(module, "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]
            package, _, stem = name.rpartition(".")
            delattr(sys.modules[package], stem)
            # What numba keeps of it would keep its formulation among those that can be saved.
            vars(module).clear()
    solver_class.cache_clear()
    compiling._done -= {kind for kind in compiling._done if kind[1].__module__ not in sys.modules}
    gc.collect()
    added = formulations.ChoiceFormulation.__subclasses__()
    assert {kind.__module__ for kind in added} <= set(sys.modules)


def run(document: str, folder: Path) -> dict[str, Any]:
    """Run the snippets of a document, one after the other, in a folder; return what they made.

    A text block is what the block before it prints, up to numbers. Those that need a package that
    is not installed are left out: then the test is said to be skipped, once all others have run.
    """
    space: dict[str, Any] = {"__name__": "__main__"} | prepared()
    missing: list[str] = []
    printed = ""
    ran = True
    for snippet in documents.snippets(document):
        if snippet.language == "python":
            absent = [name for name in snippet.requires if importlib.util.find_spec(name) is None]
            missing += [f"{name} for {snippet.place}" for name in absent]
            ran = not absent
            printed = executed(snippet, folder, space) if ran else ""
        elif snippet.language == "text" and ran:
            assert masked(snippet.text) == masked(printed), snippet.place
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    return space


def executed(snippet: Snippet, folder: Path, space: dict[str, Any]) -> str:
    """Run a snippet, or write the file that it is; return what it printed."""
    if snippet.title:
        (folder / snippet.title).write_text(snippet.text, encoding="utf-8")
        return ""
    # Blank lines before it make a traceback say the line of the document.
    code = "\n" * (snippet.line - 1) + snippet.text
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(code, snippet.document, "exec"), space)
    return output.getvalue()


def masked(text: str) -> list[str]:
    """Return the words of each line, with a sign for each number."""
    return [" ".join(_NUMBER.sub("#", line).split()) for line in text.strip().splitlines()]


@pytest.fixture(autouse=True)
def quiet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Pictures that nobody sees, files that nobody keeps."""
    import matplotlib.pyplot as plt

    plt.switch_backend("Agg")
    monkeypatch.chdir(tmp_path)
    yield
    plt.close("all")


def test_every_guide_is_there_and_the_readme_leads_to_it() -> None:
    found = {Path(name).stem for name in DOCUMENTS if name.startswith("docs/")}
    assert found >= GUIDES
    linked = {Path(link).stem for link in documents.links("README.md") if "docs/" in link}
    assert linked >= found


OTHERS = [name for name in DOCUMENTS if "/add-a-" not in name]


@pytest.mark.parametrize("document", OTHERS)
def test_the_snippets_run(document: str, tmp_path: Path) -> None:
    run(document, tmp_path)


def test_the_solver_of_the_guide_conforms(packages: Path) -> None:
    before = set(solver_names())
    run("docs/add-a-solver.md", packages)
    (name,) = set(solver_names()) - before
    assert name in fp.available_solvers()
    for make in {**TINY, **SUBTREES}.values():
        conformance.test_answers_stand_up_to_brute_force(make(), name)
        conformance.test_same_seed_same_answer(make(), name)
        conformance.test_a_warm_start_is_never_made_worse(make(), name)
    conformance.test_scaling_the_response("random", 1e4, name)
    conformance.test_the_order_of_rows_and_trees_does_not_matter(name)
    conformance.test_the_order_does_not_matter_for_subtrees(name)


def test_the_formulation_of_the_guide_conforms(
    packages: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_out_of_the_cache(monkeypatch, "WholeRule")
    space = run("docs/add-a-formulation.md", packages)
    kind = type(space["problem"])
    for make in {**TINY, **SUBTREES}.values():
        data = make().data
        problem = kind(data, make().alpha)
        every = list(product(*(range(int(full) + 1) for full in problem.full())))
        layers = LayerPruning(data, 0.0, "depth")
        nodes = np.diff(data.node_start) - 1
        for choice in np.array(every)[:50]:
            cost = problem.alpha * (choice @ nodes) / max(nodes.sum(), 1)
            expected = layers.objective(choice * data.depths) + cost
            assert problem.objective(choice) == pytest.approx(expected, rel=1e-12, abs=1e-15)
        best = min(problem.objective(np.array(choice)) for choice in every)
        for point in np.random.default_rng(0).uniform(-0.2, 1.2, size=(5, data.n_trees)):
            assert problem.linear_bound(point) <= best + problem.tolerance
        formulas.test_canonical_forms_have_the_same_value_at_any_point(problem)
        for label in ("cbcd", "relaxation", "iht", "branch_and_bound"):
            conformance.test_answers_stand_up_to_brute_force(problem, label)


def keep_out_of_the_cache(monkeypatch: pytest.MonkeyPatch, rule: str) -> None:
    """Keep kernels compiled for a type of rule from numba's cache on disk.

    It reads the types of all kernels of a function together, and fails where it cannot import
    one: the module of this type is gone after the test.
    """
    save = Cache.save_overload

    def save_others(self: Any, signature: Any, data: Any) -> None:
        if rule not in str(signature):
            save(self, signature, data)

    monkeypatch.setattr(Cache, "save_overload", save_others)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_command_line_is_one_that_exists(document: str) -> None:
    declared = tomllib.loads((SOURCE / "pyproject.toml").read_text(encoding="utf-8"))
    extras = set(declared["project"]["optional-dependencies"])
    for place, words in documents.command_lines(document):
        for named in re.findall(r"\.\[([\w,-]+)\]", " ".join(words)):
            assert set(named.split(",")) <= extras, place
        if Path(words[0]).name == "forestprune":
            check_command(words[1:], whole=place != document)


def check_command(words: list[str], whole: bool = True) -> None:
    """Read options, values and arguments as a real call does, and run nothing.

    Where the command need not be ``whole`` an argument may be missing.
    """
    group: Any = typer.main.get_command(app)
    above = group.make_context("forestprune", words[:1])
    if words[0] not in group.commands:
        assert words[0] == "--version", words
        return
    try:
        read = group.commands[words[0]].make_context(words[0], words[1:], parent=above)
    except Exception as error:
        if whole or type(error).__name__ != "MissingParameter":
            raise
        return
    given = read.params
    labels = given.get("solver") or []
    for label in [labels] if isinstance(labels, str) else labels:
        make_solver(label)
    if words[0] == "study" and given["name"] not in (None, "report"):
        assert given["size"] in find_study(given["name"]).sizes, words


def table_of(document: str, first: str) -> list[list[str]]:
    """Return the lines of a document's table, the column of this name being its first."""
    text = DOCUMENTS[document].read_text(encoding="utf-8")
    (table,) = re.findall(rf"^\| {first} \|.*\n(?:\|.*\n)+", text, re.MULTILINE)
    return [line.strip("| ").split(" | ") for line in table.splitlines()]


@pytest.mark.parametrize(
    ("command", "first", "columns"),
    [("solvers", "solver", 7), ("competitors", "competitor", 6)],  # what is installed differs
)
def test_the_guide_has_the_table_that_a_command_prints(
    command: str, first: str, columns: int, capsys: pytest.CaptureFixture[str]
) -> None:
    with contextlib.suppress(SystemExit):
        app([command, "--markdown"])
    printed, *_ = capsys.readouterr().out.split("\n\n")
    lines = [line.strip("| ").split(" | ") for line in printed.splitlines()]
    found = table_of("docs/compare-solvers.md", first)
    assert [line[:columns] for line in found] == [line[:columns] for line in lines]


def test_the_guide_has_the_methods_of_the_studies_by_their_names() -> None:
    header, _, *lines = table_of("docs/papers.md", "name")
    assert header[:2] == ["name", "in tables"]
    names = {label.strip("`"): name for label, name, _ in lines}
    assert names == {label: method_name(label) for label in names}
    assert all(make_competitor(label, {})[0] == label for label in names)
    own = {*BAGGING_MODELS["sound"], *BOOSTING_MODELS["sound"], TUNED, POLISHED, PLAIN}
    assert own == set(names)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_name_of_the_facade_exists(document: str) -> None:
    for code in documents.inline_code(document):
        for name in re.findall(r"\bfp\.(\w+)", code):
            assert hasattr(fp, name), f"{document}: {code}"


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_link_leads_somewhere(document: str) -> None:
    for link in documents.links(document):
        if "://" in link:
            continue
        file, _, anchor = link.partition("#")
        target = (DOCUMENTS[document].parent / file) if file else DOCUMENTS[document]
        assert target.is_file(), f"{document}: {link}"
        if anchor:
            assert anchor in documents.anchors(target), f"{document}: {link}"


def test_what_is_checked_can_be_found_wrong(tmp_path: Path) -> None:
    space: dict[str, Any] = {}
    with pytest.raises(ZeroDivisionError):
        executed(Snippet("x.md", 7, "python", "1 / 0\n"), tmp_path, space)
    for words in (
        ["prune", "DATA", "--no-such-option"],
        ["prune"],
        ["prune", "DATA", "--shape", "sphere"],
        ["solve", "DATA", "--solver", "no_such_solver"],
        ["study", "no_such_study"],
        ["no_such_command"],
    ):
        with pytest.raises(Exception, match=r"[Nn]o such|unknown|[Mm]issing|sphere|no_such"):
            check_command(words)
    check_command(["prune", "--shape", "depth"], whole=False)
    assert masked("gap 0.12 %") == masked("gap 3e-05 %")
    assert masked("gap 0.12 %") != masked("bound 0.12 %")
