"""The interval that every band of the book shows."""

from __future__ import annotations

import contextlib
import math
import statistics
from collections.abc import Iterator, Sequence

from matplotlib.axes import Axes
from scipy import stats

CONFIDENCE = 0.95
LEAST = 3  # seeds for a band: the interval of two is wider than any plot


def mean_and_half(values: Sequence[float]) -> tuple[float, float | None]:
    """The mean and half the width of its 95% interval (Student's t over the seeds); None for a single value.

    >>> mean_and_half([1.0, 1.0, 1.0])
    (1.0, 0.0)
    """
    mean = statistics.fmean(values)
    if len(values) < 2:
        return mean, None
    error = statistics.stdev(values) / math.sqrt(len(values))
    return mean, float(stats.t.ppf((1 + CONFIDENCE) / 2, len(values) - 1)) * error


@contextlib.contextmanager
def beyond_range(axes: Axes) -> Iterator[None]:
    """What is drawn in here may leave the plot rather than set its range: intervals of few seeds are that wide."""
    limits = axes.dataLim.frozen()
    yield
    axes.dataLim.set(limits)


def draw_band(axes: Axes, xs: Sequence[float], columns: Sequence[Sequence[float]], colour: str) -> None:
    """The 95% interval of the mean along a curve, where there are seeds enough for one."""
    intervals = [(x, *mean_and_half(column)) for x, column in zip(xs, columns) if len(column) >= LEAST]
    if intervals:
        where, low, high = zip(*((x, mean - half, mean + half) for x, mean, half in intervals))
        axes.fill_between(where, low, high, color=colour, alpha=0.16, linewidth=0)
