"""Sweeps: every run once, whatever fails. The training is a stand-in; test_sweep_processes.py has the real one."""

from __future__ import annotations

import dataclasses
import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from erlib import experiments, registry, sweep, training
from erlib.benchmarks import make
from erlib.config import RunConfig, paper_config
from erlib.errors import ErlibError
from erlib.locks import Lock
from erlib.result import RunResult
from erlib.status import Timings, duration, stale_settings, state
from erlib.store import Store
from erlib.workers import train_one


def config(seed: int = 0, **changes: object) -> RunConfig:
    small = {"source": "mnist-5k", "tasks": 3, "examples_per_task": 50, "test_examples": 50}
    return paper_config("permuted_mnist", "er", memory="ring", seed=seed, **small | changes)


def made(config: RunConfig) -> RunResult:
    rows = [[0.5 if j <= i else None for j in range(config.tasks)] for i in range(config.tasks)]
    return RunResult(config=config, accuracy=rows, seconds={"train": 3.0, "eval": 1.0})


def until(true: Callable[[], object], seconds: float = 120.0) -> None:
    """Wait for something that must happen."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "results")


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as pool:
        yield pool


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The seeds of the runs that were trained, in this process, by a stand-in for the training."""
    seeds: list[int] = []

    def run(config: RunConfig, **options: object) -> RunResult:
        seeds.append(config.seed)
        if config.seed == 13:
            raise ErlibError("this run cannot be.")
        if config.seed == 14:
            raise ZeroDivisionError("a defect")
        return made(config)

    monkeypatch.setattr(training, "run", run)
    monkeypatch.setattr(make, "load", lambda *args: None)
    return seeds


def test_trains_what_is_missing_in_order_and_once(store: Store, pool: ThreadPoolExecutor, trained: list[int]) -> None:
    store.put(made(config(1)))
    report = sweep.sweep([config(seed) for seed in (2, 0, 1, 2, 3)], store, executor=pool)
    assert trained == [2, 0, 3]
    assert [run.seed for run in report.done] == [2, 0, 3]
    assert [run.seed for run in report.skipped] == [1]
    assert report.failed == []
    assert len(store.load()) == 4
    assert [file.name for file in store.work.iterdir()] == [".gitignore"]


def test_nothing_missing_touches_nothing(store: Store, trained: list[int]) -> None:
    store.put(made(config()))
    assert sweep.sweep([config()], store).skipped == [config()]
    assert not store.work.exists()


def test_a_failed_run_stops_no_other(store: Store, pool: ThreadPoolExecutor, trained: list[int]) -> None:
    report = sweep.sweep([config(seed) for seed in (13, 14, 0)], store, executor=pool)
    assert [run.seed for run in report.done] == [0]
    assert [run.seed for run, _ in report.failed] == [13, 14]
    text = str(report)
    assert "1 runs trained, 0 were there already, 2 failed." in text
    assert "ER-Ring, 1 per class, seed 13: this run cannot be." in text
    assert "ZeroDivisionError: a defect (test_sweep.py, line" in text


def test_a_full_disk_loses_one_run_and_keeps_its_checkpoint(
    store: Store, pool: ThreadPoolExecutor, trained: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    store.prepare()
    store.checkpoint(config(0)).write_bytes(b"the last task")
    put = Store.put

    def full(self: Store, result: RunResult) -> Path:
        if result.config.seed == 0:
            raise ErlibError("the disk is full.")
        return put(self, result)

    monkeypatch.setattr(Store, "put", full)
    report = sweep.sweep([config(0), config(1)], store, executor=pool)
    assert [run.seed for run, _ in report.failed] == [0]
    assert store.checkpoint(config(0)).exists()
    monkeypatch.setattr(Store, "put", put)
    assert [run.seed for run in sweep.sweep([config(0)], store, executor=pool).done] == [0]
    assert not store.checkpoint(config(0)).exists()


def test_a_data_set_that_is_not_here_is_said_once(
    store: Store, pool: ThreadPoolExecutor, trained: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def load(source: str, benchmark: str, data: str | None) -> None:
        asked.append(source)
        if source == "mnist":
            raise ErlibError("MNIST is not here; fetch it.")

    monkeypatch.setattr(make, "load", load)
    runs = [config(seed, source="mnist") for seed in range(20)] + [config(7)]
    report = sweep.sweep(runs, store, executor=pool)
    assert [run.source for run in report.done] == ["mnist-5k"]
    assert len(report.failed) == 20
    assert str(report).count("MNIST is not here") == 1
    assert "and 19 more: MNIST is not here; fetch it." in str(report)
    assert asked.count("mnist") < 20


def test_a_run_that_another_trains_is_waited_for(
    store: Store, pool: ThreadPoolExecutor, trained: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep, "POLL", 0.05)
    store.prepare()
    stores, leaves = Lock(store.work, config(0).run_id), Lock(store.work, config(1).run_id)
    assert stores.acquire()
    assert leaves.acquire()

    def other() -> None:
        until(lambda: trained == [2])
        store.put(made(config(0)))
        stores.release()
        leaves.release()  # without a result

    thread = threading.Thread(target=other)
    thread.start()
    report = sweep.sweep([config(0), config(1), config(2)], store, executor=pool)
    thread.join()
    assert trained == [2, 1]
    assert report.skipped == [config(0)]


def test_a_class_that_cannot_be_imported_is_trained_in_this_process(
    store: Store, trained: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Mine(ThreadPoolExecutor):
        """Of a function: no other process can import it."""

    monkeypatch.setitem(registry.MEMORIES, "mine", registry.Component(Mine))
    report = sweep.sweep([config(5).replace(memory="mine")], store)
    assert trained == [5]
    assert len(report.done) == 1


def test_a_lock_left_beside_a_stored_run_is_cleared_away(store: Store, trained: list[int]) -> None:
    store.prepare()
    store.put(made(config()))
    left = Lock(store.work, config().run_id)
    left.acquire()
    left.path.write_text(json.dumps(json.loads(left.path.read_text()) | {"process_started": "1"}))  # a dead process's
    store.checkpoint(config()).write_bytes(b"")
    assert train_one(dataclasses.asdict(config()), str(store.root), None, "cpu") == {"state": "stored"}
    assert [file.name for file in store.work.iterdir() if file.name[0] != "."] == []
    assert trained == []


def test_a_scheduler_that_is_not_there_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ErlibError, match="no Dask scheduler answers at nowhere"), sweep._cluster("nowhere://1:2"):
        pass


def test_the_time_left_comes_from_similar_runs(store: Store) -> None:
    timings = Timings([made(config(seed)) for seed in range(3)])
    assert timings.seconds(config(9)) == pytest.approx(4.0)
    assert timings.seconds(config(9, tasks=6)) == pytest.approx(8.0)
    assert timings.seconds(paper_config("split_cifar", "finetune")) is None
    assert timings.all([config(9)] * 4, workers=2) == "8 s"
    assert timings.all([config(9), paper_config("split_cifar", "finetune")], workers=2) == "over 4 s"
    assert timings.all([paper_config("split_cifar", "finetune")], workers=2) == "unknown"
    assert [duration(s) for s in (30, 600, 5400, 5399, 260000)] == [
        "30 s",
        "10 min",
        "1 h 30 min",
        "1 h 30 min",
        "3 days 0 h",
    ]


def test_status_tells_stored_stale_and_missing_apart(
    store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second, *_ = wanted = experiments.configs("mer_bn")
    store.put(made(first))
    monkeypatch.setitem(registry.NUMERICS, "mer", 99)
    store.put(made(second))
    found = state("mer_bn", store, stale_settings(store))
    assert (found.stored, found.stale, found.missing) == ([second], [first], wanted[2:])
    from erlib.__main__ import main

    assert main(["status", "--results", str(store.root), "--workers", "2"]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("mer_bn")]
    assert line.split()[:7] == ["mer_bn", "10", "1", "1", "8", "18", "s"]


def test_the_command_lists_and_ends_with_a_code(
    store: Store, trained: list[int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from erlib.__main__ import main

    monkeypatch.setattr(sweep, "_pool", lambda executor, workers: ThreadPoolExecutor(1))
    command = ["sweep", "mer_bn", "--results", str(store.root), "--workers", "1", "--seeds", "2"]
    assert main([*command, "--dry-run"]) == 0
    assert "4 runs missing, unknown on 1 at a time." in capsys.readouterr().out
    assert trained == []
    assert main(command) == 0
    assert main([*command[:-1], "14"]) == 1
    assert "seed 13 and 1 more: this run cannot be." in capsys.readouterr().out
    assert main(["sweep", "tab99"]) == 2
    damaged = store.path(experiments.configs("mer_bn")[0])
    damaged.write_text("{")
    assert main(command) == 0
    assert f"left out: {damaged} is damaged" in capsys.readouterr().err
