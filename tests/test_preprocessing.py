"""From tables to numbers, as the rows of training say."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from forestprune import InvalidInput
from studies import datasets
from studies.datasets import TableEncoder, preprocessing

_ORDERS = {"grade": ["low", "high"]}
_TRAIN = pd.DataFrame(
    {
        "a": [1.0, np.nan, 3.0, 8.0],
        "word": ["u", "v", None, "u"],
        "grade": ["high", "low", "low", None],
        "none": [np.nan] * 4,
    }
)
_TEST = pd.DataFrame(
    {
        "none": [7.0, np.nan],
        "grade": ["best", "high"],
        "word": ["w", "v"],
        "a": [np.nan, 5.0],
        "more": [1, 2],
    }
)
_NAMES = ["a", "word=u", "word=v", "grade", "none"]


def test_training_rows_decide_what_the_columns_are() -> None:
    steps = preprocessing(_ORDERS)
    nan = np.nan
    train = [[1, 1, 0, 1, nan], [nan, 0, 1, 0, nan], [3, nan, nan, 0, nan], [8, 1, 0, nan, nan]]
    found = steps.fit_transform(_TRAIN)
    assert list(found) == _NAMES
    np.testing.assert_array_equal(found, train)
    # A word that is new is none of those known; a grade that is new has no place.
    np.testing.assert_array_equal(steps.transform(_TEST), [[nan, 0, 0, nan, 7], [5, 0, 1, 1, nan]])
    assert steps.get_feature_names_out().tolist() == _NAMES


def test_what_is_missing_becomes_the_median_of_the_training_rows() -> None:
    steps = preprocessing(_ORDERS, impute=True)
    train = [[1, 1, 0, 1, 0], [3, 0, 1, 0, 0], [3, 1, 0, 0, 0], [8, 1, 0, 0, 0]]
    found = steps.fit_transform(_TRAIN)
    assert list(found) == _NAMES
    np.testing.assert_array_equal(found, train)
    np.testing.assert_array_equal(steps.transform(_TEST), [[3, 0, 0, 0, 7], [5, 0, 1, 1, 0]])
    assert steps.get_feature_names_out().tolist() == _NAMES


@pytest.mark.parametrize("impute", [False, True])
def test_a_clone_and_a_copy_do_the_same(impute: bool) -> None:
    steps = preprocessing(_ORDERS, impute=impute)
    expected = steps.fit_transform(_TRAIN)
    with pytest.raises(NotFittedError):
        clone(steps).transform(_TRAIN)
    pd.testing.assert_frame_equal(clone(steps).fit_transform(_TRAIN), expected)
    pd.testing.assert_frame_equal(pickle.loads(pickle.dumps(steps)).transform(_TRAIN), expected)
    assert clone(steps).get_params()["encode__orders"] == _ORDERS


def test_its_output_can_be_set() -> None:
    steps = preprocessing(_ORDERS, impute=True).set_output(transform="pandas")
    assert list(steps.fit_transform(_TRAIN)) == _NAMES
    encoder = TableEncoder(_ORDERS).set_output(transform="default").fit(_TRAIN)
    assert encoder.n_features_in_ == 4
    assert encoder.feature_names_in_.tolist() == list(_TRAIN)


def test_all_rows_give_what_the_data_set_gives() -> None:
    for name in datasets.names_in(None):
        data = datasets.load(name)
        found = preprocessing(data.orders).fit_transform(data.table)
        pd.testing.assert_frame_equal(found, data.X)


def test_a_column_of_categories_stays_one_in_rows_without_text(tmp_path: Path) -> None:
    (tmp_path / "some.csv").write_text("doors,word,y\n2,,1\n4,,2\n5 or more,x,3\n")
    data = datasets.load("some", target="y", data_dir=tmp_path)
    steps = preprocessing(data.orders).fit(data.table.iloc[:2])
    assert steps.get_feature_names_out().tolist() == ["doors=2", "doors=4"]
    np.testing.assert_array_equal(steps.transform(data.table.iloc[2:]), [[0, 0]])


def test_it_is_part_of_a_model_that_takes_no_gaps() -> None:
    data = datasets.load("abalone")
    table = data.table.iloc[:300].copy()
    table.iloc[::7, 1] = np.nan
    model = GradientBoostingRegressor(n_estimators=5, random_state=0)
    steps = preprocessing(data.orders, impute=True)
    scores = cross_val_score(make_pipeline(steps, model), table, data.y[:300], cv=3)
    assert np.isfinite(scores).all()


def test_rows_that_do_not_serve_are_refused() -> None:
    steps = preprocessing().fit(pd.DataFrame({"a": [1, 2]}))
    with pytest.raises(InvalidInput, match="X must be a pandas DataFrame, not ndarray"):
        preprocessing().fit(np.zeros((2, 2)))
    with pytest.raises(InvalidInput, match="no column 'a'"):
        steps.transform(pd.DataFrame({"b": [1]}))
    with pytest.raises(InvalidInput, match="column 'a' must hold numbers; data row 1 has 'x'"):
        steps.transform(pd.DataFrame({"a": ["x"]}))
