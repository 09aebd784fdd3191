"""Options that a solver and its companion for free coefficients share."""

from __future__ import annotations

from dataclasses import dataclass

from solvers._core.base import require_bool, require_count, require_one_of, require_positive


@dataclass(frozen=True)
class BranchAndBoundOptions:
    """Options of `BranchAndBound`.

    Attributes
    ----------
    presolve
        Whether to drop choices that no better solution can have, before the search.
    node_limit
        Number of nodes after which the search ends, at least 1.
    """

    presolve: bool = True
    node_limit: int = 1_000_000

    def __post_init__(self) -> None:
        require_bool("presolve", self.presolve)
        require_count("node_limit", self.node_limit, 1)


@dataclass(frozen=True)
class RelaxationOptions:
    """Options of `Relaxation`.

    Attributes
    ----------
    form
        ``"rows"``: steps on the leaf codes. ``"gram"``: on the Gram matrix of all choices.
        ``"auto"``: what is cheaper; ``extra["form"]`` says which it was.
    tolerance
        Relative gap to which the relaxation itself is solved, above 0.
    """

    form: str = "auto"
    tolerance: float = 1e-7

    def __post_init__(self) -> None:
        require_one_of("form", self.form, ("auto", "rows", "gram"))
        require_positive("tolerance", self.tolerance)
