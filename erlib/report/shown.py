"""What a page shows beside figures: a table and a note, as HTML for a notebook and as plain text elsewhere."""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import Any

import pandas
from pandas.io.formats.style import Styler

from erlib.paper import verdict

# Background and text of a verdict: told apart by lightness as well as by hue, and always beside the word itself.
COLOURS = {
    verdict.REPRODUCED: ("#c6e2f5", "#0b2d45"),
    verdict.DIFFERS: ("#f9c9a3", "#4a1e00"),
    verdict.INCONCLUSIVE: ("#ececec", "#333333"),
    verdict.NOT_RUN: ("#ffffff", "#777777"),
    verdict.DISTANCE_ONLY: ("#f7f7f7", "#333333"),
    "quick scale": ("#fff7d6", "#4d4200"),
    "yours": ("#e3d9f6", "#2b1a4d"),
    "holds": ("#c6e2f5", "#0b2d45"),
    "does not hold": ("#f9c9a3", "#4a1e00"),
    "met": ("#c6e2f5", "#0b2d45"),
    "not met": ("#f9c9a3", "#4a1e00"),
    "not enough runs": ("#ececec", "#333333"),
}
_CSS = [
    {"selector": "caption", "props": "caption-side: top; text-align: left; padding-bottom: .4em;"},
    {"selector": "td", "props": "text-align: right; white-space: nowrap; font-size: .85em; line-height: 1.35;"},
    {"selector": "td, th", "props": "padding: .25em .6em;"},
    {"selector": "th", "props": "text-align: left; font-size: .85em;"},
    {"selector": "th.row_heading", "props": "white-space: nowrap;"},
]


class Table:
    """A finished table. `frame` holds the values behind it, `latex` the same table for a paper."""

    def __init__(
        self,
        shown: pandas.DataFrame,
        name: str,
        caption: str,
        *,
        frame: pandas.DataFrame | None = None,
        words: pandas.DataFrame | None = None,
        decorate: Callable[[Styler], Styler] | None = None,
    ) -> None:
        self.shown, self.name, self.caption = shown, name, caption
        self.frame = shown if frame is None else frame
        self._words, self._decorate = words, decorate

    def html(self) -> str:
        """The table as HTML with a fixed id, the same text every time."""
        lines = self.shown.map(lambda text: html.escape(str(text)).replace("\n", "<br>"))
        styler = Styler(lines, uuid=f"erlib-{self.name}", cell_ids=False, caption=html.escape(self.caption))
        styler = styler.set_table_styles(_CSS).set_table_attributes('class="dataframe"')
        if self._words is not None:
            styler = styler.apply(lambda _: self._words.map(_css), axis=None)
        if self._decorate is not None:
            styler = self._decorate(styler)
        return styler.to_html()

    def latex(self) -> str:
        """The table for a LaTeX document; needs the packages booktabs and makecell."""
        cells = self.shown.map(lambda text: _latex_cell(str(text)))
        cells.index, cells.columns = (_latex_index(axis) for axis in (cells.index, cells.columns))
        caption = _latex_text(self.caption)
        return cells.to_latex(escape=False, caption=caption, label=f"tab:{self.name}", position="tb")

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/html": self.html(), "text/plain": repr(self)}

    def __repr__(self) -> str:
        flat = self.shown.map(lambda text: str(text).replace("\n", " | "))
        return f"{self.caption}\n{flat.to_string()}"


def prose(column: int, width: str) -> Callable[[Styler], Styler]:
    """For `decorate`: a column of words, to the left and broken where it must be; the row's name may break too."""
    words = f"text-align: left; white-space: normal; min-width: {width};"
    styles = [
        {"selector": f"td.col{column}", "props": words},
        {"selector": "th.row_heading", "props": "white-space: normal;"},
    ]
    return lambda styler: styler.set_table_styles(styles, overwrite=False)


class Note:
    """A paragraph or two that a page works out itself; `backticks` are code."""

    def __init__(self, *paragraphs: str) -> None:
        self.paragraphs = paragraphs

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/html": "\n".join(f"<p>{_code(text)}</p>" for text in self.paragraphs), "text/plain": repr(self)}

    def __repr__(self) -> str:
        return "\n\n".join(self.paragraphs)


def _code(text: str) -> str:
    parts = html.escape(text).split("`")
    return "".join(f"<code>{part}</code>" if i % 2 else part for i, part in enumerate(parts))


def _css(word: str) -> str:
    if word not in COLOURS:
        return ""
    background, colour = COLOURS[word]
    return f"background-color: {background}; color: {colour};"


_LATEX = {
    "%": r"\%",
    "_": r"\_",
    "&": r"\&",
    "#": r"\#",
    "±": r"$\pm$",
    "−": "$-$",
    "·": r"$\cdot$",
    "°": r"\textdegree{}",
}
_LATEX |= {"★": r"$\star$", "◆": r"$\diamond$", "≤": r"$\leq$", "✓": r"\checkmark{}"}


def _latex_text(text: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in text)


def _latex_cell(text: str) -> str:
    lines = _latex_text(text).split("\n")
    return lines[0] if len(lines) == 1 else r"\makecell{" + r" \\ ".join(lines) + "}"


def _latex_index(axis: pandas.Index) -> pandas.Index:
    if isinstance(axis, pandas.MultiIndex):
        return axis.map(lambda key: tuple(_latex_text(str(part)) for part in key))
    return axis.map(lambda key: _latex_text(str(key)))
