"""What is kept of each α of a path: size, proof, time and errors, as plain values."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from formulations import JointPruning
from studies.running.methods import Solved
from studies.spec import Method

if TYPE_CHECKING:
    from studies.running.held_out import HeldOut

Point = dict[str, Any]


def points_of(along: Iterable[Solved], method: Method, held_out: HeldOut | None) -> list[Point]:
    """Return a point for each α with a choice, in the order of the path.

    Objective, bound and gap are those of the last step, in units of y², and ``pruning_gap``
    that of the first; numbers that do not exist are None. ``joint_objective`` is what
    Problem (5) with a ridge makes of the point. ``seconds`` are those of all steps.

    Parameters
    ----------
    held_out
        Rows whose errors are wanted too, and with them ``mean_depth``, that of the kept trees.
    """
    return [_point(item, method, held_out) for item in along if item.last[1].choice is not None]


def _point(solved: Solved, method: Method, held_out: HeldOut | None) -> Point:
    problem, result = solved.last
    assert result.choice is not None
    data = problem.data
    point = {
        "alpha": solved.alpha / data.y_variance if data.y_variance > 0.0 else solved.alpha,
        "objective": _finite(result.objective),
        "bound": _finite(result.bound),
        "gap": _finite(result.gap),
        "bound_source": str(result.bound_source),
        "guarantee": str(result.guarantee),
        "pruning_gap": _finite(solved.result.gap),
        "joint_objective": _joint_objective(solved, method),
        "train_mse": problem.loss(result.choice, result.beta),
        "trees": problem.kept_trees(result.choice, result.beta),
        "nodes": problem.kept_nodes(result.choice, result.beta),
        "seconds": solved.seconds,
    }
    if held_out is not None:
        left = held_out.left_by(solved)
        kept = left.depths[left.depths > 0]
        point["mean_depth"] = float(kept.mean()) if len(kept) else 0.0
        point |= held_out.errors(left)
    return point


def _joint_objective(solved: Solved, method: Method) -> float | None:
    """Return the objective of Problem (5), ρ = 2, with the method's α₂.

    None for ρ = 0, and for subtrees, which are no choice of that problem.
    """
    if method.polish != "ridge" or method.shape != "depth":
        return None
    _, result = solved.last
    assert result.choice is not None
    assert result.beta is not None
    data = solved.problem.data
    problem = JointPruning(data, solved.alpha, method.alpha2 * data.y_variance)
    # Fixed coefficients are ones for removed trees too.
    return problem.objective(result.choice, np.where(result.choice > 0, result.beta, 0.0))


def _finite(number: float) -> float | None:
    return float(number) if math.isfinite(number) else None
