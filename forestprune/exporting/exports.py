"""What a pruned ensemble can become: its methods for files, other libraries and text."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import pandas as pd

    from forestprune.pruned import PrunedEnsemble


class Exports:
    """Methods of `PrunedEnsemble`; what they need is imported when they are called."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the ensemble to a file: JSON where its name ends so, an ``.npz`` otherwise.

        The solver's results go with it, but for their logs, relaxed points and further figures.

        Raises
        ------
        InvalidInput
            When the ensemble starts from an estimator that does not predict a constant.
        OSError
            When the file cannot be written.
        """
        from forestprune.exporting.files import save

        save(_own(self), path)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> PrunedEnsemble:
        """Read an ensemble from a file that `save` wrote; it predicts the same, bit for bit.

        Nothing is ever unpickled, and everything is checked: a file from an unknown source can be
        opened safely.

        Raises
        ------
        InvalidInput
            When the file is damaged, is none of ours, or is of another version of the format.
        OSError
            When the file cannot be opened.
        """
        from forestprune.exporting.files import load

        return load(path)

    def to_scikit_learn(self) -> Any:
        """Return a fitted model of scikit-learn that predicts the same without this package.

        A random forest of weighted trees; see `forestprune.exporting.scikit_learn`.

        Raises
        ------
        InvalidInput
            When scikit-learn's trees cannot say it, with the reason.

        Warns
        -----
        UserWarning
            When the source compares features in double precision.
        """
        from forestprune.exporting.scikit_learn import to_scikit_learn

        return to_scikit_learn(_own(self))

    def to_onnx(self) -> Any:
        """Return an `onnx.ModelProto` that predicts the same in single precision.

        See `forestprune.exporting.onnx_model` for its input and outputs.

        Raises
        ------
        InvalidInput
            When onnx is not installed, or its trees cannot say it, with the reason.
        """
        from forestprune.exporting.onnx_model import to_onnx

        return to_onnx(_own(self))

    def to_treelite(self) -> Any:
        """Return a `treelite.Model` that predicts the same in double precision.

        See `forestprune.exporting.treelite_model` for the rows that it takes.

        Raises
        ------
        InvalidInput
            When treelite is not installed, or cannot say it, with the reason.
        """
        from forestprune.exporting.treelite_model import to_treelite

        return to_treelite(_own(self))

    def to_text(self, digits: int | None = 4, *, missing: bool = False) -> str:
        """Return the trees as nested conditions: see `forestprune.exporting.rules.to_text`.

        Parameters
        ----------
        digits
            Significant digits, one more for thresholds. None for all.
        missing
            Whether to say where missing values go.
        """
        from forestprune.exporting.rules import to_text

        return to_text(_own(self), digits, missing=missing)

    def rules(self, digits: int | None = 4, *, missing: bool = False) -> pd.DataFrame:
        """Return one row for each leaf: see `forestprune.exporting.rules.rules`.

        Parameters
        ----------
        digits
            Significant digits, one more for thresholds. None for all.
        missing
            Whether to say where missing values go.
        """
        from forestprune.exporting.rules import rules

        return rules(_own(self), digits, missing=missing)


def _own(exports: Exports) -> PrunedEnsemble:
    return cast("PrunedEnsemble", exports)
