"""Tab. 2: learning time as a multiple of finetune's, measured apart from the runs, beside the paper's ratios."""

from __future__ import annotations

import pandas

from erlib.bench import COMMAND
from erlib.paper.compare import table
from erlib.paper.numbers import published
from erlib.paper.timing import read
from erlib.protocol import BENCHMARKS
from erlib.report.page import Page
from erlib.report.shown import Note, Table
from erlib.report.style import Plot, canvas, legend_below, line_handle, look, paper_handle, styled
from erlib.store import Store

HOW = f"{COMMAND} --only timing"


def learning_time(page: Page) -> pandas.DataFrame:
    """Time of a step as a ratio to finetune: one line a row and benchmark, the paper's and ours."""
    frame = table("tab2", _store(page))[["row", "benchmark", "paper", "ours", "ours_std"]]
    return frame.rename(columns={"ours_std": "spread"})


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
    caption = "Learning time as a multiple of finetune's. Ours: mean of the rounds ± their standard deviation."
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


def rounds(page: Page) -> Note:
    """Where, when and on how many steps the times were measured."""
    content = read(_store(page).root)
    if not content:
        return Note(f"Not measured yet: `{HOW}` writes `results/learning_time.json`, which this page shows.")
    sentences = []
    for benchmark, rows in content["steps"].items():
        counts = {len(content["seconds"][benchmark][row]) for row in rows}
        most = max(rows.values())
        fewer = [f"{row} {steps}" for row, steps in rows.items() if steps < most]
        words = f"{BENCHMARKS[benchmark].title}: {min(counts)} rounds of {most} steps a row"
        sentences.append(f"{words} ({', '.join(fewer)})." if fewer else f"{words}.")
    machine = content["machine"]
    where = f"Measured on {machine['cpu']}, one thread, PyTorch {machine['torch']}, {machine['when'][:10]}"
    sentences.append(
        f"{where}; {machine['load']} processes were busy beforehand. Images are random, of the real shapes."
    )
    return Note(*sentences)


def paper_ratios() -> dict[str, float]:
    """Tab. 2 on Split CIFAR as ratios to finetune, by the paper's row."""
    seconds = published("tab2", benchmark="split_cifar").set_index("row").value
    return (seconds / seconds["finetune"]).round(2).to_dict()


def _store(page: Page) -> Store:
    """The results that the page was given: times are not measured again at quick scale."""
    return Store(page.settings["results"])


def _ratio(line: pandas.Series, side: str) -> str:
    if side == "paper":
        return f"{line.paper:.2f}"
    if pandas.isna(line.ours):
        return "not measured"
    return f"{line.ours:.2f}" + ("" if pandas.isna(line.spread) else f" ± {line.spread:.2f}")
