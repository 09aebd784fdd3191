"""What `bagging` and `boosting` share: folds, scaling, paths of models, published figures."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from contests import fold_of, prepared, response, run_of, write_table
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import Ridge

from formulations import InvalidInput
from studies import catalogue
from studies.bagging.study import BAGGING
from studies.boosting.study import BOOSTING
from studies.cli import app
from studies.comparing.published import published, published_line
from studies.comparing.wording import failures, fold_notes
from studies.contests.candidates import RIDGES, alphas_of, candidates
from studies.contests.cell import Contest
from studies.contests.choosing import checked_models, folds_of, left_out
from studies.contests.fold import FOLDS, Fold
from studies.contests.methods import method_name
from studies.contests.parts import parts_of
from studies.contests.points import attempt, point_of
from studies.datasets import PUBLISHED, SHIPPED
from studies.errors import StudyError
from studies.planning import make_plan
from studies.running.held_out import Part
from studies.running.prepared import Prepared
from studies.spec import Request

# Rows of the table, and those of them without a response.
ROWS, EMPTY = 130, (3, 60, 61)

STUDIES = pytest.mark.parametrize("study", [BAGGING, BOOSTING], ids=lambda study: study.name)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny table."""
    path = tmp_path_factory.mktemp("comparing")
    write_table(path / "tiny.csv", ROWS, EMPTY)
    return path


def rows_in(parts: dict[str, Part], names: list[str]) -> dict[str, list[int]]:
    """Return which rows of the file are in each part."""
    place = names.index("row")
    return {name: X[:, place].astype(int).tolist() for name, (X, _) in parts.items()}


# Folds


def test_every_row_tests_once_and_validates_once(folder: Path) -> None:
    used = set()
    tested: list[int] = []
    validated: list[int] = []
    for fold in range(FOLDS):
        parts, names, there, dropped = parts_of(fold_of(folder / "tiny.csv", fold=fold))
        assert (there, dropped) == (ROWS - len(EMPTY), len(EMPTY))
        rows = rows_in(parts, names)
        assert {name: len(found) for name, found in rows.items()} == {
            "train": 60,
            "validation": 20,
            "test": 20,
        }
        together = [row for found in rows.values() for row in found]
        assert len(set(together)) == len(together) == 100
        used.add(frozenset(together))
        tested += rows["test"]
        validated += rows["validation"]
    (all_rows,) = used
    assert sorted(tested) == sorted(validated) == sorted(all_rows)
    assert all_rows.isdisjoint(EMPTY)


def test_a_seed_draws_other_rows_and_the_same_one_the_same(folder: Path) -> None:
    def test_rows(seed: int) -> list[int]:
        parts, names, _, _ = parts_of(fold_of(folder / "tiny.csv", seed=seed))
        return rows_in(parts, names)["test"]

    assert test_rows(0) == test_rows(0)
    assert set(test_rows(0)) != set(test_rows(1))


def test_all_rows_are_used_where_there_are_no_more(folder: Path) -> None:
    fold = fold_of(folder / "tiny.csv", rows=1000).cut_to(ROWS - len(EMPTY))
    parts, names, _, _ = parts_of(fold)
    found = [row for rows in rows_in(parts, names).values() for row in rows]
    assert sorted(found) == sorted(set(range(ROWS)) - set(EMPTY))
    with pytest.raises(StudyError, match="tiny has 49 rows; 5 folds need at least 50"):
        fold.cut_to(49)
    assert fold.cut_to(50).rows == 50


def test_the_training_rows_scale_all_others(folder: Path) -> None:
    parts, names, _, _ = parts_of(fold_of(folder / "tiny.csv"))
    rows = rows_in(parts, names)
    train = np.array([response(row) for row in rows["train"]])
    for name, (_, y) in parts.items():
        told = np.array([response(row) for row in rows[name]])
        np.testing.assert_allclose(y, (told - train.mean()) / train.std(), atol=1e-12)
    assert abs(parts["test"][1].mean()) > 1e-6


def test_every_part_scales_itself_as_published(folder: Path) -> None:
    parts, names, _, _ = parts_of(fold_of(folder / "tiny.csv", protocol="published"))
    rows = rows_in(parts, names)
    for name, (_, y) in parts.items():
        told = np.array([response(row) for row in rows[name]])
        assert y.mean() == pytest.approx(0.0, abs=1e-12)
        assert y.var() == pytest.approx(1.0)
        assert np.corrcoef(told, y)[0, 1] == pytest.approx(1.0)


@pytest.mark.parametrize("protocol", ["sound", "published"])
def test_a_constant_response_is_only_centred(tmp_path: Path, protocol: str) -> None:
    lines = [f"{k},{k % 7},4.5" for k in range(80)]
    (tmp_path / "flat.csv").write_text("row,a,class\n" + "\n".join(lines), encoding="utf-8")
    fold = fold_of(tmp_path / "flat.csv", rows=80, protocol=protocol)
    for _, y in parts_of(fold)[0].values():
        assert (y == 0.0).all()
    found, _ = prepared(fold, tmp_path / "data.pickle")
    (point, *_) = (
        point_of(found, one.model) for one in candidates(found, alphas_of(1, 0.1, 2), RIDGES)
    )
    assert point["test"] == 0.0


@pytest.fixture(scope="module")
def uneven(folder: Path) -> tuple[Path, list[int]]:
    """A table with a category and a column that only rows of the first fold's test have."""
    parts, names, _, _ = parts_of(fold_of(folder / "tiny.csv"))
    test = rows_in(parts, names)["test"]
    table = pd.read_csv(folder / "tiny.csv")
    table.loc[test[0], "c"] = "rare"
    table["d"] = np.where(table["row"].isin(test), 7.5, np.nan)
    table.to_csv(folder / "uneven.csv", index=False)
    return folder / "uneven.csv", test


def test_training_rows_alone_decide_what_columns_become(uneven: tuple[Path, list[int]]) -> None:
    path, test = uneven
    parts, names, _, _ = parts_of(fold_of(path))
    assert rows_in(parts, names)["test"] == test
    assert names == ["row", "a", "b", "c=u", "c=v", "c=w", "d"]
    X = parts["test"][0]
    assert (X[0, 3:6] == 0.0).all()  # a category that no training row has
    assert (X[1:, 3:6].sum(axis=1) == 1.0).all()
    # Where the rare category trains, it is a column.
    _, other, _, _ = parts_of(fold_of(path, fold=2))
    assert "c=rare" in other


def test_forests_take_missing_values_and_boosting_has_medians(
    uneven: tuple[Path, list[int]],
) -> None:
    path, _ = uneven
    forest, names, _, _ = parts_of(fold_of(path))
    boosting, same, _, _ = parts_of(fold_of(path, ensemble="boosting"))
    assert same == names
    b, d = names.index("b"), names.index("d")
    train = forest["train"][0]
    assert np.isnan(train[:, d]).all()
    median = np.nanmedian(train[:, b])
    for name, (X, _) in boosting.items():
        before = forest[name][0]
        missing = np.isnan(before)
        assert missing[:, b].any()
        assert not np.isnan(X).any()
        assert (X[missing[:, b], b] == median).all()
        np.testing.assert_array_equal(X[~missing], before[~missing])
    assert (boosting["train"][0][:, d] == 0.0).all()


# Models


@pytest.fixture(scope="module")
def found(folder: Path) -> Prepared:
    """A fold of the tiny table with its forest."""
    return prepared(fold_of(folder / "tiny.csv"), folder / "data.pickle")[0]


@pytest.mark.parametrize(
    ("ensemble", "model"),
    [
        ("forest", RandomForestRegressor(8, max_depth=4, max_features="sqrt", random_state=5)),
        (
            "boosting",
            GradientBoostingRegressor(
                n_estimators=8, max_depth=4, learning_rate=0.1, subsample=0.25, random_state=5
            ),
        ),
    ],
    ids=["forest", "boosting"],
)
def test_what_is_prepared_is_the_published_ensemble_of_the_training_rows(
    folder: Path, ensemble: str, model: Any
) -> None:
    fold = fold_of(folder / "tiny.csv", ensemble=ensemble, seed=5)
    data, saved = prepared(fold, folder / f"{ensemble}.pickle")
    parts, names, _, _ = parts_of(fold)
    assert data.ensemble.feature_names == tuple(names)
    assert data.ensemble.n_trees == 8
    for name, (X, y) in parts.items():
        np.testing.assert_array_equal(data.parts[name][0], X)
        np.testing.assert_array_equal(data.parts[name][1], y)
    assert {key: saved[key] for key in ("status", "features", "dropped", "rows_there")} == {
        "status": "ok",
        "features": len(names),
        "dropped": 3,
        "rows_there": 127,
    }
    X, _ = parts["test"]
    predicted = model.fit(*parts["train"]).predict(X)
    np.testing.assert_allclose(data.ensemble.predict(X), predicted)


ALPHAS = alphas_of(10.0, 1e-3, 7)


@pytest.mark.parametrize("shape", ["depth", "subtree"])
def test_models_along_falling_alpha_plain_and_by_ridge(found: Prepared, shape: str) -> None:
    along = list(candidates(found, ALPHAS, RIDGES, shape=shape))
    assert [one.alpha2 for one in along] == [*RIDGES] * len(ALPHAS)
    np.testing.assert_allclose([one.alpha for one in along], np.repeat(ALPHAS, 4))
    assert all(a > b for a, b in pairwise(ALPHAS))
    by_alpha = [along[k : k + 4] for k in range(0, len(along), 4)]
    sizes = [plain.model.n_nodes for plain, *_ in by_alpha]
    assert sizes[0] < sizes[-1]
    for plain, *polished in by_alpha:
        assert plain.model.polishing is None
        for one in polished:
            assert one.model.n_nodes <= plain.model.n_nodes
            assert (one.model.polishing is None) == (plain.model.n_trees == 0)


def test_weights_are_those_of_ridge_regression_on_the_trees(found: Prepared) -> None:
    X, y = found.parts["train"]
    plain, *polished = list(candidates(found, ALPHAS, RIDGES))[-8:-4]
    model = plain.model.model
    assert model.n_trees > 2
    none = replace(model, constant=np.zeros(1))
    trees = [
        replace(none, trees=(tree,), scale=model.scale[k : k + 1]).raw_predict(X)
        for k, tree in enumerate(model.trees)
    ]
    for one in polished:
        ridge = Ridge(alpha=one.alpha2, fit_intercept=False)
        ridge.fit(np.stack(trees, axis=1), y - model.offset(X)[:, 0])
        weights = one.model.beta[one.model.depths > 0]
        np.testing.assert_allclose(weights, ridge.coef_, rtol=1e-4, atol=1e-6)


def test_errors_and_sizes_of_a_model(found: Prepared) -> None:
    full = point_of(found, found.ensemble)
    assert full["nodes"] == sum(tree.n_nodes for tree in found.ensemble.trees)
    assert full["mean_depth"] == np.mean([tree.depth for tree in found.ensemble.trees])
    for part in ("validation", "test"):
        X, y = found.parts[part]
        assert full[part] == pytest.approx(np.mean((found.ensemble.predict(X) - y) ** 2))
    assert full["validation"] != full["test"]
    nothing = replace(found.ensemble, trees=(), scale=np.zeros(0))
    point = point_of(found, nothing)
    assert (point["nodes"], point["trees"], point["mean_depth"]) == (0, 0, 0.0)
    # Trees that are leaves count for nothing but their node.
    first, second = found.ensemble.trees[:2]
    leaf = first.keep(first.layer == 0)
    one = replace(found.ensemble, trees=(second, leaf), scale=np.full(2, 0.5))
    point = point_of(found, one)
    assert (point["trees"], point["mean_depth"]) == (1, second.depth)


def test_a_failure_is_a_reason() -> None:
    def fails() -> dict[str, Any]:
        raise ArithmeticError("no\n  pivot")

    assert attempt(fails) == {"reason": "ArithmeticError: no pivot"}
    point = attempt(lambda: {"test": 0.5})
    assert point.pop("seconds") >= 0.0
    assert point == {"test": 0.5}

    def stopped() -> dict[str, Any]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        attempt(stopped)


def test_only_warnings_for_users_are_swallowed() -> None:
    def warned(kind: type[Warning]) -> Callable[[], dict[str, Any]]:
        def work() -> dict[str, Any]:
            warnings.warn("so", kind, stacklevel=1)
            return {"test": 0.5}

        return work

    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        assert attempt(warned(UserWarning))["test"] == 0.5
        assert heard == []
        attempt(warned(RuntimeWarning))
        attempt(warned(DeprecationWarning))
    assert [one.category for one in heard] == [RuntimeWarning, DeprecationWarning]


# Published figures


def test_the_published_figures_are_those_of_the_authors() -> None:
    line = published_line("bagging", dataset="abalone", phi=0.025)
    assert line is not None
    assert line["forestprune_mse"] == 0.4894
    assert line["node_budget"] == 4212.2
    line = published_line("boosting_path", dataset="houses")
    assert line is not None
    assert (line["polished_mse"], line["polished_mse_sd"]) == (0.2063, 0.0138)
    assert line["pruned_nodes"] == 10783.4
    line = published_line("boosting_budget", dataset="houses", budget=1000.0)
    assert line is not None
    assert (line["bsts_mse"], line["baseline_mse"]) == (0.2534, 0.4213)
    for line in published("bagging"):
        assert all(isinstance(cell, float) for key, cell in line.items() if key != "dataset")


def test_every_data_set_has_its_published_lines() -> None:
    places = {
        "bagging": ("phi", {0.01, 0.025, 0.05}),
        "boosting_budget": ("budget", {50.0, 100.0, 1000.0, 5000.0}),
    }
    for name, (key, values) in places.items():
        lines = {(line["dataset"], line[key]) for line in published(name)}
        assert len(lines) == len(published(name))
        assert lines == {(data, value) for data, _ in lines for value in values}
    assert {line["dataset"] for line in published("boosting_path")} == set(PUBLISHED)
    assert {line["dataset"] for line in published("boosting_budget")} == set(PUBLISHED)
    # Of us_crime there are none for forests.
    assert {line["dataset"] for line in published("bagging")} == set(PUBLISHED) - {"us_crime"}
    for path in published("boosting_path"):
        assert path["polished_mse"] > 0.0


@pytest.mark.parametrize(
    "at", [{"dataset": None}, {"dataset": "diamonds"}, {"dataset": "abalone", "phi": 0.02}]
)
def test_what_is_not_published_has_no_line(at: dict[str, Any]) -> None:
    assert published_line("bagging", **at) is None


def test_methods_have_names() -> None:
    assert method_name("lasso[columns=source]") == "lasso, 1/n kept"
    assert method_name("lasso[refit=False]") == "lasso[refit=False]"


# What is compared


def known_folder(path: Path) -> Path:
    """A folder with two tables whose target is known, and two others."""
    write_table(path / "autoMpg.csv")
    table = pd.read_csv(path / "autoMpg.csv")
    table.rename(columns={"class": "company10"}).to_csv(path / "stock.csv.gz", index=False)
    for name in ("other.csv", "mine.parquet"):
        (path / name).touch()
    return path


def test_folds_of_all_known_data_sets_of_a_folder(tmp_path: Path) -> None:
    where = str(known_folder(tmp_path))
    request = Request(size="small", data_dir=where, seed=3, protocol="published")
    folds = folds_of(request, 500, 2, "boosting", 30, 5)
    assert [(fold.data, fold.fold) for fold in folds] == [
        ("autoMpg", 0),
        ("autoMpg", 1),
        ("stock", 0),
        ("stock", 1),
    ]
    assert {replace(fold, data="", fold=0) for fold in folds} == {
        Fold("", 500, "boosting", 30, 5, 0, 3, None, where, "published")
    }
    (said,) = left_out(request)
    assert "mine, other;" in said
    assert "--data NAME --target COLUMN" in said
    one = replace(request, data="other", target="y")
    assert [fold.target for fold in folds_of(one, 500, 1, "forest", 30, 5)] == ["y"]
    assert left_out(one) == []


def test_files_that_do_not_serve_are_left_out_with_their_reasons(tmp_path: Path) -> None:
    write_table(tmp_path / "autoMpg.csv")
    (tmp_path / "no2.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    (tmp_path / "stock.csv").write_text("a,company10\n1,2\n", encoding="utf-8")
    request = Request(size="small", data_dir=str(tmp_path))
    folds = folds_of(request, 500, 1, "forest", 30, 5)
    assert [fold.data for fold in folds] == ["autoMpg"]
    wrong, few = left_out(request)
    assert "no2_concentration" in wrong
    assert "stock has 1 rows; 5 folds need at least 50" in few
    (tmp_path / "autoMpg.csv").unlink()
    with pytest.raises(StudyError, match="no2_concentration"):
        folds_of(request, 500, 1, "forest", 30, 5)


def test_without_a_folder_the_data_sets_that_come_along_are_compared() -> None:
    request = Request(size="small")
    folds = folds_of(request, 500, FOLDS, "forest", 30, 5)
    assert {fold.data for fold in folds} == set(SHIPPED)
    assert [fold.fold for fold in folds if fold.data == "abalone"] == list(range(FOLDS))
    assert {fold.protocol for fold in folds} == {"sound"}
    assert left_out(request) == []


def test_a_folder_without_known_data_sets_is_an_error(tmp_path: Path) -> None:
    request = Request(size="small", data_dir=str(tmp_path))
    with pytest.raises(StudyError, match="has no data set whose target is known; name one"):
        folds_of(request, 500, 2, "forest", 30, 5)
    with pytest.raises(StudyError, match="--target goes with --data"):
        folds_of(replace(request, target="y"), 500, 2, "forest", 30, 5)


def test_labels_of_methods_are_written_in_full_and_once() -> None:
    request = Request(size="small", models=("ccp", "lasso[columns=source, refit=True]", "ccp"))
    assert checked_models(request, ("bsts",), ()) == ("ccp", "lasso[refit=True,columns=source]")
    assert checked_models(replace(request, models=()), ("bsts", "ccp"), ("ccp",)) == ("bsts",)
    with pytest.raises(InvalidInput, match="unknown competitor 'cpp'; did you mean 'ccp'"):
        checked_models(replace(request, models=("cpp",)), (), ())


@STUDIES
def test_models_and_limits_that_are_asked_for(study: Any) -> None:
    def cells(**asked: Any) -> list[Contest]:
        request = study.request(**{"size": "small", "data": "abalone", **asked})
        return list(make_plan(study, request, lambda _: 4000).cells)  # type: ignore[arg-type]

    own = cells()
    assert len(own) == 2
    assert "bsts" in own[0].models
    assert own[0].models != cells(protocol="published")[0].models
    (models,) = {cell.models for cell in cells(models=("depth_cap", "ccp"))}
    assert models == ("depth_cap", "ccp")
    assert cells()[0].search_limit == 2.0
    limited = cells(time_limit=0.5)[0]
    assert limited.search_limit == 0.5
    assert limited.time_limit < own[0].time_limit
    assert cells(threads=2)[0].threads == 2
    with pytest.raises(InvalidInput, match="unknown competitor"):
        cells(models=("cpp",))


@STUDIES
def test_a_cell_is_read_back_from_its_file(study: Any) -> None:
    request = study.request(size="full", data_dir=None, protocol="published")
    cells = list(make_plan(study, request, lambda _: 4000).cells)
    assert len(cells) == len(SHIPPED) * FOLDS
    for cell in cells:
        assert Contest.from_dict(json.loads(json.dumps(cell.as_dict()))) == cell


def test_the_limit_of_a_search_does_not_make_another_cell() -> None:
    cell = Contest(fold_of("tiny.csv"), ("ccp",), (0.1,), 10.0, 1.0, 5, 2.0, 1)
    assert replace(cell, search_limit=9.0, threads=4).identity == cell.identity
    assert replace(cell, marks=(0.2,)).identity != cell.identity
    assert replace(cell, instance=fold_of("tiny.csv", fold=1)).identity != cell.identity


def called(*words: str) -> Any:
    with pytest.raises(SystemExit) as ended:
        app(list(words))
    return ended.value.code


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("bagging", "--model", "cpp"), "unknown competitor 'cpp'; did you mean 'ccp'"),
        (("boosting", "--model", "lasso[refitt=True]"), "has no option 'refitt'"),
        (("bagging", "--target", "y"), "--target goes with --data"),
        (("boosting", "--data-dir", "."), "has no data set whose target is known"),
        (("bagging", "--protocol", "sloppy"), "--protocol"),
        (("boosting", "--ensemble", "forest"), "--ensemble is not for boosting"),
        (("bagging", "--repeats", "3"), "--repeats is not for bagging"),
    ],
    ids=lambda value: value[2] if isinstance(value, tuple) else "",
)
def test_a_wrong_request_is_one_line(
    words: tuple[str, ...],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert called("study", *words) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("error: ")
    assert len(captured.err.splitlines()) == 1
    assert said in captured.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", sorted(set(catalogue.STUDIES) - {"bagging", "boosting"}))
def test_other_studies_refuse_a_protocol(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert called("study", name, "--protocol", "published") == 2
    assert capsys.readouterr().err == f"error: --protocol is not for {name}\n"


# What is told


def contest(**more: Any) -> Contest:
    return Contest(fold_of("tiny.csv", **more), ("ccp",), (0.1,), 10.0, 1.0, 5, 2.0, 1)


def test_readers_are_told_how_rows_are_divided() -> None:
    rows = [(contest(fold=fold), {"status": "ok"}) for fold in (0, 1)]
    (said,) = fold_notes(run_of(rows))
    assert said.startswith("2 folds of 5: three fifths of the rows train, one validates, one tests")
    assert "on the training rows" in said
    (said, cut, dropped) = fold_notes(run_of(rows, rows_there=127, dropped=3))
    assert cut == "Of tiny only 100 rows, drawn at random, are used."
    assert dropped == "tiny: 3 rows without a response left out."
    (said,) = fold_notes(run_of([(contest(protocol="published"), {"status": "ok"})]))
    assert said.startswith("1 fold of 5")
    assert "every part is scaled by its own mean and variance" in said


def test_failures_are_told_with_their_number() -> None:
    lost = {"reason": "ValueError: no"}
    listed = [("ccp", lost), ("ccp", lost), ("bsts", {})]
    assert failures([*listed, *listed]) == ["CCP failed 4 times: ValueError: no"]
    named: dict[str, Any] = {"ccp": lost, "bsts": {"points": []}}
    assert failures(named.items()) == ["CCP failed 1 time: ValueError: no"]


@STUDIES
def test_a_cell_that_had_no_time_is_told_with_its_reason(study: Any) -> None:
    outcome = {"status": "over_limit", "reason": "ended by force after 1 s"}
    assert study.kind.ending(contest(), outcome) == "ended by force after 1 s"
    done = {"status": "ok", "full": {"test": 0.25, "nodes": 4321}}
    assert study.kind.ending(contest(), done) == "full model: test MSE 0.25, 4,321 nodes"
