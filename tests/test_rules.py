"""Rules and text say what the model does."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.tree import DecisionTreeRegressor
from small_models import NAMES, X, Y, pruned, rows_of

from forestprune import InvalidInput, PrunedEnsemble, prune
from forestprune.exporting.wording import Wording


def holds(rule: str, rows: Any) -> Any:
    """Which rows a rule is about, by evaluating its text."""
    columns = {f"x{j}": rows[:, j] for j in range(rows.shape[1])}
    answer = np.ones(len(rows), dtype=bool)
    for part in rule.replace("(", "").replace(")", "").split(" and "):
        text = re.sub(r"x\[(\d+)\]", r"x\1", part)
        if match := re.fullmatch(r"(x\d+) (not in|in) \{(.*)\}", text):
            codes = [float(code) for code in match[3].split(",") if code]
            inside = np.isin(columns[match[1]], codes)
            answer &= inside if match[2] == "in" else ~inside
        elif match := re.fullmatch(r"(\S+) < (x\d+) <= (\S+)", text):
            column = columns[match[2]]
            answer &= (column > float(match[1])) & (column <= float(match[3]))
        else:
            match = re.fullmatch(r"(x\d+) (<=|>) (\S+)", text)
            assert match is not None, text
            column, limit = columns[match[1]], float(match[3])
            answer &= column <= limit if match[2] == "<=" else column > limit
    return answer


@pytest.mark.parametrize("name", NAMES)
def test_the_rules_that_hold_add_up_to_the_prediction(name: str) -> None:
    model = pruned(name)
    rows = rows_of(model)
    rows = rows[np.isfinite(rows).all(axis=1)].astype(np.float32).astype(np.float64)
    if name == "categories":
        rows = rows[rows[:, 0] < 9]  # others are missing, of which rules say nothing
    table = model.rules(digits=None)
    adds = [column for column in table if column.startswith("adds")]
    total = np.tile(np.asarray(table.attrs["base"]), (len(rows), 1))
    for tree, rules in table.groupby("tree"):
        hit = np.stack([holds(rule, rows) for rule in rules["rule"]])
        np.testing.assert_array_equal(hit.sum(axis=0), 1, err_msg=f"tree {tree}")
        total += hit.T.astype(float) @ rules[adds].to_numpy()
    expected = model.raw_predict(rows).reshape(total.shape)
    np.testing.assert_allclose(total, expected, rtol=0.0, atol=1e-12 * np.abs(expected).max())
    assert len(table) == sum(len(tree.leaves) for tree in model.model.trees)
    assert table["tree"].drop_duplicates().tolist() == np.flatnonzero(model.depths).tolist()
    np.testing.assert_allclose(table.groupby("tree")["share"].sum(), 1.0)


def weighted_tree() -> PrunedEnsemble:
    """One tree to be read: x <= 1 splits again on x, and the rest on z."""
    x = np.repeat([0.0, 1.0, 2.0, 3.0], 25)
    z = np.tile([0.0, 1.0, 2.0, 3.0, 4.0], 20)
    y = np.where(x <= 1.0, 100.0 * x, 1000.0 + 10.0 * (z > 2.0))
    frame = pd.DataFrame({"x": x, "the z\nof all": z})
    tree = DecisionTreeRegressor(max_depth=2, random_state=0).fit(frame, y)
    return prune(tree, frame, y, alpha=0.0, polish=None)


def test_the_text_of_a_tree() -> None:
    told = weighted_tree().to_text()
    base = "527"  # the mean of 0, 100, and twice 1,004
    assert told == (
        f"prediction = {base}.0 + sum over the trees of weight × "
        "(mean at the leaf − mean at the root)\n"
        "\n"
        f"tree 0, weight 1.000, root {base}.0 (100 % of rows)\n"
        "if x <= 1.5: 50.00 (50 % of rows)\n"
        "    if x <= 0.5: 0 (25 % of rows)\n"
        "    else: 100.0 (25 % of rows)\n"
        "else: 1004 (50 % of rows)\n"
        "    if the z of all <= 2.5: 1000 (30 % of rows)\n"
        "    else: 1010 (20 % of rows)\n"
    )


def test_conditions_on_one_feature_are_merged() -> None:
    table = weighted_tree().rules()
    assert table["rule"].tolist() == [
        "x <= 0.5",
        "0.5 < x <= 1.5",
        "x > 1.5 and the z of all <= 2.5",
        "x > 1.5 and the z of all > 2.5",
    ]
    np.testing.assert_allclose(table["share"], [0.25, 0.25, 0.3, 0.2])
    np.testing.assert_allclose(table["mean"], [0.0, 100.0, 1000.0, 1010.0], atol=1e-9)
    np.testing.assert_allclose(table["adds"], table["mean"] - 527.0, atol=1e-9)
    assert table.attrs["base"] == pytest.approx([527.0])


def test_where_missing_values_go() -> None:
    model = pruned("infinite")
    told = model.to_text(missing=True)
    assert re.search(r"if x\[0\] <= \S+ (or|and not) missing: ", told)
    assert "missing" not in model.to_text()
    rows = rows_of(model)
    rows[:, 0] = np.nan
    for number, tree in enumerate(model.model.trees):
        rules = model.rules(missing=True).query(f"tree == {number}")
        reached = rules["rule"].str.contains(r"x\[0\][^x]* or missing")
        if 0 in tree.features:  # NaN reaches the leaves that say so
            assert 0 < reached.sum() < len(rules)


def test_a_model_without_trees_says_what_it_predicts() -> None:
    model = pruned("empty")
    base = float(model.predict(X)[0])
    assert model.to_text() == f"prediction = {base:.4g}\n"
    table = model.rules()
    assert table.empty
    assert table.columns.tolist() == ["tree", "rule", "share", "weight", "mean", "adds"]
    assert table.attrs["base"] == [base]


def test_several_outputs_and_classes_have_names() -> None:
    assert [c for c in pruned("outputs").rules() if c.startswith("adds")] == ["adds[0]", "adds[1]"]
    model = pruned("classes")
    assert [c for c in model.rules() if c.startswith("mean")] == [
        "mean[high]",
        "mean[low]",
        "mean[middle]",
    ]
    assert model.to_text().startswith("frequencies = [")
    assert re.search(r"(if|else).*: (high|low|middle) \S+ \(", model.to_text())
    boosted = pruned("objects").to_text()
    assert "; probabilities = softmax(scores)" in boosted.splitlines()[0]
    assert ", class high, root " in boosted


def test_categories_have_their_labels() -> None:
    model = pruned("categories")
    labels = np.array(list("abcdefghi"), dtype=object)
    rules = replace(model.model.rules, categories=(labels, None))
    named = replace(model, model=replace(model.model, rules=rules))
    codes = re.search(r"x\[0\] in \{([\d, ]+)\}", model.to_text())
    assert codes is not None
    letters = ", ".join(labels[int(code)] for code in codes[1].split(", "))
    assert f"x[0] in {{{letters}}}" in named.to_text()
    short = Wording(named.model, 3, longest=20).category_set(0, list(range(7)))
    assert short == "{a, b, c, 4 more}"


def test_names_lose_their_middle() -> None:
    wording = Wording(pruned("forest").model, 3, longest=11)
    assert wording.short("abcdefghijklmno") == "abcde…klmno"
    assert wording.short("abcdefghijk") == "abcdefghijk"
    assert wording.short("two\n lines") == "two lines"


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (5.9999, "6.00"),
        (0.99999, "1.00"),
        (-0.097702, "-0.0977"),
        (1234567.0, "1234567"),
        (1.5e8, "1.5e+08"),
        (1.5e-5, "1.5e-05"),
        (np.inf, "inf"),
    ],
)
def test_numbers(value: float, told: str) -> None:
    assert Wording(pruned("forest").model, 3).number(value) == told
    assert float(Wording(pruned("forest").model, None).number(value)) == value


def test_thresholds_have_no_zeros_at_the_end() -> None:
    wording = Wording(pruned("forest").model, 3)
    told = [wording.bound(limit) for limit in (0.5, 2.0, 0.12345, 1e-35, 1e7, np.inf)]
    assert told == ["0.5", "2", "0.1235", "0", "1e+07", "inf"]
    assert Wording(pruned("forest").model, None).bound(1e-35) == "1e-35"


def test_what_is_left_where_values_cancel_out_is_rounding() -> None:
    model = pruned("forest").model
    tree = replace(
        model.trees[0], value=np.where(np.arange(model.trees[0].n_nodes) > 0, 2.0, 1e-9)[:, None]
    )
    assert Wording(model, 4).values(tree, tree.value[0]) == "0"
    assert Wording(model, None).values(tree, tree.value[0]) == "1e-09"


@pytest.mark.parametrize("digits", [0, 18, True, 2.0, "4"])
def test_digits_that_are_none(digits: Any) -> None:
    for ask in (pruned("forest").to_text, pruned("forest").rules):
        with pytest.raises(InvalidInput, match="digits must be None or an integer from 1 to 17"):
            ask(digits)


def test_a_deep_tree_is_written_without_recursion() -> None:
    x = np.arange(1500.0)[:, None]
    y = 2.0 ** -np.arange(1500.0)  # splits off one row after the other
    model = RandomForestRegressor(1, bootstrap=False, random_state=0).fit(x, np.cumsum(y) + Y[0])
    kept = prune(model, x, np.cumsum(y) + Y[0], alpha=0.0, polish=None)
    assert kept.to_text().count("if ") == kept.n_nodes // 2
