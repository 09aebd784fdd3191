"""Rows of `bagging` made by hand, for its tests."""

from __future__ import annotations

from typing import Any

import pytest
from contests import EMPTY, FULL, fold_of, run_of

from studies.contests.cell import Contest
from studies.contests.methods import TUNED


def entry(name: str, phi: float, nodes: int, test: float, **more: Any) -> dict[str, Any]:
    own = {"nodes": nodes, "trees": 5, "mean_depth": 3.0, "validation": 0.5, "test": test}
    return {"name": name, "phi": phi, **own, **more}


def own_entry(phi: float, nodes: int, test: float, name: str = TUNED, gap: Any = 0.02) -> Any:
    return entry(name, phi, nodes, test, alpha=1.0, alpha2=0.1, gap=gap)


def lost(name: str, phi: float) -> dict[str, Any]:
    return {"name": name, "phi": phi, "reason": "ValueError: no"}


def cell_of(data: str, fold: int, protocol: Any = "sound") -> Contest:
    instance = fold_of(f"{data}.csv", fold=fold, protocol=protocol, target=None)
    return Contest(instance, ("ccp", "bsts"), (0.05, 0.1), 10.0, 1.0, 5, 2.0, 1)


def made_row(*entries: dict[str, Any], **full: Any) -> dict[str, Any]:
    """A row of a version that kept the chosen models alone."""
    return {"status": "ok", "full": {**FULL, **full}, "entries": list(entries)}


def with_path(row: dict[str, Any], *path: tuple[int, float, float]) -> dict[str, Any]:
    """A row with a path of such nodes, validation and test errors."""
    keys = ("nodes", "validation", "test")
    points = [
        {"value": 9.0 - place, "alpha2": None, **dict(zip(keys, point, strict=True))}
        for place, point in enumerate(path)
    ]
    return {**row, "empty": EMPTY, "path": points}


@pytest.fixture
def run() -> Any:
    """Two folds of one data set and one of another; one method fails on a fold."""
    return run_of(
        [
            (
                cell_of("autoMpg", 0),
                made_row(
                    own_entry(0.1, 100, 0.5),
                    own_entry(0.05, 200, 0.4, gap=None),
                    entry("ccp", 0.1, 90, 0.8),
                    entry("ccp", 0.05, 190, 0.4),
                    entry("bsts", 0.1, 90, 0.6),
                ),
            ),
            (
                cell_of("autoMpg", 1),
                made_row(
                    own_entry(0.1, 300, 0.1),
                    own_entry(0.05, 400, 0.1),
                    lost("ccp", 0.1),
                    entry("ccp", 0.05, 390, 0.3),
                    entry("bsts", 0.1, 90, 0.3),
                    nodes=1200,
                ),
            ),
            (
                cell_of("stock", 0),
                made_row(
                    own_entry(0.1, 0, 0.5),
                    own_entry(0.05, 10, 0.5),
                    entry("ccp", 0.1, 0, 0.25),
                    entry("ccp", 0.05, 9, 0.5),
                    entry("bsts", 0.1, 0, 0.4, termination="time_limit"),
                ),
            ),
        ]
    )


@pytest.fixture
def as_published(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the published forests had been as small as those of the rows made by hand."""
    monkeypatch.setattr("studies.bagging.outcomes.TREES", cell_of("stock", 0).instance.trees)
    monkeypatch.setattr("studies.comparing.published.FOLDS", 2)
