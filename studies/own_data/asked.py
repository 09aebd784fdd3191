"""What a user asks `forestprune prune` for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from forestprune.recipe import Recipe, check_size
from formulations import InvalidInput
from studies.own_data.choosing import Size
from studies.own_data.models import KINDS, Kind
from studies.own_data.targets import Classify


@dataclass(frozen=True)
class Asked:
    """What a user asks for.

    Attributes
    ----------
    data, target
        A table, as `read_table` takes it, and the column to predict.
    saved
        File of a fitted model; None to fit one.
    kind, trees, depth
        What to fit.
    recipe, size
        What to solve, and how small the model is to be.
    decides
        Whether validation decides if the trees get new weights.
    classify, categorical
        Whether the target is a class, and features that are categories.
    test
        A table, or a share of the rows.
    validation
        A share of the rows that are left.
    out, overwrite
        The folder for the result, and whether to replace one there.
    seed, time_limit
        Of splits, fits and solvers; seconds for each path or solve.
    command
        As it was typed.

    Raises
    ------
    InvalidInput
        When a number does not serve.
    """

    data: str
    target: str | None
    saved: Path | None
    kind: Kind
    trees: int
    depth: int | None
    recipe: Recipe
    size: Size
    decides: bool
    classify: Classify
    categorical: Sequence[str]
    test: str
    validation: float
    out: Path | None
    overwrite: bool
    seed: int
    time_limit: float | None
    command: str

    def __post_init__(self) -> None:
        check_size(self.size.alpha, self.size.max_nodes)
        if self.test_share is not None and not 0.0 <= self.test_share < 1.0:
            raise InvalidInput(
                f"--test must be a file, or a share of at least 0 and below 1, not {self.test}"
            )
        if not 0.0 < self.validation < 1.0:
            raise InvalidInput(
                f"--validation must be a share above 0 and below 1, not {self.validation:g}"
            )

    @property
    def test_share(self) -> float | None:
        """The share of the rows to test on; None where it is a file."""
        try:
            return float(self.test)
        except ValueError:
            return None

    @property
    def by_validation(self) -> bool:
        """Whether the size is chosen by validation."""
        return self.size.alpha is None and self.size.max_nodes is None

    def told(self) -> dict[str, str]:
        """Return the options as they were used, by name, for people."""
        recipe, told = self.recipe, {}
        if self.saved is None:
            depth = KINDS[self.kind].depth if self.depth is None else self.depth
            told["ensemble"] = f"{KINDS[self.kind].title}, {self.trees} trees of depth {depth}"
        else:
            told["ensemble"] = f"from {self.saved}"
        told["a tree keeps"] = {"depth": "its first layers", "subtree": "a subtree"}[recipe.shape]
        told["weights"] = {
            "ridge": "new ones, with a ridge",
            "best_subset": "new ones, for the best few trees",
            None: "those of the source",
        }[recipe.polish]
        if self.decides:
            told["weights"] += ", where these are better in validation"
        if recipe.joint:
            told["weights"] += ", chosen together with what is kept"
        told["solver"] = recipe.solver
        told["seed"] = str(self.seed)
        told["time limit"] = "none" if self.time_limit is None else f"{self.time_limit:g} s a path"
        return told
