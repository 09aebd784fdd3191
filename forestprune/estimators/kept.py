"""What fitted estimators tell about the trees they kept."""

from __future__ import annotations

from forestprune.estimators.importance import feature_importances
from forestprune.pruned import PrunedEnsemble
from formulations.arrays import FloatArray, IntArray


class KeptTrees:
    """Properties that exist once ``pruned_`` does."""

    pruned_: PrunedEnsemble

    @property
    def n_nodes_(self) -> int:
        """Number of nodes of the kept trees, roots counted."""
        return self.pruned_.n_nodes

    @property
    def n_trees_(self) -> int:
        """Number of kept trees."""
        return self.pruned_.n_trees

    @property
    def depths_(self) -> IntArray:
        """(n,) the depth of what is left of each tree, 0 for dropped ones."""
        return self.pruned_.depths

    @property
    def features_used_(self) -> list[str] | list[int]:
        """Features of the remaining splits: names where known, positions otherwise."""
        return self.pruned_.features_used

    @property
    def feature_importances_(self) -> FloatArray:
        """(features,) share of each feature in what the remaining splits explain."""
        return feature_importances(self.pruned_.model)
