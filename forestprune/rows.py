"""What a source model takes as rows, and how it reads them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse
from sklearn.utils import check_array

from formulations import InvalidInput
from formulations.arrays import BoolArray, PickledByFields, frozen

_SPARSE_CHUNK_BYTES = 64 * 2**20

# Numbers up to this are a zero to LightGBM.
ZERO = float(np.float32(1e-35))

Rows = npt.NDArray[np.float32] | npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RowRules(PickledByFields):
    """How a source model reads its rows; by default as scikit-learn's trees do.

    Attributes
    ----------
    dtype
        ``"float32"`` or ``"float64"``: what the features are cast to before they are compared.
    allow_infinite
        Whether the source takes infinite features. What is too large for float32 is one.
    sparse
        What an entry is that a sparse matrix does not hold: ``"zero"``, ``"missing"``, or
        ``"refused"`` where the source takes no sparse matrices.
    sparse_missing
        Whether a sparse matrix may hold NaN.
    missing
        A number that stands for a missing feature, beside NaN.
    zero_is_missing
        (features,) where a zero counts as missing; None for nowhere.
    categories
        Per feature the labels whose places are its codes, in columns of any type; None for a
        feature that is a number. Empty for no such feature. Other labels are missing.
    spaces_replaced
        Whether the names of features have an underscore for each space.
    """

    dtype: str = "float32"
    allow_infinite: bool = False
    sparse: str = "zero"
    sparse_missing: bool = False
    missing: float = np.nan
    zero_is_missing: BoolArray | None = None
    categories: tuple[npt.NDArray[Any] | None, ...] = ()
    spaces_replaced: bool = False

    def checked(
        self, X: Any, n_features: int, names: tuple[str, ...] | None, source: str, allow_nan: bool
    ) -> Any:
        """Return X as `dtype`, dense or CSR, its columns in the order of the fit.

        Parameters
        ----------
        X
            (m, n_features) array, DataFrame or sparse matrix.
        n_features, names, source, allow_nan
            As in `TreeEnsemble`.

        Raises
        ------
        InvalidInput
            When X does not fit.
        """
        columns = list(getattr(X, "columns", ()))
        # As in scikit-learn, columns have names when these are strings; others count by place.
        if names is not None and any(isinstance(c, str) for c in columns):
            told = [
                c.replace(" ", "_") if self.spaces_replaced and isinstance(c, str) else c
                for c in columns
            ]
            if told != list(names):
                X = X[[columns[place] for place in _in_order(told, names, source)]]
        sparse = issparse(X)
        if sparse and self.sparse == "refused":
            raise InvalidInput(f"X must be dense: {source} does not take sparse matrices")
        if any(one is not None for one in self.categories):
            X = self._encoded(X, n_features, source)
        missing = allow_nan and (not sparse or self.sparse_missing)
        # Without finite=False what is too large for float32 is refused as such.
        finite: bool | str = "allow-nan" if missing else True
        if self.allow_infinite:
            finite = False
        try:
            with np.errstate(over="ignore"):
                rows = check_array(
                    X,
                    dtype=np.dtype(self.dtype),
                    accept_sparse="csr",
                    ensure_all_finite=finite,
                    estimator=source,
                    input_name="X",
                )
        except (TypeError, ValueError) as error:
            raise InvalidInput(str(error)) from None
        if rows.shape[1] != n_features:
            raise InvalidInput(
                f"X has {rows.shape[1]} features, but the {source} was fitted on {n_features}"
            )
        if self.allow_infinite and not missing and np.isnan(rows.data if sparse else rows).any():
            raise InvalidInput(f"X must not contain NaN: this {source} does not take it")
        return rows if sparse else self._holes(rows)

    def dense_parts(self, rows: Any) -> Iterator[tuple[slice, Rows]]:
        """Yield all rows at once or, when they are sparse, chunks of dense rows."""
        if isinstance(rows, np.ndarray):
            yield slice(0, len(rows)), frozen(rows)
            return
        size = max(1, _SPARSE_CHUNK_BYTES // (rows.dtype.itemsize * rows.shape[1]))
        for begin in range(0, rows.shape[0], size):
            part = slice(begin, min(begin + size, rows.shape[0]))
            dense = rows[part].toarray()
            if self.sparse == "missing":
                held = rows[part].copy()
                held.data[:] = 1
                dense[held.toarray() == 0] = np.nan
            yield part, frozen(self._holes(dense))

    def _holes(self, rows: Rows) -> Rows:
        """Return rows with NaN for whatever else stands for a missing feature."""
        if not np.isnan(self.missing):
            rows = np.where(rows == np.dtype(self.dtype).type(self.missing), np.nan, rows)
        if self.zero_is_missing is not None:
            zero = (np.abs(rows) <= ZERO) & self.zero_is_missing
            rows = np.where(zero, np.nan, rows)
        return rows.astype(self.dtype, copy=False)

    def _encoded(self, X: Any, n_features: int, source: str) -> Any:
        """Return a matrix in which labels are replaced by their codes."""
        from pandas import Index

        if issparse(X):
            raise InvalidInput(f"X must be dense: this {source} has categorical features")
        shape = np.shape(X)
        if len(shape) != 2 or shape[1] != n_features:
            return X  # told as any other matrix of a wrong shape
        frame = hasattr(X, "iloc")
        rows: Any = X if frame else np.asarray(X)
        coded = np.empty(shape, dtype=np.float64)
        for j, labels in enumerate(self.categories):
            column = rows.iloc[:, j] if frame else rows[:, j]
            if labels is None:
                try:
                    coded[:, j] = np.asarray(column, dtype=np.float64)
                except (TypeError, ValueError) as error:
                    raise InvalidInput(f"X, column {j}: {error}") from None
            else:
                given = np.asarray(column)
                if given.dtype == np.bool_ and labels.dtype != np.bool_:
                    given = given.astype(np.int64)  # scikit-learn keeps truth values as 0.0 and 1.0
                place = Index(labels).get_indexer(given).astype(np.float64)
                coded[:, j] = np.where(place < 0, np.nan, place)
        return coded


def _in_order(given: Sequence[Any], wanted: tuple[str, ...], source: str) -> list[int]:
    """Return where the wanted columns are among the given ones."""
    missing = [name for name in wanted if name not in given]
    unknown = [name for name in given if name not in wanted]
    if missing or unknown or len(given) != len(wanted):
        told = [
            f"{label} {', '.join(map(repr, names[:5]))}{' …' if len(names) > 5 else ''}"
            for label, names in (("missing", missing), ("not seen at fit", unknown))
            if names
        ]
        raise InvalidInput(
            f"X must have the columns that the {source} was fitted on: "
            + ("; ".join(told) or "a name occurs twice")
        )
    return [given.index(name) for name in wanted]
