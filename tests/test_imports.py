"""Packages import only what stands before them, and heavy libraries only when they are used."""

from __future__ import annotations

import ast
import graphlib
import importlib
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ORDER = ("formulations", "solvers", "forestprune", "studies")
HEAVY = (
    "catboost",
    "clarabel",
    "cvxpy",
    "ecos",
    "highspy",
    "lightgbm",
    "matplotlib",
    "mosek",
    "onnx",
    "pyomo",
    "pyscipopt",
    "river",
    "treelite",
    "typer",
    "xgboost",
)


def _modules(package: str) -> dict[str, ast.Module]:
    """Return the parsed files of an installed package by their paths."""
    (folder,) = importlib.import_module(package).__path__
    return {
        str(path): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(Path(folder).rglob("*.py"))
    }


def _imported(module: ast.Module) -> Iterator[str]:
    """Yield the top-level packages that a file imports, anywhere in it."""
    for node in ast.walk(module):
        match node:
            case ast.Import(names=names):
                yield from (alias.name.partition(".")[0] for alias in names)
            case ast.ImportFrom(module=str(name), level=0):
                yield name.partition(".")[0]
            case ast.Call(
                func=ast.Name(id=called) | ast.Attribute(attr=called),
                args=[ast.Constant(value=str(name)), *_],
            ) if called in {"import_module", "__import__"}:
                yield name.partition(".")[0]


@pytest.mark.parametrize(("place", "package"), list(enumerate(ORDER)))
def test_a_package_imports_only_those_before_it(place: int, package: str) -> None:
    later = set(ORDER[place + 1 :])
    modules = _modules(package)
    assert modules
    wrong = {path: found for path, tree in modules.items() if (found := later & {*_imported(tree)})}
    assert wrong == {}


@pytest.mark.parametrize("package", ORDER[:-1])
def test_only_studies_write_to_a_terminal(package: str) -> None:
    # Of `rich` only the source tells: scikit-learn may import it for itself.
    writers = {"rich", "typer"}
    modules = _modules(package)
    wrong = {path: f for path, tree in modules.items() if (f := writers & {*_imported(tree)})}
    assert wrong == {}


def test_formulations_need_nothing_but_arrays_and_compiled_kernels() -> None:
    allowed = {"formulations", "numpy", "scipy", "numba", *sys.stdlib_module_names}
    wrong = {
        path: found
        for path, tree in _modules("formulations").items()
        if (found := {*_imported(tree)} - allowed)
    }
    assert wrong == {}


@pytest.mark.parametrize(
    "source",
    [
        "import os.path, typer",
        "from typer.core import TyperGroup",
        "def f():\n    import typer",
        "import importlib\nimportlib.import_module('typer.core')",
        "from importlib import import_module as im\nim('x')\nimport_module('typer')",
    ],
)
def test_every_way_to_import_is_seen(source: str) -> None:
    assert "typer" in {*_imported(ast.parse(source))}


def _arrows(package: str) -> dict[str, set[str]]:
    """Return which modules of a package each of its modules imports, anywhere in it."""
    (root,) = importlib.import_module(package).__path__
    modules = {}
    for path, tree in _modules(package).items():
        parts = Path(path).relative_to(Path(root).parent).with_suffix("").parts
        modules[".".join(parts).removesuffix(".__init__")] = tree
    arrows = {
        name: {
            full if (full := f"{node.module}.{alias.name}") in modules else str(node.module)
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith(package)
            for alias in node.names
        }
        for name, tree in modules.items()
    }
    assert sum(map(len, arrows.values())) > len(modules)
    return arrows


@pytest.mark.parametrize("package", ["formulations", "solvers", "studies"])
def test_the_modules_of_a_package_import_each_other_one_way(package: str) -> None:
    # In `forestprune` a pruned ensemble imports what writes it to files, when it is asked to.
    graphlib.TopologicalSorter(_arrows(package)).prepare()  # a circle is an error


def test_the_rooms_of_studies_import_each_other_one_way() -> None:
    def room(module: str) -> str:
        return ".".join(module.split(".")[:2])

    rooms: dict[str, set[str]] = {}
    for name, imported in _arrows("studies").items():
        rooms.setdefault(room(name), set()).update({*map(room, imported)} - {room(name)})
    assert len(rooms) > 10
    graphlib.TopologicalSorter(rooms).prepare()


@pytest.mark.parametrize("package", ORDER)
def test_every_module_can_be_imported(package: str) -> None:
    paths = importlib.import_module(package).__path__
    for module in pkgutil.walk_packages(paths, f"{package}."):
        importlib.import_module(module.name)


@pytest.mark.parametrize(
    "code",
    [
        "import forestprune",
        "import forestprune as fp; fp.available_solvers(); fp.capability_table()",
    ],
)
def test_importing_and_listing_load_nothing_heavy(code: str, tmp_path: Path) -> None:
    show = f"import sys; print(*sorted({{*sys.modules}} & {{*{HEAVY!r}}}))"
    # -P: the folder that the tests run in, which may be the source tree, is not searched.
    done = subprocess.run(
        [sys.executable, "-P", "-c", f"{code}; {show}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []


@pytest.mark.parametrize("name", ["formulations", "solvers"])
def test_a_foreign_package_of_the_same_name_is_named(name: str, tmp_path: Path) -> None:
    foreign = tmp_path / name / "__init__.py"
    foreign.parent.mkdir()
    foreign.write_text("")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import forestprune"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"ImportError: the package {name!r} that Python finds is not")
    assert str(foreign) in last
