"""A tree ensemble in plain arrays, whichever library it came from."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse
from sklearn.utils import check_array

from forestprune.traversal import Nodes, add_leaf_values, find_leaves, join_trees
from forestprune.trees import Tree
from formulations import InvalidInput, PruningData
from formulations.arrays import FloatArray, PickledByFields, finite_floats, frozen
from formulations.data import leaf_code_dtype
from formulations.data_checks import row_weights

_SPARSE_CHUNK_BYTES = 64 * 2**20


@dataclass(frozen=True, eq=False, repr=False)
class TreeEnsemble(PickledByFields):
    """A weighted sum of trees (mathematics.md §1).

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
    """

    trees: tuple[Tree, ...]
    scale: FloatArray
    constant: FloatArray
    init: Any
    n_features: int
    feature_names: tuple[str, ...] | None
    source: str
    allow_nan: bool

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.trees)

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all trees, roots counted."""
        return sum(tree.n_nodes for tree in self.trees)

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

    def predict(self, X: Any) -> FloatArray:
        """Return predictions, (m,) for one output and (m, q) for several.

        Raises
        ------
        InvalidInput
            As `apply`.
        """
        rows = self.checked_rows(X)
        prediction = self._offset(rows)
        if self.trees:
            for part, dense in _dense_parts(rows):
                add_leaf_values(self._nodes, dense, self._scaled_values, prediction[part])
        return prediction[:, 0] if self.n_outputs == 1 else prediction

    def pruning_data(
        self, X: Any, y: npt.ArrayLike, sample_weight: npt.ArrayLike | None = None
    ) -> PruningData:
        """Return the data of pruning problems on given rows.

        Parameters
        ----------
        X
            (m, features) rows, usually those that the ensemble was fitted on.
        y
            (m,) or (m, q) response.
        sample_weight
            (m,) weights of at least 0, 1 by default.

        Raises
        ------
        InvalidInput
            When X or y do not fit the ensemble or each other.
        """
        rows = self.checked_rows(X)
        response = finite_floats("y", y)
        row_weights(sample_weight, rows.shape[0])  # refused before the rows go down the trees
        if response.ndim not in (1, 2) or len(response) != rows.shape[0]:
            raise InvalidInput(
                f"y must have one entry for each of the {rows.shape[0]} rows of X, "
                f"got shape {response.shape}"
            )
        outputs = 1 if response.ndim == 1 else response.shape[1]
        if outputs != self.n_outputs:
            raise InvalidInput(f"y must have {self.n_outputs} outputs, got {outputs}")
        return PruningData.from_trees(
            [tree.parent for tree in self.trees],
            self._relative_values,
            self._leaves(rows),
            response,
            offset=self._offset(rows),
            sample_weight=sample_weight,
        )

    def checked_rows(self, X: Any) -> Any:
        """Return X as float32, dense or CSR, its columns in the order of the fit.

        Raises
        ------
        InvalidInput
            As `apply`.
        """
        columns = list(getattr(X, "columns", ()))
        # As in scikit-learn, columns have names when these are strings; others count by place.
        named = self.feature_names is not None and any(isinstance(c, str) for c in columns)
        if named and columns != list(self.feature_names or ()):
            X = X[self._in_order(columns)]
        try:
            with np.errstate(over="ignore"):  # what is too large for float32 is refused as such
                rows = check_array(
                    X,
                    dtype=np.float32,
                    accept_sparse="csr",
                    # scikit-learn's trees take missing values in dense rows only.
                    ensure_all_finite=not self.allow_nan or issparse(X) or "allow-nan",
                    estimator=self.source,
                    input_name="X",
                )
        except (TypeError, ValueError) as error:
            raise InvalidInput(str(error)) from None
        if rows.shape[1] != self.n_features:
            raise InvalidInput(
                f"X has {rows.shape[1]} features, but the {self.source} was fitted on "
                f"{self.n_features}"
            )
        return rows

    def _in_order(self, given: list[Any]) -> list[str]:
        wanted = self.feature_names or ()
        missing = [name for name in wanted if name not in given]
        unknown = [name for name in given if name not in wanted]
        if missing or unknown or len(given) != len(wanted):
            told = [
                f"{label} {', '.join(map(repr, names[:5]))}{' …' if len(names) > 5 else ''}"
                for label, names in (("missing", missing), ("not seen at fit", unknown))
                if names
            ]
            raise InvalidInput(
                f"X must have the columns that the {self.source} was fitted on: "
                + ("; ".join(told) or "a name occurs twice")
            )
        return list(wanted)

    def _leaves(self, rows: Any) -> npt.NDArray[np.unsignedinteger[Any]]:
        most = max((len(tree.leaves) for tree in self.trees), default=1)
        codes = np.empty((self.n_trees, rows.shape[0]), dtype=leaf_code_dtype(most))
        if self.trees:
            for part, dense in _dense_parts(rows):
                find_leaves(self._nodes, dense, codes[:, part])
        return codes

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
    def _nodes(self) -> Nodes:
        return join_trees(self.trees)

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


def _dense_parts(rows: Any) -> Iterator[tuple[slice, npt.NDArray[np.float32]]]:
    """Yield all rows at once or, when they are sparse, chunks of dense rows."""
    if isinstance(rows, np.ndarray):
        yield slice(0, len(rows)), frozen(rows)
        return
    size = max(1, _SPARSE_CHUNK_BYTES // (4 * rows.shape[1]))
    for begin in range(0, rows.shape[0], size):
        part = slice(begin, min(begin + size, rows.shape[0]))
        yield part, frozen(rows[part].toarray())
