"""A writer and a method from outside the package: swept on two processes, and found in the figure and in the table."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from erlib import paper_config, registry, report
from erlib.memory.ring import Ring
from erlib.rows import Row
from erlib.store import Store
from erlib.sweep import sweep

MODULE = """
import os
import time

import erlib
from erlib.memory import Memory
from erlib.methods import Method


@erlib.register_memory("first_seen")
class FirstSeen(Memory):
    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.events.append({"name": f"process {os.getpid()}", "task": 0, "step": 0})
        time.sleep(1)  # long enough for the second process to take the second run

    def choose(self, key):
        return len(self) if self.class_counts().get(key, 0) < self.quota else None


@erlib.register_method("two_steps", fields=("memory",))
class TwoSteps(Method):
    def observe(self, x, y, t):
        past = self.replay()
        if len(past[1]):
            self.descend(self.gradients(*past))
        self.descend(self.gradients(x, y, t))
        self.memory.write(x, y, t)
"""
SMALL: dict[str, Any] = {"source": "mnist-5k", "tasks": 2, "examples_per_task": 40, "test_examples": 20}
ROWS = [Row("First seen", "er", "first_seen"), Row("Two steps", "two_steps", "first_seen")]


@pytest.fixture
def plug(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """A module of the user's, imported as a notebook beside it would."""
    monkeypatch.setattr(registry, "METHODS", dict(registry.METHODS))
    monkeypatch.setattr(registry, "MEMORIES", dict(registry.MEMORIES))
    (tmp_path / "plug_of_mine.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("plug_of_mine")
    del sys.modules["plug_of_mine"]


def mine(seed: int, method: str = "two_steps", memory: str = "first_seen") -> Any:
    return paper_config("permuted_mnist", method, memory=memory, seed=seed, **SMALL)


def test_two_processes_train_them(plug: ModuleType, tmp_path: Path) -> None:
    store = Store(tmp_path / "results")
    done = sweep([mine(0), mine(1)], store, workers=2, progress=False)
    assert str(done) == "2 runs trained, 0 were there already, 0 failed."
    processes = {event["name"] for result in store.load() for event in result.events}
    assert len(processes) == 2
    assert f"process {os.getpid()}" not in processes


def test_they_stand_in_the_figure_and_in_the_table(plug: ModuleType, tmp_path: Path) -> None:
    common = {"scale": "quick", "seeds": None, "missing": "skip", "data": str(tmp_path), "device": "cpu"}
    common |= {"results": str(tmp_path), "benchmarks": ["permuted_mnist"], "methods": ["ER-Ring"]}
    figure = report.open_page("fig1", common | {"samples_per_class": [1]}, rows=ROWS)
    drawn = {text.get_text() for legend in report.memory_size(figure).figure.legends for text in legend.get_texts()}
    assert {"ER-Ring", "First seen", "Two steps"} <= drawn
    by_label = {series.label: series for series in figure.series()}
    assert by_label["Two steps"].n == by_label["First seen"].n == 1
    assert {event["name"] for series in by_label.values() for run in series.results for event in run.events}.isdisjoint(
        {f"process {os.getpid()}"}
    )
    table = report.comparison(report.open_page("tab1", common, rows=ROWS), "forgetting")
    line = table.frame[table.frame.row == "Two steps"].iloc[0]
    assert line.ours == pytest.approx(by_label["Two steps"].results[0].forgetting)
    assert line.verdict == "yours"
    assert "not in the paper" in table.html()


def test_a_changed_module_is_not_trained_under_the_old_name(plug: ModuleType, tmp_path: Path) -> None:
    Path(plug.__file__).write_text(MODULE.replace("< self.quota", "< self.quota - 0"))
    done = sweep([mine(0)], Store(tmp_path / "results"), workers=1, progress=False)
    assert "the source of 'first_seen' was changed after it was imported; restart Python" in str(done)


def test_a_class_that_no_worker_can_import_is_trained_here_and_said_to_be(tmp_path: Path, plug: ModuleType) -> None:
    class Here(Ring):
        """Known to this process alone, as a class of a notebook is."""

    registry.register_memory("here")(Here)
    store = Store(tmp_path / "results")
    done = sweep([mine(0, "er", "here"), mine(0, "er", "first_seen")], store, workers=2, progress=False)
    assert len(done.done) == 2
    sentence = "'here' is a class that only this process knows; put it into a module, such as ideas.py"
    assert f"trained in this process, one after the other: {sentence}" in str(done)
    with ThreadPoolExecutor(1) as others:  # any executor that is not sweep's own, such as a cluster's
        done = sweep([mine(1, "er", "here")], store, executor=others, progress=False)
    assert [error.startswith(sentence) for _, error in done.failed] == [True]
