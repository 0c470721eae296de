"""Reservoir and ring with the same learning rate: what between them is the writer's, and what is the rate's."""

from __future__ import annotations

from collections.abc import Sequence

import pandas

from erlib.protocol import TABLE_8
from erlib.report.comparison import signed
from erlib.report.numbers import mean_and_half
from erlib.report.page import Page
from erlib.report.shown import Note, Table
from erlib.rows import ER_RESERVOIR, ER_RING

Runs = dict[tuple[str, int, float], list[float]]  # A_T of each seed by writer, samples per class and rate


def same_rate(page: Page) -> Table | Note:
    """A_T of the reservoir minus that of the ring: each with the paper's own rate, then both with the same one."""
    own = [place for place in page.series() if place.label in (ER_RESERVOIR.label, ER_RING.label)]
    if len({place.label for place in own}) < 2:
        return Note(f"This comparison needs {ER_RESERVOIR.label} and {ER_RING.label} among `methods`.")
    places = [*own, *page.series("lr_swap")]
    runs = {(p.config.memory, p.config.samples_per_class, p.config.lr): p.accuracies for p in places}
    paper = TABLE_8[own[0].config.benchmark]
    high, low = paper["er/reservoir"]["lr"], paper["er"]["lr"]
    columns = {
        f"each its own: {high:g}, {low:g}": (high, low),
        f"both {low:g}": (low, low),
        f"both {high:g}": (high, high),
    }
    sizes = sorted({place.config.samples_per_class for place in own})
    text = [_row(runs, size, list(columns.values())) for size in sizes]
    shown = pandas.DataFrame(text, index=[f"{size} per class" for size in sizes], columns=list(columns))
    title = page.titled("A_T [%] of the reservoir minus that of the ring, by their learning rates").replace("\n", ". ")
    caption = f"{title}. Paired; below it the 95% interval; n: the seeds that all trained cells of a line have."
    return Table(shown, f"{page.name}-same-rate", caption)


def _row(runs: Runs, size: int, rates: Sequence[tuple[float, float]]) -> list[str]:
    pairs = [(runs.get(("reservoir", size, a), []), runs.get(("ring", size, b), [])) for a, b in rates]
    seeds = [min(len(reservoir), len(ring)) for reservoir, ring in pairs]
    common = min((n for n in seeds if n), default=0)
    return [
        _cell([a - b for a, b in zip(*pair)][:common]) if n else "not run" for pair, n in zip(pairs, seeds, strict=True)
    ]


def _cell(differences: Sequence[float]) -> str:
    mean, half = mean_and_half(differences)
    interval = "one seed" if half is None else f"{signed(mean - half, 1)} to {signed(mean + half, 1)}"
    return f"{signed(mean, 1)} (n = {len(differences)})\n{interval}"
