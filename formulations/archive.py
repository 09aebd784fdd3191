"""Archives of arrays (``.npz``) from sources one need not trust, and files replaced at once."""

from __future__ import annotations

import io
import math
import os
import struct
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO
from uuid import uuid4

import numpy as np
import numpy.typing as npt

from formulations.errors import InvalidInput

# What `zipfile` and `numpy` raise when bytes are not what they should be.
_UNREADABLE = (
    zipfile.BadZipFile,
    EOFError,
    OSError,
    OverflowError,
    RuntimeError,
    ValueError,
    struct.error,
)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a file to write to, with the same suffix, that then takes the place of ``path``.

    Raises
    ------
    OSError
        With the name of ``path``, when it cannot be written.
    """
    written = path.with_name(f".{path.stem}-{uuid4().hex}{path.suffix}")
    try:
        try:
            written.touch()
            yield written
            written.replace(path)
        finally:
            written.unlink(missing_ok=True)
    except OSError as error:
        error.filename = str(path)
        del error.filename2  # None would be shown
        raise


def write_arrays(arrays: dict[str, npt.NDArray[Any]], path: Path) -> None:
    """Write arrays of numbers or text to an archive that takes the place of ``path``.

    Raises
    ------
    OSError
        When the file cannot be written.
    """
    with replacing(path) as written, written.open("wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]


def read_arrays(file: BinaryIO) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of an archive that `numpy.savez` wrote, by name.

    Nothing is ever unpickled, and since entries must not be compressed the arrays together
    are no larger than the file.

    Parameters
    ----------
    file
        A file, opened for reading.

    Raises
    ------
    InvalidInput
        When it is not such an archive, is damaged, or one of its entries is no plain array.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            infos = archive.infolist()
            size = sum(info.file_size for info in infos)
            if any(info.file_size != info.compress_size for info in infos):
                raise InvalidInput("its entries are compressed, which is not accepted")
            if size > os.fstat(file.fileno()).st_size:
                raise InvalidInput(f"its entries claim {size} bytes, more than the whole file has")
            arrays = {
                info.filename.removesuffix(".npy"): _array(info.filename, archive.read(info))
                for info in infos
            }
    except InvalidInput:
        raise
    except _UNREADABLE as error:
        raise InvalidInput(
            f"it is not an archive of arrays, or not a whole one ({error})"
        ) from None
    if len(arrays) < len(infos):
        raise InvalidInput("it has two entries of the same name")
    return arrays


def _array(name: str, stored: bytes) -> npt.NDArray[Any]:
    """Return an array from the bytes of a ``.npy`` file."""
    stream = io.BytesIO(stored)
    version = np.lib.format.read_magic(stream)
    if version not in ((1, 0), (2, 0)):
        raise InvalidInput(f"entry {name!r} is of version {version} of the npy format")
    if version == (1, 0):
        shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
    else:
        shape, _, dtype = np.lib.format.read_array_header_2_0(stream)
    if dtype.hasobject:
        raise InvalidInput(f"entry {name!r} holds objects, which are never unpickled")
    # Checked before numpy makes room for it.
    if math.prod(shape) * dtype.itemsize != len(stored) - stream.tell():
        raise InvalidInput(f"entry {name!r} says it has shape {shape} of {dtype}, and has not")
    stream.seek(0)
    return np.asarray(np.lib.format.read_array(stream, allow_pickle=False))
