"""Sweeps: every run once, whatever fails, on processes and on a real Dask cluster."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import erlib
from erlib import experiments, registry, sweep, training
from erlib.benchmarks import make
from erlib.config import RunConfig, paper_config
from erlib.errors import ErlibError
from erlib.locks import Lock
from erlib.result import RunResult
from erlib.status import Timings, duration, stale_settings, state
from erlib.store import Store
from erlib.workers import Processes

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(erlib.__file__).parents[1]), "OMP_NUM_THREADS": "1"}


def config(seed: int = 0, **changes: object) -> RunConfig:
    small = {"source": "mnist-5k", "tasks": 3, "examples_per_task": 50, "test_examples": 50}
    return paper_config("permuted_mnist", "er", memory="ring", seed=seed, **small | changes)


def made(config: RunConfig) -> RunResult:
    rows = [[0.5 if j <= i else None for j in range(config.tasks)] for i in range(config.tasks)]
    return RunResult(config=config, accuracy=rows, seconds={"train": 3.0, "eval": 1.0})


def until(true: Callable[[], object], seconds: float = 60.0) -> None:
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


def test_a_registered_class_is_trained_in_this_process(
    store: Store, trained: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(registry.MEMORIES, "mine", registry.Component(ThreadPoolExecutor))
    report = sweep.sweep([config(5).replace(memory="mine")], store)
    assert trained == [5]
    assert len(report.done) == 1


def test_a_worker_that_dies_fails_its_own_call_only() -> None:
    with Processes(2) as pool:
        dying, living = pool.submit(os._exit, 3), [pool.submit(os.getpid) for _ in range(4)]
        assert os.getpid() not in {future.result() for future in living}
        with pytest.raises(ErlibError, match=r"died twice \(exit code 3\)"):
            dying.result()
        with pytest.raises(ZeroDivisionError):
            pool.submit(divmod, 1, 0).result()
        assert pool.submit(divmod, 7, 2).result() == (3, 1)


def test_processes_train_real_runs(store: Store) -> None:
    report = sweep.sweep([config(0), config(1, tasks=2), config(0, lr=0.2)], store, workers=2, progress=False)
    assert str(report).startswith("3 runs trained")
    assert len(store.load()) == 3
    assert list(store.work.iterdir()) == [store.work / ".gitignore"]


TWO_SWEEPS = """
import sys, time
from concurrent.futures import ThreadPoolExecutor
from erlib import training
from erlib.benchmarks import make
from erlib.config import paper_config
from erlib.result import RunResult
from erlib.sweep import sweep

def run(config, **options):
    with open(sys.argv[2], "a") as log:
        log.write(f"{config.seed}\\n")
    time.sleep(0.03)
    return RunResult(config=config, accuracy=[[0.5]])

training.run, make.load = run, lambda *args: None
configs = [paper_config("permuted_mnist", "finetune", tasks=1, seed=seed) for seed in range(40)]
with ThreadPoolExecutor(2) as pool:
    print("ready", flush=True)
    sys.stdin.readline()
    report = sweep(configs, sys.argv[1], executor=pool, progress=False)
print(len(report.done), len(report.skipped), len(report.failed))
"""


def test_two_sweeps_at_once_train_no_run_twice(store: Store, tmp_path: Path) -> None:
    command = [sys.executable, "-c", TWO_SWEEPS, store.root, tmp_path / "log"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "env": ENVIRONMENT}
    sweeps = [subprocess.Popen(command, **pipes) for _ in range(2)]
    for process in sweeps:
        assert process.stdout.readline() == "ready\n"
    for process in sweeps:
        process.stdin.write("go\n")
        process.stdin.flush()
    counts = [[int(n) for n in process.communicate(timeout=120)[0].split()] for process in sweeps]
    assert sorted(map(int, (tmp_path / "log").read_text().split())) == list(range(40))
    assert sum(done for done, _, _ in counts) == 40
    assert all(done + skipped == 40 for done, skipped, _ in counts)
    assert all(done > 0 for done, _, _ in counts)
    assert len(store.load()) == 40


def owners(store: Store) -> list[int]:
    """The processes that hold a lock now."""
    found = []
    for path in store.work.glob("*.lock"):
        try:
            found.append(json.loads(path.read_text())["pid"])
        except (FileNotFoundError, ValueError):
            continue  # released, or being written
    return found


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


@pytest.fixture
def long_sweep(store: Store) -> Iterator[subprocess.Popen[str]]:
    """A sweep on two processes, from the command line, in a process group of its own."""
    command = [sys.executable, "-m", "erlib", "sweep", "tab3", "--scale", "quick", "--workers", "2"]
    command += ["--results", str(store.root)]
    process = subprocess.Popen(command, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True, start_new_session=True)
    with process:
        until(lambda: store.load() and len(owners(store)) == 2)
        yield process
        process.kill()


def test_ctrl_c_stops_cleanly(store: Store, long_sweep: subprocess.Popen[str]) -> None:
    workers = owners(store)
    os.killpg(long_sweep.pid, signal.SIGINT)
    _, errors = long_sweep.communicate(timeout=60)
    assert long_sweep.returncode == 130
    assert errors.strip() == f"stopped: {len(store.load())} runs done, resume with the same command"
    until(lambda: all(gone(pid) for pid in workers))
    assert owners(store) == []


def test_workers_leave_when_the_sweep_is_killed(store: Store, long_sweep: subprocess.Popen[str]) -> None:
    workers = owners(store)
    long_sweep.kill()
    until(lambda: all(gone(pid) for pid in workers))
    assert owners(store) == []
    assert store.problems == []


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A Dask scheduler and two worker processes on loopback."""
    where = tmp_path / "scheduler.json"
    dask = [sys.executable, "-m", "dask"]
    quiet = {"env": ENVIRONMENT, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": tmp_path}
    options = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(where)]
    worker = ["worker", "--scheduler-file", str(where), "--nthreads", "1", "--no-nanny", "--no-dashboard"]
    processes = [subprocess.Popen([*dask, "scheduler", *options], **quiet)]
    try:
        until(where.exists)
        processes += [subprocess.Popen([*dask, *worker], **quiet) for _ in range(2)]
        yield json.loads(where.read_text())["address"], processes[1:]
    finally:
        for process in processes:
            process.kill()
            process.wait()


def test_dask_workers_may_be_killed(store: Store, cluster: tuple[str, list[subprocess.Popen[bytes]]]) -> None:
    address, workers = cluster
    runs = [config(seed, examples_per_task=400) for seed in range(6)]
    reports = []

    def work() -> None:
        with sweep._cluster(address) as executor:
            reports.append(sweep.sweep(runs, store, executor=executor, progress=False))

    thread = threading.Thread(target=work)
    thread.start()
    until(lambda: store.load())
    until(lambda: any(worker.pid in owners(store) for worker in workers))
    next((worker for worker in workers if worker.pid in owners(store)), workers[0]).kill()
    thread.join(120)
    (report,) = reports
    assert report.failed == []
    # each run was trained to its end once; at most the killed worker's last had been stored without a word
    assert len(report.done) >= 5
    assert sorted(run.seed for run in report.done + report.skipped) == list(range(6))
    assert sorted(result.config.seed for result in store.load()) == list(range(6))
    assert owners(store) == []


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
    assert line.split()[:7] == ["mer_bn", "5", "1", "1", "3", "8", "s"]


def test_the_command_lists_and_ends_with_a_code(
    store: Store, trained: list[int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from erlib.__main__ import main

    monkeypatch.setattr(sweep, "_pool", lambda executor, workers: ThreadPoolExecutor(1))
    command = ["sweep", "mer_bn", "--results", str(store.root), "--workers", "1", "--seeds", "2"]
    assert main([*command, "--dry-run"]) == 0
    assert "2 runs missing, unknown on 1 at a time." in capsys.readouterr().out
    assert trained == []
    assert main(command) == 0
    assert main([*command[:-1], "14"]) == 1
    assert "seed 13: this run cannot be." in capsys.readouterr().out
    assert main(["sweep", "tab99"]) == 2
    damaged = store.path(experiments.configs("mer_bn")[0])
    damaged.write_text("{")
    assert main(command) == 0
    assert f"left out: {damaged} is damaged" in capsys.readouterr().err
