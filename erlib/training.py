"""run(config): the single pass over a stream, evaluation after each task, checkpoint and resume."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from erlib import checkpoints, passes, plugins, registry
from erlib.benchmarks.make import make_stream
from erlib.benchmarks.streams import Stream
from erlib.config import RunConfig
from erlib.environment import describe, resolve_device
from erlib.evaluation import accuracy_row, measure
from erlib.methods import Method
from erlib.models import build
from erlib.pretrained import load_pretrained
from erlib.protocol import BENCHMARKS
from erlib.randomness import generator
from erlib.result import DIVERGED, RunResult

Progress = Callable[[int, int], None]


def run(
    config: RunConfig,
    *,
    data: str | Path | None = None,
    device: str = "cpu",
    checkpoint: Path | None = None,
    progress: Progress | None = None,
) -> RunResult:
    """Train and evaluate one config.

    `data` is the folder of the data sets (default: $ERLIB_DATA, then the cache folder). With `checkpoint` the run
    saves itself there after each task and goes on from there if the file exists. `progress(done, total)` is told
    the training steps. On the CPU a run uses one thread, so that its numbers do not depend on the machine's cores.
    """
    with _one_thread():
        trainer = Trainer(config, data, resolve_device(device))
        if checkpoint is not None and checkpoint.exists():
            trainer.resume(checkpoint)
        trainer.train(checkpoint, progress or (lambda done, total: None))
        return trainer.result()


class Trainer:
    """A run under way: the stream, the method, and the numbers so far."""

    def __init__(self, config: RunConfig, data: str | Path | None, device: torch.device) -> None:
        self.config, self.device = config, device
        self.stream = make_stream(config, data, device)
        self.method = make_method(config, self.stream, data, device)
        self.accuracy: list[list[float | None]] = []
        self.curves: dict[str, dict[str, list[float]]] = {}
        self.seconds = {"train": 0.0, "eval": 0.0}

    def train(self, checkpoint: Path | None, progress: Progress) -> None:
        """Learn the tasks that are left."""
        parts = (passes.pooled if self.method.pooled else passes.one_by_one)(self.stream, self.config)
        total = sum(part.steps for part in parts)
        for t in range(len(self.accuracy), len(parts)):
            done = sum(part.steps for part in parts[:t])
            self._learn(t, parts[t], lambda step, before=done: progress(before + step, total))
            with self._timed("eval"):
                last = t == len(parts) - 1
                seen = 0 if self.method.pooled and not last else t + 1
                self.accuracy.append(accuracy_row(self.method, self.stream, seen))
            if checkpoint is not None and not last:
                checkpoints.save(checkpoint, self.config.run_id, self._state())

    def _learn(self, t: int, part: passes.TaskPass | passes.PooledPass, progress: Callable[[int], None]) -> None:
        watched = self.config.benchmark == "rotated_mnist" and t == 1
        if watched:
            self._watch(0)
        for step, (x, y, tasks) in enumerate(part.batches(), start=1):
            with self._timed("train"):
                self.method.observe(x, y, tasks)
            if watched and _watch_at(step, part.steps):
                self._watch(step)
            if step % 20 == 0 or step == part.steps:
                progress(step)
        with self._timed("train"):
            self.method.end_task(t)
            if self.device.type == "cuda":
                torch.cuda.synchronize()  # what is still queued belongs to training

    def _watch(self, step: int) -> None:
        """Rotation analysis: task 1's test set and memory while task 2 is learned."""
        with self._timed("eval"):
            sets = {"test": self.stream.tasks[0].test.batches(self.method.net.eval_batch)}
            if self.method.memory is not None:
                sets["memory"] = [self.method.memory.of_task(0)[:2]]
            for name, batches in sets.items():
                for metric, value in measure(self.method, batches, 0).items():
                    curve = self.curves.setdefault(f"{name}_{metric}", {"step": [], "value": []})
                    curve["step"].append(step)
                    curve["value"].append(value)

    def result(self) -> RunResult:
        """The finished run."""
        memory = self.method.memory
        counts = memory.class_counts() if memory is not None else {}
        return RunResult(
            config=self.config,
            accuracy=self.accuracy,
            curves=self.curves,
            final=self._final() if self.config.benchmark == "rotated_mnist" else {},
            events=self._events(),
            memory={f"{t}/{y}": n for (t, y), n in sorted(counts.items())},
            seconds={name: round(value, 3) for name, value in self.seconds.items()},
            environment=describe(self.device),
        )

    def _events(self) -> list[dict[str, Any]]:
        """Those of the memory; and "diverged", if the weights are no longer finite, as the net then guesses blindly."""
        events = [] if self.method.memory is None else list(self.method.memory.events)
        if not all(p.isfinite().all() for p in self.method.params):
            events.append({"name": DIVERGED, "task": len(self.accuracy) - 1, "step": None})
        return events

    def _final(self) -> dict[str, dict[str, float]]:
        """Rotation analysis: task 1 at the end, on its training set, its memory and its test set."""
        first, size = self.stream.tasks[0], self.method.net.eval_batch
        sets: dict[str, Any] = {"train": first.train.batches(size), "test": first.test.batches(size)}
        if self.method.memory is not None:
            sets["memory"] = [self.method.memory.of_task(0)[:2]]
        return {name: measure(self.method, batches, 0) for name, batches in sets.items()}

    @contextlib.contextmanager
    def _timed(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds[name] += time.perf_counter() - start

    def _state(self) -> dict[str, Any]:
        """Everything that the rest of the run depends on."""
        method, memory = self.method, self.method.memory
        return {
            "net": method.net.state_dict(),
            "method": method.state_dict(),
            "memory": None if memory is None else memory.state_dict(),
            "generators": None if memory is None else [memory.generator.get_state(), method.read.get_state()],
            "accuracy": self.accuracy,
            "seconds": self.seconds,
        }

    def resume(self, checkpoint: Path) -> None:
        """Go on from a checkpoint of this very run; one that is damaged or another run's is passed over."""
        state = checkpoints.load(checkpoint, self.config.run_id)
        if state is None:
            return
        self.method.net.load_state_dict(state["net"])
        self.method.load_state_dict(state["method"])
        if self.method.memory is not None:
            self.method.memory.load_state_dict(state["memory"])
            for source, saved in zip((self.method.memory.generator, self.method.read), state["generators"]):
                source.set_state(saved)
        self.accuracy, self.seconds = state["accuracy"], state["seconds"]


def make_method(config: RunConfig, stream: Stream, data: str | Path | None, device: torch.device) -> Method:
    """The method of a config with its network and memory, ready for the first mini-batch."""
    name = BENCHMARKS[config.benchmark].model
    net = build(name, stream.outputs, config.bn_eps)
    net.initialise(config.init, generator(config.seed, "initialisation"))
    if config.source == "cub":
        load_pretrained(net, data)
    if name != "mlp":
        net = net.to(memory_format=torch.channels_last)
    net = net.to(device)
    given: dict[str, Any] = {}
    if config.memory is not None:
        memory = registry.memory_class(config.memory)(
            config.memory_size,
            config.classes,
            stream.example_shape,
            generator=generator(config.seed, "memory write"),
            replay_current=config.replay_current,
            distances=config.distances,
            device=device,
        )
        if config.memory in registry.registered(config):
            plugins.watch_writer(memory, config.memory, config.memory_size, stream.example_shape)
        given = {"memory": memory, "read": generator(config.seed, "memory read")}
    method = registry.method_class(config.method)(net, stream, config, **given)
    return plugins.watch_method(method, config.method) if config.method in registry.registered(config) else method


def _watch_at(step: int, steps: int) -> bool:
    """Every step of the first 100, then 50 points to the end."""
    return step <= 100 or step == steps or (step - 100) % max(1, (steps - 100) // 50) == 0


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
