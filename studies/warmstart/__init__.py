"""The study `warmstart`: where the descent starts along a path (FP §3.2, Figure 3)."""

from studies.warmstart.study import WARMSTART

__all__ = ["WARMSTART"]
