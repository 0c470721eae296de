"""The paper's metrics on matrices worked out by hand."""

from __future__ import annotations

import pytest

from erlib.metrics import accuracy_curve, average_accuracy, forgetting, learning_accuracy

# Row = after that task, column = test set of that task.
MATRIX = [
    [0.9, None, None, None],
    [0.5, 0.8, None, None],
    [0.7, 0.6, 1.0, None],
    [0.6, 0.7, 0.4, 0.9],
]


def test_average_accuracy_is_the_mean_of_the_last_row():
    assert average_accuracy(MATRIX) == pytest.approx((0.6 + 0.7 + 0.4 + 0.9) / 4)


def test_forgetting_is_the_best_before_the_end_minus_the_end():
    assert forgetting(MATRIX) == pytest.approx(((0.9 - 0.6) + (0.8 - 0.7) + (1.0 - 0.4)) / 3)


def test_forgetting_is_negative_where_later_tasks_helped():
    assert forgetting([[0.5, None], [0.8, 0.9]]) == pytest.approx(-0.3)


def test_the_best_is_taken_over_all_rows_before_the_last():
    assert forgetting([[0.2, 0.1, 0.1], [0.9, 0.5, 0.1], [0.4, 0.3, 0.8]]) == pytest.approx((0.5 + 0.2) / 2)


def test_forgetting_leaves_the_last_row_out_of_the_best():
    assert forgetting([[0.3, None], [1.0, 1.0]]) == pytest.approx(-0.7)


def test_the_curve_averages_the_tasks_seen_so_far():
    assert accuracy_curve(MATRIX) == pytest.approx([0.9, 0.65, 2.3 / 3, 0.65])


def test_tasks_not_yet_seen_do_not_count_in_the_curve():
    assert accuracy_curve([[0.9, 0.1], [0.5, 0.8]]) == pytest.approx([0.9, 0.65])


def test_learning_accuracy_is_the_mean_of_the_diagonal():
    assert learning_accuracy(MATRIX) == pytest.approx((0.9 + 0.8 + 1.0 + 0.9) / 4)


def test_multitask_has_a_final_row_only():
    matrix = [[None] * 3, [None] * 3, [0.6, 0.9, 0.3]]
    assert average_accuracy(matrix) == pytest.approx(0.6)
    assert forgetting(matrix) is None
    assert learning_accuracy(matrix) is None
    assert accuracy_curve(matrix) == [None, None, pytest.approx(0.6)]


def test_a_single_task_has_no_forgetting():
    assert average_accuracy([[0.7]]) == 0.7
    assert forgetting([[0.7]]) is None
    assert accuracy_curve([[0.7]]) == [0.7]
    assert learning_accuracy([[0.7]]) == 0.7
