"""A small store made by hand: a few rows of Permuted MNIST, Fig. 2 and the rotation analysis, three seeds each."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from erlib import report
from erlib.config import RunConfig
from erlib.experiments import configs
from erlib.result import RunResult
from erlib.store import Store

ROWS = {
    "tab3": ["Finetune", "EWC", "A-GEM(10)", "MER(single)", "ER-Ring", "Multi-task"],
    "beyond_mnist": ["ER-Hybrid", "ER-Ring, current task too"],
    "fig2": ["ER-Ring", "ER-Hybrid"],
}
OWN = dict.fromkeys(("benchmarks", "methods", "samples_per_class", "angles", "learning_rates"))


def made_up(config: RunConfig) -> RunResult:
    """Numbers of the right shape, the same for the same config."""
    random_ = random.Random(config.run_id)
    tasks = range(config.tasks)
    level = 0.55 if config.memory is None else 0.7
    matrix = [[level + random_.uniform(-0.02, 0.02) if j <= i else None for j in tasks] for i in tasks]
    if config.method == "multitask":
        matrix = [[None for _ in tasks] for _ in tasks[:-1]] + matrix[-1:]
    curves, final = {}, {}
    if config.benchmark == "rotated_mnist":
        steps = [0, 1, 10, 100]
        names = ["test_accuracy"] + (["memory_accuracy", "memory_loss"] if config.memory else [])
        curves = {name: {"step": steps, "value": [0.8, 0.75, 0.7, 0.6]} for name in names}
        final = {name: {"accuracy": 0.7, "loss": 0.5} for name in ("train", "memory", "test")}
    events = [{"name": "switch", "task": 3, "step": 900}] if config.memory == "hybrid" else []
    seconds = {"train": 8.0, "eval": 4.0}
    return RunResult(config=config, accuracy=matrix, curves=curves, final=final, events=events, seconds=seconds)


@pytest.fixture(scope="session")
def small_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a store with some runs of some pages."""
    store = Store(tmp_path_factory.mktemp("results"))
    for name in ("tab3", "beyond_mnist", "fig2", "fig3", "tab7", "rotation_sweep"):
        for config in configs(name, 3, rows=ROWS.get(name)):
            if config.samples_per_class in (None, 1, 3):
                store.put(made_up(config))
    return store.root


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("empty")


@pytest.fixture
def opened(small_store: Path) -> Iterator[Callable[..., report.Page]]:
    """`opened("fig1", seeds=2)`: a page on the small store, or on another with `results`."""

    def open_page(name: str, **given: Any) -> report.Page:
        common = {"scale": "paper", "seeds": None, "missing": "skip", "data": None, "device": "cpu"}
        own = {key: OWN[key] for key in report.PAGES[name].own}
        return report.open_page(name, common | own | {"results": str(small_store)} | given)

    return open_page
