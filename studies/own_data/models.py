"""The ensemble that is pruned: fitted here, or saved with joblib."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import joblib
from sklearn import ensemble
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from formulations import InvalidInput

Kind = Literal["rf", "extra", "boosting", "hist"]


@dataclass(frozen=True)
class KindOfModel:
    """An ensemble that can be fitted.

    Attributes
    ----------
    title
        What people call it.
    name
        Of its classes in scikit-learn, without their ending.
    depth
        How deep its trees are where nothing else is asked for.
    """

    title: str
    name: str
    depth: int


KINDS: dict[str, KindOfModel] = {
    "rf": KindOfModel("random forest", "RandomForest", 10),
    "extra": KindOfModel("extremely randomised forest", "ExtraTrees", 10),
    "boosting": KindOfModel("gradient boosting", "GradientBoosting", 4),
    "hist": KindOfModel("histogram gradient boosting", "HistGradientBoosting", 6),
}


def new_model(kind: Kind, trees: int, depth: int | None, seed: int, classes: bool) -> Any:
    """Return an unfitted ensemble of scikit-learn; forests are fitted on all cores.

    Parameters
    ----------
    kind
        One of `KINDS`.
    trees, depth
        How many trees, for boosting a class, and how deep; None for the usual depth.
    seed
        Of the fit.
    classes
        Whether it is a classifier.
    """
    about = KINDS[kind]
    deepest = about.depth if depth is None else depth
    options: dict[str, Any] = {"random_state": seed, "max_depth": deepest}
    if kind == "hist":
        options |= {"max_iter": trees, "early_stopping": False}
    else:
        options["n_estimators"] = trees
    if kind in ("rf", "extra"):
        options["n_jobs"] = os.cpu_count()
    return getattr(ensemble, f"{about.name}{'Classifier' if classes else 'Regressor'}")(**options)


def fitted(model: Any, X: Any, y: Any) -> Any:
    """Return a clone of a model, fitted.

    Raises
    ------
    InvalidInput
        With the model's own words, when it does not take the rows.
    """
    try:
        return clone(model).fit(X, y)
    except ValueError as error:
        raise InvalidInput(f"{type(model).__name__} does not take these rows: {error}") from None


def load_model(path: Path) -> Any:
    """Return the model in a file of joblib. Loading runs whatever code the file holds.

    Of a Pipeline whose other steps change nothing it is the last step.

    Raises
    ------
    InvalidInput
        When the file cannot be loaded, or holds a Pipeline that transforms its rows.
    """
    if not path.is_file():
        what = "is not a file" if path.exists() else "does not exist"
        raise InvalidInput(f"model file {str(path)!r} {what}")
    try:
        model = joblib.load(path)
    except ModuleNotFoundError as error:
        raise InvalidInput(
            f"model file {str(path)!r} needs the package {error.name}, which is not installed"
        ) from None
    except Exception as error:  # what is loaded may raise anything
        if _is_text(path):
            raise InvalidInput(f"model file {str(path)!r} is text, not a joblib file") from None
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise InvalidInput(f"model file {str(path)!r} cannot be loaded ({reason})") from None
    if not isinstance(model, Pipeline):
        return model
    changing = [name for name, step in model.steps[:-1] if step not in (None, "passthrough")]
    if changing:
        raise InvalidInput(
            f"model file {str(path)!r} holds a Pipeline that transforms its rows "
            f"({', '.join(changing)}), which a file of a pruned model cannot: save pipeline[-1], "
            "and write a table of pipeline[:-1].transform(X)"
        )
    return model.steps[-1][1]


def _is_text(path: Path) -> bool:
    """Return whether a file begins like text, such as a table: without control characters."""
    with path.open("rb") as file:
        head = file.read(1024)
    return bool(head) and min(head) >= ord("\t")
