"""The folder of a result: the model, how columns become numbers, and the report.

``columns.json`` says how the columns of a table become the features of ``model.npz``, and has
the digest of that file: a model is never given features of another one.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import uuid4

from forestprune import PrunedEnsemble
from formulations import InvalidInput
from formulations.storage import own_version
from studies.encoding import KINDS, Encoding, Feature

MODEL, COLUMNS, REPORT = "model.npz", "columns.json", "report.html"

_FORMAT = "forestprune columns"
_VERSION = 1


@dataclass(frozen=True)
class Columns:
    """What a model is given.

    Attributes
    ----------
    encoding
        How columns become features.
    target
        Name of the column that is predicted.
    """

    encoding: Encoding
    target: str


def check_free(folder: Path, overwrite: bool) -> None:
    """Refuse a folder that cannot take a result, before any work.

    Raises
    ------
    InvalidInput
        When it is no folder, has files and may not be written over, or its parent is not there.
    """
    if folder.exists() and not folder.is_dir():
        raise InvalidInput(f"--out {str(folder)!r} is a file, not a folder")
    if not folder.absolute().parent.is_dir():
        raise InvalidInput(f"--out {str(folder)!r}: there is no folder {folder.parent}")
    if folder.is_dir() and any(folder.iterdir()) and not overwrite:
        raise InvalidInput(
            f"--out {str(folder)!r} is not empty: give another folder, or --overwrite to replace "
            f"{MODEL}, {COLUMNS} and {REPORT} in it"
        )


def write_bundle(
    folder: Path, pruned: PrunedEnsemble, columns: Columns, report: Callable[[], str]
) -> None:
    """Write a result. What is written is moved to its place when all of it is there.

    Parameters
    ----------
    folder
        Checked by `check_free`.
    report
        Returns the page.

    Raises
    ------
    OSError
        When a file cannot be written.
    InvalidInput
        When the model cannot be saved.
    """
    place = folder.absolute()
    draft = place.with_name(f".{place.name}-{uuid4().hex}")
    draft.mkdir()
    try:
        pruned.save(draft / MODEL)
        (draft / COLUMNS).write_text(_packed(columns, draft / MODEL), encoding="utf-8")
        (draft / REPORT).write_text(report(), encoding="utf-8")
        if not place.exists():
            draft.rename(place)
            return
        for name in (COLUMNS, MODEL, REPORT):
            (draft / name).replace(place / name)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def read_model(path: Path) -> tuple[PrunedEnsemble, Columns | None]:
    """Return a model, and what it is given; None where nothing lies beside it.

    Parameters
    ----------
    path
        The file of a model, or the folder of a result.

    Raises
    ------
    InvalidInput, OSError
        When one cannot be read, or they do not belong together.
    """
    file = path / MODEL if path.is_dir() else path
    if not file.exists():
        raise InvalidInput(f"model file {str(file)!r} does not exist")
    pruned = PrunedEnsemble.load(file)
    beside = file.with_name(COLUMNS)
    if not beside.is_file():
        return pruned, None
    try:
        columns, digest = _unpacked(json.loads(beside.read_text(encoding="utf-8")))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InvalidInput(f"{str(beside)!r} cannot be read: {error}") from None
    features = columns.encoding.columns
    if digest != _digest(file) or len(features) != pruned.model.n_features:
        raise InvalidInput(
            f"{str(beside)!r} belongs to another model than {str(file)!r}: keep the files of one "
            "result together"
        )
    return pruned, columns


def _packed(columns: Columns, model: Path) -> str:
    content = {
        "format": _FORMAT,
        "version": _VERSION,
        "forestprune": own_version(),
        "model": _digest(model),
        "target": columns.target,
        "features": [asdict(feature) for feature in columns.encoding.features],
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _unpacked(content: Any) -> tuple[Columns, str]:
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise InvalidInput(f"it does not say that it is {_FORMAT}")
    if content.get("version") != _VERSION:
        raise InvalidInput(
            f"it has version {content.get('version')!r}; forestprune {own_version()} reads "
            f"{_VERSION}"
        )
    features = tuple(_feature(**one) for one in content["features"])
    if not isinstance(content["target"], str) or not isinstance(content["model"], str):
        raise InvalidInput("its target and model must be texts")
    return Columns(Encoding(features), content["target"]), content["model"]


def _feature(name: Any, kind: Any, categories: Any) -> Feature:
    texts = isinstance(categories, list) and all(isinstance(one, str) for one in categories)
    if not isinstance(name, str) or kind not in KINDS or not texts:
        raise InvalidInput(f"a feature {name!r} is not told as it must be")
    if len(set(categories)) < len(categories):
        raise InvalidInput(f"feature {name!r} has a category twice")
    return Feature(name, kind, tuple(categories))


def _digest(file: Path) -> str:
    return sha256(file.read_bytes()).hexdigest()
