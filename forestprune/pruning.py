"""From a fitted model to a pruned one."""

from __future__ import annotations

import inspect
import warnings
from dataclasses import fields, replace
from difflib import get_close_matches
from typing import Any

import numpy as np
import numpy.typing as npt

from forestprune.budget import BudgetSearch, smallest_tree
from forestprune.ensemble import TreeEnsemble
from forestprune.forgetful.bridge import retained_rows
from forestprune.pruned import PrunedEnsemble
from forestprune.readers import read_ensemble
from forestprune.recipe import Recipe, check_size
from formulations import InvalidInput, PruningData
from formulations.arrays import FloatArray
from formulations.weights import LayerWeights, NodeWeights
from solvers import InvalidOption, make_solver, solve


def pruning_data(
    model: Any,
    X: Any = None,
    y: npt.ArrayLike | None = None,
    sample_weight: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
) -> PruningData:
    """Return the data of pruning problems for a fitted ensemble.

    Parameters
    ----------
    model
        A fitted ensemble that `read_ensemble` takes.
    X
        (m, features) rows, usually those of the fit. A forgetful model remembers rows: without
        X and y these are taken.
    y
        (m,) or (m, q) response, or (m,) class labels: see `TreeEnsemble.checked_response`.
    sample_weight
        (m,) weights of at least 0, 1 by default; a row of weight 0 counts as removed.
    weights
        (n,) scale of each tree, for a list of trees.

    Raises
    ------
    InvalidInput
        When the model cannot be pruned, or X or y do not fit.
    """
    ensemble = read_ensemble(model, weights)
    X, y = _rows(model, X, y)
    return ensemble.pruning_data(X, y, sample_weight)


def prune(
    model: Any,
    X: Any = None,
    y: npt.ArrayLike | None = None,
    *,
    shape: str = "depth",
    alpha: float | None = None,
    max_nodes: int | None = None,
    weights: LayerWeights | NodeWeights = "nodes",
    solver: str = "cbcd",
    polish: str | None = "ridge",
    alpha2: float | None = None,
    n_trees: int | None = None,
    joint: bool = False,
    polish_solver: str = "cbcd",
    validation_data: tuple[Any, npt.ArrayLike] | None = None,
    sample_weight: npt.ArrayLike | None = None,
    **solve_options: Any,
) -> PrunedEnsemble:
    """Prune the trees of a fitted ensemble, and weigh those that are left anew.

    First Problem (1) is solved: how deep every tree remains, or which of its subtrees. Then
    Problem (2): the weights of these trees, called polishing. Or both at once, which is
    Problem (5).

    Parameters
    ----------
    model
        A fitted ensemble that `read_ensemble` takes.
    X, y
        (m, features) rows and (m,) or (m, q) response, or (m,) class labels, to prune on, usually
        those of the fit. Forests of classifiers are pruned against class indicators. Boosted
        classifiers, and models with a logarithmic link, are pruned against their own scores on
        the rows of X; of y only the form is checked (`TreeEnsemble.target_is_score`). Without
        them a forgetful model is pruned on the rows that it remembers.
    shape
        ``"depth"``: every tree is cut at one depth. ``"subtree"``: every branch where it serves
        best, so that the same number of nodes predicts better.
    alpha
        Weight of the size of the pruned ensemble, at least 0, for a standardised response, 1
        by default: it is multiplied by the weighted variance of y. The larger, the smaller the
        ensemble. A constant response has no variance: then size costs nothing, and of choices
        that fit equally well the one with the smaller trees is taken.
    max_nodes
        Instead of ``alpha``: how many nodes may be left, roots counted, at least 0. The largest
        such model that bisection on α finds is taken; its α and what is proven of it there are
        in the summary. No α may give just this number.
    weights
        ``"nodes"``, ``"depth"`` or an array per tree: see `LayerPruning`; for subtrees
        ``"nodes"``, ``"leaves"`` or an array per tree: see `SubtreePruning`.
    solver
        Name or label of a solver.
    polish
        ``"ridge"``: all kept trees get new weights, with a penalty on their squares.
        ``"best_subset"``: few trees are chosen and weighed. None: all weights stay 1.
    alpha2
        Penalty on the weights, at least 0, by default 0.01; multiplied by the variance of y,
        like ``alpha``. For ``"ridge"`` the product is that of scikit-learn's
        ``Ridge(alpha, fit_intercept=False)`` on the trees' predictions. For
        ``"best_subset"`` it is a price for each tree, instead of ``n_trees``.
    n_trees
        For ``"best_subset"``: how many trees may be left, at least 1. 10 by default, unless
        ``alpha2`` is given. More than there are: all are left, with a warning.
    joint
        Whether to choose depths, or subtrees, and weights together (Problem (5)), with the
        penalty that ``polish`` and ``alpha2`` say. This problem has no ``n_trees``.
    polish_solver
        Name or label of the solver for polishing.
    validation_data
        Rows and response ``(X, y)`` that decide whether to polish: the weights are kept if
        their mean squared error there is below that of the unpolished trees. It often is for
        small ensembles, and often is not for large ones.
    sample_weight
        (m,) weights of at least 0, 1 by default.
    **solve_options
        Further arguments of `solve`, such as ``time_limit``, ``gap`` or ``seed``. Those that
        every solver has hold for each of the two problems, all others for the first. The time
        limit of the first one is that of the whole search where ``max_nodes`` is given.

    Returns
    -------
    PrunedEnsemble
        A model that predicts by itself.

    Raises
    ------
    InvalidInput, SolverError
        When the input does not fit, or the solver cannot be asked.

    Warns
    -----
    UserWarning
        When no tree survives, or ``n_trees`` is above the number of kept trees.
    """
    recipe = Recipe(shape, weights, solver, polish, alpha2, n_trees, joint, polish_solver)
    check_size(alpha, max_nodes)
    _check_spelling(solver, solve_options)
    if max_nodes is not None and "warm_start" in solve_options:
        raise InvalidInput("warm_start is for one alpha; with max_nodes there are many")
    if validation_data is not None:
        _check_decision(polish, joint)
    ensemble = read_ensemble(model)
    X, y = _rows(model, X, y)
    validation = None if validation_data is None else _validation(ensemble, validation_data)
    data = ensemble.pruning_data(X, y, sample_weight)
    size = 1.0 if alpha is None else float(alpha)
    problem = recipe.problem(data, size)
    if max_nodes is None:
        scaled, result = size * data.y_variance, recipe.solved(problem, **solve_options)
    else:
        search = BudgetSearch(problem, int(max_nodes), recipe.solved, solve_options)
        scaled, result = search.run()
    unpolished = PrunedEnsemble.cut(ensemble, result, scaled)
    pruned = recipe.weighed(unpolished, data, solve_options)
    if validation is not None and pruned is not unpolished:
        pruned = _better(unpolished, pruned, *validation)
    if pruned.n_trees == 0:
        reason = f"at alpha={size:g}: the model predicts what it starts from"
        told = "a smaller alpha keeps more"
        if max_nodes is not None:
            reason = f"with max_nodes={max_nodes}: the model predicts what it starts from"
            told = f"the smallest tree that can be left has {smallest_tree(data)} nodes"
        warnings.warn(f"no tree survives {reason}; {told}", stacklevel=2)
    return pruned if max_nodes is None else replace(pruned, max_nodes=int(max_nodes))


def _check_spelling(solver: str, options: dict[str, Any]) -> None:
    """Refuse what is neither for `solve` nor for the solver, but nearly an argument of `prune`.

    The solver refuses other names.
    """
    known = {*inspect.signature(solve).parameters}
    known |= {item.name for item in fields(make_solver(solver)[1].options)}
    for name in options:
        near = get_close_matches(name, inspect.signature(prune).parameters, 1)
        if name not in known and near:
            raise InvalidOption(f"prune has no argument {name!r}; did you mean {near[0]!r}?")


def _rows(model: Any, X: Any, y: Any) -> tuple[Any, Any]:
    """Return the rows given or, where there are none, those that the model remembers."""
    if X is None and y is None:
        return retained_rows(model)
    if X is None or y is None:
        raise InvalidInput("both X and y must be given, or neither for a forgetful model")
    return X, y


def _check_decision(polish: str | None, joint: bool) -> None:
    """Refuse validation data where there is nothing to decide."""
    if polish is None:
        raise InvalidInput("validation_data is for polishing, but polish is None")
    if joint:
        raise InvalidInput(
            "validation_data decides whether to polish; with joint=True there is no choice"
        )


def _validation(ensemble: TreeEnsemble, given: Any) -> tuple[Any, FloatArray]:
    """Return validation rows and their response, (rows, q)."""
    try:
        rows, response = given
    except (TypeError, ValueError):
        raise InvalidInput(
            f"validation_data must be a pair (X, y), not {type(given).__name__}"
        ) from None
    try:
        return rows, ensemble.checked_response(ensemble.checked_rows(rows), response)
    except InvalidInput as error:
        raise InvalidInput(f"validation_data: {error}") from None


def _better(
    unpolished: PrunedEnsemble, polished: PrunedEnsemble, rows: Any, response: FloatArray
) -> PrunedEnsemble:
    """Return the ensemble of the smaller mean squared error."""
    before, after = (
        float(np.mean((response - one.raw_predict(rows).reshape(response.shape)) ** 2))
        for one in (unpolished, polished)
    )
    return replace(polished if after < before else unpolished, validation=(before, after))
