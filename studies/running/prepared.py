"""A fitted ensemble with all its rows, on its way from one process to the next."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

from forestprune import PruningData, TreeEnsemble, pruning_data, read_ensemble
from studies.running.held_out import Part, Predictor, mean_squared_error


def named(names: Sequence[str]) -> Callable[[Any], TreeEnsemble]:
    """Return what reads a fitted model and gives its features names."""
    return lambda model: replace(read_ensemble(model), feature_names=tuple(names))


@dataclass(frozen=True)
class Prepared:
    """A fitted ensemble with all rows.

    Attributes
    ----------
    ensemble
        With the features' names.
    data
        Of pruning problems on the training rows.
    parts
        ``train``, ``validation`` and ``test``: rows (m, features) and response (m,).
    """

    ensemble: TreeEnsemble
    data: PruningData
    parts: dict[str, Part]

    @classmethod
    def fitted(
        cls, model: Any, parts: dict[str, Part], read: Callable[[Any], TreeEnsemble]
    ) -> tuple[Prepared, dict[str, float]]:
        """Fit a model to the training rows and build what problems need.

        Parameters
        ----------
        model
            As scikit-learn has it.
        parts
            All of them.
        read
            From the fitted model to its trees, such as `named`.

        Returns
        -------
        Prepared
        dict
            ``fit_seconds`` and ``build_seconds``.
        """
        X, y = parts["train"]
        begin = perf_counter()
        model.fit(X, y)
        end = perf_counter()
        ensemble = read(model)
        data = pruning_data(ensemble, X, y)
        seconds = {"fit_seconds": end - begin, "build_seconds": perf_counter() - end}
        return cls(ensemble, data, parts), seconds

    def mse(self, model: Predictor, part: str) -> float:
        """Return the mean squared error of a model on a part."""
        return mean_squared_error(model, self.parts[part])

    def write(self, path: Path) -> None:
        """Write it to a file."""
        with path.open("wb") as file:
            pickle.dump(self, file, pickle.HIGHEST_PROTOCOL)

    @classmethod
    def read(cls, path: Path) -> Prepared:
        """Return what `write` wrote."""
        with path.open("rb") as file:
            found: Any = pickle.load(file)
        assert isinstance(found, cls)
        return found
