"""What our runs can decide at all: the paper's ± is that of five runs for ever, and fills a part of the margin."""

from __future__ import annotations

import pandas

from erlib.paper import verdict
from erlib.report.comparison import cell_name, digits_of, lines, signed
from erlib.report.page import Page
from erlib.report.shown import Note, Table

_WORDS = {
    "open": "further seeds may",
    "far": "not at this distance",
    "never": "at no distance",
}
_NONE = Note("No cell of this page is inconclusive.")


def room_counts(page: Page) -> Note:
    """How many inconclusive cells further runs of ours could still call reproduced."""
    words = _open(page).apply(_word, axis=1)
    if words.empty:
        return _NONE
    count = {word: int((words == word).sum()) for word in _WORDS}
    return Note(
        f"Inconclusive cells: {len(words)}. At a distance that many seeds of ours could still call reproduced: "
        f"{count['open']}. Too far away for that, given the paper's ±, so that they can only come out as differing or "
        f"stay open: {count['far']}. With a ± that fills the margin alone, so that no distance could: {count['never']}."
    )


def room(page: Page) -> Table | Note:
    """Every inconclusive cell: its distance, and the largest that many seeds of ours could call reproduced."""
    cells = _open(page)
    if cells.empty:
        return _NONE
    rows = [
        {
            "n": str(cell.n),
            "distance": signed(cell.difference, digits_of(cell.metric)),
            "paper's ±": f"{cell.paper_spread:g}",
            "room": f"{cell.room:.{digits_of(cell.metric)}f}" if cell.room > 0 else "none",
            "can be called reproduced": _WORDS[_word(cell)],
        }
        for _, cell in cells.iterrows()
    ]
    shown = pandas.DataFrame(rows, index=[cell_name(cell) for _, cell in cells.iterrows()])
    caption = "Inconclusive cells. Room: the margin less what the paper's ± leaves open however many runs we make."
    return Table(shown, f"{page.name}-room", caption, frame=cells)


def _open(page: Page) -> pandas.DataFrame:
    every = lines(page)
    return every[every.verdict == verdict.INCONCLUSIVE]


def _word(cell: pandas.Series) -> str:
    if cell.room <= 0:
        return "never"
    return "open" if abs(cell.difference) < cell.room else "far"
