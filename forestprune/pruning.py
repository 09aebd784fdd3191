"""From a fitted model to a pruned one."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from forestprune.budget import BudgetSearch, smallest_tree
from forestprune.ensemble import TreeEnsemble
from forestprune.pruned import PrunedEnsemble
from forestprune.readers import read_ensemble
from formulations import (
    Formulation,
    InvalidInput,
    JointPruning,
    LayerPruning,
    Polishing,
    PruningData,
    SubtreePruning,
    cut_trees,
)
from formulations.arrays import FloatArray, finite_floats, non_negative_number
from formulations.weights import LayerWeights, NodeWeights
from solvers import EngineFailure, Result, make_solver, solve

# How many trees a person can read.
_FEW = 10

# Arguments of `solve` that do not depend on the solver; a warm start belongs to one problem.
_COMMON = ("time_limit", "gap", "seed", "threads", "verbose", "callback")


def pruning_data(
    model: Any,
    X: Any,
    y: npt.ArrayLike,
    sample_weight: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
) -> PruningData:
    """Return the data of pruning problems for a fitted ensemble.

    Parameters
    ----------
    model
        A fitted ensemble that `read_ensemble` takes.
    X
        (m, features) rows, usually those of the fit.
    y
        (m,) or (m, q) response.
    sample_weight
        (m,) weights of at least 0, 1 by default; a row of weight 0 counts as removed.
    weights
        (n,) scale of each tree, for a list of trees.

    Raises
    ------
    InvalidInput
        When the model cannot be pruned, or X or y do not fit.
    """
    return read_ensemble(model, weights).pruning_data(X, y, sample_weight)


def prune(
    model: Any,
    X: Any,
    y: npt.ArrayLike,
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
        (m, features) rows and (m,) or (m, q) response to prune on, usually those of the fit.
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
        Whether to choose depths and weights together (Problem (5)), with the penalty that
        ``polish`` and ``alpha2`` say. This problem has no ``n_trees``, and is about depths.
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
    _check_size(shape, alpha, max_nodes, joint, solve_options)
    _check_polish(polish, alpha2, n_trees, joint, validation_data)
    make_solver(polish_solver)  # a wrong name is refused before anything is solved
    ensemble = read_ensemble(model)
    validation = None if validation_data is None else _validation(ensemble, validation_data)
    data = ensemble.pruning_data(X, y, sample_weight)
    size = 1.0 if alpha is None else non_negative_number("alpha", alpha)
    scaled = size * data.y_variance
    rho = 2 if polish == "ridge" else 0
    price = non_negative_number("alpha2", 0.01 if alpha2 is None else alpha2) * data.y_variance
    problem: Formulation
    if joint:
        problem = JointPruning(data, scaled, price, rho, weights)
    elif shape == "subtree":
        problem = SubtreePruning(data, scaled, weights)
    else:
        problem = LayerPruning(data, scaled, weights)

    def first(problem: Formulation, **options: Any) -> Result:
        return _solved(problem, solver, options)

    if max_nodes is None:
        result = first(problem, **solve_options)
    else:
        scaled, result = BudgetSearch(problem, int(max_nodes), first, solve_options).run()
    pruned = PrunedEnsemble.cut(ensemble, result, scaled)
    if polish is not None and not joint and pruned.n_trees > 0:
        most = n_trees
        if rho == 0 and n_trees is None and alpha2 is None:
            most = min(_FEW, pruned.n_trees)
        assert result.choice is not None
        trees = data if pruned.by_depth else cut_trees(data, result.choice)
        again = Polishing(trees, pruned.depths, price, rho, most)
        common = {name: solve_options[name] for name in _COMMON if name in solve_options}
        polished = pruned.polished(again, _solved(again, polish_solver, common))
        pruned = polished if validation is None else _better(pruned, polished, *validation)
    if pruned.n_trees == 0:
        reason = f"at alpha={size:g}: the model predicts what it starts from"
        told = "a smaller alpha keeps more"
        if max_nodes is not None:
            reason = f"with max_nodes={max_nodes}: the model predicts what it starts from"
            told = f"the smallest tree that can be left has {smallest_tree(data)} nodes"
        warnings.warn(f"no tree survives {reason}; {told}", stacklevel=2)
    return pruned if max_nodes is None else replace(pruned, max_nodes=int(max_nodes))


def _check_size(
    shape: object, alpha: object, max_nodes: object, joint: object, options: dict[str, Any]
) -> None:
    """Refuse what does not say how small the model is to be, before anything is solved."""
    if shape not in ("depth", "subtree"):
        raise InvalidInput(f'shape must be "depth" or "subtree", not {shape!r}')
    if shape == "subtree" and joint is True:
        raise InvalidInput(
            'joint=True chooses depths together with weights, not subtrees: give shape="depth", '
            "or joint=False to weigh the subtrees after they are chosen"
        )
    if max_nodes is None:
        return
    if alpha is not None:
        raise InvalidInput("give alpha, a price for size, or max_nodes, a limit, not both")
    if "warm_start" in options:
        raise InvalidInput("warm_start is for one alpha; with max_nodes there are many")
    if isinstance(max_nodes, bool) or not isinstance(max_nodes, int | np.integer) or max_nodes < 0:
        raise InvalidInput(f"max_nodes must be an integer of at least 0, not {max_nodes!r}")


def _check_polish(
    polish: object, alpha2: object, n_trees: object, joint: object, validation_data: object
) -> None:
    """Refuse arguments that are wrong, or would have no effect, before anything is solved."""
    if polish not in ("ridge", "best_subset", None):
        raise InvalidInput(f'polish must be "ridge", "best_subset" or None, not {polish!r}')
    if not isinstance(joint, bool):
        raise InvalidInput(f"joint must be True or False, not {joint!r}")
    if polish is None:
        if joint:
            raise InvalidInput(
                'joint=True needs polish="ridge" or "best_subset": the penalty on the weights'
            )
        for name, given in (
            ("alpha2", alpha2),
            ("n_trees", n_trees),
            ("validation_data", validation_data),
        ):
            if given is not None:
                raise InvalidInput(f"{name} is for polishing, but polish is None")
    if joint and validation_data is not None:
        raise InvalidInput(
            "validation_data decides whether to polish; with joint=True there is no choice"
        )
    if n_trees is None:
        return
    if polish != "best_subset" or joint:
        raise InvalidInput(
            f'n_trees is for polish="best_subset" with joint=False, got polish={polish!r} '
            f"with joint={joint}"
        )
    if alpha2 is not None:
        raise InvalidInput("give n_trees, a limit, or alpha2, a price for each tree, not both")
    if isinstance(n_trees, bool) or not isinstance(n_trees, int | np.integer) or n_trees < 1:
        raise InvalidInput(f"n_trees must be an integer of at least 1, not {n_trees!r}")


def _solved(problem: Formulation, solver: str, options: dict[str, Any]) -> Result:
    result = solve(problem, solver, **options)
    if result.choice is None:
        raise EngineFailure(f"{result.solver} found no choice ({result.termination})")
    return result


def _validation(ensemble: TreeEnsemble, given: Any) -> tuple[Any, FloatArray]:
    """Return validation rows and their response, (rows, q)."""
    try:
        rows, response = given
    except (TypeError, ValueError):
        raise InvalidInput(
            f"validation_data must be a pair (X, y), not {type(given).__name__}"
        ) from None
    try:
        count = ensemble.checked_rows(rows).shape[0]
    except InvalidInput as error:
        raise InvalidInput(f"validation_data: {error}") from None
    shape = (count, ensemble.n_outputs)
    values = finite_floats("validation_data[1]", response)
    if values.shape != shape and values.shape != shape[: 1 if shape[1] == 1 else 2]:
        raise InvalidInput(
            f"validation_data must have one response for each of its {count} rows and of "
            f"{shape[1]} outputs, got shape {values.shape}"
        )
    return rows, values.reshape(shape)


def _better(
    unpolished: PrunedEnsemble, polished: PrunedEnsemble, rows: Any, response: FloatArray
) -> PrunedEnsemble:
    """Return the ensemble of the smaller mean squared error."""
    before, after = (
        float(np.mean((response - one.predict(rows).reshape(response.shape)) ** 2))
        for one in (unpolished, polished)
    )
    return replace(polished if after < before else unpolished, validation=(before, after))
