"""The paper's sentences, judged: one table of claims, one of their lines, one figure of intervals."""

from __future__ import annotations

import contextlib

import pandas
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from erlib.paper import claims
from erlib.report.numbers import LEAST, beyond_range
from erlib.report.page import Page
from erlib.report.shown import Note, Table, prose
from erlib.report.style import Plot, canvas, legend_below, styled

_DARK = {"holds": "#0072b2", "does not hold": "#d55e00", "not enough runs": "#777777"}
_ROOM, _SPACE = 0.24, 0.075  # inches: least height of a claim; of a line of it
_MARK = {"holds": "o", "does not hold": "X", "not enough runs": "s"}


def claim_lines(page: Page) -> pandas.DataFrame:
    """The ledger of the page's store."""
    return claims.ledger(page.store, page.settings["seeds"])


def claim_table(lines: pandas.DataFrame) -> Table:
    """One row for each sentence of the paper."""
    summary = claims.summary(lines)
    shown = pandas.DataFrame(
        {
            "verdict": summary.judgement,  # first, so that a narrow screen shows it
            "lines that hold": [f"{row.holds} of {row.lines}" for row in summary.itertuples()],
            "its own tables support": summary.paper_table,
            "the paper says (in our words)": summary.says + "\n(" + summary["where"] + ")",
        }
    ).set_axis(summary.claim)
    shown.index.name = None
    words = pandas.DataFrame("", index=shown.index, columns=shown.columns)
    words["verdict"] = summary.judgement.to_numpy()
    caption = "The paper's claims, each judged by its lines below."
    return Table(shown, "claims", caption, frame=summary, words=words, decorate=prose(3, "20em"))


def evidence_table(lines: pandas.DataFrame) -> Table:
    """One row for each line: the quantity, the range claimed, our mean and interval, n, and the paper's own value."""
    shown = pandas.DataFrame(
        {
            "verdict": lines.judgement,
            "ours": [_ours(row) for row in lines.itertuples()],
            "quantity": lines.what,
            "claimed": [_range(row) for row in lines.itertuples()],
            "the paper's tables": [_paper(row) for row in lines.itertuples()],
        }
    ).set_axis(lines.claim)
    shown.index.name = None
    numbered = [f"{claim}.{k}" for claim, k in zip(lines.claim, lines.groupby("claim").cumcount() + 1)]
    shown.index = pandas.Index(numbered)
    words = pandas.DataFrame("", index=shown.index, columns=shown.columns)
    words["verdict"] = lines.judgement.to_numpy()
    caption = "The lines of each claim. Ours: mean over n seeds, and the 95% interval of the mean."
    return Table(shown, "claim-lines", caption, frame=lines, words=words, decorate=prose(2, "12em"))


def claim_counts(lines: pandas.DataFrame) -> Note:
    """How many sentences hold."""
    summary = claims.summary(lines)
    parts = [f"{word} {(summary.judgement == word).sum()}" for word in claims.WORDS]
    return Note(f"Of {len(summary)} claims: {', '.join(parts)}. They rest on {len(lines)} lines.")


def intervals(lines: pandas.DataFrame) -> Plot:
    """The lines in points, claim by claim: mean and interval; hollow: the same quantity from the paper's own tables."""
    groups = [(claim, part) for claim, part in lines[lines.unit == "points"].groupby("claim", sort=False)]
    heights = [max(_ROOM, _SPACE * (len(part) + 1)) for _, part in groups]  # inches
    with styled():
        figure, panels = canvas(1, 1, 1.6 + sum(heights))
        axes = panels[0, 0]
        for number, (_, part) in enumerate(groups):
            top = -sum(heights[:number])
            axes.axhspan(top - heights[number], top, color="#f4f4f4" if number % 2 else "white", linewidth=0)
            for k, line in enumerate(part.itertuples()):
                _interval(axes, top - heights[number] * (k + 1) / (len(part) + 1), line)
        axes.axvline(0, color="#444444", linewidth=0.9)
        centres = [-sum(heights[:i]) - heights[i] / 2 for i in range(len(groups))]
        axes.set_yticks(centres, [f"{claim} ({len(part)})" for claim, part in groups])
        axes.set(ylim=(-sum(heights), 0), xlabel="points of accuracy")
        axes.grid(visible=False, axis="y")
        figure.suptitle("The quantities behind each claim (how many), with 95% intervals", fontsize=10)
        legend_below(figure, _handles(), 2)
    return Plot(figure, "claims-intervals")


def _handles() -> list[Line2D]:
    style = {"markersize": 5, "linewidth": 1.6}
    handles = [Line2D([], [], color=_DARK[w], marker=_MARK[w], label=f"ours: {w}", **style) for w in _DARK]
    hollow = {"markerfacecolor": "white", "markeredgecolor": "#444444", "markersize": 5}
    return [*handles, Line2D([], [], linestyle="", marker="D", label="the paper's own tables", **hollow)]


def _interval(axes: Axes, y: float, line: tuple) -> None:
    if not pandas.isna(line.paper):
        axes.plot([line.paper], [y], "D", markerfacecolor="white", markeredgecolor="#444444", markersize=3.5, zorder=2)
    if pandas.isna(line.mean):
        return
    colour = _DARK.get(line.judgement, "#777777")
    if not pandas.isna(line.low):
        with beyond_range(axes) if line.n < LEAST else contextlib.nullcontext():
            axes.plot([line.low, line.high], [y, y], color=colour, linewidth=1.6, zorder=3)
    axes.plot([line.mean], [y], color=colour, marker=_MARK.get(line.judgement, "s"), markersize=3.5, zorder=4)


def _range(line: tuple) -> str:
    low, high = line.least, line.most
    if high == float("inf"):
        words = f"above {low:g}"
    elif low == float("-inf"):
        words = f"below {high:g}"
    else:
        words = f"{low:g} to {high:g}"
    named = "" if pandas.isna(line.claimed) else f"\n(the text: {line.claimed:g})"
    return f"{words} {line.unit}{named}"


def _ours(line: tuple) -> str:
    if pandas.isna(line.mean):
        return "–"
    digits = _digits(line)
    interval = "no interval" if pandas.isna(line.low) else f"{line.low:.{digits}f} to {line.high:.{digits}f}"
    return f"{line.mean:.{digits}f} (n = {line.n})\n{interval}"


def _paper(line: tuple) -> str:
    value = "" if pandas.isna(line.paper) else f"{line.paper:.{_digits(line)}f}\n"
    return f"{value}{line.paper_table}"


def _digits(line: tuple) -> int:
    return 3 if line.unit == "fraction" else 2  # forgetting lies between 0 and 1
