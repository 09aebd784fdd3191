"""The rows of a fold: drawn, divided, encoded and scaled."""

from __future__ import annotations

import numpy as np
from sklearn.preprocessing import StandardScaler

from formulations.arrays import FloatArray, IntArray
from studies import datasets
from studies.contests.fold import FOLDS, Fold
from studies.running.held_out import Part


def parts_of(fold: Fold) -> tuple[dict[str, Part], list[str], int, int]:
    """Return rows and responses of a fold by the names of its parts.

    What features become is decided by the training rows; boosting takes no missing values, so
    for it they are the median of the training rows.

    Returns
    -------
    parts
        ``train``, ``validation`` and ``test``: rows (m, features) and response (m,).
    names
        Of the features.
    there, dropped
        Rows of the data set with a response, and without.
    """
    found = datasets.load(fold.data, target=fold.target, data_dir=fold.data_dir)
    places = _places(fold, len(found.y))
    pipeline = datasets.preprocessing(found.orders, impute=fold.ensemble == "boosting")
    pipeline.fit(found.table.iloc[places["train"]])
    rows = {name: pipeline.transform(found.table.iloc[place]) for name, place in places.items()}
    responses = {name: found.y[place] for name, place in places.items()}
    scaled = _scaled(responses, fold.protocol == "published")
    parts = {name: (np.asarray(rows[name]), scaled[name]) for name in places}
    names = [str(name) for name in rows["train"].columns]
    return parts, names, len(found.y), found.dropped


def _places(fold: Fold, rows: int) -> dict[str, IntArray]:
    """Return which rows of the data set are in each part."""
    order = np.random.default_rng(fold.seed).permutation(rows)[: fold.rows]
    fifths = np.array_split(order, FOLDS)
    test, validation = fold.fold, (fold.fold + 1) % FOLDS
    train = [fifth for place, fifth in enumerate(fifths) if place not in (test, validation)]
    return {
        "train": np.concatenate(train),
        "validation": fifths[validation],
        "test": fifths[test],
    }


def _scaled(responses: dict[str, FloatArray], each: bool) -> dict[str, FloatArray]:
    """Return responses of mean 0 and variance 1, on each part or as the training rows say."""
    found = {}
    for name, y in responses.items():
        scaler = StandardScaler().fit((y if each else responses["train"])[:, None])
        found[name] = np.ascontiguousarray(scaler.transform(y[:, None])[:, 0])
    return found
