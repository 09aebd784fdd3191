"""Pictures show what they should, and can be read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.patches import FancyBboxPatch
from sklearn.ensemble import RandomForestRegressor
from small_models import NAMES, X, Y, pruned

import forestprune as fp
from forestprune.exporting.wording import tree_numbers
from forestprune.pictures.tree_layout import block

mpl.use("agg")


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    mpl.pyplot.close("all")


def forest(depth: int, trees: int = 1, names: list[str] | None = None) -> fp.PrunedEnsemble:
    """A forest as it was grown, all of it."""
    generator = np.random.default_rng(1)
    rows = generator.normal(size=(2000, 3))
    frame = pd.DataFrame(rows, columns=names or ["north", "east", "up"])
    y = rows[:, 0] * rows[:, 1] + np.sin(3.0 * rows[:, 2])
    source = RandomForestRegressor(trees, max_depth=depth, random_state=0).fit(frame, y)
    return fp.prune(source, frame, y, alpha=0.0, polish=None)


def assert_legible(axes: Any) -> None:
    """No text overlaps another or leaves the figure, and every box holds its text."""
    figure = axes.figure
    renderer = figure.canvas.get_renderer()
    axes.apply_aspect()
    extents = [text.get_window_extent(renderer) for text in axes.texts]
    corners = np.array([(e.x0, e.x1, e.y0, e.y1) for e in extents])
    left, right, low, high = (corners[:, k] for k in range(4))
    # What glyphs may stand out of their line is not what overlaps.
    across = np.minimum(right[:, None], right) - np.maximum(left[:, None], left)
    down = np.minimum(high[:, None], high) - np.maximum(low[:, None], low)
    overlap = (across > 0.5) & (down > 0.3 * np.minimum(high - low, (high - low)[:, None]))
    np.fill_diagonal(overlap, False)
    pairs = [(axes.texts[i].get_text(), axes.texts[j].get_text()) for i, j in np.argwhere(overlap)]
    assert pairs == []
    size = figure.bbox
    assert left.min() >= 0.0 and low.min() >= 0.0  # noqa: PT018
    assert right.max() <= size.width and high.max() <= size.height  # noqa: PT018
    boxes = [p.get_window_extent(renderer) for p in axes.patches if isinstance(p, FancyBboxPatch)]
    for one in boxes:
        inside = [
            e for e in extents if one.x0 < e.x0 < one.x1 and one.y0 < (e.y0 + e.y1) / 2 < one.y1
        ]
        assert 1 <= len(inside) <= 2
        assert all(e.x1 <= one.x1 + 0.5 for e in inside)


@pytest.mark.parametrize("name", NAMES)
def test_trees_of_every_kind_are_legible(name: str) -> None:
    model = pruned(name)
    axes = fp.plot_trees(model)
    shown = min(model.n_trees, 10)
    titles = [t.get_text() for t in axes.texts if t.get_text().startswith("tree ")]
    assert len(titles) == shown
    if shown == model.n_trees:
        boxes = [p for p in axes.patches if isinstance(p, FancyBboxPatch)]
        assert len(boxes) == model.n_nodes
    else:
        assert f"10 of {model.n_trees} trees are drawn" in axes.texts[0].get_text()
    assert_legible(axes)


@pytest.mark.parametrize("depth", [1, 3, 6])
def test_a_whole_tree_is_legible(depth: int) -> None:
    model = forest(depth)
    axes = fp.plot_trees(model)
    assert_legible(axes)
    assert len(axes.texts) >= model.n_nodes + model.n_nodes // 2  # two lines at a split


def test_long_and_strange_names_are_legible() -> None:
    names = [
        "a name of a feature that goes on and on and on without an end, north",
        "$\\frac{1}{2}$ of the $ east",
        "two\nlines\tof up_{2}",
    ]
    axes = fp.plot_trees(forest(4, 3, names))
    told = " ".join(text.get_text() for text in axes.texts)
    assert f"{names[0][:15]}…{names[0][-16:]} ≤ " in told
    assert "$\\frac{1}{2}$ of the $ east ≤ " in told
    assert "two lines of up_{2} ≤ " in told
    assert_legible(axes)


def test_a_tree_says_what_it_does() -> None:
    model = forest(1)
    tree = model.model.trees[0]
    axes = fp.plot_trees(model, digits=5)
    told = [text.get_text() for text in axes.texts]
    name = ["north", "east", "up"][tree.feature[0]]
    limit = f"{tree.threshold[0]:.6g}".replace("-", "−")
    assert f"{name} ≤ {limit}" in told
    assert "tree 0, weight 1.0000" in told
    shares = tree.cover / tree.cover[0]
    for node, value in enumerate(tree.value[:, 0]):
        number, share = next(text for text in told if _near(text, value)).split(" · ")
        assert float(share.removesuffix(" %")) == pytest.approx(100 * shares[node], rel=0.06)
        assert float(number.replace("−", "-")) == pytest.approx(value, rel=1e-4)
    # The branch where the condition holds is above the other.
    up, down = (
        next(t for t in axes.texts if _near(t.get_text(), tree.value[k, 0])) for k in (1, 2)
    )
    assert up.get_position()[1] < down.get_position()[1]
    assert axes.yaxis_inverted()


def _near(text: str, value: float) -> bool:
    number, dot, _ = text.partition(" · ")
    return (
        bool(dot)
        and not text.startswith("upper")
        and abs(float(number.replace("−", "-")) - value) < 1e-4 * abs(value)
    )


def test_leaves_are_blue_where_they_add_and_orange_where_they_take_off() -> None:
    model = forest(1)
    rise = model.model.trees[0].value[1:, 0] > model.model.trees[0].value[0, 0]
    leaves = fp.plot_trees(model).patches[1:]
    for leaf, adds in zip(leaves, rise, strict=True):
        red, _, blue, _ = leaf.get_facecolor()
        assert (blue > red) == adds


def test_which_trees_are_drawn() -> None:
    model = forest(2, 14)
    numbers = tree_numbers(model)

    def drawn(axes: Any) -> list[int]:
        titles = [t.get_text() for t in axes.texts if t.get_text().startswith("tree ")]
        return [int(title.split(",")[0].removeprefix("tree ")) for title in titles]

    changes = [
        tree.cover[tree.leaves] @ (tree.value[tree.leaves, 0] - tree.value[0, 0]) ** 2
        for tree in model.model.trees
    ]
    most = sorted(numbers[i] for i in np.argsort(changes)[-3:])
    assert drawn(fp.plot_trees(model, 3)) == most
    assert drawn(fp.plot_trees(model, [numbers[5], numbers[2]])) == [numbers[5], numbers[2]]
    assert drawn(fp.plot_trees(model, np.array(numbers[:1]))) == numbers[:1]
    for wrong in (0, -1, True, 2.5, "3", [], [99], [True], [0.5], None):
        with pytest.raises(fp.InvalidInput, match="trees must be"):
            fp.plot_trees(model, wrong)  # type: ignore[arg-type]


def test_trees_fit_into_axes_that_are_given() -> None:
    figure, panels = mpl.pyplot.subplots(1, 2, figsize=(12, 5))
    model = forest(3, 4)
    for panel in panels:
        assert fp.plot_trees(model, ax=panel) is panel
    figure.canvas.draw()
    for panel in panels:
        frame = panel.get_window_extent()
        for text in panel.texts:
            extent = text.get_window_extent()
            assert frame.x0 - 1 <= extent.x0 <= extent.x1 <= frame.x1 + 1
            assert frame.y0 - 1 <= extent.y0 <= extent.y1 <= frame.y1 + 1
    assert len(mpl.pyplot.get_fignums()) == 1


def test_boxes_of_a_column_never_touch_whatever_the_shape() -> None:
    generator = np.random.default_rng(0)
    for _ in range(200):
        left, layer = [-1], [0]
        for _ in range(int(generator.integers(1, 40))):
            leaf = int(generator.choice(np.flatnonzero(np.array(left) < 0)))
            left[leaf] = len(left)
            left += [-1, -1]
            layer += [layer[leaf] + 1] * 2
        inner = np.array(left) >= 0
        texts = [["a split", "1"] if split else ["1"] for split in inner]
        order = np.argsort(layer, kind="stable")  # `block` reads the deepest layer at the end
        place = np.argsort(order)
        ordered = np.array([place[left[k]] if left[k] >= 0 else -1 for k in order])
        laid = block(ordered, np.array(layer)[order], [texts[k] for k in order], "title")
        height = np.where(ordered >= 0, 22.0, 11.5)
        for column in np.unique(laid.x):
            here = np.flatnonzero(laid.x == column)
            here = here[np.argsort(laid.y[here])]
            gaps = np.diff(laid.y[here]) - (height[here][1:] + height[here][:-1]) / 2.0
            assert (gaps > 1.0).all()
        assert (laid.y - height / 2.0).min() > 12.0  # below the title
        assert (laid.y + height / 2.0).max() <= laid.height
        assert (laid.x + laid.box).max() <= laid.width


@pytest.fixture(scope="module")
def source() -> Any:
    return RandomForestRegressor(8, max_depth=4, random_state=0).fit(X, Y)


def test_depths_before_and_after(source: Any) -> None:
    model = fp.prune(source, X, Y, alpha=3.0, polish=None)
    axes = fp.plot_depths(model, source)
    before, after = ([bar.get_height() for bar in container] for container in axes.containers)
    assert before == [tree.tree_.max_depth for tree in source.estimators_]
    assert after == model.depths.tolist()
    assert axes.get_xlabel() == f"tree ({(model.depths == 0).sum()} of 8 dropped)"
    axes = fp.plot_depths(model, source, kind="histogram")
    before, after = ([bar.get_height() for bar in container] for container in axes.containers)
    assert before == np.bincount([t.tree_.max_depth for t in source.estimators_]).tolist()
    assert after == np.bincount(model.depths, minlength=5).tolist()
    assert len(fp.plot_depths(model).containers) == 1


def test_subtrees_have_a_mean_depth_too(source: Any) -> None:
    model = fp.prune(source, X, Y, alpha=0.5, polish=None, shape="subtree")
    (mean,) = fp.plot_depths(model, source).get_lines()
    expected = [tree.layer[tree.leaves].mean() for tree in model.model.trees]
    np.testing.assert_allclose(mean.get_ydata(), expected)
    np.testing.assert_array_equal(mean.get_xdata(), np.flatnonzero(model.depths > 0))
    axes = fp.plot_depths(model, source, kind="histogram")
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        "before",
        "after: deepest leaf",
        "after: mean over the leaves, rounded",
    ]


def test_features_before_and_after(source: Any) -> None:
    model = fp.prune(source, X, Y, alpha=1.0, polish=None)
    axes = fp.plot_features(model, source)
    features = np.concatenate([tree.feature[tree.left >= 0] for tree in model.model.trees])
    after = np.bincount(features, minlength=3)
    before = np.bincount(
        np.concatenate([t.tree_.feature[t.tree_.feature >= 0] for t in source.estimators_])
    )
    order = np.lexsort((-before, -after))
    assert [text.get_text() for text in axes.get_yticklabels()] == [f"x[{j}]" for j in order]
    for container, counts in zip(axes.containers, (after, before), strict=True):
        shares = [bar.get_width() for bar in container]
        np.testing.assert_allclose(shares, 100.0 * counts[order] / counts.sum())
    told = {text.get_text() for text in axes.texts}
    dollars = replace(model, model=replace(model.model, feature_names=("$a$", "\\b", "$^c")))
    drawn = fp.plot_features(dollars)
    drawn.figure.canvas.draw()  # names are no formulas
    assert {"$a$", "$^c"} <= {text.get_text() for text in drawn.get_yticklabels()} | {"$^c"}
    assert {str(count) for count in (*after, *before)} <= told
    axes = fp.plot_features(model, source, most=1)
    assert axes.get_yticklabels()[1].get_text() == "2 others"
    assert axes.containers[1][1].get_width() == pytest.approx(
        100.0 * (1.0 - before[order[0]] / before.sum())
    )


@pytest.mark.parametrize("draw", [fp.plot_depths, fp.plot_features])
def test_an_empty_model_and_another_source(draw: Any, source: Any) -> None:
    axes = draw(pruned("empty"))
    axes.figure.canvas.draw()
    other = RandomForestRegressor(3, max_depth=2).fit(X, Y)
    model = fp.prune(source, X, Y, alpha=1.0)
    with pytest.raises(fp.InvalidInput, match="source must be the model that was pruned, with 8"):
        draw(model, other)


def test_bad_arguments(source: Any) -> None:
    model = fp.prune(source, X, Y, alpha=1.0)
    for wrong in (0, True, 1.5):
        with pytest.raises(fp.InvalidInput, match="most must be an integer of at least 1"):
            fp.plot_features(model, most=wrong)  # type: ignore[arg-type]
    with pytest.raises(fp.InvalidInput, match='kind must be "auto"'):
        fp.plot_depths(model, kind="bars")


@pytest.fixture(scope="module")
def problem(source: Any) -> fp.LayerPruning:
    data = fp.pruning_data(source, X, Y)
    return fp.LayerPruning(data, 0.5 * data.y_variance)


def test_convergence_is_that_of_the_trace(problem: Any) -> None:
    results = [fp.solve(problem, name) for name in ("cbcd", "branch_and_bound")]
    axes = fp.plot_convergence(results)
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        "cbcd",
        "branch_and_bound",
    ]
    for result, objective, bound in zip(
        results, axes.get_lines()[::2], axes.get_lines()[1::2], strict=True
    ):
        told = [entry.objective for entry in result.trace]
        np.testing.assert_array_equal(objective.get_ydata(), [*told, result.objective])
        assert bound.get_ydata()[-1] == result.bound
        assert objective.get_xdata()[-1] >= result.solve_seconds
        assert objective.get_color() == bound.get_color()
    assert axes.get_xscale() == "log"
    unproven = replace(results[0], bound=-np.inf, trace=())
    axes = fp.plot_convergence({"mine": unproven})
    objective, bound = axes.get_lines()
    assert (len(objective.get_xdata()), objective.get_label()) == (1, "mine")
    assert np.isnan(bound.get_ydata()).all()
    axes.figure.canvas.draw()
    for wrong in ([], None, [1], {"a": 2}):
        with pytest.raises(fp.InvalidInput, match="results must be one or several results"):
            fp.plot_convergence(wrong)  # type: ignore[arg-type]


def test_errors_against_nodes(problem: Any, source: Any) -> None:
    path = fp.solve_path(problem, values=6)
    frame = path.to_frame()
    axes = fp.plot_path(path, against="nodes")
    pruned_line, full = axes.get_lines()
    np.testing.assert_array_equal(pruned_line.get_xdata(), np.sort(frame["nodes"][:-1]))
    assert set(pruned_line.get_ydata()) == set(frame["loss"][:-1])
    assert full.get_ydata()[0] == frame["loss"].iloc[-1]
    nodes = sum(tree.tree_.node_count for tree in source.estimators_)
    assert axes.get_xlabel() == f"kept nodes (the full model has {nodes:,})"
    assert axes.get_ylim()[0] == 0.0


def test_errors_on_other_rows(problem: Any, source: Any) -> None:
    rows, y = X[::2] + 0.1, Y[::2]
    path = fp.solve_path(problem, values=4)
    axes = fp.plot_path(path, against="trees", test=(source, rows, y))
    line, full = axes.get_lines()[2:]
    ensemble = fp.read_ensemble(source)
    expected = [
        float(np.mean((y - fp.PrunedEnsemble.cut(ensemble, one, 1.0).predict(rows)) ** 2))
        for one in path
    ]
    assert sorted(line.get_ydata()) == pytest.approx(sorted(expected))
    assert full.get_ydata()[0] == pytest.approx(np.mean((y - source.predict(rows)) ** 2))
    other = RandomForestRegressor(8, max_depth=2).fit(X, Y)
    for test, message in (
        ((other, rows, y), "test.0. must be the model"),
        ((source, rows), "test must be a triple"),
        ((source, rows, y[1:]), "y must have one entry for each"),
    ):
        with pytest.raises(fp.InvalidInput, match=message):
            fp.plot_path(path, against="nodes", test=test)  # type: ignore[arg-type]
    with pytest.raises(fp.InvalidInput, match="test is for errors"):
        fp.plot_path(path, test=(source, rows, y))
    with pytest.raises(fp.InvalidInput, match="against must be"):
        fp.plot_path(path, against="leaves")


def test_errors_of_polished_trees(problem: Any, source: Any) -> None:
    chosen = fp.solve(problem)
    polishing = fp.Polishing(problem.data, chosen.choice, rho=0, n_trees=3, intercept=True)
    path = fp.solve_path(polishing, "n_trees", 3)
    axes = fp.plot_path(path, against="trees", test=(source, X, Y))
    own, unpolished, line, again = axes.get_lines()
    # On the same rows the two ways to the error are one.
    np.testing.assert_allclose(own.get_ydata(), line.get_ydata())
    np.testing.assert_allclose(unpolished.get_ydata(), again.get_ydata())
    assert axes.get_xlabel().startswith("kept trees (the unpolished model has ")
