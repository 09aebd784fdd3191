"""Tiny problems with free coefficients, and their optimum by plain enumeration."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from conftest import SUBTREES, TINY
from scipy.optimize import nnls

from forestprune import (
    InvalidInput,
    JointPruning,
    JointSubtreePruning,
    Polishing,
    PruningData,
)

VARIANTS: dict[str, Callable[[PruningData, float], Any]] = {
    "joint": lambda data, unit: JointPruning(data, 0.3 * unit, 0.5, weights="depth"),
    "joint_weak": lambda data, unit: JointPruning(data, 0.1 * unit, 0.01, weights="depth"),
    "joint_counted": lambda data, unit: JointPruning(
        data, 0.1 * unit, 0.05 * unit, rho=0, weights="depth", ridge=0.1
    ),
    "ridge": lambda data, unit: Polishing(data, data.depths, 0.5),
    "least_squares": lambda data, unit: Polishing(data, data.depths, 0.0),
    "centred_ridge": lambda data, unit: Polishing(data, data.depths, 0.1, intercept=True),
    "positive_ridge": lambda data, unit: Polishing(data, data.depths, 0.1, nonnegative=True),
    "priced": lambda data, unit: Polishing(data, data.depths, 0.1 * unit, rho=0, ridge=0.2),
    "two_trees": lambda data, unit: Polishing(data, data.depths, rho=0, n_trees=2, ridge=0.2),
    "two_trees_without_ridge": lambda data, unit: Polishing(data, data.depths, rho=0, n_trees=2),
    "positive_centred": lambda data, unit: Polishing(
        data, data.depths, 0.02 * unit, rho=0, nonnegative=True, intercept=True, ridge=0.1
    ),
}

SUBTREE_VARIANTS: dict[str, Callable[[PruningData, float], Any]] = {
    "subtrees": lambda data, unit: JointSubtreePruning(data, 0.1 * unit, 0.1),
    "subtrees_counted": lambda data, unit: JointSubtreePruning(
        data, 0.1 * unit, 0.05 * unit, rho=0, ridge=0.1
    ),
    "subtrees_without_ridge": lambda data, unit: JointSubtreePruning(
        data, 0.05 * unit, 0.02 * unit, rho=0
    ),
}

SUBTREE_DATA = ("subtrees_outputs", "subtrees_ties", "subtrees_duplicates", "subtrees_few_rows")

DATA = ("random", "weighted_outputs", "duplicates", "few_rows", "collinear", "some_single_leaves")


def make_free(data: str, variant: str) -> Any:
    """Return a problem on the data of one of the tiny problems."""
    given = (SUBTREES if variant in SUBTREE_VARIANTS else TINY)[data]().data
    return (VARIANTS | SUBTREE_VARIANTS)[variant](given, given.target_square)


def best_subtrees(problem: Any) -> float:
    """Return the least objective over all subtrees of all trees."""
    data, fixed = problem.data, problem.unweighted
    root = np.sqrt(data.row_weight)[:, None]
    options: list[list[Any]] = []
    for i in range(data.n_trees):
        part = slice(int(data.node_start[i]), int(data.node_start[i + 1]))
        options.append([None])
        for marks in fixed.block_choices(i)[1:]:
            choice = problem.zero()
            choice[part] = marks
            leaves = fixed.leaf_values(choice)[data.leaf_start[i] : data.leaf_start[i + 1]]
            price = float(fixed.block_costs(i, marks[None])[0]) + problem.rule.count_cost
            options[-1].append(((root * leaves[data.codes[i]]).ravel(), price))
    target, best = (root * data.target).ravel(), np.inf
    for pattern in product(*options):
        used = [column for column in pattern if column is not None]
        columns = np.array([column for column, _ in used]).reshape(len(used), len(target)).T
        longer = np.append(target, np.zeros(len(used)))
        extended = np.vstack([columns, np.sqrt(problem.rule.ridge) * np.eye(len(used))])
        b = np.linalg.lstsq(extended, longer, rcond=None)[0]
        loss = float(((longer - extended @ b) ** 2).sum()) / data.total_weight
        best = min(best, loss + sum(price for _, price in used))
    return best


def dense(problem: Any) -> tuple[Any, Any]:
    """Return the columns (rows × outputs, columns) and the target, weighted by √ω, centred."""
    data = problem.data
    columns = []
    for c in range(problem.n_columns):
        unit = np.zeros(problem.n_columns)
        unit[c] = 1.0
        leaves = problem.relaxed_leaf_values(unit)
        columns.append(
            sum(
                leaves[data.leaf_start[i] : data.leaf_start[i + 1]][data.codes[i]]
                for i in range(data.n_trees)
            )
        )
    arrays = [*columns, np.array(data.target)]
    if problem.centred:
        arrays = [a - data.row_weight @ a / data.total_weight for a in arrays]
    root = np.sqrt(data.row_weight)[:, None]
    flat = [(root * a).ravel() for a in arrays]
    return np.stack(flat[:-1], axis=1), flat[-1]


def optimum(problem: Any) -> float:
    """Return the least objective over all patterns of used columns."""
    if isinstance(problem, JointSubtreePruning):
        return best_subtrees(problem)
    columns, target = dense(problem)
    rule, weight = problem.rule, problem.data.total_weight
    options = [
        [None, *range(rule.point_start[i], rule.point_start[i + 1])]
        for i in range(problem.data.n_trees)
    ]
    best = np.inf
    for pattern in product(*options):
        used = [c for c in pattern if c is not None]
        if problem.most_trees is not None and len(used) > problem.most_trees:
            continue
        best = min(best, _least(columns[:, used], target, rule, weight) + rule.cost[used].sum())
    return float(best)


def _least(columns: Any, target: Any, rule: Any, weight: float) -> float:
    extended = np.vstack([columns, np.sqrt(rule.ridge) * np.eye(columns.shape[1])])
    longer = np.concatenate([target, np.zeros(columns.shape[1])])
    if columns.shape[1] == 0:
        return float(target @ target) / weight
    if rule.nonnegative:
        return float(nnls(extended, longer)[1] ** 2) / weight
    b = np.linalg.lstsq(extended, longer, rcond=None)[0]
    return float(((longer - extended @ b) ** 2).sum()) / weight


def feasible_free(data: str, variant: str) -> bool:
    """Return whether there is such a problem; polishing needs a tree with a layer."""
    try:
        make_free(data, variant)
    except InvalidInput:
        return False
    return True
