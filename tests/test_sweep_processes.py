"""Sweeps on real processes: crashes, Ctrl-C, two sweeps at once, and a real Dask cluster."""

from __future__ import annotations

import ctypes
import json
import os
import platform
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import erlib
from erlib import sweep
from erlib.config import RunConfig, paper_config
from erlib.errors import ErlibError
from erlib.store import Store
from erlib.workers import Processes

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(erlib.__file__).parents[1]), "OMP_NUM_THREADS": "1"}


def config(seed: int = 0, **changes: object) -> RunConfig:
    small = {"source": "mnist-5k", "tasks": 3, "examples_per_task": 50, "test_examples": 50}
    return paper_config("permuted_mnist", "er", memory="ring", seed=seed, **small | changes)


def until(true: Callable[[], object], seconds: float = 120.0) -> None:
    """Wait for something that must happen."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "results")


def test_a_worker_that_dies_fails_its_own_call_only() -> None:
    with Processes(2) as pool:
        dying, living = pool.submit(os._exit, 3), [pool.submit(os.getpid) for _ in range(4)]
        assert os.getpid() not in {future.result() for future in living}
        with pytest.raises(ErlibError, match=r"died twice \(exit code 3\)"):
            dying.result()
        with pytest.raises(ZeroDivisionError):
            pool.submit(divmod, 1, 0).result()
        assert pool.submit(divmod, 7, 2).result() == (3, 1)


def page_faults() -> int:
    """Pages that the system hands out in ten steps, each of which takes and frees eight blocks of 4 MB."""
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, (ctypes.c_void_p,)
    for step in range(11):
        if step == 1:  # the first one is allowed to grow
            before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        blocks = [libc.malloc(4 << 20) for _ in range(8)]
        for block in blocks:
            ctypes.memset(block, 1, 4 << 20)
        for block in blocks:
            libc.free(block)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc is told to keep freed memory")
def test_a_worker_keeps_the_memory_of_its_steps() -> None:
    with Processes(1) as pool:
        assert pool.submit(page_faults).result() < 1000  # 80,000 pages are touched


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
    """The processes that hold the lock of a run that is not stored yet."""
    found, stored = [], {result.run_id for result in store.load()}
    for path in store.work.glob("*.lock"):
        try:
            found += [json.loads(path.read_text())["pid"]] if path.stem not in stored else []
        except (FileNotFoundError, ValueError):
            continue  # released, or being written
    return found


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def hear_ctrl_c() -> None:
    """A job in the background of a shell ignores Ctrl-C, and so would all that it starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture
def long_sweep(store: Store) -> Iterator[subprocess.Popen[str]]:
    """A sweep on two processes, from the command line, in a process group of its own."""
    command = [sys.executable, "-m", "erlib", "sweep", "tab3", "--scale", "quick", "--workers", "2"]
    command += ["--results", str(store.root)]
    options = {"stderr": subprocess.PIPE, "text": True, "start_new_session": True, "preexec_fn": hear_ctrl_c}
    process = subprocess.Popen(command, env=ENVIRONMENT, **options)
    with process:
        try:
            until(lambda: len(owners(store)) == 2 and any(store.work.glob("*.checkpoint")))
            yield process
        finally:
            process.kill()


def test_ctrl_c_stops_cleanly(store: Store, long_sweep: subprocess.Popen[str]) -> None:
    workers = owners(store)
    os.killpg(long_sweep.pid, signal.SIGINT)
    _, errors = long_sweep.communicate(timeout=60)
    assert long_sweep.returncode == 130
    assert errors.strip() == f"stopped: {len(store.load())} runs done, resume with the same command"
    until(lambda: all(gone(pid) for pid in workers))
    assert list(store.work.glob("*.lock")) == []


def test_workers_leave_when_the_sweep_is_killed(store: Store, long_sweep: subprocess.Popen[str]) -> None:
    workers = owners(store)
    long_sweep.kill()
    until(lambda: all(gone(pid) for pid in workers))
    assert list(store.work.glob("*.lock")) == []
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
    runs = [config(seed, tasks=4, examples_per_task=800) for seed in range(8)]
    reports = []

    def work() -> None:
        with sweep._cluster(address) as executor:
            reports.append(sweep.sweep(runs, store, executor=executor, progress=False))

    thread = threading.Thread(target=work)
    thread.start()

    def killed() -> bool:
        """Kill a worker as soon as one is in the middle of a run."""
        at_it = [worker for worker in workers if worker.pid in owners(store) and any(store.work.glob("*.checkpoint"))]
        for worker in at_it[:1]:
            worker.kill()
        return bool(at_it)

    until(killed)
    thread.join(300)
    (report,) = reports
    assert report.failed == []
    # each run was trained to its end once; at most the killed worker's last had been stored without a word
    assert len(report.done) >= 7
    assert sorted(run.seed for run in report.done + report.skipped) == list(range(8))
    assert sorted(result.config.seed for result in store.load()) == list(range(8))
    assert list(store.work.glob("*.lock")) == []
