"""The study `weights`: what a layer costs, by its nodes or the same for each (FP Figure 2)."""

from studies.weights.study import WEIGHTS

__all__ = ["WEIGHTS"]
