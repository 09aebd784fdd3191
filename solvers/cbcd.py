"""Cyclic block coordinate descent with local search (FP §3.1 and Algorithm 3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formulations import Formulation
from formulations.arrays import IntArray
from solvers._base import (
    Answer,
    Control,
    Solver,
    require_bool,
    require_count,
    require_one_of,
)
from solvers._descent import Descent, compile_descent
from solvers._result import Termination

SWAPS = ("correlation", "performance", "index")


@dataclass(frozen=True)
class CBCDOptions:
    """Options of `CBCD`.

    Attributes
    ----------
    local_search
        Whether to try swaps from the fixed point of the descent.
    patience
        Swaps in a row that do not lower the objective before the search ends, at least 1.
    swap
        Order in which removed trees are tried: ``"correlation"`` of the whole tree with the
        residual, ``"performance"`` of the whole tree on the target (the paper's choice for
        bagging), or ``"index"`` (for boosting).
    """

    local_search: bool = True
    patience: int = 10
    swap: str = "correlation"

    def __post_init__(self) -> None:
        require_bool("local_search", self.local_search)
        require_count("patience", self.patience, 1)
        require_one_of("swap", self.swap, SWAPS)


class CBCD(Solver):
    """Exact block updates until a full sweep changes nothing, then swaps.

    A swap removes a random kept tree, makes a removed one whole and descends again; it is
    taken back unless the objective fell. After a failure the next removed tree in order is
    tried. The search ends early when the gap asked for is proven. The bound costs one pass
    over the rows at the final choice (mathematics.md §3).
    """

    summary = "block coordinate descent with local search"
    method = "heuristic"
    proof = "Frank–Wolfe bound at the choice"
    Options = CBCDOptions
    options: CBCDOptions

    def prepare(self, problem: Formulation) -> None:
        """Compile the kernels."""
        compile_descent(problem)

    def build(self, problem: Formulation) -> None:
        """Compute the products inside each tree, once for the data."""
        problem.rule, problem.data.trees  # noqa: B018

    def run(self, problem: Formulation, model: None, control: Control) -> Answer:
        """Descend from the warm start or from the empty model, then search."""
        start = problem.zero() if control.warm_start is None else control.warm_start
        descent = Descent(problem, start)
        local = descent.run(control)
        certificate = Certificate(descent, control)
        termination = control.stop() or Termination.CONVERGED
        if certificate.closes_gap:
            termination = Termination.GAP_REACHED
        elif local and self.options.local_search and termination is Termination.CONVERGED:
            termination = self._search(descent, certificate, control)
        choice = descent.state.choice.copy()
        return Answer(
            termination, choice=choice, local=local, relaxed=problem.point(certificate.choice)
        )

    def _search(self, descent: Descent, certificate: Certificate, control: Control) -> Termination:
        """Swap until ``patience`` swaps in a row have failed."""
        generator = np.random.default_rng(control.seed)
        failures = 0
        saved = descent.saved()
        order = self._order(descent)
        while failures < self.options.patience:
            kept = np.flatnonzero(descent.kept_of(descent.state.choice))
            if len(kept) + len(order) == 0:
                break
            objective = descent.objective
            descent.exchange(
                out=int(generator.choice(kept)) if len(kept) else None,
                into=int(order[failures % len(order)]) if len(order) else None,
            )
            if descent.beats(objective - descent.problem.tolerance, control):
                descent.run(control)
                failures = 0
                saved = descent.saved()
                order = self._order(descent)
                certificate.renew()
                if certificate.closes_gap:
                    return Termination.GAP_REACHED
            else:
                failures += 1
                descent.restore(saved, objective)
            reason = control.stop()
            if reason is not None:
                return reason
        return Termination.PATIENCE

    def _order(self, descent: Descent) -> IntArray:
        """Return the removed trees that have a layer to give back, best first."""
        problem = descent.problem
        removed = np.flatnonzero(
            ~descent.kept_of(descent.state.choice) & descent.kept_of(problem.full())
        )
        if self.options.swap == "index":
            return removed
        of_target = self.options.swap == "performance"
        score = descent.correlations(of_target)[removed]
        return removed[np.argsort(-score, kind="stable")]


class Certificate:
    """The best bound at the choices that a descent has been through.

    A better choice does not always have a better Frank–Wolfe bound.

    Parameters
    ----------
    descent
        Whose choices are certified.
    control
        Where progress is reported.
    """

    def __init__(self, descent: Descent, control: Control) -> None:
        self._descent = descent
        self._control = control
        self.bound = -np.inf
        self.choice = descent.state.choice
        self.renew()

    @property
    def closes_gap(self) -> bool:
        """Whether the gap asked for is reached."""
        return self._control.close_enough(self._descent.objective, self.bound)

    def renew(self) -> None:
        """Take the present choice's bound if it is better, and report."""
        bound = self._descent.bound()
        if bound > self.bound:
            self.bound, self.choice = bound, self._descent.state.choice.copy()
        self._control.report(self._descent.objective, self.bound)
