"""A problem on explicit columns: a few choices of each block, with all their products."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from formulations.arrays import FloatArray, IntArray
from formulations.choices import MOST_LISTED, ChoiceFormulation
from formulations.errors import TooManyChoices
from formulations.kernels import blocks
from formulations.rewritings.canonical import CanonicalForm


@dataclass(frozen=True, eq=False)
class ChoiceColumns:
    """A problem whose blocks may take only the choices that are listed.

    Blocks with one listed choice are *settled*: their columns are subtracted from the target
    once. The others are *open*, with one column a listed choice. For weights s ≥ 0 that sum
    to 1 in each open block the objective is ``constant + linearᵀ s + sᵀ gram s``: that of the
    choice where one column a block has weight 1, and else that of the relaxation.

    Attributes
    ----------
    problem
        Where the choices come from.
    settled
        The choice that takes the settled blocks' only choices and leaves out the open ones.
    open_blocks
        (b,) numbers of the open blocks.
    start
        (b + 1,) where each open block's columns begin.
    choices
        (columns, width) the choice of each column; narrower ones are padded with 0.
    gram
        (columns, columns) ⟨P_c, P_d⟩ / m.
    linear
        (columns,) cost_c − 2 ⟨P_c, r⟩ / m with r the target without the settled blocks.
    constant
        ‖r‖² / m and the cost of the settled blocks.
    """

    problem: ChoiceFormulation
    settled: IntArray
    open_blocks: IntArray
    start: IntArray
    choices: IntArray
    gram: FloatArray
    linear: FloatArray
    constant: float

    @classmethod
    def of(
        cls,
        problem: ChoiceFormulation,
        choices: Sequence[IntArray],
        residual: FloatArray | None = None,
    ) -> ChoiceColumns:
        """Compute the products of the listed choices from the rows.

        Parameters
        ----------
        problem
            The problem.
        choices
            Per block (c_i, width_i) int64: at least one choice.
        residual
            (m, q) ω (r0 − prediction) of the settled blocks, where it is at hand.
        """
        data, rule = problem.data, problem.rule
        settled = problem.zero()
        for i, listed in enumerate(choices):
            if len(listed) == 1:
                here = slice(int(rule.choice_start[i]), int(rule.choice_start[i + 1]))
                settled[here] = listed[0, : here.stop - here.start]
        if residual is None:
            residual = problem.residual(problem.leaf_values(settled))
        open_blocks = np.flatnonzero([len(listed) > 1 for listed in choices])
        counts = [len(choices[i]) for i in open_blocks.tolist()]
        start = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        padded = np.zeros((start[-1], widest_choice(problem)), dtype=np.int64)
        tables, cost = [], np.empty(start[-1])
        for i, begin in zip(open_blocks.tolist(), start[:-1].tolist(), strict=True):
            width = int(rule.choice_start[i + 1] - rule.choice_start[i])
            listed = np.ascontiguousarray(choices[i][:, :width])
            leaves = int(data.leaf_start[i + 1] - data.leaf_start[i])
            table = np.zeros((leaves, len(listed), data.n_outputs))
            blocks.fill_table(rule, data.trees, i, listed, table)
            tables.append(table)
            padded[begin : begin + len(listed), : listed.shape[1]] = listed
            cost[begin : begin + len(listed)] = problem.block_costs(i, listed)
        none = np.empty(0, dtype=np.int64)
        gram, vector, constant = CanonicalForm(
            data, residual / data.row_weight[:, None], open_blocks, tuple(tables), cost, none, none
        ).gram
        return cls(
            problem=problem,
            settled=settled,
            open_blocks=open_blocks,
            start=start,
            choices=padded,
            gram=gram,
            linear=cost - 2.0 * vector,
            constant=constant + problem.penalty(settled),
        )

    @classmethod
    def every(cls, problem: ChoiceFormulation) -> ChoiceColumns:
        """Return the problem with all choices of all blocks.

        Raises
        ------
        TooManyChoices
            When there are more than can be listed.
        """
        count = sum(problem.count_block_choices(i) for i in range(problem.data.n_trees))
        if count > MOST_LISTED:
            raise TooManyChoices(
                f"its trees have {count:.3g} choices, at most {MOST_LISTED:,} can be listed"
            )
        return cls.of(problem, [problem.block_choices(i) for i in range(problem.data.n_trees)])

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.linear)

    def value(self, weights: FloatArray) -> float:
        """Return the objective at weights (columns,)."""
        return float(self.constant + self.linear @ weights + weights @ self.gram @ weights)

    def choice(self, selected: IntArray) -> IntArray:
        """Return the choice that takes one column (b,) of each open block."""
        choice = self.settled.copy()
        begins = self.problem.rule.choice_start
        for i, column in zip(self.open_blocks, selected, strict=True):
            width = begins[i + 1] - begins[i]
            choice[begins[i] : begins[i + 1]] = self.choices[column, :width]
        return choice

    def selected(self, choice: IntArray) -> IntArray:
        """Return, for each open block, the column of its part of a choice, or the first."""
        begins = self.problem.rule.choice_start
        selected = self.start[:-1].copy()
        for b, i in enumerate(self.open_blocks.tolist()):
            part = choice[begins[i] : begins[i + 1]]
            listed = self.choices[self.start[b] : self.start[b + 1], : len(part)]
            same = np.flatnonzero((listed == part).all(axis=1))
            selected[b] += int(same[0]) if len(same) else 0
        return selected

    def weights(self, selected: IntArray) -> FloatArray:
        """Return the weights (columns,) of one column (b,) of each open block."""
        weights = np.zeros(self.n_columns)
        weights[selected] = 1.0
        return weights

    def point(self, weights: FloatArray) -> FloatArray:
        """Return the relaxed point at weights (columns,)."""
        tree = np.repeat(self.open_blocks, np.diff(self.start))
        mixed = self.problem.mixture(tree, self.choices, weights)
        return mixed + self.problem.point(self.settled)


def widest_choice(problem: ChoiceFormulation) -> int:
    """Return the length of the longest block's part of a choice."""
    return int(np.diff(problem.rule.choice_start).max())
