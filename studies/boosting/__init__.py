"""The study `boosting`: error against nodes along whole paths (FP §4, Figure 5)."""

from studies.boosting.study import BOOSTING

__all__ = ["BOOSTING"]
