"""How much is left of an ensemble: by validation along a path, or as asked for."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from forestprune import PrunedEnsemble, TreeEnsemble, prune, read_ensemble
from forestprune.estimators.folds import FoldErrors, row_errors, weighted_mean
from forestprune.estimators.path import PrunedPath, prune_path
from forestprune.estimators.selection import choose
from forestprune.estimators.table import path_table
from forestprune.recipe import Recipe
from formulations.arrays import FloatArray, IntArray
from studies.own_data.models import fitted
from studies.own_data.parts import Rows

if TYPE_CHECKING:
    import pandas as pd

# So many α, from that of the empty model down to this part of it, where ensembles are whole.
_POINTS, _RANGE = 61, 1e-6


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
    polished
        Errors in validation without and with new weights, where these decided; else None.
    """

    source: TreeEnsemble
    pruned: PrunedEnsemble
    curves: tuple[Curve, ...]
    polished: tuple[float, float] | None = None


@dataclass(frozen=True, eq=False)
class Work:
    """What it takes to prune.

    Attributes
    ----------
    model
        An ensemble of scikit-learn to be fitted, or one that was read.
    recipe, options
        What is solved, and further arguments of `solve`.
    decides
        Whether validation decides if the trees get new weights.
    stage
        Called with what is done next.
    """

    model: Any
    recipe: Recipe
    options: dict[str, Any]
    decides: bool
    stage: Callable[[str], None]

    def fitted(self, rows: Rows, on: str) -> TreeEnsemble:
        """Return the ensemble, fitted on some rows unless it is already."""
        if isinstance(self.model, TreeEnsemble):
            return self.model
        self.stage(f"fitting on {len(rows):,} {on} rows")
        return read_ensemble(fitted(self.model, rows.X, rows.y))

    def paths(
        self, source: TreeEnsemble, rows: Rows, on: str, alphas: FloatArray | None = None
    ) -> list[PrunedPath]:
        """Return what is left of an ensemble along α: as is asked, or without new weights too.

        Parameters
        ----------
        alphas
            Falling, for a standardised response; None for those from the empty model on.
        """
        self.stage(f"pruning on {len(rows):,} {on} rows along a path")
        data = source.pruning_data(rows.X, rows.y)
        if alphas is None:
            top, variance = self.recipe.problem(data, 1.0).alpha_max(), data.y_variance
            alphas = np.zeros(1)
            if top > 0.0 and variance > 0.0:
                alphas = top / variance * np.geomspace(1.0, _RANGE, _POINTS)
        recipe = replace(self.recipe, polish=None, n_trees=None) if self.decides else self.recipe
        with warnings.catch_warnings():
            # Along a path there always are smaller models than this.
            warnings.filterwarnings("ignore", "n_trees=.* is above the number of kept trees")
            path = prune_path(source, rows.X, rows.y, None, recipe, alphas, self.options)
        if not self.decides:
            return [path]
        weighed = [self.recipe.weighed(one, data, self.options) for one in path.pruned]
        return [path, replace(path, pruned=weighed)]


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

    Warns
    -----
    UserWarning
        When no model is within what is asked for: then it is the one of the smallest error.
    """
    learn, validation = parts
    paths = work.paths(work.fitted(learn, "other"), learn, "other")
    measured = [errors(path, validation) for path in paths]
    kind = np.argmin([one.error for one in measured], axis=0)
    ensemble = work.fitted(train, "training")
    whole = _mixed(work.paths(ensemble, train, "training", paths[0].alphas), kind)
    work.stage("measuring")
    fold = _taken(measured, kind)
    table = path_table(whole, [fold])
    error, spread, nodes, trees = (
        table[name].to_numpy() for name in ("error", "standard_error", "nodes", "trees")
    )
    place: int | None
    if size.rule == "one_standard_error":
        # The error's own spread is mostly that of hard rows, which all models have in common.
        models = _mixed(paths, kind).pruned[: len(error)]
        spread = np.fmin(spread[error.argmin()], paired_spread(models, error, validation))
        place = _smallest(error, spread, nodes)
    else:
        place = choose(size.rule, size.number, error, spread, fold.full, nodes, trees)
    if place is None:
        place = int(error.argmin())
        warnings.warn(
            f"--within {size.number:g} is met by no model of the path: the whole ensemble has "
            f"error {fold.full:.4g} in validation, the best pruned one {error[place]:.4g}; it is "
            "taken",
            stacklevel=2,
        )
    curves = [Curve(table, place, fold.full, "validation")]
    if test is not None:
        curves.append(_tested(whole, place, test))
    before, after = (float(measured[k].error[place]) for k in (0, -1))
    polished = (before, after) if work.decides else None
    return Chosen(whole.source, whole.pruned[place], tuple(curves), polished)


def as_asked(work: Work, train: Rows, test: Rows | None, size: Size) -> Chosen:
    """Prune with a given α or to a number of nodes; on test rows a path is there to compare."""
    source = work.fitted(train, "training")
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
    (path,) = work.paths(source, train, "training")
    # The path knows α for a standardised response, the model in units of y².
    first = path.pruned[0].alpha
    unit = path.alphas[0] / first if first else 0.0
    alphas = np.append(path.alphas, unit * (pruned.alpha or 0.0))
    path = PrunedPath(source, alphas, [*path.pruned, pruned], path.asked + 1)
    return Chosen(source, pruned, (_tested(path, len(alphas) - 1, test),))


def errors(path: PrunedPath, rows: Rows) -> FoldErrors:
    """Return the errors of all models of a path on rows."""

    def measured(model: TreeEnsemble | PrunedEnsemble) -> tuple[float, float]:
        return weighted_mean(row_errors(model, rows.X, rows.y), None)

    error, spread = np.array([measured(one) for one in path.pruned]).T
    nodes = np.array([one.n_nodes for one in path.pruned])
    return FoldErrors(measured(path.source)[0], error, spread, nodes)


def paired_spread(models: list[PrunedEnsemble], error: FloatArray, rows: Rows) -> FloatArray:
    """Return the standard errors (k,) of the differences in error to the best model.

    Parameters
    ----------
    models
        k of them.
    error
        (k,) their errors on the rows.
    """
    best = row_errors(models[int(error.argmin())], rows.X, rows.y)
    return np.array(
        [weighted_mean(row_errors(one, rows.X, rows.y) - best, None)[1] for one in models]
    )


def other_sizes(curve: Curve) -> dict[float, int]:
    """Return the rows of the smallest models whose errors are at most so much above the whole's."""
    error, nodes, trees = (curve.table[name].to_numpy() for name in ("error", "nodes", "trees"))
    found: dict[float, int] = {}
    for part in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0):
        place = choose("within", part, error, np.zeros(len(error)), curve.full, nodes, trees)
        if place is not None and place not in found.values():
            found[part] = place
    return found


def _smallest(error: FloatArray, spread: FloatArray, nodes: IntArray) -> int:
    """Return the smallest model whose error is above the best one's by at most its spread."""
    # With a single row there is no spread, and the best is taken.
    allowed = np.flatnonzero(error - error.min() <= np.nan_to_num(spread))
    return int(allowed[np.lexsort((error[allowed], nodes[allowed]))[0]])


def _tested(path: PrunedPath, place: int, test: Rows) -> Curve:
    found = errors(path, test)
    return Curve(path_table(path, [found]), place, found.full, "test")


def _taken(measured: list[FoldErrors], kind: IntArray) -> FoldErrors:
    """Return at each α the errors of one of several kinds."""

    def take(name: str) -> Any:
        values = np.array([getattr(one, name) for one in measured])
        return values[kind, np.arange(len(kind))]

    return FoldErrors(measured[0].full, take("error"), take("spread"), take("nodes"))


def _mixed(paths: list[PrunedPath], kind: IntArray) -> PrunedPath:
    """Return at each α the model of one of several kinds, as far as the paths have come."""
    count = len(paths[0].pruned)
    pruned = [paths[kind[i]].pruned[i] for i in range(count)]
    return replace(paths[0], pruned=pruned)
