"""Pruned ensembles from what competitors choose."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from forestprune.competitors._core.base import Task
from forestprune.ensemble import TreeEnsemble
from forestprune.pruned import PrunedEnsemble
from formulations import LayerPruning, SubtreePruning
from formulations.arrays import FloatArray, IntArray, frozen
from formulations.kernels.trees import squared_norm, subtract_all
from solvers import Guarantee, Result, Termination
from solvers._core.result import BoundSource


def made(
    task: Task,
    choice: IntArray,
    *,
    beta: FloatArray | None = None,
    added: FloatArray | float = 0.0,
    penalty: float | None = None,
    **result: Any,
) -> PrunedEnsemble:
    """Return the ensemble that a choice leaves.

    Parameters
    ----------
    task
        What is made smaller.
    choice
        (n,) depths at which trees are cut, or (nodes,) marks of the nodes that are kept.
    beta
        (n,) weights of the trees relative to the source's, 0 for dropped ones; ones by default.
    added
        What is added to the constant, (q,) or a number.
    penalty
        The value of the penalty that led to the choice, in units of y²; None where none did.
    **result
        What else is known of the search: fields of `Result`.
    """
    weights = np.ones(task.data.n_trees) if beta is None else beta
    pruned = PrunedEnsemble.cut(
        task.source, _result(task, choice, weights, added, **result), penalty
    )
    return shifted(pruned, added)


def shifted(pruned: PrunedEnsemble, added: FloatArray | float) -> PrunedEnsemble:
    """Return the ensemble with something added to its constant."""
    model: TreeEnsemble = pruned.model
    constant = np.asarray(frozen(model.constant + added))
    return replace(pruned, model=replace(model, constant=constant))


def loss_of(task: Task, leaf_values: FloatArray, added: FloatArray | float) -> float:
    """Return (1/m) ‖r0 − prediction‖² for (leaves, q) values and what is added to all rows."""
    data = task.data
    residual = data.row_weight[:, None] * (data.target - added)
    subtract_all(data.trees, leaf_values, residual)
    return float(squared_norm(data.trees, residual) / data.total_weight)


def _result(
    task: Task, choice: IntArray, beta: FloatArray, added: FloatArray | float, **known: Any
) -> Result:
    given: dict[str, Any] = {
        "bound": -np.inf,
        "bound_source": BoundSource.NONE,
        "termination": Termination.CONVERGED,
        "guarantee": Guarantee.FEASIBLE,
        "build_seconds": 0.0,
        "solve_seconds": 0.0,
    }
    given |= known
    if "objective" not in given:
        kind = LayerPruning if len(choice) == task.data.n_trees else SubtreePruning
        values = kind(task.data, 0.0).leaf_values(choice)
        values = values * np.repeat(beta, np.diff(task.data.leaf_start))[:, None]
        given["objective"] = loss_of(task, values, added)
    return Result(
        solver=task.label, choice=frozen(choice), beta=frozen(beta), relaxed=None, **given
    )
