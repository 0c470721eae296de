"""Fig. 3: task 1 while task 2, rotated digits, is learned with and without the memory; and beyond it, every angle."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes

from erlib.paper.numbers import text_value
from erlib.report.numbers import draw_band
from erlib.report.page import Page, Series
from erlib.report.style import (
    Plot,
    band_handle,
    canvas,
    legend_below,
    line_handle,
    look,
    note,
    seed_handle,
    styled,
)

NAMES = {  # the paper's words for what task 2 is trained on
    "Finetune": "task 2 only",
    "ER-Ring": "memory and task 2",
    "Memory only": "memory only, going on from task 1",
    "Memory only, fresh network": "memory only, fresh network",
}
_MEASURES = (
    ("test_accuracy", 100, "Task 1, test set:\naccuracy [%]"),
    ("memory_accuracy", 100, "Task 1, memory:\naccuracy [%]"),
    ("memory_loss", 1, "Task 1, memory:\ncross-entropy [nats]"),
)
_PAPER = {"color": "#444444", "linestyle": "--", "linewidth": 1}


def rotation_curves(page: Page) -> Plot:
    """Task 1's test set and memory against the iterations on task 2: a column for each angle."""
    angles = sorted({place.config.angle for place in page.series()})
    with styled():
        figure, panels = canvas(3, len(angles), 7.8, sharex=True, sharey="row")
        for column, angle in enumerate(angles):
            places = page.series(angle=angle)
            for axes, (measure, factor, _) in zip(panels[:, column], _MEASURES):
                for place in places:
                    _curve(axes, place, measure, factor)
                if not any(place.n for place in places):
                    note(axes, "not run yet,\nsee below")
            panels[0, column].set_title(f"{angle:g} degrees")
            _paper_levels(panels[0, column], angle)
            panels[2, column].set(xlabel="iteration on task 2")
            panels[2, column].set_yscale("symlog", linthresh=1e-3)
            panels[2, column].set_xscale("symlog", linthresh=10)
            panels[2, column].set_ylim(bottom=0)
        for axes, (_, _, label) in zip(panels[:, 0], _MEASURES):
            axes.set_ylabel(label)
        figure.suptitle(page.titled("What remembers task 1 while task 2 is learned?"), fontsize=10)
        legend_below(figure, _handles(page.series()), 2)
    return Plot(figure, page.name)


def rotation_strength(page: Page) -> Plot:
    """The paper's two axes at once: what the memory adds to task 2 alone, against the number of examples of task 2."""
    angles = sorted({place.config.angle for place in page.series()})
    shades = ("#9ecae1", "#4292c6", "#08306b", "#00172e")
    with styled():
        figure, panels = canvas(1, 1, 3.6)
        axes = panels[0, 0]
        counts = []
        for shade, marker, angle in zip(shades * len(angles), "osD^" * len(angles), angles):
            both, alone = (_named(page.series(angle=angle), label) for label in ("ER-Ring", "Finetune"))
            gains = _gains(both, alone)
            counts.append(len(next(iter(gains.values()), [])))
            xs = [10 * step for step in gains if step]
            columns = [gains[step] for step in gains if step]
            means = [statistics.fmean(column) for column in columns]
            label = f"{angle:g} degrees"
            axes.plot(xs, means, color=shade, marker=marker, markersize=4.5, markevery=12, label=label)
            draw_band(axes, xs, columns, shade)
        axes.axhline(0, color="#444444", linewidth=0.8)
        axes.set(xlim=(8, 25_000), xscale="log", xlabel="examples of task 2 seen")
        axes.set_ylabel("Gain of the memory\non task 1 [points]")
        if not any(counts):
            note(axes, "not run yet, see below")
        handles = axes.get_legend_handles_labels()[0]
        figure.suptitle(page.titled("What the memory adds: memory and task 2, minus task 2 only"), fontsize=10)
        legend_below(figure, [*handles, band_handle(counts)], 4)
    return Plot(figure, f"{page.name}-strength")


def rotation_sweep(page: Page) -> Plot:
    """Beyond the paper: task 1 after task 2, against the angle between them."""
    places = page.series("rotation_sweep")
    labels = list(dict.fromkeys(place.label for place in places))
    with styled():
        figure, panels = canvas(1, 1, 4.0)
        axes = panels[0, 0]
        for label in labels:
            _sweep(axes, label, [place for place in places if place.label == label and place.n])
        before = [row[0][0] for place in places[:1] for row in [result.accuracy for result in place.results]]
        if before:
            axes.axhline(100 * statistics.fmean(before), color="#444444", linewidth=1, linestyle=":")
            axes.text(180, 100 * statistics.fmean(before) + 1, "before task 2", ha="right", va="bottom")
        axes.axvline(text_value("related_below"), **_PAPER)
        axes.text(text_value("related_below") + 2, 2, "the paper: positive transfer\nbelow 20 degrees", va="bottom")
        axes.set(xlabel="angle between the tasks [degrees]", ylabel="Task 1, test set:\naccuracy after task 2 [%]")
        axes.set(xlim=(-3, 183), ylim=(0, 100), xticks=range(0, 181, 20))
        if not any(place.n for place in places):
            note(axes, "not run yet, see below")
        figure.suptitle(page.titled("Task 1 after 1,000 examples of task 2, by angle"), fontsize=10)
        handles = [line_handle(label, NAMES.get(label)) for label in labels]
        legend_below(figure, [*handles, seed_handle(), band_handle([place.n for place in places])], 2)
    return Plot(figure, f"{page.name}-sweep")


def _sweep(axes: Axes, label: str, places: Sequence[Series]) -> None:
    row = look(label)
    values = {place.config.angle: [100 * result.accuracy[-1][0] for result in place.results] for place in places}
    angles = sorted(values)
    columns = [values[angle] for angle in angles]
    axes.plot(
        angles, [statistics.fmean(column) for column in columns], color=row.colour, marker=row.marker, markersize=5
    )
    draw_band(axes, angles, columns, row.colour)
    for angle in angles:
        axes.plot([angle] * len(values[angle]), values[angle], ".", color=row.colour, markersize=3, alpha=0.7)


def _curve(axes: Axes, place: Series, measure: str, factor: float) -> None:
    curves = [result.curves[measure] for result in place.results if measure in result.curves]
    if not curves:
        return
    row, steps = look(place.label), curves[0]["step"]
    columns = [[factor * curve["value"][i] for curve in curves] for i in range(len(steps))]
    means = [statistics.fmean(column) for column in columns]
    axes.plot(steps, means, color=row.colour, linewidth=1.5)
    draw_band(axes, steps, columns, row.colour)
    axes.plot([steps[-1]] * len(curves), columns[-1], ".", color=row.colour, markersize=3, alpha=0.7)
    axes.plot([steps[-1]], means[-1:], marker=row.marker, color=row.colour, markersize=5, clip_on=False)


def _paper_levels(axes: Axes, angle: float) -> None:
    """The numbers of section 5.5, as dashed lines with their names."""
    levels = {"after_task_1": "after task 1", "memory_only": "memory only"}
    levels |= {"both_at_60": "both"} if angle == 60 else {}
    for name, words in levels.items():
        value = text_value(name)
        axes.axhline(value, **_PAPER)
        style = {"va": "bottom", "color": "#444444", "zorder": 8}
        box = {"facecolor": "white", "alpha": 0.75, "linewidth": 0, "pad": 0.5}
        axes.text(0.2, value + 1.5, f"paper, {words}: {value:g}", bbox=box, **style)
    axes.set_ylim(0, 103)


def _handles(places: Sequence[Series]) -> list[Any]:
    from matplotlib.lines import Line2D

    labels = dict.fromkeys(place.label for place in places)
    handles: list[Any] = [line_handle(label, NAMES.get(label)) for label in labels]
    handles.append(Line2D([], [], label="the paper's text", **_PAPER))
    return [*handles, seed_handle(), band_handle([place.n for place in places])]


def _named(places: Sequence[Series], label: str) -> Series | None:
    return next((place for place in places if place.label == label), None)


def _gains(both: Series | None, alone: Series | None) -> dict[int, list[float]]:
    """By iteration: how far memory and task 2 together are above task 2 alone, seed by seed."""
    gains: dict[int, list[float]] = {}
    for first, second in zip(both.results if both else (), alone.results if alone else ()):
        a, b = (result.curves["test_accuracy"] for result in (first, second))
        for step, x, y in zip(a["step"], a["value"], b["value"]):
            gains.setdefault(step, []).append(100 * (x - y))
    return gains
