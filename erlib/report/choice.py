"""Tab. 8: which learning rate the CV stream chooses, beside the one that the paper chose."""

from __future__ import annotations

import statistics
from collections.abc import Iterable

import pandas

from erlib.config import RunConfig
from erlib.protocol import BENCHMARKS, TABLE_8
from erlib.report.page import Page, Series
from erlib.report.shown import Note, Table

BEST, PAPER = "★", "◆"


def choices(page: Page, benchmark: str) -> Table | Note:
    """Mean A_T on the CV stream by learning rate, a row for each method; the best and the paper's choice marked."""
    places = page.series(benchmark=benchmark)
    if not places:
        return Note(f"{BENCHMARKS[benchmark].title}: left out by the parameter `benchmarks`.")
    rates = sorted({place.config.lr for place in places})
    rows = list(dict.fromkeys(place.label for place in places))
    cells = {(place.label, place.config.lr): place for place in places}
    best = {row: _best([cells[row, rate] for rate in rates if (row, rate) in cells]) for row in rows}
    text = [[_cell(cells.get((row, rate)), best[row]) for rate in rates] for row in rows]
    shown = pandas.DataFrame(text, index=rows, columns=[f"lr {rate:g}" for rate in rates])
    title = page.titled(f"{BENCHMARKS[benchmark].title}: mean A_T [%] on the CV stream, 1 sample per class")
    caption = f"{title}. {BEST} best of the grid, {PAPER} the paper's choice.".replace("\n", ". ")
    return Table(shown, f"{page.name}-{benchmark}", caption)


def agreement(page: Page) -> Note:
    """How often the CV stream chooses what the paper chose."""
    benchmarks = list(dict.fromkeys(place.config.benchmark for place in page.series()))
    sentences = []
    for benchmark in benchmarks:
        places = page.series(benchmark=benchmark)
        rows = list(dict.fromkeys(place.label for place in places))
        best = {row: _best([place for place in places if place.label == row]) for row in rows}
        decided = {row: place for row, place in best.items() if place and paper_rate(place.config) is not None}
        same = [row for row, place in decided.items() if place.config.lr == paper_rate(place.config)]
        state = f"the CV stream chooses the paper's learning rate for {len(same)} of {len(decided)} methods"
        state += f" ({_seeds(places, decided)})"
        sentences.append(f"{BENCHMARKS[benchmark].title}: {state if decided else 'not run yet'}.")
    return Note(" ".join(sentences))


def paper_rate(config: RunConfig) -> float | None:
    """The learning rate that Tab. 8 gives a config's method; the hybrid has none there."""
    if config.memory in ("hybrid", "full_ring"):
        return None
    table = TABLE_8[config.benchmark]
    chosen = table.get(f"{config.method}/{config.memory}") or table.get(config.method)
    return chosen["lr"] if chosen else None


def _seeds(places: list[Series], rows: Iterable[str]) -> str:
    """How many seeds these rows were chosen by: "1 to 3 seeds"."""
    counts = {_common([place for place in places if place.label == row]) for row in rows}
    low, high = min(counts, default=0), max(counts, default=0)
    return f"{low} to {high} seeds" if low < high else f"{low} seed{'s' * (low != 1)} each"


def _common(places: list[Series]) -> int:
    return min((place.n for place in places), default=0)


def _best(places: list[Series]) -> Series | None:
    """The place with the best mean over the seeds that all of them have, once there are any."""
    common = _common(places)
    return max(places, key=lambda place: statistics.fmean(place.accuracies[:common])) if common else None


def _cell(place: Series | None, best: Series | None) -> str:
    if place is None:
        return ""
    mark = BEST if place is best else ""
    mark += PAPER if place.config.lr == paper_rate(place.config) else ""
    value = f"{statistics.fmean(place.accuracies):.1f} (n = {place.n})" if place.n else "not run"
    return f"{value} {mark}".strip() + place.diverged
