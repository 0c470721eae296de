"""The paper's metrics, as pure functions of the accuracy matrix.

`matrix[i][j]` is the accuracy on task j's test set after task i was learned, a fraction in [0, 1]; None where it
was not evaluated (tasks not yet seen; every row but the last for multi-task).
"""

from __future__ import annotations

from collections.abc import Sequence

Row = Sequence[float | None]


def average_accuracy(matrix: Sequence[Row]) -> float:
    """A_T, the mean of the last row (Eq. 1)."""
    return _mean(matrix[-1])


def accuracy_curve(matrix: Sequence[Row]) -> list[float | None]:
    """A_k for k = 1..T: after task k, the mean over the tasks seen so far. None where nothing was evaluated."""
    rows = [row[: k + 1] for k, row in enumerate(matrix)]
    return [_mean(row) if row and None not in row else None for row in rows]


def forgetting(matrix: Sequence[Row]) -> float | None:
    """F_T: for each task but the last, its best accuracy before the end minus the one at the end; averaged (Eq. 3).

    The best is taken over the evaluated rows. None if no task was evaluated before the last row.
    """
    last = len(matrix) - 1
    drops = []
    for j in range(last):
        before = [matrix[i][j] for i in range(last) if matrix[i][j] is not None]
        if before:
            drops.append(max(before) - matrix[last][j])
    return _mean(drops) if drops else None


def learning_accuracy(matrix: Sequence[Row]) -> float | None:
    """Mean accuracy on each task right after it was learned (the diagonal)."""
    diagonal = [matrix[k][k] for k in range(len(matrix))]
    return None if None in diagonal else _mean(diagonal)


def _mean(values: Row) -> float:
    return sum(values) / len(values)
