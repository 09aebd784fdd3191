"""Arrays made from addresses.

A call from Python takes a fraction of a microsecond for each array, which for small batches adds
up to more than the update; and a kernel counts the references to each. So the engine hands over
one table of addresses, and kernels make of it arrays that nobody counts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import carray, types  # type: ignore[attr-defined]
from numba.extending import intrinsic

from forestprune.forgetful.kernels.layout import (
    FLAGS,
    QUEUE_ROWS,
    STATE_COLUMNS,
    Room,
    Rules,
    Trees,
)
from formulations.arrays import IntArray
from formulations.kernels.compiled import kernel

# Entries of the table: sizes, then the addresses of the arrays in the order of their classes.
N_TREES, N_FEATURES, SLOTS, N_VALUES, N_CLASSES, N_WHOLE, N_REAL, N_TABLE = range(8)
SIZES = 8
_ROOM = SIZES + len(Trees._fields)
_RULES = _ROOM + len(Room._fields)
SORTED = _RULES + len(Rules._fields)


def _take_for_address(typing_context: Any, address: Any) -> Any:
    """Take a whole number for an address."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], ir.IntType(8).as_pointer())

    return types.voidptr(types.int64), generate


_pointer: Any = intrinsic(_take_for_address)


@kernel
def tree_arrays(t: int, table: IntArray) -> Trees:
    """Return the arrays of tree t."""
    F, slots, values = table[N_FEATURES], table[SLOTS], table[N_VALUES]
    classes = table[N_CLASSES]
    nodes = 2 * slots + 1
    labels = slots if classes > 0 else 0
    codes = slots if 0 < classes <= 2 else 0
    targets = slots - labels
    a = table[SIZES:_ROOM]
    return Trees(
        carray(_pointer(a[0] + t * F * slots * 8), (F, slots), np.float64),
        carray(_pointer(a[1] + t * labels * 2), (labels,), np.int16),
        carray(_pointer(a[2] + t * codes * 2), (codes,), np.uint16),
        carray(_pointer(a[3] + t * targets * 8), (targets,), np.float64),
        carray(_pointer(a[4] + t * slots * 4), (slots,), np.int32),
        carray(_pointer(a[5] + t * F * slots * 4), (F, slots), np.uint32),
        carray(_pointer(a[6] + t * slots * 4), (slots,), np.uint32),
        carray(_pointer(a[7] + t * slots * 4), (slots,), np.uint32),
        carray(_pointer(a[8] + t * slots * 4), (slots,), np.int32),
        carray(_pointer(a[9] + t * nodes * 4), (nodes,), np.int32),
        carray(_pointer(a[10] + t * nodes * 8), (nodes,), np.float64),
        carray(_pointer(a[11] + t * nodes * 4), (nodes,), np.uint32),
        carray(_pointer(a[12] + t * nodes * values * 8), (nodes, values), np.float64),
        carray(_pointer(a[13] + t * nodes * 8), (nodes,), np.float64),
        carray(_pointer(a[14] + t * F), (F,), np.uint8),
        carray(_pointer(a[15] + t * STATE_COLUMNS * 8), (STATE_COLUMNS,), np.int64),
    )


@kernel
def room_arrays(thread: int, table: IntArray) -> Room:
    """Return the arrays that one thread works in."""
    F, slots, values = table[N_FEATURES], table[SLOTS], table[N_VALUES]
    a = table[_ROOM:_RULES]
    return Room(
        carray(_pointer(a[0] + thread * 2 * F * slots * 4), (2, F, slots), np.uint32),
        carray(_pointer(a[1] + thread * 4 * slots * 4), (2, 2 * slots), np.int32),
        carray(
            _pointer(a[2] + thread * 2 * QUEUE_ROWS * slots * 4),
            (2, QUEUE_ROWS, slots),
            np.int32,
        ),
        carray(_pointer(a[3] + thread * 2 * slots * 8), (2, slots), np.uint64),
        carray(_pointer(a[4] + thread * FLAGS * slots), (FLAGS, slots), np.uint8),
        carray(_pointer(a[5] + thread * slots * 4), (slots,), np.int32),
        carray(_pointer(a[6] + thread * values * 8), (values,), np.float64),
        carray(_pointer(a[7] + thread * F * 4), (F,), np.int32),
        carray(_pointer(a[8] + thread * 2 * slots * 4), (2, slots), np.int32),
    )


@kernel
def rule_arrays(table: IntArray) -> Rules:
    """Return the settings of the engine."""
    return Rules(
        carray(_pointer(table[_RULES]), (table[N_WHOLE],), np.int64),
        carray(_pointer(table[_RULES + 1]), (table[N_REAL],), np.float64),
        carray(_pointer(table[_RULES + 2]), (table[N_TABLE],), np.int64),
    )


@kernel
def sorted_rows(table: IntArray) -> IntArray:
    """Return the (F, slots) int32 room for a batch's rows sorted by each feature."""
    return carray(_pointer(table[SORTED]), (table[N_FEATURES], table[SLOTS]), np.int32)
