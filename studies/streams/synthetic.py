"""Synthetic streams by river's generators, with concepts that take turns at known rows."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np

from formulations import InvalidInput
from formulations.arrays import FloatArray, IntArray
from studies.streams.optional import river
from studies.streams.stream import Drift, Rows, Stream

# A generator of river: (river.datasets.synth, number of the concept, seed of the rows).
Concept = Callable[[Any, int, int], Any]

# By stream, its concepts and its generator. SEA and Agrawal as they are common in the
# literature; a hyperplane or a set of radial functions is drawn anew for each concept.
CONCEPTS: dict[str, tuple[tuple[int, ...], Concept]] = {
    "sea": ((0, 1, 2, 3), lambda s, c, seed: s.SEA(variant=c, noise=0.1, seed=seed)),
    "agrawal": (
        (0, 4, 6, 2),
        lambda s, c, seed: s.Agrawal(classification_function=c, perturbation=0.05, seed=seed),
    ),
    "stagger": ((0, 1, 2), lambda s, c, seed: s.STAGGER(classification_function=c, seed=seed)),
    "led": (
        (0, 3, 5, 7),
        lambda s, c, seed: s.LEDDrift(
            n_drift_features=c, noise_percentage=0.1, irrelevant_features=True, seed=seed
        ),
    ),
    "hyperplane": ((0, 1, 2, 3), lambda s, c, seed: _hyperplane(s, seed, 0.0)),
    "rbf": ((0, 1, 2, 3), lambda s, c, seed: _radial(s, seed)),
    "mixed": ((0, 1, 0, 1), lambda s, c, seed: s.Mixed(classification_function=c, seed=seed)),
}

# Streams that also change all the time.
INCREMENTAL: dict[str, Concept] = {
    "hyperplane": lambda s, c, seed: _hyperplane(s, seed, 0.001),
    "rbf": lambda s, c, seed: s.RandomRBFDrift(
        seed_model=seed, seed_sample=seed + 1, n_classes=4, change_speed=0.001
    ),
}


def _hyperplane(synth: Any, seed: int, change: float) -> Any:
    return synth.Hyperplane(seed=seed, n_drift_features=5, mag_change=change, noise_percentage=0.05)


def _radial(synth: Any, seed: int) -> Any:
    return synth.RandomRBF(seed_model=seed, seed_sample=seed, n_classes=4)


def draw(stream: Stream) -> Rows:
    """Return the rows of a synthetic stream.

    Raises
    ------
    InvalidInput
        When the stream has no such drift.
    StudyError
        When river is not installed.
    """
    if stream.drift == "incremental" and stream.source not in INCREMENTAL:
        raise InvalidInput(
            f"drift of {stream.source!r} must be none, abrupt or gradual, not 'incremental'"
        )
    concepts, make = CONCEPTS[stream.source]
    if stream.drift == "incremental":
        make = INCREMENTAL[stream.source]
    turns = len(concepts) if stream.drift in ("abrupt", "gradual") else 1
    concept, drifts = _turns(stream, turns)
    parts = [
        _rows(make, concepts[k], _seed(stream.seed, k), int((concept == k).sum()))
        for k in range(turns)
    ]
    X = np.empty((stream.rows, parts[0][0].shape[1]))
    y = np.empty(stream.rows, dtype=np.int64)
    for k, (rows, labels, _) in enumerate(parts):
        X[concept == k], y[concept == k] = rows, labels
    return _named(X, y, parts[0][2], drifts, concept)


def draw_concept(stream: Stream, place: int, rows: int) -> Rows:
    """Return rows of one concept of a synthetic stream, without drift; not those of `draw`.

    Parameters
    ----------
    place
        Place of the concept in the stream.
    """
    concepts, make = CONCEPTS[stream.source]
    # Before them come the rows that the stream itself may have.
    X, y, names = _rows(make, concepts[place], _seed(stream.seed, place), stream.rows + rows)
    concept = np.full(rows, place, dtype=np.int64)
    return _named(X[stream.rows :], y[stream.rows :], names, (), concept)


def _seed(seed: int, place: int) -> int:
    """Return a seed for the rows of a concept, another one for each."""
    return 1000 * seed + place


def _turns(stream: Stream, turns: int) -> tuple[IntArray, tuple[Drift, ...]]:
    """Return the concept of each row, and the drifts between them."""
    at = np.arange(stream.rows)
    centres = [stream.rows * k // turns for k in range(1, turns)]
    if stream.drift != "gradual":
        concept = np.searchsorted(np.array(centres, dtype=np.int64), at, side="right")
        return concept.astype(np.int64), tuple(Drift(c, c) for c in centres)
    # The new concept's probability is a logistic function of time, as in river and MOA.
    generator = np.random.default_rng(stream.seed)
    concept = np.zeros(stream.rows, dtype=np.int64)
    for centre in centres:
        probability = 1.0 / (1.0 + np.exp(np.clip(-4.0 * (at - centre) / stream.width, -50, 50)))
        concept += generator.random(stream.rows) < probability
    half = stream.width // 2
    return concept, tuple(Drift(max(c - half, 0), min(c + half, stream.rows)) for c in centres)


def _rows(
    make: Concept, concept: int, seed: int, count: int
) -> tuple[FloatArray, IntArray, tuple[str, ...]]:
    generator = make(river("datasets.synth", "a synthetic stream"), concept, seed)
    taken = list(islice(generator.take(max(count, 1)), max(count, 1)))
    names = tuple(str(name) for name in taken[0][0])
    X = np.array([list(row.values()) for row, _ in taken], dtype=np.float64)
    return X[:count], np.array([int(label) for _, label in taken[:count]], np.int64), names


def _named(
    X: FloatArray,
    y: IntArray,
    features: tuple[str, ...],
    drifts: tuple[Drift, ...],
    concept: IntArray,
) -> Rows:
    classes = tuple(str(k) for k in range(int(y.max()) + 1))
    return Rows(X, y, features, classes, drifts, concept)
