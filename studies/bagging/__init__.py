"""The study `bagging`: random forests pruned to an allowed rise of the error (FP §4, Figure 4)."""

from studies.bagging.study import BAGGING

__all__ = ["BAGGING"]
