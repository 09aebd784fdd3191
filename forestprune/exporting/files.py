"""Pruned ensembles in files: ``.npz`` or JSON, checked like any other input.

Both hold the same (`forestprune.exporting.contents`). An ``.npz`` is what `numpy.savez` writes,
not compressed, its header in an entry ``header``. A JSON file is the header with one entry more,
``arrays``: by name the ``type``, the ``shape`` and the ``values`` row by row, what JSON
has no number for as ``"inf"``, ``"-inf"`` and ``"nan"``. Numbers are written with as many digits
as it takes to read the same number again.
"""

from __future__ import annotations

import json
import math
import os
import reprlib
import stat
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from forestprune.exporting.contents import FORMAT, VERSION, packed, unpacked
from forestprune.exporting.model_contents import Arrays
from forestprune.pruned import PrunedEnsemble
from formulations import InvalidInput
from formulations.archive import read_arrays, replacing, write_arrays
from formulations.storage import own_version

# A zip archive begins with these bytes, as no JSON does.
_ZIP = b"PK"

# Types of arrays in JSON, and what their values may be there.
_INTEGERS = {f"{sign}int{bits}": (int,) for sign in ("", "u") for bits in (8, 16, 32, 64)}
_FLOATS = (float, int)
_TYPES: dict[str, tuple[type, ...]] = (
    {"bool": (bool,), "float16": _FLOATS, "float32": _FLOATS, "float64": _FLOATS}
    | _INTEGERS
    | {"str": (str,)}
)
# A threshold is NaN at a categorical split, and may be infinite.
_NO_JSON = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def save(pruned: PrunedEnsemble, path: str | os.PathLike[str]) -> None:
    """Write a pruned ensemble to a file: JSON where its name ends so, an ``.npz`` otherwise.

    An existing file is replaced at once when the new one is complete.

    Parameters
    ----------
    pruned
        What `prune` returned.
    path
        The file.

    Raises
    ------
    InvalidInput
        When the ensemble starts from an estimator that does not predict a constant.
    OSError
        When the file cannot be written.
    """
    content, arrays = packed(pruned)
    header = {"format": FORMAT, "version": VERSION, "forestprune": own_version()} | content
    place = Path(path)
    if place.suffix.lower() == ".json":
        header["arrays"] = {name: _listed(array) for name, array in arrays.items()}
        text = json.dumps(header, allow_nan=False, separators=(",", ":"))
        with replacing(place) as written:
            written.write_text(text, encoding="utf-8")
    else:
        arrays["header"] = np.array(json.dumps(header, allow_nan=False))
        write_arrays(arrays, place)


def load(path: str | os.PathLike[str]) -> PrunedEnsemble:
    """Read a pruned ensemble from a file that `save` wrote.

    Nothing is ever unpickled, no array is larger than the file, and everything is checked: a
    file from an unknown source can be opened safely.

    Parameters
    ----------
    path
        The file; which of the two formats it has is seen from its first bytes.

    Returns
    -------
    PrunedEnsemble
        A model that predicts the same, bit for bit.

    Raises
    ------
    InvalidInput
        When the file is damaged, is not such a file, or is of another version of the format;
        the message says which forestprune wrote it.
    OSError
        When the file cannot be opened.
    """
    place, writer = Path(path), ""
    try:
        if not stat.S_ISREG(place.stat().st_mode):  # a device may never end
            raise InvalidInput("it is not a file")
        with place.open("rb") as file:
            start = file.read(len(_ZIP))
            file.seek(0)
            packed_arrays = read_arrays(file) if start == _ZIP else None
            text = file.read() if packed_arrays is None else _header_text(packed_arrays)
        header = _json(text)
        writer = f" (written by forestprune {_short(header.get('forestprune'))})"
        if packed_arrays is None:
            packed_arrays = _arrays(header.pop("arrays", None))
        return unpacked(header, packed_arrays)
    except InvalidInput as error:
        raise InvalidInput(f"{os.fspath(path)} cannot be loaded: {error}{writer}") from None


def _header_text(entries: Arrays) -> str:
    array = entries.pop("header", None)
    if array is None or array.dtype.kind != "U" or array.ndim != 0:
        raise InvalidInput("it has no header, so it is not a saved model")
    return str(array.item())


def _json(text: str | bytes) -> dict[str, Any]:
    """Return a header of this format and version."""
    try:
        header = json.loads(
            text, parse_constant=_no_constant, object_pairs_hook=_without_duplicates
        )
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"it is neither an archive of arrays nor JSON: {error}") from None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise InvalidInput(f"it does not say that it is a {FORMAT}")
    if header.get("version") != VERSION or isinstance(header["version"], bool):
        raise InvalidInput(
            f"it has version {_short(header.get('version'))} of the format and was written by "
            f"forestprune {_short(header.get('forestprune'))}; version {own_version()} reads "
            f"{VERSION}"
        )
    return header


def _short(told: object) -> str:
    """Return what a file says, cut short: it may be long."""
    return reprlib.repr(told).strip("'")


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a dictionary of names that occur once: readers differ in which one they take."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name occurs twice in it")
    return found


def _listed(array: npt.NDArray[Any]) -> dict[str, Any]:
    """Return an array as JSON has it, row by row; JSON has no infinity and no NaN."""
    values = array.ravel().tolist()
    if array.dtype.kind == "f":
        values = [value if math.isfinite(value) else str(value) for value in values]
    kind = "str" if array.dtype.kind == "U" else array.dtype.name
    return {"type": kind, "shape": list(array.shape), "values": values}


def _arrays(given: object) -> Arrays:
    if not isinstance(given, dict):
        raise InvalidInput("it has no arrays, so it is not a saved model")
    return {name: _array(name, listed) for name, listed in given.items()}


def _array(name: str, listed: Any) -> npt.NDArray[Any]:
    if not isinstance(listed, dict) or set(listed) != {"type", "shape", "values"}:
        raise InvalidInput(f"entry {name!r} must have a type, a shape and values, nothing else")
    kind, shape, values = listed["type"], listed["shape"], listed["values"]
    sizes = isinstance(shape, list) and all(type(size) is int and size >= 0 for size in shape)
    if not isinstance(kind, str) or kind not in _TYPES or not sizes or not isinstance(values, list):
        raise InvalidInput(f"entry {name!r} is of type {_short(kind)} and shape {_short(shape)}")
    if math.prod(shape) != len(values):  # checked before numpy makes room for it
        raise InvalidInput(
            f"entry {name!r} says it has shape {_short(shape)}, and has {len(values)}"
        )
    if _TYPES[kind] is _FLOATS:
        values = [_NO_JSON.get(value, value) if type(value) is str else value for value in values]
    if any(type(value) not in _TYPES[kind] for value in values):
        raise InvalidInput(f"entry {name!r} has a value that is not {kind}")
    try:
        return np.array(values, dtype=kind).reshape(shape)
    except (OverflowError, ValueError) as error:
        raise InvalidInput(f"entry {name!r} does not make an array: {error}") from None
