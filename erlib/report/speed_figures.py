"""The figures of the page on speed: ratios to the bare loop, and how a writer's step grows."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from erlib.bench import COMMAND
from erlib.protocol import BENCHMARKS
from erlib.report.page import Page
from erlib.report.speed import FLAT, SIDES, rows, work, writer_label
from erlib.report.style import Plot, canvas, legend_below, line_handle, look, note, styled

MARKERS = {"erlib": ("#0072b2", "o"), "avalanche": ("#d55e00", "s")}  # programs, not methods
AXES = {"samples per class": "samples per class", "tasks seen": "tasks seen", "classes": "classes in the memory"}
MISSING = f"not measured yet:\n{COMMAND}"


def speed_ratios(page: Page) -> Plot:
    """Steps, evaluation, whole runs and sweeps of erlib and Avalanche; the bare loop is 1."""
    found = [row for section in ("steps", "evaluation", "runs") for row in rows(page, section)]
    found = [row for row in found if row["side"] in MARKERS and "ratio" in row]
    names = list(dict.fromkeys(work(row) for row in found))
    with styled():
        figure, panels = canvas(1, 2, 4.6, sharey=True)
        for axes, benchmark in zip(panels.flat, ("permuted_mnist", "split_cifar")):
            part = [row for row in found if row["benchmark"] == benchmark]
            _ratios(axes, part, names)
            axes.set_title(BENCHMARKS[benchmark].title)
        handles = [
            Line2D([], [], color=colour, marker=marker, markersize=6, linestyle="", label=SIDES[side])
            for side, (colour, marker) in MARKERS.items()
        ]
        handles.append(Line2D([], [], color="#444444", linewidth=1.2, label="the bare loop"))
        handles.append(Line2D([], [], color="#444444", linewidth=2.5, alpha=0.5, label="quartiles"))
        legend_below(figure, handles, 4)
    return Plot(figure, f"{page.name}-ratios")


def _ratios(axes: Axes, part: list[dict[str, Any]], names: list[str]) -> None:
    axes.set(yticks=range(len(names)), yticklabels=names, ylim=(max(1, len(names)) - 0.5, -0.5))
    if not part:
        note(axes, MISSING)
        axes.set(xticks=[])
        return
    for row in part:
        colour, marker = MARKERS[row["side"]]
        y = names.index(work(row)) + (0.2 if row["side"] == "erlib" else -0.2)
        axes.plot([row["ratio_low"], row["ratio_high"]], [y, y], color=colour, linewidth=2.5, alpha=0.5)
        axes.plot(row["ratio"], y, marker, color=colour, markersize=6)
        text = axes.annotate(f"{row['ratio']:.2f}", (row["ratio_high"], y), (6, 0), textcoords="offset points")
        text.set(va="center", fontsize=8, bbox={"facecolor": "white", "linewidth": 0, "pad": 0.3, "alpha": 0.8})
    axes.axvline(1, color="#444444", linewidth=1.2)
    largest, least = max(row["ratio_high"] for row in part), min(row["ratio_low"] for row in part)
    axes.set_xscale("log")
    axes.set(xlim=(min(0.8, 0.85 * least), 1.6 * largest), xlabel="time, bare loop = 1 (logarithmic)")
    axes.xaxis.set_major_locator(FixedLocator([0.25, 0.5, 1, 2, 4, 8, 16, 32]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def growth(page: Page) -> Plot:
    """Milliseconds of ER's step for every writer, and below them the same as ratios to a line's first point."""
    found = rows(page, "growth")
    writers = list(dict.fromkeys(row["writer"] for row in found))
    with styled():
        figure, panels = canvas(2, len(AXES), 5.2, sharex="col", sharey="row")
        for column, (axis, title) in enumerate(AXES.items()):
            above, below = panels[0, column], panels[1, column]
            if not found:
                note(above, MISSING if column == 1 else "")
            for writer in writers:
                _line(above, below, [row for row in found if (row["axis"], row["writer"]) == (axis, writer)], writer)
            below.axhspan(1 - FLAT, 1 + FLAT, color="#444444", alpha=0.12, linewidth=0)
            below.set(xlabel=title)
            ticks = sorted({row["value"] for row in found if row["axis"] == axis})
            if ticks:
                below.set_xscale("log")
                below.xaxis.set_major_locator(FixedLocator(ticks))
                below.xaxis.set_minor_locator(NullLocator())
                below.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        panels[0, 0].margins(y=0.15)
        panels[0, 0].set(ylabel="a step, ms", ylim=(0, None))
        panels[1, 0].set_ylabel("ratio to the first point")
        handles = [line_handle(writer_label(writer)) for writer in writers]
        handles.append(Patch(color="#444444", alpha=0.12, linewidth=0, label=f"within {FLAT:.0%}"))
        legend_below(figure, handles, 4)
    return Plot(figure, f"{page.name}-growth")


def _line(above: Axes, below: Axes, points: list[dict[str, Any]], writer: str) -> None:
    if not points:
        return
    style, xs = look(writer_label(writer)), [point["value"] for point in points]
    drawn = {"color": style.colour, "marker": style.marker, "markersize": 5, "linewidth": 1.4}
    above.plot(xs, [1000 * point["seconds"] for point in points], **drawn)
    below.plot(xs, [point["ratio"] for point in points], **drawn)
    low, high = [point["ratio_low"] for point in points], [point["ratio_high"] for point in points]
    below.vlines(xs, low, high, color=style.colour, linewidth=2.5, alpha=0.35)
