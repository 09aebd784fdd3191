"""How much is left of an ensemble: by validation along a path, or as asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from forestprune import PrunedEnsemble, TreeEnsemble, prune, read_ensemble
from forestprune.estimators.folds import FoldErrors, row_errors, weighted_mean
from forestprune.estimators.path import PrunedPath, prune_path
from forestprune.estimators.selection import choose
from forestprune.estimators.table import path_table
from forestprune.recipe import Recipe
from formulations import InvalidInput
from formulations.arrays import FloatArray
from studies.own_data.models import fitted
from studies.own_data.parts import Rows

if TYPE_CHECKING:
    import pandas as pd

# How many α there are from the empty model to nearly the whole one.
POINTS = 50


@dataclass(frozen=True)
class Size:
    """How small the model is to be.

    Attributes
    ----------
    rule, number
        As `selection.choose` takes them; "" where α or the nodes are given.
    alpha, max_nodes
        As `prune` takes them.
    """

    rule: str
    number: float
    alpha: float | None
    max_nodes: int | None


@dataclass(frozen=True, eq=False)
class Curve:
    """Errors against sizes, on rows that were not pruned on.

    Attributes
    ----------
    table
        With columns ``alpha``, ``nodes``, ``trees``, ``error`` and ``standard_error``, one row
        a model.
    chosen
        The row of the model that is kept.
    full
        Error of the whole ensemble.
    rows
        Which rows: ``"validation"`` or ``"test"``.
    """

    table: pd.DataFrame
    chosen: int
    full: float
    rows: str


@dataclass(frozen=True, eq=False)
class Chosen:
    """What is left of an ensemble, and what it was chosen from.

    Attributes
    ----------
    source
        The whole ensemble.
    pruned
        What is left.
    curves
        Errors against sizes: in validation, on test rows, as far as there are such.
    """

    source: TreeEnsemble
    pruned: PrunedEnsemble
    curves: tuple[Curve, ...]


@dataclass(frozen=True, eq=False)
class Work:
    """What it takes to prune.

    Attributes
    ----------
    model
        An ensemble of scikit-learn to be fitted, or one that is.
    ready
        Whether it is fitted.
    recipe, options
        What is solved, and further arguments of `solve`.
    stage
        Called with what is done next.
    """

    model: Any
    ready: bool
    recipe: Recipe
    options: dict[str, Any]
    stage: Callable[[str], None]

    def fitted(self, rows: Rows, on: str) -> Any:
        """Return the model, fitted on some rows unless it is already."""
        if self.ready:
            return self.model
        self.stage(f"fitting on {len(rows):,} {on} rows")
        return fitted(self.model, rows.X, rows.y)

    def path(self, model: Any, rows: Rows, alphas: int | FloatArray, on: str) -> PrunedPath:
        """Return what is left of a fitted model along α."""
        self.stage(f"pruning on {len(rows):,} {on} rows along a path")
        return prune_path(model, rows.X, rows.y, None, self.recipe, alphas, self.options)


def by_validation(
    work: Work, train: Rows, parts: tuple[Rows, Rows], test: Rows | None, size: Size
) -> Chosen:
    """Choose α by the error on rows of validation, and prune all rows of training with it.

    Parameters
    ----------
    train
        All rows but those of the test.
    parts
        The same rows in two: those to fit and prune on, and those of validation.

    Raises
    ------
    InvalidInput
        When no model of the path meets the rule.
    """
    whole = work.path(work.fitted(train, "training"), train, POINTS, "training")
    learn, validation = parts
    path = work.path(work.fitted(learn, "other"), learn, whole.alphas, "other")
    work.stage("choosing")
    measured = errors(path, validation)
    table = path_table(whole, [measured])
    nodes, trees = (table[name].to_numpy() for name in ("nodes", "trees"))
    error, spread = table["error"].to_numpy(), table["standard_error"].to_numpy()
    place = choose(size.rule, size.number, error, spread, measured.full, nodes, trees)
    if place is None:
        raise InvalidInput(
            f"--within {size.number:g} is met by no model of the path: the whole ensemble has "
            f"error {measured.full:.4g} in validation, the best pruned one {error.min():.4g}"
        )
    curves = [Curve(table, place, measured.full, "validation")]
    if test is not None:
        tested = errors(whole, test)
        curves.append(Curve(path_table(whole, [tested]), place, tested.full, "test"))
    return Chosen(whole.source, whole.pruned[place], tuple(curves))


def as_asked(work: Work, train: Rows, test: Rows | None, size: Size) -> Chosen:
    """Prune with a given α or to a number of nodes; on test rows a path is there to compare."""
    source = read_ensemble(work.fitted(train, "training"))
    work.stage("pruning")
    pruned = prune(
        source,
        train.X,
        train.y,
        alpha=size.alpha,
        max_nodes=size.max_nodes,
        **vars(work.recipe),
        **work.options,
    )
    if test is None:
        return Chosen(source, pruned, ())
    path = work.path(source, train, POINTS, "training")
    # The path knows α for a standardised response, the model in units of y².
    first = path.pruned[0].alpha
    unit = path.alphas[0] / first if first else 0.0
    alphas = np.append(path.alphas, unit * (pruned.alpha or 0.0))
    path = PrunedPath(source, alphas, [*path.pruned, pruned], path.asked + 1)
    tested = errors(path, test)
    curve = Curve(path_table(path, [tested]), len(alphas) - 1, tested.full, "test")
    return Chosen(source, pruned, (curve,))


def errors(path: PrunedPath, rows: Rows) -> FoldErrors:
    """Return the errors of all models of a path on rows."""

    def measured(model: TreeEnsemble | PrunedEnsemble) -> tuple[float, float]:
        return weighted_mean(row_errors(model, rows.X, rows.y), None)

    error, spread = np.array([measured(one) for one in path.pruned]).T
    nodes = np.array([one.n_nodes for one in path.pruned])
    return FoldErrors(measured(path.source)[0], error, spread, nodes)
