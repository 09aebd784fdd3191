"""What a forgetful model is set up with, checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Settings:
    """Settings of a `ForgetfulTrees`, all of them given and valid.

    Attributes
    ----------
    engine
        Keyword arguments of the `Engine` that do not depend on the data.
    adaptation
        ``"smoothed"``, ``"paper"`` or ``"program"``.
    i_rate
        iRate of every tree in the beginning.
    max_rows
        No tree remembers more rows.
    n_trees
        Number of trees.
    bagging
        Whether every tree sees a resample of each batch.
    replace_stale
        Whether trees are replaced when the forest has become worse.
    majority
        Whether the trees of a classifier vote.
    draw, max_features
        Whether a ``"tree"`` or a ``"node"`` may use only some features, and how many: see
        `features.draw_features`.
    """

    engine: dict[str, Any]
    adaptation: str
    i_rate: float
    max_rows: int
    n_trees: int = 1
    bagging: bool = False
    replace_stale: bool = False
    majority: bool = False
    draw: str | None = None
    max_features: Any = None
