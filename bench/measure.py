"""One measurement in a fresh process: python bench/measure.py '{"kind": "steps", …}' prints its result as JSON."""

from __future__ import annotations

import json
import multiprocessing
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import bare
import work
from work import Work, alternate, clock, config, half, learning, prepare

from erlib.memory import Memory
from erlib.memory.reservoir import Reservoir

Numbers = dict[str, dict[str, float]]  # contender -> {"seconds", "ratio"}
STEPS = {"permuted_mnist": 100, "split_cifar": 10}  # steps a block; a fifth of them for MER, which is dear
BLOCKS = {"permuted_mnist": 6, "split_cifar": 2}
SEEN = 4  # tasks of an evaluation
GROWTH = {"samples per class": (1, 3, 10, 30, 100), "tasks seen": (2, 5, 10, 20), "classes": (20, 50, 100, 200)}
ENOUGH = {"samples per class": 1500}  # examples a task that fill the memory; else 200
SEEN_PER_SLOT = 3  # examples that a reservoir has seen for each of its slots: at every size it takes in one in three


def steps(side: str, benchmark: str, methods: list[str]) -> dict[str, Numbers]:
    """Seconds a step of each method: the bare loop, and erlib or Avalanche beside it."""
    return {method: _steps(side, benchmark, method) for method in methods}


def _steps(side: str, benchmark: str, method: str) -> Numbers:
    wanted, blocks = config(benchmark, method, **_ring(method)), BLOCKS[benchmark]
    count = STEPS[benchmark] // (5 if method == "mer" else 1)
    learner, stream = prepare(wanted, half(wanted))
    task = stream.tasks[half(wanted)]
    contenders = {"bare": bare.Bare(learner, stream, task).learning(count)}
    if side == "erlib":
        contenders["erlib"] = learning(learner, task, count)
    else:
        import peer

        contenders["avalanche"] = peer.learning(wanted, stream, count, blocks)
    return alternate(contenders, blocks)


def evaluation(side: str, benchmark: str) -> Numbers:
    """Seconds for 1,000 test images: the bare loop, and erlib or Avalanche beside it."""
    from erlib.evaluation import accuracy_row

    method, stream = prepare(config(benchmark, "finetune"), 0)
    contenders = {"bare": bare.evaluating(method, stream, SEEN)}
    if side == "erlib":
        images = sum(len(task.test) for task in stream.tasks[:SEEN])
        contenders["erlib"] = lambda: accuracy_row(method, stream, SEEN) and images / 1000
    else:
        import peer

        contenders["avalanche"] = peer.evaluating(method.config, stream, SEEN)
    return alternate(contenders, BLOCKS[benchmark])


def run(side: str, benchmark: str, settings: dict[str, int]) -> Numbers:
    """A whole run of ER with the ring, evaluation included."""
    wanted = config(benchmark, "er", memory="ring", **settings)
    work.images(benchmark)
    if side == "erlib":
        import erlib

        go = erlib.run
    elif side == "bare":
        go = bare.run
    else:
        import peer

        go = peer.run
    start = time.perf_counter()
    go(wanted)
    return {side: {"seconds": time.perf_counter() - start}}


def sweep(benchmark: str, settings: dict[str, int], runs: int) -> Numbers:
    """Seconds a run of erlib's sweep on all cores, from nothing to stored results, the start of processes included."""
    from erlib.sweep import sweep as train_all
    from erlib.workers import cores

    configs = [config(benchmark, "er", memory="ring", seed=seed, **settings) for seed in range(runs)]
    spawn = multiprocessing.get_context("spawn")
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(cores(), spawn, work.use_random_images) as pool:
        report = train_all(configs, folder, executor=pool, progress=False)
    if len(report.done) != runs:
        sys.exit(str(report))
    return {"erlib": {"seconds": (time.perf_counter() - start) / runs}}


def growth(writer: str) -> dict[str, Numbers]:
    """ER's step with a full memory, as samples per class, tasks seen and classes grow."""
    numbers = {}
    for axis, values in GROWTH.items():
        contenders = {}
        for value in values:
            tasks = value // 10 if axis == "classes" else 20
            size = value if axis == "samples per class" else 1
            seen = value if axis == "tasks seen" else tasks
            options = {"samples_per_class": size, "tasks": tasks, "examples_per_task": ENOUGH.get(axis, 200)}
            wanted = config("permuted_mnist", "er", memory=writer, **options)
            method, stream = prepare(wanted, seen - 1, current=True)
            contenders[str(value)] = _same_share(method.memory, learning(method, stream.tasks[seen - 1], 15))
        numbers[axis] = alternate(contenders, 24)
    return numbers


def _same_share(memory: Memory, learn: Work) -> Work:
    """Blocks that begin after as many examples a slot: a reservoir takes in fewer the more it has seen."""

    def block() -> float:
        if isinstance(memory, Reservoir):
            memory.seen = SEEN_PER_SLOT * memory.size
        return learn()

    return block


def timing(benchmark: str, rows: list[dict[str, Any]], rounds: int) -> dict[str, list[float]]:
    """Table 2: seconds a step of each row in the middle of the stream, one for each round."""
    contenders = {}
    for row in rows:
        wanted = config(benchmark, row["method"], **row["settings"])
        learner, stream = prepare(wanted, half(wanted))
        contenders[row["label"]] = learning(learner, stream.tasks[half(wanted)], row["steps"])
    return clock(contenders, rounds)


def _ring(method: str) -> dict[str, str]:
    return {"memory": "ring"} if method == "er" else {}


KINDS = {job.__name__: job for job in (steps, evaluation, run, sweep, growth, timing)}

if __name__ == "__main__":
    job = json.loads(sys.argv[1])
    work.use_random_images()
    numbers = KINDS[job.pop("kind")](**job)
    print(json.dumps({"numbers": numbers, "megabytes": round(work.peak_megabytes(), 1)}))
