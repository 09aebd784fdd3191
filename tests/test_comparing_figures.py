"""The figures of `bagging` and `boosting`: boxes or points, ticks, legends and methods."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch

from studies.bagging import outcomes as bagging
from studies.bagging.figure import draw_bagging
from studies.boosting import outcomes as boosting
from studies.boosting.figures import draw_budgets, draw_paths
from studies.comparing.boxes import draw_boxes, draw_rises, explain_boxes
from studies.comparing.published import Told, published_line
from studies.drawing.style import COLOURS, log_ticks, new_figure

METHODS = ("forestprune", "first_k", "lasso")

# Of the published size, of another one, and not published.
SAME, OTHER, NONE = Told("stock"), Told("stock", "", judged=False), Told(None)


def panel_of() -> Axes:
    return new_figure(6.0, 4.0).subplots()


def boxes(panel: Axes) -> list[PathPatch]:
    return [patch for patch in panel.patches if isinstance(patch, PathPatch)]


def points(panel: Axes) -> list[list[float]]:
    """Return the values of marks that are not a box's."""
    lines = [line for line in panel.lines if line.get_marker() == "o"]
    return [np.asarray(line.get_ydata()).tolist() for line in lines]


def labels(axis: Any) -> list[str]:
    """Return the labels of ticks within the limits, as they are drawn."""
    low, high = sorted(axis.get_view_interval())
    return [
        tick.label1.get_text()
        for tick in axis.get_major_ticks()
        if low <= tick.get_loc() <= high and tick.label1.get_text()
    ]


def drawn(figure: Figure) -> Figure:
    figure.draw_without_rendering()
    return figure


def rises(*values: list[float], levels: tuple[str, ...] = ("φ = 1",)) -> Axes:
    """Return a panel of rises in percent, a method for each list."""
    panel = panel_of()
    found = {str(place): pd.Series(one) / 100.0 for place, one in enumerate(values)}
    draw_rises(panel, list(found), dict.fromkeys(levels, found.__getitem__), "Rises", {}, "")
    panel.get_figure(root=True).draw_without_rendering()  # type: ignore[union-attr]
    return panel


def test_few_values_are_points_and_many_are_boxes() -> None:
    panel = panel_of()
    values = [[1.0, 2.0, 3.0, 9.0], [1.0, 2.0, 3.0, 4.0, 5.0], [], [np.nan, 2.0]]
    draw_boxes(panel, values, range(4), 0.5, COLOURS[1])
    assert points(panel) == [[1.0, 2.0, 3.0, 9.0], [2.0]]
    assert len(boxes(panel)) == 1
    medians = [collection.get_segments()[0] for collection in panel.collections]  # type: ignore[attr-defined]
    np.testing.assert_allclose(medians, [[[-0.25, 2.5], [0.25, 2.5]], [[2.75, 2], [3.25, 2]]])
    (line, _) = [line for line in panel.lines if line.get_marker() == "o"]
    assert line.get_markerfacecolor() == COLOURS[1]


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ((5, 9), "boxes: quartiles, whiskers: 5–95 %, dots: beyond"),
        ((1, 4), "dots: single values, line: median"),
        ((0, 5), "boxes: quartiles, whiskers: 5–95 %, dots: beyond"),
        (
            (4, 5),
            "boxes: quartiles, whiskers: 5–95 %, dots: beyond, or all of fewer than 5 values",
        ),
    ],
)
def test_a_panel_says_what_is_drawn(counts: tuple[int, int], said: str) -> None:
    panel = panel_of()
    explain_boxes(panel, [np.ones(count) for count in counts])
    assert panel.get_title(loc="right") == said


@pytest.mark.parametrize(
    ("values", "some"),
    [
        ([-60.0, 5.0, 900.0], ["-50", "-20", "0", "20", "50", "100", "200", "500"]),
        ([2.0, 60.0], ["0", "5", "10", "20", "50"]),
        ([-1.0, 14.0], ["0", "5", "10"]),
        ([-0.4, 0.3], ["-0.4", "-0.2", "0", "0.2"]),
        ([3.0, 1e6], ["0", "10", "100", "1,000", "10,000", "1,000,000"]),
        ([3.0, 1e30], ["0"]),
        ([0.0], ["0"]),
    ],
)
def test_rises_have_ticks_that_can_be_read(values: list[float], some: list[str]) -> None:
    panel = rises(values)
    found = labels(panel.yaxis)
    assert set(some) <= set(found)
    assert len(found) >= 3
    low, high = panel.get_ylim()
    at = panel.yaxis.get_transform().transform(panel.get_yticks())
    ends = panel.yaxis.get_transform().transform([low, high])
    most, least = panel.yaxis.get_transform().transform([max(values), min(values)])
    assert min(ends[1] - most, least - ends[0]) > 0.03 * (ends[1] - ends[0])  # no mark is cut
    assert np.diff(at).min() >= 0.039 * (ends[1] - ends[0])


def test_an_axis_says_where_it_is_logarithmic() -> None:
    assert "(logarithmic beyond ±10 %)" in rises([5.0, 50.0]).get_ylabel()
    within = rises([-5.0, 5.0])
    assert "logarithmic" not in within.get_ylabel()
    assert within.get_yscale() == "linear"


@pytest.mark.parametrize("count", [2, 6])
def test_a_legend_shows_the_colours(count: int) -> None:
    panel = rises([float(value) for value in range(count)], levels=("a", "b"))
    legend = panel.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["a", "b"]
    colours = [to_hex(patch.get_facecolor()).upper() for patch in legend.get_patches()]
    assert colours == list(COLOURS[:2])


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (1400.0, 2000.0, ["1,400", "1,600", "1,800", "2,000"]),
        (21.0, 104.0, ["40", "60", "80", "100"]),
        (20.0, 3000.0, ["20", "50", "100", "200", "500", "1,000", "2,000"]),
        (1.0, 1e8, [f"{10**power:,}" for power in range(9)]),
        (1.0, 1e40, ["1"]),
    ],
)
def test_logarithmic_axes_always_have_three_ticks(
    low: float, high: float, expected: list[str]
) -> None:
    panel = panel_of()
    panel.set_yscale("log")
    panel.set_ylim(low, high)
    log_ticks(panel.yaxis)
    panel.get_figure(root=True).draw_without_rendering()  # type: ignore[union-attr]
    found = labels(panel.yaxis)
    assert found[: len(expected)] == expected
    assert 3 <= len(found) <= 17


def boosted(
    methods: tuple[str, ...], low: int = 1400, folds: int = 3, told: Told = NONE
) -> boosting.Outcomes:
    lines = [
        {
            "data": "a",
            "fold": fold,
            "method": method,
            "nodes": nodes,
            "trees": nodes,
            "validation": 1.0 / (1.0 + nodes),
            "test": 1.0 + fold + place + 1.0 / (1.0 + nodes),
            "full_test": 1.0,
        }
        for place, method in enumerate(methods)
        for fold in range(folds)
        for nodes in (0, low, low + 200 * fold + 10 * place)
    ]
    budgets = (50.0, 5000.0)
    return boosting.Outcomes(pd.DataFrame(lines), methods, budgets, "sound", {"a": told}, 1.0)


def test_sizes_that_differ_little_have_ticks() -> None:
    figure = drawn(draw_budgets(boosted(METHODS)))
    top, bottom = figure.axes
    assert len(labels(bottom.yaxis)) >= 3
    assert len(points(bottom)) == len(METHODS)
    assert bottom.get_title(loc="right") == "dots: single values, line: median"
    assert len(labels(top.yaxis)) >= 3


def test_every_method_that_was_asked_for_has_a_line_of_its_own() -> None:
    asked = ("lasso[refit=True]", "first_k[average=False]", "depth_cap", "bsts[a=1]", "ccp")
    figure = drawn(draw_paths(boosted((*METHODS, *asked), low=40)))
    (panel,) = (axes for axes in figure.axes if axes.axison)
    lines = [line for line in panel.lines if not str(line.get_label()).startswith("_")]
    looks = {(line.get_color(), str(line.get_linestyle()), line.get_marker()) for line in lines}
    assert len(lines) == len(looks) == len(METHODS) + len(asked) + 1  # the full model
    (legend,) = figure.legends
    names = [text.get_text() for text in legend.get_texts()]
    assert {"lasso, refitted", "first k trees, 1/n kept", "depth cap", "CCP"} <= set(names)
    (marks,) = [line for line in lines if line.get_label() == "bsts[a=1]"]
    assert (marks.get_linestyle(), marks.get_marker()) == ("None", "D")


def bagged(folds: int = 2, told: Told = NONE) -> bagging.Outcomes:
    lines = [
        {
            "data": "a",
            "fold": fold,
            "phi": phi,
            "method": method,
            "alpha": 1.0 if method == "forestprune" else None,
            "gap": 0.0,
            "nodes": 1400 + 100 * fold,
            "trees": 5,
            "mean_depth": 2.0 + phi,
            "test": 1.0 + 0.1 * place,
            "full_nodes": 10_000,
            "full_test": 1.0,
        }
        for place, method in enumerate(METHODS)
        for phi in (0.01, 0.05)
        for fold in range(folds)
    ]
    return bagging.Outcomes(pd.DataFrame(lines), METHODS, (0.01, 0.05), "sound", {"a": told}, 1.0)


@pytest.mark.parametrize("folds", [2, 6])
def test_the_figure_of_bagging_says_what_it_shows(folds: int) -> None:
    figure = drawn(draw_bagging(bagged(folds)))
    *top, bottom = figure.axes
    assert all(len(labels(panel.yaxis)) >= 3 for panel in (*top, bottom))
    said = top[2].get_title(loc="right")
    assert said.startswith("boxes: quartiles" if folds == 6 else "dots: single values")
    assert [len(boxes(panel)) for panel in top] == ([2, 2, 2] if folds == 6 else [0, 0, 0])
    # One data set, so one value of each rival.
    assert bottom.get_title(loc="right") == "dots: single values, line: median"


# Published medians


def marks(panel: Axes) -> list[tuple[float, float]]:
    """Return places and values of the marks of published figures that can be seen."""
    found = [line for line in panel.lines if line.get_marker() == "D"]
    assert {str(line.get_markerfacecolor()) for line in found} <= {"white"}
    at = [pair for line in found for pair in zip(line.get_xdata(), line.get_ydata(), strict=True)]
    return [(float(x), float(y)) for x, y in at if np.isfinite(y)]


def entries(panel: Axes) -> list[str]:
    legend = panel.get_legend()
    return [] if legend is None else [text.get_text() for text in legend.get_texts()]


def test_published_rises_are_marked_where_there_are_some() -> None:
    panel = panel_of()
    levels = {level: lambda _: pd.Series([0.1, 0.3]) for level in ("low", "high")}
    published = {"low": {"a": 0.5, "b": -0.25}.get, "high": {"b": 4.0}.get}
    draw_rises(panel, ["a", "b", "c"], levels, "Rises", published, "published, over all")
    places, values = zip(*marks(panel), strict=True)
    assert values == pytest.approx([50.0, -25.0, 400.0])
    # Near their method, those of the second level to the right.
    assert [round(place) for place in places] == [0, 1, 1]
    assert places[1] < places[2]
    assert entries(panel) == ["low", "high", "published, over all"]
    low, high = panel.get_ylim()
    assert low < -25.0
    assert high > 400.0


def test_without_published_rises_the_legend_has_none() -> None:
    panel = panel_of()
    levels = {"low": lambda _: pd.Series([0.1, 0.3])}
    draw_rises(panel, ["a"], levels, "Rises", {"low": lambda _: None}, "published")
    assert marks(panel) == []
    assert entries(panel) == ["low"]


def test_published_figures_of_forests_are_marked() -> None:
    *top, bottom = drawn(draw_bagging(bagged(told=SAME))).axes
    # Of the paper's text, at the smaller φ alone.
    assert [[value for _, value in marks(panel)] for panel in top] == [
        [1.0, 5.0],
        [10.0, 20.0],
        [5.0],
    ]
    assert {round(place) for panel in top for place, _ in marks(panel)} == {0}
    assert entries(top[1]) == ["published, over the paper's data sets"]
    expected = [
        100.0 * (line[f"{method}_mse"] / line["forestprune_mse"] - 1.0)
        for line in (published_line("bagging", dataset="stock", phi=phi) for phi in (0.01, 0.05))
        if line is not None
        for method in ("baseline", "lasso")
    ]
    assert [value for _, value in marks(bottom)] == pytest.approx(expected)
    assert entries(bottom)[-1] == "published, median over these data sets"


def test_published_figures_of_boosting_are_marked() -> None:
    top, bottom = drawn(draw_budgets(boosted(METHODS, told=SAME))).axes
    line = published_line("boosting_path", dataset="stock")
    assert line is not None
    assert [(round(place), size) for place, size in marks(bottom)] == [
        (0, line["polished_nodes"]),
        (1, line["baseline_nodes"]),
        (2, line["lasso_nodes"]),
    ]
    assert len(marks(top)) == 4  # two methods, two budgets
    assert entries(top)[-1] == entries(bottom)[0] == "published, median over these data sets"


@pytest.mark.parametrize("told", [OTHER, NONE])
def test_nothing_is_marked_beside_ensembles_of_another_size(told: Told) -> None:
    for figure in (draw_bagging(bagged(told=told)), draw_budgets(boosted(METHODS, told=told))):
        panels = drawn(figure).axes
        assert [marks(panel) for panel in panels] == [[]] * len(panels)
        assert not any("published" in entry for panel in panels for entry in entries(panel))


def test_a_legend_says_over_how_many_data_sets_medians_are() -> None:
    found = boosted(METHODS, told=SAME)
    two = pd.concat([found.points, found.points.assign(data="b")])
    wider = replace(found, points=two, told={"a": SAME, "b": OTHER})
    assert wider.published_label == "published, median over 1 of these data sets"
