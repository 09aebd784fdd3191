"""A tree ensemble in plain arrays, whichever library it came from."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from forestprune.kernels.traversal import Passes, add_leaf_values, find_leaves, join_trees
from forestprune.links import Link, indicators
from forestprune.rows import RowRules
from forestprune.trees import Tree
from formulations import InvalidInput, PruningData
from formulations.arrays import FloatArray, PickledByFields, finite_floats, frozen
from formulations.data import leaf_code_dtype
from formulations.data_checks import row_weights


@dataclass(frozen=True, eq=False, repr=False)
class TreeEnsemble(PickledByFields):
    """A weighted sum of trees.

        prediction(x) = init(x) + constant + Σ_i γ_i (T_i(x) − μ(root_i))

    Attributes
    ----------
    trees
        The n trees.
    scale
        (n,) γ: the learning rate for boosting, 1/n for bagging.
    constant
        (q,) Σ γ μ(root) over the trees of the source ensemble.
    init
        A fitted estimator whose predictions are added, or None.
    n_features
        Number of columns of X.
    feature_names
        Their names, where the source was fitted on named columns.
    source
        Class name of the source model.
    allow_nan
        Whether the source takes missing features.
    classes
        (classes,) labels of a classifier in the order of its outputs; one output for up to two
        classes, but for `link` "softmax" and "one_vs_all". None for a response.
    link
        How predictions follow from the sums above.
    rules
        How the source reads its rows.
    """

    trees: tuple[Tree, ...]
    scale: FloatArray
    constant: FloatArray
    init: Any
    n_features: int
    feature_names: tuple[str, ...] | None
    source: str
    allow_nan: bool
    classes: npt.NDArray[Any] | None = None
    link: Link = field(default_factory=Link)
    rules: RowRules = field(default_factory=RowRules)

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.trees)

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all trees, roots counted."""
        return sum(tree.n_nodes for tree in self.trees)

    @property
    def target_is_score(self) -> bool:
        """Whether the ensemble is pruned against its own raw score, and not against y.

        So it is where least squares on y says little about the sums of trees, which are
        logarithms of odds, for instance.
        """
        return not self.link.is_identity

    @property
    def n_outputs(self) -> int:
        """Number of outputs q."""
        return len(self.constant)

    def apply(self, X: Any) -> npt.NDArray[np.unsignedinteger[Any]]:
        """Return the leaf of each row in each tree.

        Parameters
        ----------
        X
            (m, features) array, DataFrame or sparse matrix, as the source model takes it.

        Returns
        -------
        ndarray
            (n, m) unsigned integers: leaves are numbered in level order.

        Raises
        ------
        InvalidInput
            When X does not have the features the source was fitted on, or holds NaN or inf
            that the source does not take.
        """
        return self._leaves(self.checked_rows(X))

    def offset(self, X: Any) -> FloatArray:
        """Return what the ensemble predicts without its trees, (m, q)."""
        return self._offset(self.checked_rows(X))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the response, (m,) for one output and (m, q) for several, or class labels (m,).

        Raises
        ------
        InvalidInput
            As `apply`.
        """
        raw = self._sums(self.checked_rows(X))
        if self.classes is not None:
            return self.link.labels(raw, self.classes)
        response = self.link.response(raw)
        return response[:, 0] if self.n_outputs == 1 else response

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability (m, classes) of each class: see `Link.probabilities`.

        Raises
        ------
        InvalidInput
            As `apply`, and when the source is no classifier.
        """
        if self.classes is None:
            raise InvalidInput(f"predict_proba is for classifiers; {self.source} is none")
        return self.link.probabilities(self._sums(self.checked_rows(X)), len(self.classes))

    def raw_predict(self, X: Any) -> FloatArray:
        """Return what the trees sum to, (m,) for one output and (m, q) for several.

        It is the response itself, unless `link` says otherwise; for classes it is their
        frequencies, or scores that the link makes probabilities from.

        Raises
        ------
        InvalidInput
            As `apply`.
        """
        raw = self._sums(self.checked_rows(X))
        return raw[:, 0] if self.n_outputs == 1 else raw

    def pruning_data(
        self, X: Any, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None
    ) -> PruningData:
        """Return the data of pruning problems on given rows.

        Parameters
        ----------
        X
            (m, features) rows, usually those that the ensemble was fitted on.
        y
            (m,) or (m, q) response, or (m,) class labels: see `checked_response`.
        sample_weight
            (m,) weights of at least 0, 1 by default.

        Raises
        ------
        InvalidInput
            When X or y do not fit the ensemble or each other.
        """
        rows = self.checked_rows(X)
        row_weights(sample_weight, rows.shape[0])  # refused before the rows go down the trees
        response = self.checked_response(rows, y)
        return PruningData.from_trees(
            [tree.parent for tree in self.trees],
            self._relative_values,
            self._leaves(rows),
            response,
            offset=self._offset(rows),
            sample_weight=sample_weight,
        )

    def checked_rows(self, X: Any) -> Any:
        """Return X as the source compares it, dense or CSR, its columns in the order of the fit.

        Raises
        ------
        InvalidInput
            As `apply`.
        """
        return self.rules.checked(
            X, self.n_features, self.feature_names, self.source, self.allow_nan
        )

    def checked_response(self, rows: Any, y: npt.ArrayLike) -> FloatArray:
        """Return what the trees are to sum to on checked rows, (m, q).

        That is y itself, or the indicators of its classes (`indicators`). For a model whose
        trees sum to something else, such as the logarithm of odds (`target_is_score`), it is
        the full model's raw score, and y is only checked.

        Raises
        ------
        InvalidInput
            When y does not fit the rows, or holds an unknown class.
        """
        count = rows.shape[0]
        if self.classes is not None:
            response = indicators(y, self.classes, count)
        else:
            response = finite_floats("y", y)
            if response.ndim not in (1, 2) or len(response) != count:
                raise InvalidInput(
                    f"y must have one entry for each of the {count} rows of X, "
                    f"got shape {response.shape}"
                )
            response = response.reshape(count, -1)
            if response.shape[1] != self.n_outputs:
                raise InvalidInput(f"y must have {self.n_outputs} outputs, got {response.shape[1]}")
        return self._sums(rows) if self.target_is_score else response

    def _leaves(self, rows: Any) -> npt.NDArray[np.unsignedinteger[Any]]:
        most = max((len(tree.leaves) for tree in self.trees), default=1)
        codes = np.empty((self.n_trees, rows.shape[0]), dtype=leaf_code_dtype(most))
        if self.trees:
            for part, dense in self.rules.dense_parts(rows):
                find_leaves(self._passes, dense, codes[:, part])
        return codes

    def _sums(self, rows: Any) -> FloatArray:
        """Return raw scores (m, q) of checked rows."""
        raw = self._offset(rows)
        if self.trees:
            for part, dense in self.rules.dense_parts(rows):
                add_leaf_values(self._passes, dense, self._scaled_values, raw[part])
        return raw

    def _offset(self, rows: Any) -> FloatArray:
        offset = np.tile(self.constant, (rows.shape[0], 1))
        if self.init is not None:
            with warnings.catch_warnings():
                # scikit-learn, too, gives the estimator columns by place, without their names.
                warnings.filterwarnings("ignore", "X does not have valid feature names")
                start = self.init.predict(rows)
            offset += np.asarray(start, dtype=np.float64).reshape(offset.shape)
        return offset

    @cached_property
    def _passes(self) -> Passes:
        return join_trees(self.trees, self.rules.dtype)

    @cached_property
    def _relative_values(self) -> list[FloatArray]:
        """Per tree (nodes, q): γ (μ − μ(root))."""
        return [
            gamma * (tree.value - tree.value[0])
            for gamma, tree in zip(self.scale, self.trees, strict=True)
        ]

    @cached_property
    def _scaled_values(self) -> FloatArray:
        return np.asarray(frozen(np.concatenate(self._relative_values)))

    def __repr__(self) -> str:
        return f"TreeEnsemble({self.n_trees} trees, {self.n_nodes} nodes, from {self.source})"
