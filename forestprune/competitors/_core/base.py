"""What a competitor is: a class with options that makes models of a size, or a path of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from forestprune.ensemble import TreeEnsemble
from forestprune.pruned import PrunedEnsemble
from formulations import InvalidInput, PruningData
from formulations.arrays import FloatArray, finite_floats


@dataclass(frozen=True, eq=False)
class Task:
    """An ensemble and the rows on which it is to be made smaller.

    Attributes
    ----------
    source
        The whole ensemble.
    data
        Its pruning data on the rows.
    label
        The competitor's name and options.
    time_limit
        Seconds for a search, or inf.
    """

    source: TreeEnsemble
    data: PruningData
    label: str
    time_limit: float

    @cached_property
    def tree_nodes(self) -> FloatArray:
        """(n,) the number of nodes of each tree, 0 for a single leaf: it costs nothing."""
        nodes = [tree.n_nodes if tree.depth > 0 else 0 for tree in self.source.trees]
        return np.array(nodes, dtype=np.float64)

    @property
    def smallest_tree(self) -> int:
        """Number of nodes of the smallest whole tree that has a split; 1 where none has."""
        sizes = self.tree_nodes[self.tree_nodes > 0]
        return int(sizes.min()) if len(sizes) else 1


@dataclass(frozen=True)
class Limits:
    """How large a model may be: nodes with the roots of kept trees, trees with a split."""

    max_nodes: int | None = None
    max_trees: int | None = None

    @property
    def nodes(self) -> float:
        """Nodes allowed, or inf."""
        return np.inf if self.max_nodes is None else float(self.max_nodes)

    @property
    def trees(self) -> float:
        """Trees allowed, or inf."""
        return np.inf if self.max_trees is None else float(self.max_trees)

    def allow(self, size: Size, times: float = 1.0) -> bool:
        """Return whether a size is within the limits, or within a multiple of them."""
        return size.nodes <= times * self.nodes and size.trees <= times * self.trees


class Size(NamedTuple):
    """Nodes, roots of kept trees counted, and trees with a split."""

    nodes: int
    trees: int


class Point(NamedTuple):
    """A model on a path, and the value of the parameter that led to it."""

    value: float
    pruned: PrunedEnsemble


@dataclass(frozen=True)
class NoOptions:
    """Options of a competitor that has none."""


class Competitor(ABC):
    """A way to make an ensemble smaller; its public file's stem is the name a user types.

    Attributes
    ----------
    over
        What the values of a path are.
    summary
        One line for a table, with its source.
    exact
        What is exact of it, for a table.
    Options
        Frozen dataclass of the options with their defaults, which refuses wrong values.
    """

    over: ClassVar[str]
    summary: ClassVar[str]
    exact: ClassVar[str]
    Options: ClassVar[type] = NoOptions

    def __init__(self, options: Any) -> None:
        self.options = options

    @abstractmethod
    def within(self, task: Task, limits: Limits) -> PrunedEnsemble:
        """Return the model of a size within the limits, empty where none is."""

    @abstractmethod
    def path(self, task: Task, values: int | FloatArray) -> Iterator[Point]:
        """Yield models from the smallest to the largest.

        Parameters
        ----------
        task
            What is made smaller.
        values
            How many there are at most, or the values of `over`, of any order.
        """


def counted(values: FloatArray, least: float = 0.0) -> list[int]:
    """Return ascending different integers, for parameters that count something.

    Raises
    ------
    InvalidInput
        When one is not an integer of at least ``least``.
    """
    wrong = values[(values != np.floor(values)) | (values < least)]
    if len(wrong):
        raise InvalidInput(f"values must be integers of at least {least:g}, got {wrong[0]:g}")
    return [int(value) for value in np.unique(values)]


def evenly(count: int, most: int) -> list[int]:
    """Return at most so many integers from 1 to ``most``, evenly spaced, with ``most``."""
    if most < 1:
        return []
    spaced = np.linspace(1, most, min(count, most)).round()
    return [int(value) for value in np.unique(spaced)]


def checked_values(values: Any) -> int | FloatArray:
    """Return the values of a path, or their number.

    Raises
    ------
    InvalidInput
        When they are neither a number of at least 1 nor numbers of at least 0.
    """
    if isinstance(values, int | np.integer) and not isinstance(values, bool):
        if values < 1:
            raise InvalidInput(f"values must be at least 1, got {values}")
        return int(values)
    if isinstance(values, bool):
        raise InvalidInput(f"values must be a count or an array, not {values!r}")
    given = np.unique(np.atleast_1d(finite_floats("values", values)).ravel())
    if len(given) == 0 or given[0] < 0.0:
        raise InvalidInput("values must hold at least one number, none of them negative")
    return given
