"""Problems in files: one ``.npz`` of plain arrays, checked like any other input.

The file is what `numpy.savez` writes: a zip archive of ``.npy`` arrays, not compressed. It
holds the arrays of `PruningData` that the others follow from (`_DATA`), and a ``header``, a
JSON text with

- ``format`` and ``version``: what the file is;
- ``forestprune``: the version that wrote it;
- ``kind``: which formulation;
- ``node_counts_known``: see `PruningData`;
- ``parameters``: the other fields of the formulation. A number or a string stands for itself;
  ``{"stored": "array"}`` for the array ``parameter.NAME``, and ``{"stored": "arrays"}`` for a
  list of arrays, joined to ``parameter.NAME``, that begin at ``parameter.NAME.start``.

So a new formulation can be saved as soon as it is a dataclass with a ``kind``. Nothing in a
file is ever unpickled, and since nothing is compressed no array is larger than the file.
"""

from __future__ import annotations

import importlib.metadata
import inspect
import json
import os
from collections.abc import Sequence
from dataclasses import fields, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from formulations.archive import read_arrays, write_arrays
from formulations.arrays import IntArray, finite_floats, frozen
from formulations.base import Formulation
from formulations.data import PruningData
from formulations.errors import InvalidInput

_FORMAT = "forestprune problem"
_VERSION = 1

# Arrays of every file: the kinds of number and the dimensions they may have.
_DATA = {
    "codes": ("u", 2),
    "target": ("f", 2),
    "offset": ("f", 2),
    "row_weight": ("f", 1),
    "node_start": ("iu", 1),
    "parent": ("i", 1),
    "value": ("f", 2),
}
_NUMBERS = "biuf"


def save_problem(problem: Formulation, path: str | os.PathLike[str]) -> None:
    """Write a problem with its data to a file.

    An existing file is replaced at once when the new one is complete.

    Parameters
    ----------
    problem
        Any formulation of this package.
    path
        The file, whatever its suffix; ``.npz`` by custom.

    Raises
    ------
    InvalidInput
        When ``problem`` is not a formulation of this package.
    OSError
        When the file cannot be written.
    """
    if not isinstance(problem, Formulation) or _kinds().get(problem.kind) is not type(problem):
        raise InvalidInput(f"problem must be one of {_kind_names()}, not {type(problem).__name__}")
    entries: dict[str, npt.NDArray[Any]] = {name: getattr(problem.data, name) for name in _DATA}
    parameters = {
        name: _pack(name, getattr(problem, name), entries) for name in _parameters(type(problem))
    }
    header = {
        "format": _FORMAT,
        "version": _VERSION,
        "forestprune": own_version(),
        "kind": problem.kind,
        "node_counts_known": problem.data.node_counts_known,
        "parameters": parameters,
    }
    entries["header"] = np.array(json.dumps(header))
    write_arrays(entries, Path(path))


def load_problem(path: str | os.PathLike[str]) -> Formulation:
    """Read a problem from a file that `save_problem` wrote.

    Everything passes the checks that the constructors make of any input, so a file from an
    unknown source can be opened safely.

    Parameters
    ----------
    path
        The file.

    Returns
    -------
    Formulation
        A problem equal to the one that was saved, bit for bit.

    Raises
    ------
    InvalidInput
        With the name of the file, when it is not such a file, is damaged, is of a later
        format, or holds what the constructors refuse.
    OSError
        When the file cannot be opened.
    """
    with Path(path).open("rb") as file:
        try:
            return _problem(read_arrays(file))
        except InvalidInput as error:
            raise InvalidInput(f"{os.fspath(path)} cannot be loaded: {error}") from None


def own_version() -> str:
    """Return the version of the installed forestprune."""
    return importlib.metadata.version("forestprune")


def _kinds() -> dict[str, type[Formulation]]:
    """Return the formulations of this package by their kind."""
    found: dict[str, type[Formulation]] = {}
    waiting: list[Any] = [Formulation]
    while waiting:
        here = waiting.pop()
        waiting += here.__subclasses__()
        ours = here.__module__.startswith(f"{__package__}.")
        if ours and not inspect.isabstract(here):
            found[here.kind] = here
    return found


def _kind_names() -> str:
    return ", ".join(sorted(found.__name__ for found in _kinds().values()))


def _parameters(formulation: type[Formulation]) -> list[str]:
    return [field.name for field in fields(formulation) if field.init and field.name != "data"]


def _pack(name: str, given: Any, entries: dict[str, npt.NDArray[Any]]) -> Any:
    """Return what stands for a parameter in the header; arrays are added to ``entries``."""
    if isinstance(given, np.generic):
        given = given.item()
    if given is None or isinstance(given, bool | int | float | str):
        return given
    if isinstance(given, np.ndarray):
        packed, stored = given, "array"
    else:
        parts = [np.asarray(part) for part in given]
        starts = np.cumsum([0, *(len(part) for part in parts)])
        entries[f"parameter.{name}.start"] = starts
        packed, stored = np.concatenate(parts), "arrays"
    if packed.dtype.kind not in _NUMBERS:
        raise InvalidInput(f"{name} must hold numbers to be saved, not {packed.dtype}")
    entries[f"parameter.{name}"] = packed
    return {"stored": stored}


def _problem(entries: dict[str, npt.NDArray[Any]]) -> Formulation:
    """Build a problem from the arrays of a file."""
    header = _header(entries.pop("header", None))
    formulation = _kinds().get(header["kind"])
    if formulation is None:
        raise InvalidInput(f"there is no formulation of kind {header['kind']!r}")
    stored = header["parameters"]
    names = _parameters(formulation)
    if set(stored) != set(names):
        raise InvalidInput(f"a problem of kind {formulation.kind!r} has parameters {names}")
    parameters = {name: _unpack(name, given, entries) for name, given in stored.items()}
    data = _data(entries, header["node_counts_known"])
    if entries:
        raise InvalidInput(f"it has an unknown entry {next(iter(entries))!r}")
    try:
        return formulation(data, **parameters)
    except InvalidInput:
        raise
    except (TypeError, ValueError, OverflowError) as error:  # a parameter of another type
        raise InvalidInput(f"its parameters do not make a problem: {error}") from error


def _header(array: npt.NDArray[Any] | None) -> dict[str, Any]:
    if array is None or array.dtype.kind != "U" or array.ndim != 0:
        raise InvalidInput("it has no header, so it is not a saved problem")
    try:
        header = json.loads(array.item())
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"its header is not JSON: {error}") from None
    if not isinstance(header, dict) or header.get("format") != _FORMAT:
        raise InvalidInput(f"its header does not say that it is a {_FORMAT}")
    if header.get("version") != _VERSION:
        raise InvalidInput(
            f"it has version {header.get('version')!r} of the format and was written by "
            f"forestprune {header.get('forestprune')}; version {own_version()} reads {_VERSION}"
        )
    for name, accepted in (("kind", str), ("node_counts_known", bool), ("parameters", dict)):
        if not isinstance(header.get(name), accepted):
            raise InvalidInput(f"{name!r} is missing from its header, or not {accepted.__name__}")
    return header


def _unpack(name: str, given: Any, entries: dict[str, npt.NDArray[Any]]) -> Any:
    """Return a parameter from what stands for it in the header, taking its arrays."""
    if given is None or isinstance(given, bool | int | float | str):
        return given
    entry = f"parameter.{name}"
    if given == {"stored": "array"}:
        return _taken(entries, entry, _NUMBERS, None)
    if given == {"stored": "arrays"}:
        joined = _taken(entries, entry, _NUMBERS, None)
        starts = _taken(entries, f"{entry}.start", "iu", 1)
        return _cut(f"{entry}.start", starts, joined, least=0)
    raise InvalidInput(f"parameter {name!r} must be a number, a string or stored, not {given!r}")


def _data(entries: dict[str, npt.NDArray[Any]], node_counts_known: bool) -> PruningData:
    """Build the data by the constructor that checks it."""
    arrays = {name: _taken(entries, name, *accepted) for name, accepted in _DATA.items()}
    for name in ("target", "offset", "row_weight", "value"):
        arrays[name] = finite_floats(name, arrays[name])
    target, offset, weight = arrays["target"], arrays["offset"], arrays["row_weight"]
    if offset.shape != target.shape:
        raise InvalidInput(
            f"offset must have the shape of target, {target.shape}, not {offset.shape}"
        )
    if not np.all(weight > 0.0):
        raise InvalidInput(f"row_weight must be positive; found {weight.min():g}")
    starts = arrays["node_start"]
    # y = r0 with an offset of 0: adding the offset and subtracting it again would round.
    data = PruningData.from_trees(
        _cut("node_start", starts, arrays["parent"], least=1),
        _cut("node_start", starts, arrays["value"], least=1),
        arrays["codes"],
        target,
        sample_weight=weight,
        node_counts_known=node_counts_known,
    )
    return replace(data, offset=frozen(offset))


def _taken(
    entries: dict[str, npt.NDArray[Any]], name: str, kinds: str, dimensions: int | None
) -> npt.NDArray[Any]:
    """Take an array out of the entries; InvalidInput when it is missing or of another type."""
    array = entries.pop(name, None)
    if array is None:
        raise InvalidInput(f"it has no entry {name!r}")
    if array.dtype.kind not in kinds or dimensions not in (None, array.ndim):
        raise InvalidInput(f"entry {name!r} is of type {array.dtype} and shape {array.shape}")
    return array


def _cut(
    name: str, starts: IntArray, joined: npt.NDArray[Any], *, least: int
) -> Sequence[npt.NDArray[Any]]:
    """Return the parts of an array that begin at ``starts``, of ``least`` entries or more."""
    pairs = list(pairwise(starts.tolist()))
    ordered = all(end - begin >= least for begin, end in pairs)
    if not pairs or not ordered or joined.ndim == 0 or (starts[0], starts[-1]) != (0, len(joined)):
        raise InvalidInput(f"{name!r} does not say where the parts of its array begin")
    return [joined[begin:end] for begin, end in pairs]
