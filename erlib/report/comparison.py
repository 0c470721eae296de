"""Tab. 1, 3 to 7: the paper's table with ours in it, a verdict in every cell."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Hashable

import pandas

from erlib.paper import compare, verdict
from erlib.protocol import BENCHMARKS
from erlib.report.page import Page, Series
from erlib.report.shown import Note, Table

QUICK = "quick scale"
YOURS = "yours"  # a row from outside the package: the paper has no number for it
_PLACE = ("benchmark", "row", "size", "angle", "second_examples")
TITLES = {"accuracy": "Average accuracy A_T [%]", "forgetting": "Forgetting F_T"}
_SHORT = {"permuted_mnist": "MNIST", "split_cifar": "CIFAR", "split_cub": "CUB", "split_miniimagenet": "miniImageNet"}


def lines(page: Page) -> pandas.DataFrame:
    """One line for each number of the page's table, as `erlib.paper.compare.table` makes them.

    At quick scale the paper's numbers stand beside ours, and the verdict is "quick scale": they are not comparable.
    """
    frame = compare.table(page.name, page.store, page.settings["seeds"])
    if page.quick:
        frame = _at_quick_scale(frame, page)
    frame = pandas.concat([frame, *_of_your_own(page, frame)], ignore_index=True)
    for setting, column in (("methods", "row"), ("benchmarks", "benchmark")):
        if page.settings.get(setting):
            frame = frame[frame[column].isin(page.settings[setting]) | (frame.verdict == YOURS)]
    return frame.reset_index(drop=True)


def comparison(page: Page, metric: str) -> Table | Note:
    """A table of the paper with ours in it: methods down, memory sizes across (Tab. 1: benchmarks)."""
    frame = lines(page)
    frame = frame[frame.metric == metric]
    if frame.empty:
        return Note(f"The paper prints no {metric} for the rows of this page.")
    if page.name == "tab1":
        key, order = lambda line: _SHORT[line.benchmark], [*_SHORT.values()]
        title = f"{TITLES[metric]}, 1 sample per class"
    else:
        sizes = sorted(frame["size"].dropna().unique()) or [1]
        order = [str(size) for size in sizes]
        key = lambda line: str(sizes[0] if pandas.isna(line["size"]) else line["size"])  # noqa: E731
        title = f"{BENCHMARKS[frame.benchmark.iloc[0]].title}: {TITLES[metric]}; columns: samples per class"
        title += "; rows without a memory stand in the first"
    return _grid(frame, lambda line: line["row"], key, order, f"{page.name}-{metric}", page.titled(title))


def rotation_table(page: Page) -> Table:
    """Tab. 7: task 1's training set, memory and test set after task 2."""
    frame = lines(page)
    parts = {"train_accuracy": "train", "memory_accuracy": "memory", "test_accuracy": "test"}
    order = [(f"{angle}°", part) for angle in sorted(frame.angle.unique()) for part in parts.values()]
    title = page.titled("Task 1 after so many examples of task 2, that many degrees apart: accuracy [%]")
    return _grid(
        frame,
        lambda line: f"{line['row']}, {line.second_examples:,}",
        lambda line: (f"{line.angle}°", parts[line.metric]),
        order,
        page.name,
        title,
    )


def counts(page: Page) -> Note:
    """How many printed numbers came out in which way."""
    words = lines(page).verdict
    words = words[words != YOURS]
    order = (QUICK, *verdict.WORDS)
    parts = [f"{word} {(words == word).sum()}" for word in order if (words == word).any()]
    readings = "Where we have two readings of a row (A-GEM, MER), each counts."
    return Note(f"Of {len(words)} comparisons with a printed number: {', '.join(parts)}. {readings}")


def to_latex(table: Table | Note) -> str:
    """A table for a LaTeX document; needs the packages booktabs and makecell."""
    return table.latex() if isinstance(table, Table) else f"% {table}"


def cell_text(line: pandas.Series) -> str:
    """The three lines of a cell: ours, the paper's, and the distance with the verdict."""
    digits = digits_of(line.metric)
    paper_digits = 2 if line.metric == "forgetting" else 1
    paper = f"paper {line.paper:.{paper_digits}f}{_spread(line.paper_spread, paper_digits)}"
    if line.verdict == YOURS:
        return f"{line.ours:.{digits}f}{_spread(line.ours_std, digits)} (n = {line.n})\nnot in the paper\n{YOURS}"
    if pandas.isna(line.ours):
        return f"–\n{paper}\n{line.verdict}"
    ours = f"{line.ours:.{digits}f}{_spread(line.ours_std, digits)} (n = {line.n})"
    distance = signed(line.difference, digits)
    word = "" if line.verdict == verdict.DISTANCE_ONLY else f" · {line.verdict}"
    return f"{ours}\n{paper}\n{distance}{word}"


def cell_name(line: pandas.Series) -> str:
    """A cell in words: "ER-Ring, 13 per class, A_T"."""
    size = "" if pandas.isna(line["size"]) else f"{line['size']} per class"
    return ", ".join(filter(None, (line["row"], size, "A_T" if line.metric == "accuracy" else "F_T")))


def digits_of(metric: str) -> int:
    """Decimals of our numbers."""
    return 3 if metric == "forgetting" else 1


def signed(value: float, digits: int) -> str:
    """A difference with its sign.

    >>> signed(-0.04, 1), signed(-1.25, 1)
    ('+0.0', '−1.2')
    """
    return f"{round(value, digits) + 0.0:+.{digits}f}".replace("-", "−")  # + 0.0: no −0.0


def _grid(
    frame: pandas.DataFrame,
    row_of_line: Callable[[pandas.Series], str],
    column_of_line: Callable[[pandas.Series], Hashable],
    columns: list[Hashable],
    name: str,
    caption: str,
) -> Table:
    """Lines arranged as the paper prints them."""
    cells = {(row_of_line(line), column_of_line(line)): line for _, line in frame.iterrows()}
    rows = list(dict.fromkeys(row for row, _ in cells))
    columns = [column for column in columns if any(column == c for _, c in cells)]
    text = [[cell_text(cells[r, c]) if (r, c) in cells else "–" for c in columns] for r in rows]
    words = [[cells[r, c].verdict if (r, c) in cells else "" for c in columns] for r in rows]
    across = pandas.MultiIndex.from_tuples(columns) if isinstance(columns[0], tuple) else pandas.Index(columns)
    shown, judged = (pandas.DataFrame(values, index=rows, columns=across) for values in (text, words))
    caption = caption.replace("\n", ". ") + ". First line: ours, mean ± standard deviation over n seeds."
    return Table(shown, name, caption, frame=frame, words=judged)


def _at_quick_scale(frame: pandas.DataFrame, page: Page) -> pandas.DataFrame:
    """The printed numbers with the quick runs beside them; what has no quick run is left out."""
    places = {_place(series): series for series in page.series()}
    frame = frame.copy()
    frame["verdict"] = frame["verdict"].astype(object)
    kept = []
    for index, line in frame.iterrows():
        series = places.get(tuple(_plain(line[name]) for name in _PLACE))
        values = _measured(series, line.metric) if series else []
        if values:
            kept.append(index)
            ours = sum(values) / len(values)
            frame.loc[index, ["ours", "difference"]] = ours, ours - line.paper
            frame.loc[index, "n"] = len(values)
            frame.loc[index, "verdict"] = QUICK
    return frame.loc[kept]


def _of_your_own(page: Page, frame: pandas.DataFrame) -> list[pandas.DataFrame]:
    """Lines like those of `frame` for the rows that the page was given, for each number that their runs have."""
    lines = []
    for series in page.series():
        if series.config.run_id not in page.labels or not series.n:
            continue
        place = dict(zip(_PLACE, _place(series))) | {"table": page.name, "n": series.n, "verdict": YOURS}
        place |= {"run_ids": tuple(result.run_id for result in series.results), "note": ""}
        for metric in frame.metric.unique():
            if values := _measured(series, metric):
                spread = statistics.stdev(values) if len(values) > 1 else None
                lines.append(place | {"metric": metric, "ours": statistics.fmean(values), "ours_std": spread})
    if not lines:
        return []
    return [pandas.DataFrame(lines, columns=frame.columns).astype(frame.dtypes.to_dict())]


def _place(series: Series) -> tuple[object, ...]:
    config = series.config
    return (config.benchmark, series.label, config.samples_per_class, config.angle, config.second_examples)


def _measured(series: Series, metric: str) -> list[float]:
    if metric == "accuracy":
        return series.accuracies
    if metric == "forgetting":
        return [result.forgetting for result in series.results if result.forgetting is not None]
    return [100 * result.final[metric.removesuffix("_accuracy")]["accuracy"] for result in series.results]


def _plain(value: object) -> object:
    return None if pandas.isna(value) else value


def _spread(value: float, digits: int) -> str:
    return "" if pandas.isna(value) else f" ± {value:.{digits}f}"
