"""Local search by swapping trees, on any descent (FP Algorithm 3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from formulations.arrays import FloatArray, IntArray
from solvers._choices.descent import Descent
from solvers._core.base import Control, require_bool, require_count, require_one_of
from solvers._core.result import Termination

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


def descend_and_search(
    descent: Descent, options: CBCDOptions, control: Control
) -> tuple[Termination, bool, FloatArray]:
    """Descend to a fixed point, then swap until ``patience`` swaps in a row have failed.

    A swap removes a random kept tree, makes a removed one whole and descends again; it is
    taken back unless the objective fell. After a failure the next removed tree in order is
    tried.

    Returns
    -------
    termination, local, point
        Why it ended, whether no single block can improve the choice, and the point of the
        relaxation with the best bound.
    """
    local = descent.run(control)
    certificate = Certificate(descent, control)
    termination = control.stop() or Termination.CONVERGED
    if certificate.closes_gap:
        termination = Termination.GAP_REACHED
    elif local and options.local_search and termination is Termination.CONVERGED:
        termination = _search(descent, certificate, options, control)
    return termination, local, certificate.point


def _search(
    descent: Descent, certificate: Certificate, options: CBCDOptions, control: Control
) -> Termination:
    """Swap until ``patience`` swaps in a row have failed."""
    generator = np.random.default_rng(control.seed)
    failures = 0
    saved = descent.saved()
    order = _order(descent, options.swap)
    while failures < options.patience:
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
            order = _order(descent, options.swap)
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


def _order(descent: Descent, swap: str) -> IntArray:
    """Return the removed trees that have a layer to give back, best first."""
    problem = descent.problem
    removed = np.flatnonzero(
        ~descent.kept_of(descent.state.choice) & descent.kept_of(problem.full())
    )
    if swap == "index":
        return removed
    of_target = swap == "performance"
    score = descent.correlations(of_target)[removed]
    return removed[np.argsort(-score, kind="stable")]


class Certificate:
    """The best bound at the choices that a descent has been through.

    A better choice does not always have a better bound.

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
        self.point = descent.point
        self.renew()

    @property
    def closes_gap(self) -> bool:
        """Whether the gap asked for is reached."""
        return self._control.close_enough(self._descent.objective, self.bound)

    def renew(self) -> None:
        """Take the present choice's bound if it is better, and report."""
        bound = self._descent.bound()
        if bound > self.bound:
            self.bound, self.point = bound, self._descent.point
        self._control.report(self._descent.objective, self.bound)
