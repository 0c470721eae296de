"""Tab. 2 and the page on speed: what was measured apart from the runs, beside the paper's ratios."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas

from erlib.config import BENCHMARKS
from erlib.errors import ErlibError
from erlib.paper.compare import table
from erlib.paper.numbers import published
from erlib.report.page import Page
from erlib.report.shown import Note, Table
from erlib.report.style import Plot, canvas, legend_below, line_handle, look, paper_handle, styled
from erlib.rows import MAIN_ROWS

MEASURED = Path("bench") / "results"
HOW = "python -m erlib bench"


def learning_time(page: Page) -> pandas.DataFrame:
    """Time of a step as a ratio to finetune: one line a row and benchmark, the paper's and ours.

    Ours is `learning_time.json` beside the runs, or else `bench/results/timing.json`.
    """
    frame = table("tab2", page.store)[["row", "benchmark", "paper", "ours", "ours_std"]]
    frame = frame.rename(columns={"ours_std": "spread"})
    file = measured(page, "timing")
    if frame.ours.isna().all() and file is not None:
        ours = {(_label(line), line["benchmark"]): line for line in file["rows"]}
        for index, line in frame.iterrows():
            found = ours.get((line["row"], line.benchmark))
            if found is not None:
                frame.loc[index, ["ours", "spread"]] = found["ratio"], found.get("spread")
    return frame


def learning_table(page: Page) -> Table:
    """Tab. 2 as ratios to finetune."""
    frame = learning_time(page)
    benchmarks = list(dict.fromkeys(frame.benchmark))
    rows = list(dict.fromkeys(frame["row"]))
    cells = {(line["row"], line.benchmark): line for _, line in frame.iterrows()}
    columns = [(BENCHMARKS[b].title, side) for b in benchmarks for side in ("paper", "ours")]
    text = [
        [_ratio(cells[row, b], side) if (row, b) in cells else "" for b in benchmarks for side in ("paper", "ours")]
        for row in rows
    ]
    shown = pandas.DataFrame(text, index=rows, columns=pandas.MultiIndex.from_tuples(columns))
    caption = "Learning time as a multiple of finetune's. Ours: ± the standard deviation over repeats, where known."
    return Table(shown, page.name, caption, frame=frame)


def ordering(page: Page) -> Note:
    """Is the order of the methods the paper's? Only that is judged."""
    frame = learning_time(page)
    sentences = []
    for benchmark, part in frame.groupby("benchmark", sort=False):
        part = part[part.ours.notna()]
        if part.empty:
            sentences.append(f"{BENCHMARKS[benchmark].title}: not measured yet; `{HOW}` measures it.")
            continue
        ours = " < ".join(part.sort_values("ours", kind="stable")["row"])
        paper = " < ".join(part.sort_values("paper", kind="stable")["row"])
        pairs = [(a, b) for a in part.itertuples() for b in part.itertuples() if a.paper < b.paper]
        same = sum(a.ours < b.ours for a, b in pairs)
        words = f"{same} of {len(pairs)} pairs of methods are in the paper's order"
        sentences.append(f"{BENCHMARKS[benchmark].title}: {words}. Ours, cheapest first: {ours}. The paper's: {paper}.")
    return Note(*sentences)


def time_bars(page: Page) -> Plot:
    """The ratios as bars, the paper's as hollow markers."""
    frame = learning_time(page)
    benchmarks = list(dict.fromkeys(frame.benchmark))
    with styled():
        figure, panels = canvas(1, len(benchmarks), 3.9, sharey=True)
        for axes, benchmark in zip(panels.flat, benchmarks):
            part = frame[frame.benchmark == benchmark].iloc[::-1]
            ys = range(len(part))
            colours = [look(row).colour for row in part["row"]]
            axes.barh(ys, part.ours.fillna(0), height=0.55, color=colours)
            hollow = {"markerfacecolor": "white", "markeredgecolor": "#444444", "markersize": 6}
            axes.plot(part.paper, ys, "o", **hollow)
            axes.set(yticks=list(ys), yticklabels=part["row"], xlabel="time of a step, finetune = 1")
            state = "" if part.ours.notna().any() else ", ours: not measured yet"
            axes.set_title(BENCHMARKS[benchmark].title + state)
        figure.suptitle("What learning costs", fontsize=10)
        paper = paper_handle()
        paper.set(linestyle="")
        ours = line_handle("ER-Ring", "bar: ours")
        ours.set(marker="", linewidth=7, color="#888888")
        legend_below(figure, [ours, paper], 2)
    return Plot(figure, page.name)


def speed(page: Page) -> Table | Note:
    """The measurements beside a bare PyTorch loop and other libraries."""
    file = measured(page, "speed")
    if file is None:
        path = (MEASURED / "speed.json").as_posix()
        return Note(f"Not measured yet: `{HOW}` writes `{path}`, which this page shows.")
    frame = pandas.DataFrame(file["rows"])
    shown = frame.map(lambda value: f"{value:.3g}" if isinstance(value, float) else str(value))
    shown = shown.set_index(shown.columns[0])
    return Table(shown, page.name, f"Measured on: {file.get('machine', 'not said')}.", frame=frame)


def measured(page: Page, name: str) -> dict[str, Any] | None:
    """A file of measurements, or None if nothing was measured yet."""
    path = page.project / MEASURED / f"{name}.json"
    if not path.is_file():
        return None
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        content["rows"] = list(content["rows"])
    except (ValueError, TypeError, KeyError) as error:
        raise ErlibError(f"{MEASURED / name}.json holds no measurements; delete it and measure again.") from error
    return content


def paper_ratios() -> dict[str, float]:
    """Tab. 2 on Split CIFAR as ratios to finetune, by the paper's row."""
    seconds = published("tab2", benchmark="split_cifar").set_index("row").value
    return (seconds / seconds["finetune"]).round(2).to_dict()


def _label(line: dict[str, Any]) -> str:
    """The row of a measurement: its label, or the first row of its method."""
    labels = {row.method: row.label for row in reversed(MAIN_ROWS)}
    return line.get("row") or labels.get(line["method"], line["method"])


def _ratio(line: pandas.Series, side: str) -> str:
    if side == "paper":
        return f"{line.paper:.2f}"
    if pandas.isna(line.ours):
        return "not measured"
    return f"{line.ours:.2f}" + ("" if pandas.isna(line.spread) else f" ± {line.spread:.2f}")
