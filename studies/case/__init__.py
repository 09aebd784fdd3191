"""The study `case`: a few readable trees from a large forest (FP §5, Figure 6)."""

from studies.case.study import CASE

__all__ = ["CASE"]
