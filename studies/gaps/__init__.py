"""The study `gaps`: how far solvers are from the optimum, proven."""

from studies.gaps.study import GAPS

__all__ = ["GAPS"]
