"""What more seeds could decide: each inconclusive cell, if our means and spreads stayed as they are."""

from __future__ import annotations

import pandas

from erlib.paper import verdict
from erlib.report.comparison import cell_name, digits_of, lines, signed
from erlib.report.page import Page
from erlib.report.shown import Note, Table


def forecast_counts(page: Page) -> Note:
    """How many inconclusive cells which number of seeds would decide."""
    cells = _open(page)
    if cells.empty:
        return Note("No cell of this page is inconclusive.")
    soon = cells[cells.seeds_needed.notna()]
    never, alone = (cells.would_be == verdict.INCONCLUSIVE).sum(), cells.would_be.isna().sum()
    counts = {
        f"would be reproduced with at most {verdict.MOST_SEEDS} seeds": (soon.would_be == verdict.REPRODUCED).sum(),
        f"would differ with at most {verdict.MOST_SEEDS}": (soon.would_be == verdict.DIFFERS).sum(),
        "would take more": len(cells) - len(soon) - never - alone,
        "have one seed and no spread yet": alone,
        "stay open however many we train, because at their distance the paper's own ± is too wide": never,
    }
    parts = "; ".join(f"{count} {words}" for words, count in counts.items() if count)
    return Note(f"Of {len(cells)} inconclusive cells, if our means and spreads stayed as they are: {parts}.")


def forecast(page: Page) -> Table | Note:
    """Every inconclusive cell: the distance, the spread on both sides, and what would come."""
    cells = _open(page)
    if cells.empty:
        return Note("No cell of this page is inconclusive.")
    rows = [
        {
            "n": str(cell.n),
            "distance": signed(cell.difference, digits_of(cell.metric)),
            "our ±": "–" if pandas.isna(cell.ours_std) else f"{cell.ours_std:.{digits_of(cell.metric)}f}",
            "paper's ±": f"{cell.paper_spread:g}",
            "would be": _words(cell),
        }
        for _, cell in cells.iterrows()
    ]
    shown = pandas.DataFrame(rows, index=[cell_name(cell) for _, cell in cells.iterrows()])
    caption = "Inconclusive cells: what more seeds would make of them if our means and spreads stayed as they are."
    return Table(shown, f"{page.name}-forecast", caption, frame=cells)


def _open(page: Page) -> pandas.DataFrame:
    every = lines(page)
    return every[every.verdict == verdict.INCONCLUSIVE]


def _words(cell: pandas.Series) -> str:
    if pandas.isna(cell.would_be):
        return "unknown: one seed"
    if cell.would_be == verdict.INCONCLUSIVE:
        return "open, with any number of seeds"
    many = f"more than {verdict.MOST_SEEDS}" if pandas.isna(cell.seeds_needed) else cell.seeds_needed
    return f"{cell.would_be}, with {many} seeds"
