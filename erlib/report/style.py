"""One look for every figure: a colour and marker for each method, fonts for a page's width, the same bytes twice."""

from __future__ import annotations

import io
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from erlib.report.numbers import LEAST

WIDTH = 7.5  # inches: 720 pixels, the text width of a page of the book
TEXT = "#222222"

# The paper's baselines are grey to pink, A-GEM and MER warm, replay cold; neighbours differ in lightness as well.
_LOOKS = {
    "Finetune": ("#8a8a8a", "s"),
    "EWC": ("#4d4d4d", "D"),
    "A-GEM(10)": ("#cc79a7", "v"),
    "A-GEM(256)": ("#882255", "^"),
    "MER(single)": ("#e69f00", "<"),
    "MER(batch)": ("#a65e00", ">"),
    "ER-Ring": ("#0072b2", "o"),
    "ER-MoF": ("#56b4e9", "p"),
    "ER-k-means": ("#332288", "h"),
    "ER-Reservoir": ("#009e73", "X"),
    "ER-Hybrid": ("#d55e00", "*"),
    "ER-Full ring": ("#999933", "8"),
    "Multi-task": ("#000000", "d"),
    "Memory only": ("#aa4499", "P"),
    "Memory only, fresh network": ("#661100", "H"),
}
_OTHERS = ("#117733", "#cc3311", "#6699cc", "#ddaa33", "#ee3377", "#44aa99")

RC = {
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same letters on every machine
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.labelsize": 9,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "axes.edgecolor": "#666666",
    "text.color": TEXT,
    "axes.labelcolor": TEXT,
    "xtick.color": TEXT,
    "ytick.color": TEXT,
    "figure.facecolor": "white",  # opaque, so that a dark page does not swallow the text
    "savefig.facecolor": "white",
    "svg.fonttype": "path",
    "svg.hashsalt": "erlib",
}


@dataclass(frozen=True)
class Look:
    """How a method is drawn."""

    colour: str
    marker: str


def look(label: str) -> Look:
    """The look of a row by its label; a method of your own gets one of the free colours, always the same."""
    if label in _LOOKS:
        return Look(*_LOOKS[label])
    return Look(_OTHERS[zlib.crc32(label.encode()) % len(_OTHERS)], "H")


class Plot:
    """A finished figure. A notebook shows it as SVG; `save` writes any format that matplotlib knows."""

    def __init__(self, figure: Figure, name: str) -> None:
        self.figure, self.name = figure, name
        with styled():
            figure.draw_without_rendering()
            figure.set_layout_engine("none")  # laid out once: a second drawing would move things by a hair

    def svg(self) -> str:
        """The figure as SVG, the same text every time: no date, fixed ids."""
        buffer = io.StringIO()
        with styled():
            self.figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
        return buffer.getvalue()

    def save(self, path: str | Path, **options: Any) -> None:
        """Write the figure to a file; the ending chooses the format."""
        with styled():
            self.figure.savefig(path, **{"dpi": 150} | options)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"image/svg+xml": self.svg(), "text/plain": repr(self)}

    def __repr__(self) -> str:
        return f"<figure {self.name}>"


def canvas(rows: int, columns: int, height: float, **options: Any) -> tuple[Figure, Any]:
    """A figure as wide as a page, and its panels as an array of rows and columns. Use within `styled`."""
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def styled() -> Any:
    """Context in which figures are made."""
    return matplotlib.rc_context(RC)


def line_handle(label: str, text: str | None = None) -> Line2D:
    """The legend's entry of one of our rows."""
    row = look(label)
    return Line2D([], [], color=row.colour, marker=row.marker, markersize=5.5, linewidth=1.6, label=text or label)


def paper_handle() -> Line2D:
    """The legend's entry of the paper's own numbers."""
    hollow = {"markerfacecolor": "white", "markeredgecolor": "#444444", "markersize": 5.5}
    return Line2D([], [], color="#444444", linestyle="--", linewidth=1, marker="o", label="the paper", **hollow)


def seed_handle() -> Line2D:
    """The legend's entry of single runs."""
    return Line2D([], [], color="#444444", linestyle="", marker=".", markersize=4, label="one seed")


def band_handle(counts: Sequence[int]) -> Patch:
    """The legend's entry of a band, with the number of runs behind it."""
    words = f"95% interval of the mean, {runs_text(counts)}"
    if any(0 < count < LEAST for count in counts):
        words += f"\n(drawn from {LEAST} seeds on)"
    return Patch(color="#444444", alpha=0.18, linewidth=0, label=words)


def runs_text(counts: Sequence[int]) -> str:
    """ "n = 5", or "n = 3 to 5"; "no runs yet" where there are none.

    >>> runs_text([3, 5, 5])
    'n = 3 to 5'
    """
    held = [count for count in counts if count]
    if not held:
        return "no runs yet"
    return f"n = {min(held)}" if min(held) == max(held) else f"n = {min(held)} to {max(held)}"


def legend_below(figure: Figure, handles: Sequence[Any], columns: int) -> None:
    """A legend under all panels, inside the figure."""
    figure.legend(handles=handles, loc="outside lower center", ncols=columns, handlelength=2.2, columnspacing=1.4)


def note(axes: Axes, text: str) -> None:
    """Words in a panel that would otherwise be empty, or hold less than it should."""
    style = {"ha": "center", "va": "center", "color": "#666666", "style": "italic", "zorder": 9}
    axes.text(0.5, 0.5, text, transform=axes.transAxes, **style)
