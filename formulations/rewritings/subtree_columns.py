"""Subtree pruning with free coefficients on explicit columns: some subtrees of each tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from formulations.arrays import FloatArray, IntArray
from formulations.joint_subtrees import JointSubtreePruning
from formulations.kernels import blocks
from formulations.rewritings.canonical import CanonicalForm
from formulations.rewritings.regression import NormalEquations


@dataclass(frozen=True, eq=False)
class SubtreeColumns(NormalEquations):
    """A problem whose trees may take only the subtrees that are listed.

    A group is a tree with a listed subtree; every column stands for itself.

    Attributes
    ----------
    trees
        (g,) the tree of each group.
    choices
        (columns,) of arrays: marks of the nodes of its tree that each column keeps.
    """

    problem: JointSubtreePruning
    trees: IntArray
    choices: tuple[IntArray, ...]

    @classmethod
    def of(
        cls, problem: JointSubtreePruning, listed: Sequence[Sequence[IntArray]]
    ) -> SubtreeColumns:
        """Compute the products of listed subtrees from the rows.

        Parameters
        ----------
        problem
            The problem.
        listed
            Per tree any number of subtrees, as marks (nodes_i,), none of them empty. Those
            without length are left out.
        """
        data, rule = problem.data, problem.rule
        tables, choices, costs, counts = [], [], [], np.zeros(data.n_trees, dtype=np.int64)
        for i, given in enumerate(listed):
            if len(given) == 0:
                continue
            here = np.stack(given)
            leaves = slice(int(data.leaf_start[i]), int(data.leaf_start[i + 1]))
            table = np.zeros((leaves.stop - leaves.start, len(here), data.n_outputs))
            blocks.fill_table(rule, data.trees, i, here, table)
            square = np.einsum("l,lco->c", data.trees.leaf_weight[leaves], table**2)
            long = square > rule.short
            tables.append(table[:, long])
            choices += list(here[long])
            costs.append(problem.unweighted.block_costs(i, here[long]) + rule.count_cost)
            counts[i] = int(long.sum())
        cost = np.concatenate([*costs, np.empty(0)])
        none = np.empty(0, dtype=np.int64)
        owners = np.flatnonzero([len(given) > 0 for given in listed])
        gram, vector, constant = CanonicalForm(
            data, data.target, owners, tuple(tables), cost, none, none
        ).gram
        return cls(
            problem=problem,
            start=np.append(0, np.cumsum(counts[counts > 0])),
            sources=tuple(np.arange(len(cost))[:, None]),
            gram=gram,
            vector=vector,
            constant=constant,
            cost=cost,
            ridge=np.full(len(cost), rule.ridge / data.total_weight),
            count=np.ones(len(cost), dtype=np.int64),
            trees=np.flatnonzero(counts),
            choices=tuple(choices),
        )

    @classmethod
    def every(cls, problem: JointSubtreePruning) -> SubtreeColumns:
        """Return the problem with all subtrees of all trees.

        Raises
        ------
        TooManyChoices
            When there are more than can be listed.
        """
        trees = range(problem.data.n_trees)
        return cls.of(problem, [list(problem.unweighted.block_choices(i)[1:]) for i in trees])

    def column(self, c: int) -> FloatArray:
        """Return what a column predicts, (m, q)."""
        data, i = self.problem.data, int(self.trees[self.groups[c]])
        leaves = int(data.leaf_start[i + 1] - data.leaf_start[i])
        table = np.zeros((leaves, 1, data.n_outputs))
        blocks.fill_table(self.problem.rule, data.trees, i, self.choices[c][None], table)
        return np.asarray(table[data.codes[i], 0])

    def point(self, b: FloatArray) -> FloatArray:
        """Return the coefficients of all splits (splits,): several subtrees of a tree add up."""
        splits, rule = self.problem.data.splits, self.problem.rule
        point = np.zeros(int(rule.point_start[-1]))
        for c in np.flatnonzero(b).tolist():
            i = int(self.trees[self.groups[c]])
            part = slice(int(rule.point_start[i]), int(rule.point_start[i + 1]))
            made = self.choices[c][splits.first_child[part] - rule.choice_start[i]]
            point[part] += b[c] * made
        return point

    def coefficients(self, choice: npt.ArrayLike, beta: npt.ArrayLike) -> FloatArray:
        """Return coefficients (columns,) of a solution; its other subtrees are not here."""
        kept = self.problem.checked(choice)
        weights = self.problem.checked_beta(kept, beta)
        starts = self.problem.rule.choice_start
        b = np.zeros(self.n_columns)
        for c, i in enumerate(self.trees[self.groups].tolist()):
            if np.array_equal(self.choices[c], kept[starts[i] : starts[i + 1]]):
                b[c] = weights[i]
        return b

    def solution(self, b: FloatArray) -> tuple[IntArray, FloatArray]:
        """Return (choice, beta) of coefficients with at most one column a group."""
        choice, beta = self.problem.zero(), np.zeros(self.problem.data.n_trees)
        starts = self.problem.rule.choice_start
        for c in np.flatnonzero(b).tolist():
            i = int(self.trees[self.groups[c]])
            choice[starts[i] : starts[i + 1]] = self.choices[c]
            beta[i] = b[c]
        return choice, beta
