"""A pruned ensemble: predicts by itself, and knows what was kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from forestprune.ensemble import TreeEnsemble
from formulations.arrays import FloatArray, IntArray, frozen
from solvers import Result


@dataclass(frozen=True, eq=False, repr=False)
class PrunedEnsemble:
    """What is left of an ensemble after pruning.

    It holds its own trees and does not need the source model. A tree pruned to depth 0 adds
    nothing but its share of the constant, and is not counted.

    Attributes
    ----------
    model
        The kept trees, cut.
    depths
        (n,) the depth at which each tree of the source was cut.
    source_nodes
        Number of nodes of the source, roots counted.
    alpha
        The α of the problem, in units of y².
    result
        The solver's result, with objective, bound and gap.
    """

    model: TreeEnsemble
    depths: IntArray
    source_nodes: int
    alpha: float
    result: Result

    @classmethod
    def cut(cls, source: TreeEnsemble, result: Result, alpha: float) -> PrunedEnsemble:
        """Cut an ensemble as a result says."""
        assert result.choice is not None
        assert result.beta is not None
        kept = np.flatnonzero(result.choice)
        model = TreeEnsemble(
            trees=tuple(source.trees[i].cut(int(result.choice[i])) for i in kept),
            scale=frozen((source.scale * result.beta)[kept]),
            constant=source.constant,
            init=source.init,
            n_features=source.n_features,
            feature_names=source.feature_names,
            source=source.source,
            allow_nan=source.allow_nan,
        )
        return cls(model, frozen(result.choice), source.n_nodes, alpha, result)

    def predict(self, X: Any) -> FloatArray:
        """Return predictions, (m,) for one output and (m, q) for several.

        Parameters
        ----------
        X
            (m, features), as the source model takes it; a DataFrame's columns may come in
            any order.

        Raises
        ------
        InvalidInput
            When X does not have the features the source was fitted on.
        """
        return self.model.predict(X)

    @property
    def n_trees(self) -> int:
        """Number of kept trees."""
        return self.model.n_trees

    @property
    def n_nodes(self) -> int:
        """Number of nodes of the kept trees, roots counted."""
        return self.model.n_nodes

    @property
    def features_used(self) -> list[str] | list[int]:
        """Features of the remaining splits: names where known, positions otherwise."""
        used = sorted(set().union(*(tree.features for tree in self.model.trees)))
        names = self.model.feature_names
        return used if names is None else [names[i] for i in used]

    @property
    def n_features_used(self) -> int:
        """Number of features of the remaining splits."""
        return len(self.features_used)

    @property
    def compactness(self) -> float:
        """Nodes kept / nodes of the source, roots counted in both."""
        return self.n_nodes / self.source_nodes

    def summary(self) -> str:
        """Return a few lines for people."""
        kept = self.depths[self.depths > 0]
        depth = f"{kept.mean():.1f} of mean depth" if len(kept) else "none"
        proven = f"proven within {self.result.gap:.3%} of the optimum"
        if np.isinf(self.result.gap):
            proven = "without a proven bound"
        return (
            f"{self.model.source} pruned at α = {self.alpha:.4g} (units of y²)\n"
            f"trees     {self.n_trees} of {len(self.depths)} ({depth})\n"
            f"nodes     {self.n_nodes} of {self.source_nodes} ({self.compactness:.2%})\n"
            f"features  {self.n_features_used} of {self.model.n_features}\n"
            f"objective {self.result.objective:.6g}, {proven} "
            f"({self.result.solver}: {self.result.guarantee})"
        )

    def __repr__(self) -> str:
        return (
            f"PrunedEnsemble({self.n_trees} of {len(self.depths)} trees, {self.n_nodes} of "
            f"{self.source_nodes} nodes, gap {self.result.gap:.2%})"
        )
