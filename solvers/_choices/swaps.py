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
        termination, local = _search(descent, certificate, options, control)
    return termination, local, certificate.point


def _search(
    descent: Descent, certificate: Certificate, options: CBCDOptions, control: Control
) -> tuple[Termination, bool]:
    """Swap until ``patience`` swaps in a row have failed; say whether the end is a fixed point.

    Between swaps the descent only settles: a fixed point is shown once, at the end. Bounds are
    computed at the first choices and then ever more rarely, since the choices hardly differ.
    """
    generator = np.random.default_rng(control.seed)
    failures, successes, next_bound = 0, 0, 1
    saved = descent.saved()
    order = _order(descent, options.swap)
    termination = Termination.PATIENCE
    while failures < options.patience:
        kept = np.flatnonzero(descent.kept)
        if len(kept) + len(order) == 0:
            break
        objective = descent.objective
        descent.exchange(
            out=int(generator.choice(kept)) if len(kept) else None,
            into=int(order[failures % len(order)]) if len(order) else None,
        )
        if descent.beats(objective - descent.problem.tolerance, control):
            descent.settle(control)
            failures = 0
            successes += 1
            descent.save(saved)
            order = _order(descent, options.swap)
            if successes == next_bound:
                next_bound *= 2
                certificate.renew()
            else:
                certificate.report()
            if certificate.closes_gap:
                termination = Termination.GAP_REACHED
                break
        else:
            failures += 1
            descent.restore(saved, objective)
        reason = control.stop()
        if reason is not None:
            return reason, successes == 0
    if successes == 0:
        return termination, True
    local = descent.run(control)
    certificate.renew()
    return (termination if local else control.stop() or termination), local


def _order(descent: Descent, swap: str) -> IntArray:
    """Return the removed trees that have a layer to give back, best first."""
    removed = np.flatnonzero(~descent.kept & descent.can_be_kept)
    if swap == "index" or len(removed) == 0:
        return removed
    score = descent.correlations(removed, of_target=swap == "performance")
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
        self.point: FloatArray
        self.renew()

    @property
    def closes_gap(self) -> bool:
        """Whether the gap asked for is reached."""
        return self._control.close_enough(self._descent.objective, self.bound)

    def renew(self) -> None:
        """Take the present choice's bound if it is better, and report it."""
        point = self._descent.point
        bound = self._descent.bound(point)
        if bound > self.bound:
            self.bound, self.point = bound, point
        self.report()

    def report(self) -> None:
        """Report the present objective with the best bound so far."""
        self._control.report(self._descent.objective, self.bound)
