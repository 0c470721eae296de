"""Fig. 2 and Fig. 4 to 7: average accuracy over the tasks seen so far, along the stream."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes

from erlib.config import RunConfig
from erlib.metrics import accuracy_curve
from erlib.protocol import BENCHMARKS
from erlib.report.memory_size import paper_values
from erlib.report.numbers import beyond_range, draw_band
from erlib.report.page import Page, Series
from erlib.report.style import (
    Plot,
    band_handle,
    canvas,
    legend_below,
    line_handle,
    look,
    note,
    paper_handle,
    runs_text,
    seed_handle,
    styled,
)


def along_stream(page: Page) -> Plot:
    """A_k against the number of tasks learned, a panel for each memory size; rows without a memory are in all."""
    places = page.series()
    sizes = sorted({place.config.samples_per_class for place in places if place.config.samples_per_class}) or [None]
    with styled():
        columns = min(2, len(sizes))
        lines = -(-len(sizes) // columns)
        figure, panels = canvas(lines, columns, 1.5 + 3.4 * lines, sharey=True)
        for axes, size in zip(panels.flat, sizes):
            here = [place for place in places if place.config.samples_per_class in (size, None)]
            word = "sample" if size == 1 else "samples"
            title = f"{size} {word} per class" if size else "no memory"
            panel(axes, f"{title}, {runs_text([place.n for place in here])}", here)
        for axes in panels.flat[len(sizes) :]:
            axes.set_axis_off()
        for axes in panels[:, 0]:
            axes.set_ylabel("Average accuracy $A_k$ [%]")
        benchmark = BENCHMARKS[places[0].config.benchmark].title
        figure.suptitle(page.titled(f"{benchmark}: accuracy on the tasks seen so far"), fontsize=10)
        legend_below(figure, legend_handles(places), 4)
    return Plot(figure, page.name)


def hybrid_switch(page: Page) -> Plot:
    """Fig. 2: the writers with as many slots as the stream has classes; a line where each seed's hybrid switches.

    Only the seeds that all of them have: the classes of another seed would move a curve by several points.
    """
    places = page.series()
    common = min((place.n for place in places if place.n), default=0)
    places = [dataclasses.replace(place, results=place.results[:common]) for place in places]
    with styled():
        figure, panels = canvas(1, 1, 4.9)
        axes = panels[0, 0]
        slots = places[0].config.memory_size
        panel(axes, f"{slots} slots, {runs_text([place.n for place in places])}", places)
        axes.set_ylabel("Average accuracy $A_k$ [%]")
        switches = [switch for place in places for switch in switch_positions(place)]
        for position in switches:
            axes.axvline(position, color=look("ER-Hybrid").colour, linewidth=1.2, alpha=0.8, linestyle=(0, (1, 1.5)))
        figure.suptitle(page.titled("Split CIFAR: four ways to write into a tiny memory"), fontsize=10)
        handles = legend_handles(places)
        if switches:
            words = f"the hybrid's switch, a line for each of {len(switches)} seeds"
            handle = line_handle("ER-Hybrid", words)
            handle.set(marker="", linestyle=(0, (1, 1.5)), linewidth=1.2)
            handles.append(handle)
        legend_below(figure, handles, 3)
    return Plot(figure, page.name)


def switch_positions(place: Series) -> list[float]:
    """Where each seed's hybrid switched, in tasks learned: 3.4 is within the fourth task."""
    positions = []
    for result in place.results:
        total = _steps(result.config)
        for event in result.events:
            if event["name"] == "switch":
                within = (event["step"] - event["task"] * total) / total if total else 0.5
                positions.append(event["task"] + min(max(within, 0.0), 1.0))
    return positions


def _steps(config: RunConfig) -> float | None:
    """Steps of a task; unknown where a task is all that its data set has (Split CIFAR: 2,500 images)."""
    examples = config.examples_per_task or (2500 if config.source == "cifar100" else None)
    return None if examples is None else -(-examples // config.batch_size)


def panel(axes: Axes, title: str, places: Sequence[Series]) -> None:
    """A_k of some rows along the stream, with the paper's values beside the last task."""
    tasks = places[0].config.tasks
    for number, place in enumerate(places):
        _curve(axes, place)
        for value in paper_values(place.config):
            row = look(place.label)
            x = tasks + 0.35 + 0.25 * (number % 4)  # beside the last task, so that none hides another
            hollow = {"markerfacecolor": "white", "markeredgecolor": row.colour, "markersize": 5.5}
            axes.plot([x], [value], marker=row.marker, linestyle="", **hollow)
    axes.set(xlabel="tasks learned $k$", xlim=(0.5, tasks + 1.5), title=title)
    every = 1 if tasks <= 10 else 4
    axes.set_xticks([k for k in range(1, tasks + 1) if (tasks - k) % every == 0])
    if not any(place.n for place in places):
        note(axes, "ours: not run yet, see below;\nhollow: the paper after the last task")


def _curve(axes: Axes, place: Series) -> None:
    row = look(place.label)
    if place.config.method == "multitask" and place.n:  # it has no stream: a level, for comparison
        axes.axhline(statistics.fmean(place.accuracies), color=row.colour, linewidth=1.2)
        axes.plot([place.config.tasks] * place.n, place.accuracies, ".", color=row.colour, markersize=1.8)
        return
    curves = [accuracy_curve(result.accuracy) for result in place.results]
    ks = [k for k in range(place.config.tasks) if curves and all(curve[k] is not None for curve in curves)]
    values = [[100 * curve[k] for curve in curves] for k in ks]
    xs = [k + 1 for k in ks]
    means = [statistics.fmean(column) for column in values]
    every = max(1, len(ks) // 5)
    axes.plot(
        xs,
        means,
        color=row.colour,
        marker=row.marker,
        markersize=5,
        markevery=every,
        linewidth=1.5,
    )
    with beyond_range(axes):
        draw_band(axes, xs, values, row.colour)
    for x, column in zip(xs, values):
        axes.plot([x] * len(column), column, ".", color=row.colour, markersize=1.8, alpha=0.6)


def legend_handles(places: Sequence[Series]) -> list[Any]:
    """The entries of a legend for these rows."""
    handles = [line_handle(label) for label in dict.fromkeys(place.label for place in places)]
    paper = paper_handle()
    paper.set(linestyle="", label="the paper, after the last task")
    return [*handles, paper, seed_handle(), band_handle([place.n for place in places])]
