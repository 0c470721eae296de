"""Beyond the paper: rows that it does not have, and what each other setting of a row does ("levers")."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Iterable
from typing import Any

import pandas

from erlib.config import RunConfig
from erlib.paper import verdict
from erlib.report.comparison import cell_name, digits_of, lines, signed
from erlib.report.numbers import mean_and_half
from erlib.report.page import Page, Series
from erlib.report.shown import Note, Table, prose
from erlib.result import RunResult

Lever = tuple[str, int, str]  # row, samples per class (0: no memory), what changed
Pairs = list[tuple[RunResult, RunResult]]  # with the lever, without it: one for each seed
_SAME = ("benchmark", "stream", "method", "memory", "samples_per_class")


def beyond(page: Page, experiment: str) -> Table:
    """Rows that the paper does not print: A_T and F_T by memory size."""
    places = page.series(experiment)
    sizes = sorted({place.config.samples_per_class for place in places})
    rows = list(dict.fromkeys(place.label for place in places))
    cells = {(place.label, place.config.samples_per_class): _cell(place) for place in places}
    text = [[cells.get((row, size), "") for size in sizes] for row in rows]
    shown = pandas.DataFrame(text, index=rows, columns=[str(size) for size in sizes])
    title = page.titled("Beyond the paper: A_T [%], below it F_T; columns: samples per class").replace("\n", ". ")
    return Table(shown, f"{page.name}-beyond", f"{title}. Mean ± standard deviation over n seeds.")


def asked(page: Page, experiment: str) -> Table:
    """Settings that were put to the CV stream: learning rate, A_T and F_T of each."""
    rows = [
        {"row": place.label, "learning rate": f"{place.config.lr:g}", "A_T [%], below it F_T": _cell(place)}
        for place in page.series(experiment)
    ]
    title = page.titled("Asked on the CV stream, 1 sample per class").replace("\n", ". ")
    caption = f"{title}. Mean ± standard deviation over n seeds."
    return Table(pandas.DataFrame(rows).set_index("row").rename_axis(None), f"{page.name}-{experiment}", caption)


def levers(page: Page) -> Table | Note:
    """Every stored run of the benchmark whose settings differ from a row's own: what changed, and what it did."""
    found = tried(page)
    if not found:
        return Note("No run with another setting is stored for this benchmark yet.")
    rows = [_line(*key, pairs) for key, pairs in found.items()]
    frame = pandas.DataFrame(rows).set_index("row").rename_axis(None)
    caption = "Levers tried, each against the same row and seeds with the settings of this page. A_T in percent."
    return Table(frame, f"{page.name}-levers", caption, decorate=prose(0, "13em"))


def differing(page: Page) -> Table | Note:
    """Every cell that differs from the paper: by how much, and how much of that each lever tried there takes away."""
    every = lines(page)
    frame = every[every.verdict == verdict.DIFFERS]
    if frame.empty:
        return Note("No cell of this page differs from the paper in the sense of the rule.")
    found = tried(page)
    rows = [_explained(line, found, _readings(line, every)) for _, line in frame.iterrows()]
    caption = "Cells that differ: ours minus the paper's; what a lever changes on its n seeds, and leaves there"
    return Table(
        pandas.DataFrame(rows).set_index("cell").rename_axis(None),
        f"{page.name}-differing",
        f"{caption}. A_T in percent.",
    )


def changed(config: RunConfig, base: RunConfig) -> str:
    """The settings in which a config differs, in words: "init: paper → pytorch"; None is a setting's default."""
    ours, theirs = (
        {name: "default" if value is None else value for name, value in dataclasses.asdict(side).items()}
        for side in (config, base)
    )
    return ", ".join(f"{name}: {theirs[name]} → {ours[name]}" for name in ours if ours[name] != theirs[name])


def tried(page: Page) -> dict[Lever, Pairs]:
    """Runs with a lever, each beside the row's own run of the same seed, in the order of rows, sizes and levers."""
    base = [place for place in page.series() if place.n]
    found: dict[Lever, Pairs] = {}
    for result in page.others:
        place = _nearest(result.config, base)
        twin = next((run for run in place.results if run.config.seed == result.config.seed), None) if place else None
        if twin is not None:
            key = (place.label, result.config.samples_per_class or 0, changed(result.config, twin.config))
            found.setdefault(key, []).append((result, twin))
    return dict(sorted(found.items(), key=lambda group: group[0]))


def changes(pairs: Pairs) -> list[float]:
    """What a lever adds to A_T, in points, seed by seed."""
    return [100 * (with_lever.average_accuracy - without.average_accuracy) for with_lever, without in pairs]


def place_name(label: str, size: int) -> str:
    """A row and its memory: "ER-Ring, 1 per class"."""
    return f"{label}, {size} per class" if size else label


def _readings(line: pandas.Series, every: pandas.DataFrame) -> Iterable[str]:
    """What the other reading of the same printed number is away from it, where the row has one (A-GEM, MER)."""
    same = every[(every.paper_row == line.paper_row) & (every.metric == line.metric) & (every["row"] != line["row"])]
    for _, other in same[(same["size"] == line["size"]) & same.ours.notna()].iterrows():
        left = signed(other.difference, digits_of(line.metric))
        yield f"the other reading, {other['row']}: leaves {left} (n = {other.n})"


def _explained(line: pandas.Series, found: dict[Lever, Pairs], readings: Iterable[str]) -> dict[str, str]:
    size = 0 if pandas.isna(line["size"]) else line["size"]
    digits = digits_of(line.metric)
    value = (lambda run: 100 * run.average_accuracy) if line.metric == "accuracy" else (lambda run: run.forgetting)
    effects = []
    for (label, at, lever), pairs in found.items():
        if (label, at) == (line["row"], size):
            shift = statistics.fmean(value(a) - value(b) for a, b in pairs)
            left = signed(statistics.fmean(value(a) for a, _ in pairs) - line.paper, digits)
            effects.append(f"{lever}: {signed(shift, digits)}, leaves {left} (n = {len(pairs)})")
    return {
        "cell": cell_name(line),
        "distance": signed(line.difference, digits),
        "levers": "\n".join([*readings, *effects]) or "none tried in this cell",
    }


def _nearest(config: RunConfig, base: list[Series]) -> Series | None:
    """The page's row that this run is a variant of: alike in method, writer and size, different in the least."""
    alike = [place for place in base if all(getattr(place.config, n) == getattr(config, n) for n in _SAME)]
    alike = [place for place in alike if place.config.source == config.source]
    return min(alike, key=lambda place: _distance(config, place.config), default=None)


def _distance(config: RunConfig, base: RunConfig) -> int:
    ours, theirs = dataclasses.asdict(config), dataclasses.asdict(base)
    return sum(ours[name] != theirs[name] for name in ours if name != "seed")


def _line(label: str, size: int, lever: str, pairs: Pairs) -> dict[str, Any]:
    with_lever, without = ([100 * run.average_accuracy for run in side] for side in zip(*pairs))
    difference, half = mean_and_half(changes(pairs))
    interval = "one seed" if half is None else f"{signed(difference - half, 1)} to {signed(difference + half, 1)}"
    return {
        "row": place_name(label, size),
        "lever": lever,
        "without": f"{statistics.fmean(without):.1f}",
        "with": f"{statistics.fmean(with_lever):.1f}",
        "difference": signed(difference, 1),
        "95% interval": interval,
        "change of F_T": _forgetting(pairs),
        "n": len(pairs),
    }


def _forgetting(pairs: Pairs) -> str:
    added = [a.forgetting - b.forgetting for a, b in pairs if None not in (a.forgetting, b.forgetting)]
    return signed(statistics.fmean(added), 3) if added else "–"


def _cell(place: Series) -> str:
    if not place.n:
        return "not run"
    spread = f" ± {statistics.stdev(place.accuracies):.1f}" if place.n > 1 else ""
    forgetting = [result.forgetting for result in place.results if result.forgetting is not None]
    second = f"{statistics.fmean(forgetting):.3f}" if forgetting else "not defined"
    return f"{statistics.fmean(place.accuracies):.1f}{spread} (n = {place.n})\n{second}{place.diverged}"
