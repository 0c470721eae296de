"""What each lever does, drawn: the change that it makes, beside the change that would give the paper's number."""

from __future__ import annotations

import contextlib
import statistics

import pandas
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from erlib.report.comparison import lines
from erlib.report.levers import Lever, Pairs, changes, place_name, tried
from erlib.report.numbers import LEAST, beyond_range, mean_and_half
from erlib.report.page import Page
from erlib.report.style import Plot, canvas, legend_below, look, note, styled

_LINE = 0.21  # inches
_HOLLOW = {"marker": "D", "markerfacecolor": "white", "markeredgecolor": "#444444", "linestyle": ""}


def lever_intervals(page: Page) -> Plot:
    """Each lever's change of A_T with its interval; hollow: what the row lacks of the paper's A_T on the same seeds."""
    found, paper = tried(page), _printed(page)
    places = list(dict.fromkeys((label, size) for label, size, _ in found))
    with styled():
        figure, panels = canvas(1, 1, 1.4 + _LINE * (len(found) + len(places)))
        axes = panels[0, 0]
        names: list[str] = []
        for number, place in enumerate(places):
            here = {lever: pairs for lever, pairs in found.items() if lever[:2] == place}
            axes.axhspan(len(names) - 0.5, len(names) + len(here) + 0.5, color=("white", "#f4f4f4")[number % 2], lw=0)
            names.append(place_name(*place))
            for lever, pairs in here.items():
                _draw(axes, len(names), lever, pairs, paper.get(place))
                names.append(f"{lever[2]} (n = {len(pairs)})")
        axes.axvline(0, color="#444444", linewidth=0.9)
        axes.set(ylim=(max(len(names), 1) - 0.5, -0.5), xlabel="change of A_T [points]")
        axes.set_yticks(range(len(names)), names)
        for name, tick in zip(names, axes.get_yticklabels(), strict=True):
            tick.set_fontweight("normal" if " → " in name else "bold")
        axes.grid(visible=False, axis="y")
        if not found:
            note(axes, "no run with another setting yet")
        figure.suptitle(page.titled("What each lever changes, one at a time"), fontsize=10)
        legend_below(figure, _handles(), 1)
    return Plot(figure, f"{page.name}-levers")


def _printed(page: Page) -> dict[tuple[str, int], float]:
    """The paper's A_T by row and samples per class (0: no memory)."""
    frame = lines(page)
    frame = frame[(frame.metric == "accuracy") & frame.paper.notna()]
    return {
        (line.row, 0 if pandas.isna(line.size) else line.size): line.paper for line in frame.itertuples(index=False)
    }


def _draw(axes: Axes, y: int, lever: Lever, pairs: Pairs, paper: float | None) -> None:
    mean, half = mean_and_half(changes(pairs))
    row = look(lever[0])
    if paper is not None:
        lacks = paper - 100 * statistics.fmean(without.average_accuracy for _, without in pairs)
        axes.plot([lacks], [y], markersize=5, zorder=2, **_HOLLOW)
    if half is not None:
        with beyond_range(axes) if len(pairs) < LEAST else contextlib.nullcontext():
            axes.plot([mean - half, mean + half], [y, y], color=row.colour, linewidth=1.8, zorder=3)
    axes.plot([mean], [y], color=row.colour, marker=row.marker, markersize=5.5, zorder=4)


def _handles() -> list[Line2D]:
    ours = "with the lever minus without, mean and 95% interval over the same n seeds"
    style = {"color": "#444444", "marker": "o", "markersize": 5.5, "linewidth": 1.8}
    return [
        Line2D([], [], label=ours, **style),
        Line2D([], [], label="what is missing to the paper's A_T without the lever", markersize=5, **_HOLLOW),
    ]
