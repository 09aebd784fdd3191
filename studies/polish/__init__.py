"""The study `polish`: what new weights for the trees bring, after pruning or together with it."""

from studies.polish.study import POLISH

__all__ = ["POLISH"]
