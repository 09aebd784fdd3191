"""Checks of what problem data is built from, and the trie of a plain matrix."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from formulations.arrays import FloatArray, IntArray, finite_floats
from formulations.errors import InvalidInput
from formulations.kernels import trees as tree_kernels

# Bounds have fourth powers of a response, times squares of weights: these must be numbers.
_SMALLEST, _LARGEST = 1e-50, 1e50


def row_weights(sample_weight: npt.ArrayLike | None, rows: int) -> FloatArray:
    """Check sample weights; ones where none are given.

    Raises
    ------
    InvalidInput
        When their number is not ``rows``, one is negative or not finite, all are 0, or their
        squares are too large or too small for a float.
    """
    if sample_weight is None:
        return np.ones(rows)
    weight = finite_floats("sample_weight", sample_weight)
    if weight.shape != (rows,):
        raise InvalidInput(f"sample_weight must have shape ({rows},), got {weight.shape}")
    if weight.min() < 0.0:
        raise InvalidInput(f"sample_weight must not be negative; found {weight.min():g}")
    if not weight.any():
        raise InvalidInput("sample_weight must have a positive entry; all are 0")
    _require_size("sample_weight", weight)
    return weight


def as_columns(name: str, given: npt.ArrayLike) -> FloatArray:
    """Return a response as (m, q) float64.

    Raises
    ------
    InvalidInput
        When it is not numeric, not finite, empty, of more than two dimensions, or its squares
        are too large or too small for a float.
    """
    array = finite_floats(name, given)
    if array.ndim not in (1, 2) or array.size == 0:
        raise InvalidInput(f"{name} must have shape (rows,) or (rows, outputs), got {array.shape}")
    _require_size(name, array)
    return array.reshape(len(array), -1)


def _require_size(name: str, array: FloatArray) -> None:
    largest = float(np.abs(array).max())
    if largest > 0.0 and not _SMALLEST <= largest <= _LARGEST:
        raise InvalidInput(
            f"{name} must have a largest size between {_SMALLEST:g} and {_LARGEST:g}, or all 0, "
            f"not {largest:g}: give it in other units"
        )


def as_offset(given: npt.ArrayLike, rows: int, outputs: int) -> FloatArray:
    """Return an offset, given as a scalar, (q,), (m,) or (m, q), as (m, q) float64.

    Raises
    ------
    InvalidInput
        When it has none of these shapes, or is not finite.
    """
    offset = finite_floats("offset", given)
    if offset.shape == (rows,) and offset.shape != (outputs,):
        offset = offset[:, None]
    try:
        return np.array(np.broadcast_to(offset, (rows, outputs)))
    except ValueError:
        raise InvalidInput(
            f"offset must be a scalar or have shape ({outputs},), ({rows},) or "
            f"{(rows, outputs)}, got {offset.shape}"
        ) from None


def as_layers(i: int, D: npt.ArrayLike, rows: int, outputs: int) -> FloatArray:
    """Return the i-th depth-difference matrix as (m, d, q) float64.

    Raises
    ------
    InvalidInput
        When its shape does not fit, or it is not finite.
    """
    layers = finite_floats(f"D_list[{i}]", D)
    if layers.ndim == 2 and outputs == 1:
        layers = layers[:, :, None]
    if layers.ndim != 3 or layers.shape[0] != rows or layers.shape[2] != outputs:
        wanted = f"({rows}, depth)" if outputs == 1 else f"({rows}, depth, {outputs})"
        raise InvalidInput(f"D_list[{i}] must have shape {wanted}, got {np.shape(D)}")
    return layers


def checked_tree(
    i: int, parent: npt.ArrayLike, value: npt.ArrayLike, outputs: int
) -> tuple[IntArray, FloatArray, IntArray, IntArray]:
    """Return one tree's parents, values (nodes, q), layer starts and leaf nodes.

    Raises
    ------
    InvalidInput
        When the nodes are not in level order or the values do not fit.
    """
    parents = np.asarray(parent, dtype=np.int64)
    values = finite_floats(f"values[{i}]", value).reshape(len(parents), -1)
    if values.shape[1] != outputs:
        raise InvalidInput(f"values[{i}] must have {outputs} outputs as y, got {values.shape[1]}")
    if parents.ndim != 1 or len(parents) == 0 or parents[0] != -1:
        raise InvalidInput(f"parents[{i}] must be one-dimensional and begin with the root's −1")
    if values[0].any():
        raise InvalidInput(f"values[{i}] must be 0 at the root, got {values[0]}")
    layer_start = np.empty(len(parents) + 1, dtype=np.int64)
    layers = tree_kernels.find_layers(parents, layer_start)
    if layers == 0:
        raise InvalidInput(f"parents[{i}] must be in level order, each parent before its children")
    leaf = np.ones(len(parents), dtype=np.bool_)
    leaf[parents[1:]] = False
    return parents, values, layer_start[: layers + 1], np.flatnonzero(leaf)


def trie_of(D: FloatArray, gamma: float) -> tuple[IntArray, FloatArray, IntArray]:
    """Turn one (m, d, q) matrix into parents, values and the leaf code of each row."""
    rows, depth, outputs = D.shape
    here = np.zeros(rows, dtype=np.int64)
    path = np.zeros((rows, outputs))
    parents = [np.array([-1], dtype=np.int64)]
    values = [np.zeros((1, outputs))]
    above = 0
    for k in range(depth):
        path = path + D[:, k]
        keys, first, inside = np.unique(
            np.column_stack([here, D[:, k] + 0.0]), axis=0, return_index=True, return_inverse=True
        )
        parents.append(keys[:, 0].astype(np.int64) + above)
        values.append(gamma * path[first])
        above += len(parents[-2])
        here = inside.reshape(-1)
    return np.concatenate(parents), np.concatenate(values), here
