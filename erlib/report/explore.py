"""All runs of the paper's tables to look into: along the stream, task by task, seed by seed, beside the paper."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas
from scipy import stats

from erlib.experiments import TABLES
from erlib.metrics import accuracy_curve, forgetting
from erlib.protocol import BENCHMARKS
from erlib.report.memory_size import printed
from erlib.report.moving import Moving
from erlib.report.numbers import CONFIDENCE, LEAST
from erlib.report.page import PAGES, Page, Series
from erlib.report.stream import legend_handles, panel
from erlib.report.style import Plot, canvas, legend_below, look, runs_text, styled
from erlib.result import RunResult

UNIT = 50_000  # an accuracy is kept as a whole number of 1/50,000: exact for 10,000 test images
NOT_EVALUATED = 65_535
METRICS = {
    "accuracy": "Average accuracy A_k [%]",
    "forgetting": "Forgetting F_k",
    "newest": "Accuracy on the task just learned, a_kk [%]",
}
FIRST_SHOWN = ("Finetune", "A-GEM(10)", "ER-Ring", "ER-Reservoir")
_SYMBOLS = {"s": "square", "D": "diamond", "v": "triangle-down", "^": "triangle-up", "<": "triangle-left"}
_SYMBOLS |= {">": "triangle-right", "o": "circle", "p": "pentagon", "h": "hexagon", "X": "x", "*": "star"}
_SYMBOLS |= {"8": "octagon", "d": "diamond-tall", "P": "cross", "H": "hexagon2"}


def along(result: RunResult, metric: str) -> list[float | None]:
    """A metric after each task of a run: accuracies in percent, forgetting as a fraction; None where there is none."""
    matrix = result.accuracy
    if metric == "forgetting":
        parts = [[row[:k] for row in matrix[:k]] for k in range(1, len(matrix) + 1)]
        return [forgetting(part) if None not in part[-1] else None for part in parts]
    values = accuracy_curve(matrix) if metric == "accuracy" else [row[k] for k, row in enumerate(matrix)]
    return [None if value is None else 100 * value for value in values]


class Explorer:
    """The runs of a page, by benchmark, row and memory size."""

    def __init__(self, page: Page) -> None:
        self.page = page
        found = {place.config.run_id: place for name in PAGES[page.name].experiments for place in page.series(name)}
        self.places = list(found.values())
        names = {place.config.benchmark for place in self.places}
        self.benchmarks = [name for name in TABLES.values() if name in names]

    def at(self, benchmark: str, size: int | None = None, rows: Sequence[str] | None = None) -> list[Series]:
        """A benchmark's places at a memory size, rows without a memory included; `rows` keeps these labels."""
        return [
            place
            for place in self.places
            if place.config.benchmark == benchmark
            and (size is None or place.config.samples_per_class in (size, None))
            and (rows is None or place.label in rows)
        ]

    def sizes(self, benchmark: str) -> list[int]:
        """The memory sizes of a benchmark, in samples per class."""
        return sorted({place.config.samples_per_class for place in self.at(benchmark)} - {None})

    def table(self) -> pandas.DataFrame:
        """The tidy table: one line for each task's accuracy after each task of each run, a fraction."""
        lines = []
        for place in self.places:
            config = place.config
            for run in place.results:
                start = (config.benchmark, place.label, config.samples_per_class, run.config.seed, run.run_id)
                cells = ((i, j, v) for i, row in enumerate(run.accuracy, 1) for j, v in enumerate(row, 1))
                lines += [(*start, i, j, value) for i, j, value in cells if value is not None]
        columns = ["benchmark", "row", "samples_per_class", "seed", "run_id", "after_task", "task", "accuracy"]
        return pandas.DataFrame(lines, columns=columns).astype({"samples_per_class": "Int64"})

    def data(self) -> dict[str, Any]:
        """Everything that the book's page shows, as JSON."""
        most = max((place.n for place in self.places), default=0)
        quantiles = [float(stats.t.ppf((1 + CONFIDENCE) / 2, n - 1)) if n > 1 else None for n in range(most + 1)]
        return {
            "metrics": METRICS,
            "unit": UNIT,
            "none": NOT_EVALUATED,
            "quantiles": [None if value is None else round(value, 6) for value in quantiles],
            "least": LEAST,
            "first": FIRST_SHOWN,
            "quick": self.page.quick,
            "benchmarks": [
                {
                    "name": name,
                    "title": BENCHMARKS[name].title,
                    "tasks": self.at(name)[0].config.tasks,
                    "sizes": self.sizes(name),
                    "places": [_place(place) for place in self.at(name)],
                }
                for name in self.benchmarks
            ],
        }

    def still(self) -> Plot:
        """The first choice as a still picture."""
        name = self.benchmarks[0]
        size = (self.sizes(name) or [None])[0]
        places = self.at(name, size, FIRST_SHOWN) or self.at(name, size)
        with styled():
            figure, panels = canvas(1, 1, 4.6)
            panel(panels[0, 0], f"{size} per class, {runs_text([place.n for place in places])}", places)
            panels[0, 0].set_ylabel("Average accuracy $A_k$ [%]")
            figure.suptitle(
                self.page.titled(f"{BENCHMARKS[name].title}: accuracy on the tasks seen so far"), fontsize=10
            )
            legend_below(figure, legend_handles(places), 3)
        return Plot(figure, self.page.name)


def explorer(page: Page) -> Moving:
    """Every choice at a hand's reach: menus in the book, widgets in Jupyter, a still picture elsewhere."""
    from erlib.report.explore_widgets import controls

    runs = Explorer(page)
    return Moving("results", runs.data(), runs.still(), lambda: controls(runs))


def symbol(label: str) -> str:
    """Plotly's name of a row's marker."""
    return _SYMBOLS[look(label).marker]


def _place(place: Series) -> dict[str, Any]:
    return {
        "row": place.label,
        "colour": look(place.label).colour,
        "symbol": symbol(place.label),
        "size": place.config.samples_per_class,
        "paper": {metric: printed(place.config, metric) for metric in ("accuracy", "forgetting")},
        "runs": [{"seed": run.config.seed, "id": run.run_id, "matrix": _packed(run)} for run in place.results],
    }


def _packed(run: RunResult) -> str:
    """The lower triangle of the accuracy matrix, row by row, as base64 of 16-bit numbers."""
    values = [value for i, row in enumerate(run.accuracy, start=1) for value in row[:i]]
    whole = [NOT_EVALUATED if value is None else round(UNIT * value) for value in values]
    return base64.b64encode(np.array(whole, "<u2").tobytes()).decode()
