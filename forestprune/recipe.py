"""What is asked of a pruning: everything but the model, the rows and the size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

import numpy as np

from forestprune.pruned import PrunedEnsemble
from formulations import (
    Formulation,
    InvalidInput,
    JointPruning,
    JointSubtreePruning,
    LayerPruning,
    Polishing,
    PruningData,
    SubtreePruning,
    cut_trees,
)
from formulations.arrays import non_negative_number
from formulations.weights import LayerWeights, NodeWeights
from solvers import EngineFailure, Result, make_solver, solve

# What the options of a name take beside what their type says; callers may pass any text.
_Shapes = Literal["depth", "subtree"]
_Polishes = Literal["ridge", "best_subset"]
_Weights = Annotated[LayerWeights | NodeWeights, Literal["nodes", "depth"], "arrays"]
_Solver = Annotated[str, "another solver"]

# How many trees a person can read.
_FEW = 10

# Arguments of `solve` that do not depend on the solver; a warm start belongs to one problem.
_COMMON = ("time_limit", "gap", "seed", "threads", "verbose", "callback")


@dataclass(frozen=True)
class Recipe:
    """Which problem is solved, by what, and how the trees are weighed; as `prune` says.

    Raises
    ------
    InvalidInput, SolverError
        When an argument is wrong or would have no effect, before anything is solved.
    """

    shape: Annotated[str, _Shapes] = "depth"
    weights: _Weights = "nodes"
    solver: _Solver = "cbcd"
    polish: Annotated[str, _Polishes] | None = "ridge"
    alpha2: float | None = None
    n_trees: int | None = None
    joint: bool = False
    polish_solver: _Solver = "cbcd"

    def __post_init__(self) -> None:
        if self.shape not in get_args(_Shapes):
            raise InvalidInput(f'shape must be "depth" or "subtree", not {self.shape!r}')
        self._check_polish()
        for name in (self.solver, self.polish_solver):
            make_solver(name)
        if self.alpha2 is not None:
            non_negative_number("alpha2", self.alpha2)

    @property
    def rho(self) -> int:
        """The power of the penalty on the weights."""
        return 2 if self.polish == "ridge" else 0

    def problem(self, data: PruningData, alpha: float) -> Formulation:
        """Return Problem (1) or (5) for α of a standardised response."""
        scaled = alpha * data.y_variance
        if self.joint:
            kind = JointSubtreePruning if self.shape == "subtree" else JointPruning
            return kind(data, scaled, self._price(data), self.rho, self.weights)
        if self.shape == "subtree":
            return SubtreePruning(data, scaled, self.weights)
        return LayerPruning(data, scaled, self.weights)

    def solved(self, problem: Formulation, **options: Any) -> Result:
        """Return a result of Problem (1) or (5) that has a choice."""
        return _solved(problem, self.solver, options)

    def weighed(
        self, pruned: PrunedEnsemble, data: PruningData, options: dict[str, Any]
    ) -> PrunedEnsemble:
        """Return the ensemble polished, if that is asked for and there is a tree to polish.

        Parameters
        ----------
        pruned
            The trees, cut but not polished.
        data
            What they were chosen on.
        options
            Of `solve`; those that every solver has hold here, too.
        """
        if self.polish is None or self.joint or pruned.n_trees == 0:
            return pruned
        most = self.n_trees
        if self.rho == 0 and self.n_trees is None and self.alpha2 is None:
            most = min(_FEW, pruned.n_trees)
        assert pruned.result.choice is not None
        trees = data if pruned.by_depth else cut_trees(data, pruned.result.choice)
        again = Polishing(trees, pruned.depths, self._price(data), self.rho, most)
        common = {name: options[name] for name in _COMMON if name in options}
        return pruned.polished(again, _solved(again, self.polish_solver, common))

    def _price(self, data: PruningData) -> float:
        return float(0.01 if self.alpha2 is None else self.alpha2) * data.y_variance

    def _check_polish(self) -> None:
        polish, joint, n_trees = self.polish, self.joint, self.n_trees
        if polish not in (*get_args(_Polishes), None):
            raise InvalidInput(f'polish must be "ridge", "best_subset" or None, not {polish!r}')
        if not isinstance(joint, bool):
            raise InvalidInput(f"joint must be True or False, not {joint!r}")
        if polish is None:
            if joint:
                raise InvalidInput(
                    'joint=True needs polish="ridge" or "best_subset": the penalty on the weights'
                )
            for name, given in (("alpha2", self.alpha2), ("n_trees", n_trees)):
                if given is not None:
                    raise InvalidInput(f"{name} is for polishing, but polish is None")
        if n_trees is None:
            return
        if polish != "best_subset" or joint:
            raise InvalidInput(
                f'n_trees is for polish="best_subset" with joint=False, got polish={polish!r} '
                f"with joint={joint}"
            )
        if self.alpha2 is not None:
            raise InvalidInput("give n_trees, a limit, or alpha2, a price for each tree, not both")
        if isinstance(n_trees, bool) or not isinstance(n_trees, int | np.integer) or n_trees < 1:
            raise InvalidInput(f"n_trees must be an integer of at least 1, not {n_trees!r}")


def check_size(alpha: object, max_nodes: object) -> None:
    """Refuse what does not say how small the model is to be, before anything is solved.

    Raises
    ------
    InvalidInput
        When both are given, or one is not a number that serves.
    """
    if alpha is not None:
        non_negative_number("alpha", alpha)
    if max_nodes is None:
        return
    if alpha is not None:
        raise InvalidInput("give alpha, a price for size, or max_nodes, a limit, not both")
    if isinstance(max_nodes, bool) or not isinstance(max_nodes, int | np.integer) or max_nodes < 0:
        raise InvalidInput(f"max_nodes must be an integer of at least 0, not {max_nodes!r}")


def _solved(problem: Formulation, solver: str, options: dict[str, Any]) -> Result:
    result = solve(problem, solver, **options)
    if result.choice is None:
        raise EngineFailure(f"{result.solver} found no choice ({result.termination})")
    return result
