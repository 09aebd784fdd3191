"""The arrays of an engine, which grow with the rows; their addresses are what kernels get."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from forestprune.forgetful.kernels.layout import CRITERION, ENTROPY, Room, Rules, Trees
from forestprune.forgetful.storage import (
    address_table,
    empty_room,
    empty_trees,
    entropy_table,
    larger_trees,
)
from formulations.arrays import IntArray

# Slots for rows that every tree has at least.
LEAST_SLOTS = 128


class Store:
    """Trees with room to work in, and the table that leads kernels to them.

    Parameters
    ----------
    usable
        (trees, F) whether each tree may split on each feature.
    n_classes
        0 for regression.
    rules
        What the engine was set up with; its table of entropies grows with the weight held.
    threads
        How many updates run at the same time.

    Attributes
    ----------
    trees
        The trees as they are now; arrays of their own after every growth.
    table
        What `kernels.views` takes apart.
    """

    trees: Trees
    table: IntArray
    _room: Room
    _rules: Rules
    _sorted: IntArray

    def __init__(
        self, usable: npt.NDArray[np.uint8], n_classes: int, rules: Rules, threads: int
    ) -> None:
        self._n_classes = n_classes
        self._rules = rules
        self._threads = threads
        self._use(empty_trees(usable, n_classes, LEAST_SLOTS))

    @property
    def slots(self) -> int:
        """Rows that every tree has room for."""
        return int(self.trees.X.shape[2])

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays, those that updates work in included."""
        arrays = (*self.trees, *self._room, self._sorted, *self._rules)
        return sum(array.nbytes for array in arrays)

    def hold_rows(self, rows: int) -> None:
        """Give every tree slots for at least ``rows`` rows."""
        slots = self.slots
        while slots < rows:
            slots *= 2
        if slots > self.slots:
            self._use(larger_trees(self.trees, self._n_classes, slots))

    def hold_weight(self, weight: int) -> None:
        """Make ready for nodes of so much weight, of which entropies are looked up."""
        if self._rules.whole[CRITERION] == ENTROPY and weight >= len(self._rules.entropy):
            rules = self._rules._replace(entropy=entropy_table(2 * weight))
            self._hold(self.trees, self._room, rules, self._sorted)

    def _use(self, trees: Trees) -> None:
        """Take over memory for trees, with room to work in, and write its table."""
        n_features, slots = trees.X.shape[1:]
        room = empty_room(self._threads, n_features, trees.value.shape[2], slots)
        self._hold(trees, room, self._rules, np.empty((n_features, slots), dtype=np.int32))

    def _hold(self, trees: Trees, room: Room, rules: Rules, order: IntArray) -> None:
        """Take over arrays and their table at once: an interrupt must not leave it to old ones."""
        table = address_table(trees, room, rules, order, self._n_classes)
        self.__dict__.update(trees=trees, _room=room, _rules=rules, _sorted=order, table=table)
