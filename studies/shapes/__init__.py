"""The study `shapes`: depth layers against subtrees, as they are and polished."""

from studies.shapes.study import SHAPES

__all__ = ["SHAPES"]
