"""A page of the book: its parameters, its runs, and what is missing of them. Training goes through `sweep` alone."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from erlib import experiments, runfile
from erlib.config import RunConfig, paper_config
from erlib.errors import ErlibError
from erlib.protocol import BENCHMARKS
from erlib.report import parameters
from erlib.result import RunResult
from erlib.rows import ER_RING, Row, row_of
from erlib.store import Store


@dataclass(frozen=True)
class Spec:
    """What a page is made of: its experiments, the main one first, and the parameters of its own."""

    experiments: tuple[str, ...] = ()
    own: tuple[str, ...] = ()


_CURVES = ("methods", "samples_per_class")
PAGES: dict[str, Spec] = {
    "quickstart": Spec(),
    "fig1": Spec(("fig1",), ("benchmarks", "methods", "samples_per_class")),
    "fig2": Spec(("fig2",), ("methods",)),
    "fig3": Spec(("fig3", "rotation_sweep"), ("angles",)),
    "fig4": Spec(("fig4",), _CURVES),
    "fig5": Spec(("fig5",), _CURVES),
    "fig6": Spec(("fig6",), _CURVES),
    "fig7": Spec(("fig7",), _CURVES),
    "tab1": Spec(("tab1",), ("benchmarks", "methods")),
    "tab2": Spec(),
    "tab3": Spec(("tab3", "beyond_mnist"), ("methods",)),
    "tab4": Spec(("tab4", "cv_questions", "lr_swap"), ("methods",)),
    "tab5": Spec(("tab5",), ("methods",)),
    "tab6": Spec(("tab6",), ("methods",)),
    "tab7": Spec(("tab7",), ("methods",)),
    "tab8": Spec(("tab8",), ("benchmarks", "methods", "learning_rates")),
    "claims": Spec(),
    "speed": Spec(),
    "explore_results": Spec(("fig1", "fig2", "beyond_mnist"), ("benchmarks", "methods", "samples_per_class")),
    "explore_memory": Spec(),
    "explore_your_own": Spec(),
}
_SETTINGS = {"samples_per_class": "samples_per_class", "angles": "angle", "learning_rates": "lr"}
_SHARED = ("source", "stream", "tasks", "examples_per_task", "test_examples", "angle", "second_examples")


@dataclass(frozen=True)
class Series:
    """A place of a figure or table: its config with seed 0, and its stored runs of seeds 0, 1, ..."""

    config: RunConfig
    label: str
    results: tuple[RunResult, ...]

    @property
    def n(self) -> int:
        return len(self.results)

    @property
    def accuracies(self) -> list[float]:
        """A_T of each seed, in percent."""
        return [100 * result.average_accuracy for result in self.results]

    @property
    def diverged(self) -> str:
        """A line of its own for a cell: "3 of 3 diverged"; nothing if none did."""
        count = sum(result.diverged for result in self.results)
        return f"\n{count} of {self.n} diverged" if count else ""


@dataclass
class Page:
    """An open page. `store` is the one it reads: the shipped results, or at quick scale one of its own."""

    name: str
    settings: dict[str, Any]
    store: Store
    wanted: dict[str, list[RunConfig]]  # by experiment
    labels: dict[str, str]  # of rows that the page was given, by run id of seed 0
    failures: list[str] = field(default_factory=list)
    _series: dict[str, list[Series]] = field(default_factory=dict)  # read once

    @property
    def quick(self) -> bool:
        return self.settings["scale"] == "quick"

    @property
    def project(self) -> Path:
        """The folder of the project: where the results are, unless they were put elsewhere."""
        return Store().root.parent

    def titled(self, title: str) -> str:
        """A figure's title, with a warning at quick scale."""
        if not self.quick:
            return title
        toy = any(config.source == "toy" for configs in self.wanted.values() for config in configs)
        made_of = ", generated images (MNIST aside)" if toy else ""
        return f"{title}\nQUICK SCALE: few short tasks{made_of}; not comparable with the paper"

    def series(self, experiment: str | None = None, **settings: Any) -> list[Series]:
        """The places of an experiment (default: the page's main one), in order; `settings` keep those that agree."""
        experiment = experiment or PAGES[self.name].experiments[0]
        if experiment not in self._series:
            self._series[experiment] = list(self._read(experiment))
        return [
            series
            for series in self._series[experiment]
            if all(getattr(series.config, name) == value for name, value in settings.items())
        ]

    @functools.cached_property
    def others(self) -> list[RunResult]:
        """Stored runs of the page's benchmark that are in none of its main places: runs with other settings."""
        places = self.series()
        known = {result.run_id for place in places for result in place.results}
        paths = sorted((self.store.root / "runs" / places[0].config.benchmark).glob("[!.]*.json"))
        found = [stored for stored in map(runfile.read, paths) if isinstance(stored, runfile.Stored)]
        return [stored.result for stored in found if not stored.stale and stored.run_id not in known]

    def missing(self, experiment: str) -> list[RunConfig]:
        """The wanted runs that the store does not hold."""
        there = {result.run_id for series in self.series(experiment) for result in series.results}
        return [c for c in self.wanted[experiment] if c.run_id not in there and not self.store.has(c)]

    def _read(self, experiment: str) -> Iterator[Series]:
        first = {config.replace(seed=0).run_id: config.replace(seed=0) for config in self.wanted[experiment]}
        for run_id, config in first.items():
            row = row_of(config)
            label = self.labels.get(run_id) or (row.label if row else config.memory or config.method)
            yield Series(config, label, tuple(self._seeds(config)))

    def _seeds(self, config: RunConfig) -> Iterator[RunResult]:
        """Seeds 0, 1, ... up to the first that is missing, as the verdicts count them; all that are stored."""
        seed = 0
        while self.settings["seeds"] is None or seed < self.settings["seeds"]:
            result = self.store.get(config.replace(seed=seed))
            if result is None:
                return
            yield result
            seed += 1


def open_page(name: str, namespace: Mapping[str, Any], rows: Iterable[Row] = (), *, source: str | None = None) -> Page:
    """Check the parameters in a notebook's `globals()`, find the page's runs, train what is missing if asked to.

    `rows` are rows of your own, drawn beside the paper's wherever the page has ER-Ring: a `Row` of a registered method
    or writer. `source` is the data set of MNIST at quick scale; by default MNIST itself if it is on this machine.
    """
    if name not in PAGES:
        raise ErlibError(f"there is no page '{name}'; choose among {', '.join(PAGES)}.")
    settings = parameters.read(name, PAGES[name].own, namespace)
    results = Store(settings["results"])
    store = Store(results.work / "quick") if settings["scale"] == "quick" else results
    wanted, labels = {}, {}
    for number, experiment in enumerate(PAGES[name].experiments):
        configs = list(_configs(experiment, settings, source, main=number == 0))
        added = {config.run_id: (config, row.label) for row in rows for config in _added(row, configs)}
        wanted[experiment] = [*configs, *(config for config, _ in added.values())]
        labels |= {config.replace(seed=0).run_id: label for config, label in added.values()}
    page = Page(name, settings, store, wanted, labels)
    if settings["scale"] == "quick" or settings["missing"] == "run":
        _train(page)
    return page


def _configs(experiment: str, settings: Mapping[str, Any], source: str | None, main: bool) -> Iterator[RunConfig]:
    """The runs of an experiment as the page's parameters choose them; its own parameters concern the main one."""
    own = settings if main else {}
    options: dict[str, Any] = {"scale": settings["scale"], "rows": own.get("methods")}
    options["benchmarks"] = own.get("benchmarks")
    if settings["scale"] == "quick" and _has_mnist(experiment, own.get("benchmarks")):
        options["source"] = source or _mnist_source(settings["data"])
    chosen = [(field, own[name]) for name, field in _SETTINGS.items() if own.get(name)]
    points = [{field: value} for field, values in chosen for value in values] or [{}]
    for point in points:
        yield from experiments.configs(experiment, settings["seeds"], **options, **point)


def _has_mnist(experiment: str, benchmarks: Sequence[str] | None) -> bool:
    cells = experiments.experiment_named(experiment).cells("quick")
    names = {cell.benchmark for cell in cells if not benchmarks or cell.benchmark in benchmarks}
    return any("mnist" in BENCHMARKS[name].sources for name in names)


def _mnist_source(data: str | None) -> str:
    from erlib.benchmarks import mnist

    return "mnist" if mnist.present(data) else "mnist-5k"


def _added(row: Row, configs: Sequence[RunConfig]) -> Iterator[RunConfig]:
    """A row of the user's, at the places and seeds of ER-Ring."""
    for config in configs:
        if row_of(config) is ER_RING:
            shared = {name: getattr(config, name) for name in _SHARED}
            yield paper_config(
                config.benchmark,
                row.method,
                memory=row.memory,
                samples_per_class=config.samples_per_class,
                seed=config.seed,
                **shared | dict(row.changes),
            )


def _train(page: Page) -> None:
    from erlib.sweep import sweep

    configs = [config for experiment in page.wanted.values() for config in experiment]
    options = {"data": page.settings["data"], "device": page.settings["device"]}
    report = sweep(configs, page.store, progress=not os.environ.get("TQDM_DISABLE"), **options)
    page.failures = list(dict.fromkeys(error for _, error in report.failed))
    if page.failures and page.quick:
        raise ErlibError(f"{len(report.failed)} runs could not be trained, the first because: {page.failures[0]}")
