"""Fig. 1: average accuracy against the size of the memory, one panel a benchmark."""

from __future__ import annotations

import functools
import statistics
from collections.abc import Sequence

import pandas
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, NullLocator

from erlib.config import RunConfig
from erlib.experiments import TABLES
from erlib.paper.numbers import published
from erlib.protocol import BENCHMARKS
from erlib.report.numbers import draw_band
from erlib.report.page import Page, Series
from erlib.report.style import (
    Plot,
    band_handle,
    canvas,
    legend_below,
    line_handle,
    look,
    paper_handle,
    runs_text,
    seed_handle,
    styled,
)
from erlib.rows import EWC, FINETUNE

PANELS = ("permuted_mnist", "split_cifar", "split_cub", "split_miniimagenet")  # the order of the paper
_LEVELS = ("finetune", "ewc", "multitask")  # rows without a memory: a level, drawn right across
_BOX = {"facecolor": "white", "edgecolor": "#999999", "linewidth": 0.7, "boxstyle": "round,pad=0.35"}


def memory_size(page: Page) -> Plot:
    """Average accuracy A_T against samples per class; filled: ours, hollow: the paper's."""
    chosen = [name for name in PANELS if page.series(benchmark=name)]
    with styled():
        figure, panels = canvas((len(chosen) + 1) // 2, min(2, len(chosen)), 0.9 + 3.5 * ((len(chosen) + 1) // 2))
        for axes, benchmark in zip(panels.flat, chosen):
            _panel(axes, benchmark, page.series(benchmark=benchmark))
        for axes in panels.flat[len(chosen) :]:
            axes.set_axis_off()
        figure.suptitle(page.titled("Average accuracy against the size of the memory"), fontsize=10)
        everything = page.series()
        labels = list(dict.fromkeys(series.label for series in everything))
        handles = [line_handle(label) for label in labels]
        handles += [paper_handle(), seed_handle(), band_handle([series.n for series in everything])]
        legend_below(figure, handles, 4)
    return Plot(figure, page.name)


def _panel(axes: Axes, benchmark: str, places: Sequence[Series]) -> None:
    sizes = sorted({place.config.samples_per_class for place in places if place.config.samples_per_class})
    labels = list(dict.fromkeys(place.label for place in places if place.config.samples_per_class))
    edges = (sizes[0] / 1.35, sizes[-1] * 1.35) if sizes else (0.7, 1.4)
    for label in labels:
        shift = 1 + 0.035 * (labels.index(label) - (len(labels) - 1) / 2)  # side by side, so that none hides another
        _curve(axes, [place for place in places if place.label == label], shift)
    for place in (place for place in places if place.config.method in _LEVELS):
        _level(axes, place, edges)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator(sizes))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.set(xlim=edges, xlabel="samples per class", ylabel="Average accuracy $A_T$ [%]")
    axes.set_title(f"{BENCHMARKS[benchmark].title}, ours: {runs_text([place.n for place in places])}")
    low, high = axes.get_ylim()
    axes.set_ylim(low - 0.3 * (high - low), high)  # room for the box
    box = "\n".join(gains(benchmark, places))
    axes.text(0.97, 0.03, box, transform=axes.transAxes, ha="right", va="bottom", bbox=_BOX, zorder=8)


def _curve(axes: Axes, places: Sequence[Series], shift: float) -> None:
    row = look(places[0].label)
    known = [place for place in places if place.n]
    xs = [place.config.samples_per_class * shift for place in known]
    means = [statistics.fmean(place.accuracies) for place in known]
    axes.plot(xs, means, color=row.colour, marker=row.marker, markersize=5.5, linewidth=1.6)
    draw_band(axes, xs, [place.accuracies for place in known], row.colour)
    for x, place in zip(xs, known):
        axes.plot([x] * place.n, place.accuracies, ".", color=row.colour, markersize=3, alpha=0.7)
    printed = [
        (place.config.samples_per_class * shift, value) for place in places for value in paper_values(place.config)
    ]
    if printed:
        hollow = {"markerfacecolor": "white", "markeredgecolor": row.colour, "markersize": 5.5}
        axes.plot(*zip(*printed), color=row.colour, linestyle="--", linewidth=0.8, marker=row.marker, **hollow)


def _level(axes: Axes, place: Series, edges: tuple[float, float]) -> None:
    row = look(place.label)
    for value in paper_values(place.config):
        axes.axhline(value, color=row.colour, linestyle="--", linewidth=0.8)
        hollow = {"markerfacecolor": "white", "markeredgecolor": row.colour, "markersize": 5.5}
        axes.plot([edges[1] / 1.08], [value], marker=row.marker, clip_on=False, **hollow)
    if place.n:
        mean = statistics.fmean(place.accuracies)
        draw_band(axes, edges, [place.accuracies] * 2, row.colour)
        axes.axhline(mean, color=row.colour, linewidth=1.6)
        axes.plot([edges[0] * 1.08], [mean], marker=row.marker, color=row.colour, markersize=5.5)
        axes.plot([edges[0] * 1.04] * place.n, place.accuracies, ".", color=row.colour, markersize=3, alpha=0.7)


@functools.cache
def printed(config: RunConfig, metric: str) -> tuple[float, float | None] | None:
    """The value after the last task that the paper prints for a config's cell, with its ±; None if it prints none."""
    name = next((table for table, benchmark in TABLES.items() if benchmark == config.benchmark), None)
    same = {"method": config.method, "memory": config.memory, "samples_per_class": config.samples_per_class}
    found = published(name, metric=metric, **same) if name else ()
    if not len(found):
        return None
    spread = found.spread.iloc[0]
    return float(found.value.iloc[0]), None if pandas.isna(spread) else float(spread)


def paper_values(config: RunConfig) -> list[float]:
    """The accuracy that the paper prints for a config's cell, if it prints one: a list of one or none."""
    found = printed(config, "accuracy")
    return [found[0]] if found else []


def gains(benchmark: str, places: Sequence[Series]) -> list[str]:
    """The lines of the box: how far ER-Ring with one sample per class is above finetune and EWC."""
    ring = [place for place in places if place.label == "ER-Ring" and place.config.samples_per_class == 1]
    lines = ["ER-Ring at 1 per class"]
    for row in (FINETUNE, EWC):
        base = [place for place in places if place.label == row.label]
        values = [value for place in ring + base for value in paper_values(place.config)]
        if len(values) != 2:
            continue
        pairs = list(zip(ring[0].accuracies, base[0].accuracies))  # the same seeds: the same tasks
        ours = f"{statistics.fmean(a - b for a, b in pairs):+.1f}" if pairs else "not run"
        lines.append(f"over {row.label}: {ours} (paper {values[0] - values[1]:+.1f})")
    return lines if len(lines) > 1 else ["gain at 1 per class:", "needs ER-Ring and Finetune"]
