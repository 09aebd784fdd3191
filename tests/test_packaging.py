"""What is built and installed: four packages whole, and nothing else."""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import subprocess
import sys
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest

PACKAGES = ("formulations", "solvers", "forestprune", "studies")
SOURCE = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    if not (SOURCE / "pyproject.toml").is_file():
        pytest.skip("there is no source tree to build a wheel from")
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-P", "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    done = subprocess.run(build, cwd=SOURCE, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("*.whl")
    return zipfile.ZipFile(built)


@pytest.fixture(scope="module")
def metadata(wheel: zipfile.ZipFile) -> Message:
    (name,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
    return Parser().parsestr(wheel.read(name).decode())


def test_the_wheel_holds_the_packages_whole_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    expected = {
        path.relative_to(SOURCE).as_posix()
        for package in PACKAGES
        for path in (SOURCE / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    found = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert found == expected
    assert {f"{package}/py.typed" for package in PACKAGES} <= found
    data = {"README.md", "abalone.csv.gz", "diamonds.csv.gz"}
    assert {f"studies/data/{name}" for name in data} <= found


def test_the_wheel_cannot_be_uploaded_by_mistake(metadata: Message) -> None:
    assert "Private :: Do Not Upload" in metadata.get_all("Classifier", [])


def test_the_wheel_carries_its_licence(wheel: zipfile.ZipFile, metadata: Message) -> None:
    assert metadata["License-Expression"] == "MIT"
    (name,) = [name for name in wheel.namelist() if name.endswith("/licenses/LICENSE")]
    assert wheel.read(name) == (SOURCE / "LICENSE").read_bytes()


def test_the_wheel_installs_the_command(wheel: zipfile.ZipFile) -> None:
    (name,) = [name for name in wheel.namelist() if name.endswith("/entry_points.txt")]
    assert wheel.read(name).decode().split("\n")[:2] == [
        "[console_scripts]",
        "forestprune = studies.cli:app",
    ]


def test_ecos_is_asked_for_only_where_it_has_a_wheel(metadata: Message) -> None:
    (ecos,) = [line for line in metadata.get_all("Requires-Dist", []) if line.startswith("ecos")]
    assert ecos.endswith("python_version < '3.13'")


@pytest.mark.parametrize("package", PACKAGES)
def test_the_tests_run_against_what_is_installed(package: str) -> None:
    try:
        distribution = importlib.metadata.distribution("forestprune")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("forestprune is not installed: the source tree is tested")
    origin = json.loads(distribution.read_text("direct_url.json") or "{}")
    if origin.get("dir_info", {}).get("editable"):
        pytest.skip("forestprune is installed as editable: the source tree is tested")
    imported = importlib.import_module(package).__file__
    assert imported is not None
    assert Path(imported).samefile(str(distribution.locate_file(f"{package}/__init__.py")))
