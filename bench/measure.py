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
from work import alternate, config, half, learning, prepare

Numbers = dict[str, dict[str, float]]  # contender -> {"seconds", "ratio"}
STEPS = {"permuted_mnist": 100, "split_cifar": 20}  # steps a block
BLOCKS = {"permuted_mnist": 6, "split_cifar": 3}
SEEN = 4  # tasks of an evaluation
GROWTH = {"samples per class": (1, 3, 10, 30, 100), "tasks seen": (2, 5, 10, 20), "classes": (20, 50, 100, 200)}
SCALES = {  # of whole runs
    "paper": {"permuted_mnist": {}, "split_cifar": {"tasks": 3}},
    "small": {"permuted_mnist": {"tasks": 5}, "split_cifar": {"tasks": 2, "examples_per_task": 300}},
}


def steps(side: str, benchmark: str, method: str) -> Numbers:
    """Seconds a step: the bare loop, and erlib or Avalanche beside it."""
    wanted, blocks, count = config(benchmark, method, **_ring(method)), BLOCKS[benchmark], STEPS[benchmark]
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


def run(side: str, benchmark: str, scale: str) -> Numbers:
    """A whole run of ER with the ring, evaluation included."""
    wanted = _whole(benchmark, scale, 0)
    work.images(benchmark)
    if side == "erlib":
        import erlib

        go = erlib.run
    else:
        import peer

        go = peer.run
    start = time.perf_counter()
    go(wanted)
    return {side: {"seconds": time.perf_counter() - start}}


def sweep(side: str, benchmark: str, scale: str, runs: int) -> Numbers:
    """Several such runs: erlib's sweep on all cores, from nothing to stored results; Avalanche one after the other."""
    configs = [_whole(benchmark, scale, seed) for seed in range(runs)]
    if side == "avalanche":
        import peer

        work.images(benchmark)
        start = time.perf_counter()
        for wanted in configs:
            peer.run(wanted)
    else:
        from erlib.sweep import sweep as train_all
        from erlib.workers import cores

        start = time.perf_counter()
        spawn = multiprocessing.get_context("spawn")
        with (
            tempfile.TemporaryDirectory() as folder,
            ProcessPoolExecutor(cores(), spawn, work.use_random_images) as pool,
        ):
            report = train_all(configs, folder, executor=pool, progress=False)
        if len(report.done) != runs:
            sys.exit(str(report))
    return {side: {"seconds": (time.perf_counter() - start) / runs}}


def growth(writer: str) -> dict[str, Numbers]:
    """ER's step with a full memory, as samples per class, tasks seen and classes grow."""
    numbers = {}
    for axis, values in GROWTH.items():
        contenders = {}
        for value in values:
            tasks = value // 10 if axis == "classes" else 20
            size = value if axis == "samples per class" else 1
            seen = value if axis == "tasks seen" else tasks
            options = {"memory": writer, "samples_per_class": size, "tasks": tasks, "examples_per_task": 1500}
            method, stream = prepare(config("permuted_mnist", "er", **options), seen - 1, current=True)
            contenders[str(value)] = learning(method, stream.tasks[seen - 1], 50)
        numbers[axis] = alternate(contenders, 8)
    return numbers


def timing(benchmark: str, method: str, steps: int, blocks: int, **settings: Any) -> Numbers:
    """Table 2: a method's steps beside finetune's, in the middle of the stream."""
    contenders = {}
    for name, wanted in (
        ("finetune", config(benchmark, "finetune")),
        ("method", config(benchmark, method, **settings)),
    ):
        learner, stream = prepare(wanted, half(wanted))
        contenders[name] = learning(learner, stream.tasks[half(wanted)], steps)
    return alternate(contenders, blocks)


def _ring(method: str) -> dict[str, str]:
    return {"memory": "ring"} if method == "er" else {}


def _whole(benchmark: str, scale: str, seed: int) -> Any:
    return config(benchmark, "er", memory="ring", seed=seed, **SCALES[scale][benchmark])


KINDS = {job.__name__: job for job in (steps, evaluation, run, sweep, growth, timing)}

if __name__ == "__main__":
    job = json.loads(sys.argv[1])
    work.use_random_images()
    numbers = KINDS[job.pop("kind")](**job)
    print(json.dumps({"numbers": numbers, "megabytes": round(work.peak_megabytes(), 1)}))
