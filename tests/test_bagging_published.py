"""The study `bagging` beside its published figures: as chosen, and at the published sizes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from bagged import as_published, cell_of, made_row, own_entry, run, with_path
from contests import run_of

from studies.bagging.outcomes import outcomes
from studies.bagging.published import published_comparisons, published_tables
from studies.bagging.study import BAGGING

__all__ = ["as_published", "run"]  # fixtures


def test_forests_of_another_size_are_not_judged(run: Any) -> None:
    for comparison in BAGGING.report(run).published:
        assert all(row.within is None for row in comparison.rows)
    rows = BAGGING.report(run).published[0].rows
    assert all("published: 100 trees, 5 folds, all rows" in row.note for row in rows)
    assert not any("As good as published" in note for note in BAGGING.report(run).notes)


@pytest.mark.usefixtures("as_published")
def test_published_figures_are_beside_ours(run: Any) -> None:
    comparisons = {one.title: one.rows for one in BAGGING.report(run).published}
    errors = comparisons["bagging, sound protocol, φ = 0.05: test MSE of ForestPrune"]
    nodes = comparisons["bagging, sound protocol, φ = 0.05: nodes of ForestPrune"]
    assert [row.name for row in errors] == ["autoMpg", "stock"]
    assert [row.published for row in errors] == [0.2202, 0.0668]
    assert [row.spread for row in errors] == [0.0791, 0.0157]
    assert [row.ours for row in errors] == pytest.approx([0.25, 0.5])
    assert errors[0].ours_spread == pytest.approx(0.15)
    assert errors[1].ours_spread is None  # of one fold there is none
    assert [row.within for row in errors] == [True, False]
    assert [row.published for row in nodes] == [1239.4, 733.8]
    assert [row.ours for row in nodes] == pytest.approx([300.0, 10.0])
    (title,) = (title for title in comparisons if "φ = 0.05: test MSE of others" in title)
    others = {row.name: (row.published, row.ours) for row in comparisons[title]}
    assert others["CCP"] == pytest.approx((110.0, 20.0))
    assert others["BSTS"][0] == pytest.approx(
        100.0 * ((0.2504 / 0.2202 + 0.0778 / 0.0668) / 2.0 - 1.0)
    )
    assert others["BSTS"][1] is None
    # Of an allowed rise that has no published figures there are none.
    other = comparisons["bagging, sound protocol, φ = 0.1: test MSE of ForestPrune"]
    assert {row.published for row in other} == {None}


def with_paths(run: Any, *paths: list[tuple[int, float, float]]) -> Any:
    """The run with these paths of its rows."""
    pairs = zip(run.cells, paths, strict=False)
    made = [(cell, with_path(row, *path)) for (cell, row), path in pairs]
    return run_of([*made, *run.cells[len(made) :]])


PATHS = (
    [(9, 0.9, 0.8), (700, 0.2, 0.3), (800, 0.25, 0.1), (1240, 0.1, 0.05)],
    [(9, 0.9, 0.9), (1239, 0.25, 0.2)],
    [(800, 0.1, 0.1)],
)


def taken(found: Any, data: str, nodes: float) -> list[tuple[int, int, float]]:
    lines = found.at_nodes(data, nodes)
    return list(zip(lines["fold"], lines["nodes"], lines["test"], strict=True))


def test_at_a_number_of_nodes_the_model_of_least_validation_error_is_taken(run: Any) -> None:
    found = outcomes(with_paths(run, *PATHS))
    assert taken(found, "autoMpg", 1239.4) == [(0, 700, 0.3), (1, 1239, 0.2)]
    assert taken(found, "autoMpg", 1240.0) == [(0, 1240, 0.05), (1, 1239, 0.2)]
    # The full model counts where it fits; that of the second fold is larger than the first's.
    assert taken(found, "autoMpg", 1200.0) == [(0, 700, 0.3), (1, 1200, 0.4)]
    # Where nothing else fits that without trees is left.
    assert taken(found, "stock", 733.8) == [(0, 0, 1.0)]
    assert taken(found, "stock", 800.0) == [(0, 800, 0.1)]


def test_at_a_number_of_nodes_the_smallest_penalty_is_taken_as_published(run: Any) -> None:
    cells = with_paths(run, *PATHS).cells
    as_told = [
        (replace(cell, instance=replace(cell.instance, protocol="published")), row)
        for cell, row in cells
    ]
    found = outcomes(run_of(as_told))
    assert taken(found, "autoMpg", 1239.4) == [(0, 800, 0.1), (1, 1239, 0.2)]
    # There the full model is none of the path.
    assert taken(found, "autoMpg", 1200.0) == [(0, 800, 0.1), (1, 9, 0.9)]
    assert taken(found, "stock", 733.8) == [(0, 0, 1.0)]


@pytest.mark.usefixtures("as_published")
def test_errors_within_the_published_number_of_nodes_are_beside_the_published(run: Any) -> None:
    whole = with_paths(run, *PATHS)
    title = "bagging, sound protocol, φ = 0.05: test MSE of ForestPrune within the published number"
    (rows,) = (one.rows for one in BAGGING.report(whole).published if one.title.startswith(title))
    assert [(row.name, row.published, row.spread) for row in rows] == [
        ("autoMpg", 0.2202, 0.0791),
        ("stock", 0.0668, 0.0157),
    ]
    # Of 0.3 and 0.2 within 1239.4 nodes, and of the model without trees.
    assert [row.ours for row in rows] == pytest.approx([0.25, 1.0])
    assert rows[0].ours_spread == pytest.approx(0.05)
    assert [row.within for row in rows] == [True, False]
    (table,) = published_tables(outcomes(whole))
    first, other = table.groups
    assert first.rows == (
        ("autoMpg", "0.2202 ± 0.0791", "1,239", "0.2500 ± 0.1500", "300", "✓",
         "0.2500 ± 0.0500", "✓"),
        ("stock", "0.0668 ± 0.0157", "734", "0.5000", "10", "no", "1.0000", "no"),
        ("within", "", "", "", "", "1 of 2", "", "1 of 2"),
    )  # fmt: skip
    assert other.rows == ()  # nothing is published at this φ
    assert BAGGING.report(whole).tables[-1] == table
    notes = BAGGING.report(whole).notes
    assert any("1 of 2 test errors within the published numbers of nodes" in one for one in notes)


@pytest.mark.usefixtures("as_published")
def test_rows_without_a_path_have_no_error_at_a_number_of_nodes(run: Any) -> None:
    # One fold of the first data set has a path, the other one not.
    report = BAGGING.report(with_paths(run, PATHS[0]))
    rows = report.published[2].rows
    assert [row.name for row in rows] == ["autoMpg", "stock"]
    assert [(row.ours, row.within) for row in rows] == [(None, None)] * 2
    last = report.tables[-1].groups[0].rows
    assert [row[-2:] for row in last] == [("–", "–"), ("–", "–"), ("", "–")]
    assert [row[5] for row in last] == ["✓", "no", "1 of 2"]


def test_forests_of_another_size_are_shown_with_the_reason(run: Any) -> None:
    report = BAGGING.report(with_paths(run, *PATHS))
    rows = report.tables[-1].groups[0].rows
    assert [(row[0], row[5], row[7]) for row in rows] == [
        ("autoMpg", "–", "–"),
        ("stock", "–", "–"),
    ]
    (note,) = (one for one in report.notes if "100 trees, 5 folds, all rows" in one)
    assert note.startswith("autoMpg, stock: Here 8 trees, 2 of 5 folds and all rows; published")
    cut = replace(run, preparations={of: {"rows_there": 101} for of in run.preparations})
    (note,) = (one for one in BAGGING.report(cut).notes if "100 trees, 5 folds, all rows" in one)
    assert "2 of 5 folds and at most 100 rows; published" in note


def test_without_published_figures_there_is_no_table_of_them() -> None:
    rows = [(cell_of("mine", 0), made_row(own_entry(0.05, 9, 0.5)))]
    found = outcomes(run_of(rows))
    assert published_tables(found) == ()
    assert published_comparisons(found) == ()
    assert not any("kept only the chosen" in one for one in BAGGING.report(run_of(rows)).notes)
