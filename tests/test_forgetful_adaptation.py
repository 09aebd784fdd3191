"""What is remembered: Algorithm 3 against a table by hand, the smoothed rule, stale trees."""

from __future__ import annotations

import numpy as np
import pytest

from forestprune.forgetful.adaptation import (
    I_RATE,
    PAPER,
    PROGRAM,
    R_SIZE,
    SMOOTHED,
    STATE_COLUMNS,
    adapt_parameters,
)
from forestprune.forgetful.history import History
from forestprune.forgetful.stale import StaleTrees
from forestprune.forgetful.watch import PAST, PAST_ROWS, RECENT, WATCH_COLUMNS, has_risen, observe


class OneTree:
    """A tree of which only accuracies are known."""

    def __init__(self, how: int, max_rows: int = 10**6, i_rate: float = 0.3) -> None:
        self.how, self.max_rows = how, max_rows
        self.state = np.zeros((1, STATE_COLUMNS))
        self.state[0, I_RATE] = i_rate
        self.held = 0

    def __call__(self, accuracy: float, rows: int = 100, classes: int = 2) -> tuple[int, int]:
        loss = 1.0 - accuracy
        r_size, height = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
        adapt_parameters(
            self.state,
            np.array([rows]),
            np.array([self.held]),
            np.array([[loss, loss, 1.0 - 1.0 / classes]]),
            self.how,
            False,
            self.max_rows,
            r_size,
            height,
        )
        self.held = min(self.held + rows, int(r_size[0]))
        return int(r_size[0]), int(height[0])


def test_algorithm_3_by_hand() -> None:
    tree = OneTree(PAPER)
    # The first batch: rSize = |X| + 0, and there is no accuracy yet.
    assert tree(0.0) == (100, 6)
    # lastAcc = 0: rSize = 100 + 100; newAcc = 0.25.
    assert tree(0.75) == (200, 7)
    # ratio = 0.3 / 0.25 = 1.2; iRate = 0.25; min(200 · 1.2² + 25, 300) = 300.
    assert tree(0.8) == (300, 8)
    assert tree.state[0, I_RATE] == pytest.approx(0.25)
    # ratio = 0.24 / 0.3 = 0.8; iRate = 0.3125; 300 · 0.8^2.2 + 31.25 = 213.6…
    assert tree(0.74) == (round(300 * 0.8**2.2 + 31.25), 7) == (215, 7)
    assert tree.state[0, I_RATE] == pytest.approx(0.3125)
    # No better than guessing: rSize = |X|, iRate as before.
    assert tree(0.5) == (100, 6)
    assert tree.state[0, I_RATE] == pytest.approx(0.3125)
    # lastAcc = 0 again: rSize + |X|.
    assert tree(0.9) == (200, 7)


def test_guessing_depends_on_the_number_of_classes() -> None:
    assert OneTree(PAPER).state.shape == (1, STATE_COLUMNS)
    ten = OneTree(PAPER)
    for _ in range(2):
        ten(0.3, classes=10)
    assert ten(0.3, classes=10)[0] == round(200 + 0.3 * 100)


def test_warm_up_keeps_everything_until_the_tree_is_worth_something() -> None:
    program, paper = OneTree(PROGRAM), OneTree(PAPER)
    accuracies = [0.0, 0.4, 0.4, 0.7, 0.6]
    assert [program(a)[0] for a in accuracies] == [
        100,
        200,
        300,
        400,
        round(400 * 0.5**2.5 + 0.3 / 0.5 * 100),
    ]
    assert [paper(a)[0] for a in accuracies[:3]] == [100, 100, 100]


def test_small_batches_warm_up_for_128_rows_once() -> None:
    tree = OneTree(PROGRAM)
    sizes = [tree(0.7, rows=10)[0] for _ in range(14)]
    assert sizes == [10 * (k + 1) for k in range(13)] + [130 + 3]
    # Fewer than 128 rows later are no new warm-up.
    assert tree(0.3, rows=10)[0] == 10
    assert tree(0.3, rows=10)[0] == 10


@pytest.mark.parametrize("how", [PAPER, PROGRAM, SMOOTHED])
def test_max_rows_is_a_hard_bound(how: int) -> None:
    tree = OneTree(how, max_rows=1000)
    sizes = [tree(0.9)[0] for _ in range(100)]
    assert max(sizes) <= 1000
    assert tree(0.9, rows=5000)[0] == 1000
    if how == SMOOTHED:
        assert sizes[-1] == 1000


@pytest.mark.parametrize("rows", [1, 10, 100])
def test_chance_does_not_make_a_smoothed_tree_forget(rows: int) -> None:
    rng = np.random.default_rng(0)
    smoothed, paper = OneTree(SMOOTHED, 2000, 1.0), OneTree(PAPER, 2000)
    sizes = []
    for _ in range(20_000 // rows):
        accuracy = rng.binomial(rows, 0.8) / rows
        sizes.append((smoothed(accuracy, rows)[0], paper(accuracy, rows)[0]))
    kept, collapsed = np.median(sizes, axis=0)
    assert kept > 1500
    assert collapsed < 1000
    # A drift does.
    for _ in range(400 // rows):
        smallest = smoothed(rng.binomial(rows, 0.55) / rows, rows)[0]
    assert smallest < 400


def test_large_batches_are_compared_with_each_other() -> None:
    tree = OneTree(SMOOTHED, 10**6, 1.0)
    before = [tree(0.8, rows=10_000)[0] for _ in range(10)]
    assert before[-1] == 100_000
    assert tree(0.7, rows=10_000)[0] < 80_000


def test_a_tree_that_sees_no_row_stays_as_it_is() -> None:
    tree = OneTree(PAPER)
    for accuracy in (0.0, 0.7, 0.8):
        tree(accuracy)
    before = tree.state.copy()
    tree(0.1, rows=0)
    np.testing.assert_array_equal(tree.state, before)
    assert tree.state[0, R_SIZE] == 300


def test_the_test_for_a_rise_holds_its_level() -> None:
    rng = np.random.default_rng(1)
    rises = 0
    for _ in range(300):
        watch = np.zeros(WATCH_COLUMNS)
        for share in rng.binomial(100, 0.2, 40) / 100:
            observe(watch, 100.0, share, share, 0.5)
        rises += has_risen(watch)
    assert rises <= 9  # 0.6 % are expected by chance


def test_a_watch_forgets_at_two_rates() -> None:
    watch = np.zeros(WATCH_COLUMNS)
    for _ in range(5000):
        observe(watch, 1.0, 0.25, 0.0625, 1.0)
    assert watch[PAST] == pytest.approx(PAST_ROWS, rel=0.01)
    assert watch[RECENT] < watch[PAST] / 10
    assert watch[RECENT + 1] == watch[PAST + 1] == 0.25


def losses(forest: float, trees: list[float]) -> np.ndarray:
    shares = np.array([*trees, forest])
    return np.column_stack([shares, shares, np.full(len(shares), 0.5)])


def test_the_worst_trees_are_replaced_after_a_fall_and_only_then() -> None:
    stale = StaleTrees(regression=False)
    trees = [0.2, 0.25, 0.15, 0.3]
    for k in range(60):
        assert len(stale.find(100, losses(0.1 + 0.02 * (k % 2), trees))) == 0
    # Accuracy falls from 0.89 to about 0.3: (0.89 − 0.3) / 0.89 of 4 trees, nearly 3.
    found = stale.find(1000, losses(0.7, [0.7, 0.8, 0.6, 0.9]))
    assert found.tolist() == [3, 1]
    assert len(stale.find(100, losses(0.7, trees))) == 0
    # A rise of accuracy replaces none.
    assert len(stale.find(1000, losses(0.0, trees))) == 0


def test_history_is_bounded_and_loses_no_row() -> None:
    history = History(3)
    r_size = np.array([1, 2, 3])
    for k in range(5000):
        history.add(10, 0.5 if k % 2 else 0.3, int(k == 4321), r_size + k, r_size)
    course = history.course()
    assert len(course.rows) <= 512
    assert course.rows[-1] == 50_000
    assert course.replaced.sum() == 1
    assert np.average(course.loss, weights=np.diff(course.rows, prepend=0)) == pytest.approx(0.4)
    np.testing.assert_array_equal(course.r_size[-1], r_size + 4999)
    assert np.all(np.diff(course.r_size[:, 0]) > 0)
