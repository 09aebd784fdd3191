"""A pruned ensemble: predicts by itself, and knows what was kept."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from forestprune.ensemble import TreeEnsemble
from forestprune.exporting.exports import Exports
from formulations import InvalidInput, Polishing
from formulations.arrays import FloatArray, IntArray, frozen
from formulations.base import nodes_to_depth
from solvers import Result


@dataclass(frozen=True, eq=False, repr=False)
class PrunedEnsemble(Exports):
    """What is left of an ensemble after pruning.

    It holds its own trees and does not need the source model. A tree pruned to depth 0 adds
    nothing but its share of the constant, and is not counted.

    Attributes
    ----------
    model
        The kept trees, cut.
    depths
        (n,) the depth of what is left of each tree of the source, 0 for a tree that was dropped.
    source_nodes
        Number of nodes of the source, roots counted.
    alpha
        The α of the problem, in units of y², or another penalty that led to the model; None
        where none did.
    result
        The solver's result for Problem (1) or (5), with objective, bound and gap; for a
        competitor (`compete`) its label and, as the objective, the loss.
    polishing
        The solver's result for Problem (2), from which the weights of the trees come; None
        where the trees keep the weights of ``result``.
    validation
        Mean squared errors on validation rows, ``(unpolished, polished)``, where they decided
        whether to polish.
    max_nodes
        The number of nodes asked for, where α was searched for.
    """

    model: TreeEnsemble
    depths: IntArray
    source_nodes: int
    alpha: float | None
    result: Result
    polishing: Result | None = None
    validation: tuple[float, float] | None = None
    max_nodes: int | None = None

    @classmethod
    def cut(cls, source: TreeEnsemble, result: Result, alpha: float | None) -> PrunedEnsemble:
        """Cut and weigh the trees of an ensemble as a result of Problem (1) or (5) says.

        Parameters
        ----------
        source
            The ensemble that the problem's data comes from.
        result
            A result with a choice: a depth for each tree, or a mark for each node.
        alpha
            The α of the problem, in units of y², or None.

        Raises
        ------
        InvalidInput
            When the choice has neither the number of the source's trees nor of its nodes.
        """
        assert result.choice is not None
        assert result.beta is not None
        by_depth = len(result.choice) == source.n_trees
        if not by_depth and len(result.choice) != source.n_nodes:
            raise InvalidInput(
                f"result must be about the source's {source.n_trees} trees or {source.n_nodes} "
                f"nodes, its choice has {len(result.choice)} entries"
            )
        starts = np.cumsum([0, *(tree.n_nodes for tree in source.trees)])
        depths = np.zeros(source.n_trees, dtype=np.int64)
        trees = []
        for i in np.flatnonzero(result.beta).tolist():
            tree = source.trees[i]
            kept = tree.layer <= result.choice[i]
            if not by_depth:
                kept = result.choice[starts[i] : starts[i + 1]] > 0
            depths[i] = tree.layer[kept].max(initial=0)
            if depths[i] > 0:
                trees.append(tree.keep(kept))
        model = replace(
            source,
            trees=tuple(trees),
            scale=frozen((source.scale * result.beta)[depths > 0]),
        )
        return cls(model, frozen(depths), source.n_nodes, alpha, result)

    def polished(self, problem: Polishing, result: Result) -> PrunedEnsemble:
        """Return the ensemble with the weights that a result of Problem (2) gives its trees.

        Trees of weight 0 are dropped; a fitted intercept is added to all predictions.

        Parameters
        ----------
        problem
            The polishing problem, with this ensemble's ``depths`` as its choice: on data of the
            source or, where subtrees were chosen, of the source cut (`cut_trees`).
        result
            A result with coefficients.

        Raises
        ------
        InvalidInput
            When the problem is about other trees, or this ensemble is polished already.
        """
        assert result.choice is not None
        assert result.beta is not None
        if self.polishing is not None:
            raise InvalidInput("the ensemble is polished already: polish the unpolished one")
        # No other trees of these depths, cut from the same ones by layers, have as few nodes.
        same = np.array_equal(problem.full(), self.depths)
        if not same or nodes_to_depth(problem.data, problem.full()) != self.n_nodes:
            raise InvalidInput(
                "problem must polish the trees of this ensemble: choice=depths, and where "
                "subtrees were chosen on cut_trees(data, result.choice)"
            )
        beta = result.beta[self.depths > 0]
        kept = np.flatnonzero(beta)
        model = replace(
            self.model,
            trees=tuple(self.model.trees[i] for i in kept),
            scale=frozen((self.model.scale * beta)[kept]),
            constant=frozen(self.model.constant + problem.intercept_of(result.choice, result.beta)),
        )
        depths = np.where(result.beta != 0.0, self.depths, 0)
        return replace(self, model=model, depths=frozen(depths), polishing=result)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the response, (m,) for one output and (m, q) for several, or class labels (m,).

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

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability (m, classes) of each class: see `Link.probabilities`.

        Raises
        ------
        InvalidInput
            As `predict`, and when the source is no classifier.
        """
        return self.model.predict_proba(X)

    def raw_predict(self, X: Any) -> FloatArray:
        """Return what the kept trees sum to: see `TreeEnsemble.raw_predict`.

        Raises
        ------
        InvalidInput
            As `predict`.
        """
        return self.model.raw_predict(X)

    @property
    def classes(self) -> npt.NDArray[Any] | None:
        """Labels in the order of `predict_proba`, None for a response."""
        return self.model.classes

    @property
    def beta(self) -> FloatArray:
        """(n,) the weight of each tree of the source, 1 for unchanged and 0 for dropped ones."""
        last = self.result if self.polishing is None else self.polishing
        assert last.beta is not None
        return np.where(self.depths > 0, last.beta, 0.0)

    @property
    def by_depth(self) -> bool:
        """Whether every tree was cut at one depth, and not to a subtree."""
        return self.result.choice is not None and len(self.result.choice) == len(self.depths)

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
        depth = f"{kept.mean():.1f} of mean depth" if len(kept) else "none: only its start is left"
        limit = "" if self.max_nodes is None else f", at most {self.max_nodes} asked for"
        parts = "" if self.by_depth else " to subtrees"
        price = "" if self.alpha is None else f" at α = {self.alpha:.4g} (units of y²)"
        lines = [
            f"{self.model.source} pruned{parts}{price}",
            f"trees     {self.n_trees} of {len(self.depths)} ({depth})",
            f"nodes     {self.n_nodes} of {self.source_nodes} ({self.compactness:.2%}){limit}",
            f"features  {self.n_features_used} of {self.model.n_features}",
        ]
        weights = self.beta[self.depths > 0]
        if (weights != 1.0).any():
            lines.append(f"weights   {weights.min():.3g} to {weights.max():.3g}")
        lines.append(f"objective {_proven(self.result)}")
        if self.polishing is not None:
            lines.append(f"polished  {_proven(self.polishing)}")
        if self.validation is not None:
            before, after = self.validation
            lines.append(f"validated {before:.6g} unpolished, {after:.6g} polished")
        return "\n".join(lines)

    def __repr__(self) -> str:
        polished = "" if self.polishing is None else f", polished {self.polishing.gap:.2%}"
        return (
            f"PrunedEnsemble({self.n_trees} of {len(self.depths)} trees, {self.n_nodes} of "
            f"{self.source_nodes} nodes, gap {self.result.gap:.2%}{polished})"
        )


def _proven(result: Result) -> str:
    """Return objective and what is proven of it, in one line."""
    proven = f"proven within {result.gap:.3%} of the optimum"
    if np.isinf(result.gap):
        proven = "without a proven bound"
    elif result.gap >= 1.0:
        proven = "without a bound of use"
    return f"{result.objective:.6g}, {proven} ({result.solver}: {result.guarantee})"
