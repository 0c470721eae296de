"""What a run is made of: one frozen dataclass.

`RunConfig` holds everything that can change a number and nothing else. `paper_config` fills one in from the
paper's Table 8 and the protocol of its benchmarks. Nothing here imports torch.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

from erlib import registry
from erlib.config_check import check
from erlib.errors import ErlibError
from erlib.protocol import BENCHMARKS, CV_CHOICE, TABLE_8, benchmark_named


def late(default: Any) -> Any:
    """A field added after runs were stored: left out of the hash while it has its default."""
    return field(default=default, metadata={"late": True})


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """One run. A field that the method does not use is None; a `late` field at its default is not hashed."""

    benchmark: str  # a name of BENCHMARKS
    source: str  # the data set: mnist, mnist-5k (embedded), cifar100, miniimagenet, cub, toy (generated)
    method: str  # finetune, ewc, agem, mer, er, multitask, memory_only, or a registered one
    seed: int  # stream, initialisation, memory writing and reading each derive their own generator from it
    stream: str = "ev"  # "ev": the evaluation stream; "cv": the three tasks for choosing hyper-parameters
    tasks: int  # how many tasks of the stream are learned
    examples_per_task: int | None  # training examples a task; None: all
    test_examples: int | None = None  # test images a task, evenly spaced; None: all
    batch_size: int = 10  # examples of the stream a step
    lr: float  # SGD's learning rate
    init: str = "paper"  # initial weights: "paper" (the released code's) or "pytorch"
    head: str  # "shared": one head for all tasks (MNIST); "per_task": a task's own output units
    memory: str | None = None  # the writer: reservoir, ring, kmeans, mof, hybrid, full_ring, or a registered one
    samples_per_class: int | None = None  # memory slots = this x all classes of the stream
    replay_batch: int | None = None  # memory examples a step; A-GEM: the reference batch
    replay_current: bool | None = None  # may examples of the task being learned be replayed?
    distances: str | None = None  # k-means, MoF: "current" centroid or mean, or "literal" (stored distances)
    ewc_lambda: float | None = None  # EWC: strength of the penalty
    fisher_every: int | None = None  # EWC: steps between two updates of the Fisher average
    mer_gamma: float | None = None  # MER: how far the weights move towards the end of the inner steps
    mer_s: float | None = None  # MER: learning-rate multiplier of the current batch
    mer_steps: str | None = None  # MER: "single", one inner step per memory example, or "batch", one for all
    mer_bn: str | None = None  # MER, batch norm in memory steps: train, apart (averages untouched), shared or running
    angle: float | None = None  # rotation analysis: degrees between task 1 and task 2
    second_examples: int | None = None  # rotation analysis: training examples of task 2
    restart: bool | None = None  # memory_only: does task 2 begin from a fresh network?
    bn_eps: float | None = late(None)  # batch norm's epsilon; None: the network's own
    centred: bool = late(True)  # Split CIFAR: is the mean training image subtracted?
    stacked: bool = late(True)  # ER: one forward pass over the current and the replayed examples, or one each

    def __post_init__(self) -> None:
        check(self)

    @property
    def classes(self) -> int:
        """All classes of the stream: a class of two tasks counts twice (Permuted MNIST has 10 x tasks)."""
        return self.tasks * BENCHMARKS[self.benchmark].classes_per_task

    @property
    def memory_size(self) -> int | None:
        """Slots of the memory."""
        return None if self.samples_per_class is None else self.samples_per_class * self.classes

    def canonical(self) -> dict[str, Any]:
        """The fields that are hashed: a `late` field at its default is left out, so that older ids live on."""
        late = {f.name: f.default for f in dataclasses.fields(self) if f.metadata.get("late")}
        return {k: v for k, v in dataclasses.asdict(self).items() if k not in late or v != late[k]}

    @property
    def run_id(self) -> str:
        """Sixteen hex digits: the hash of the config and of the numerics of the components it uses."""
        return run_id(self.canonical(), registry.numerics(self))

    def replace(self, **changes: Any) -> RunConfig:
        """A copy with some fields changed (and checked)."""
        return from_dict(dataclasses.asdict(self) | changes)


def run_id(canonical: dict[str, Any], numerics: dict[str, Any]) -> str:
    """The id of a canonical config made with the given numerics."""
    text = json.dumps({"config": canonical, "numerics": numerics}, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def from_dict(values: dict[str, Any]) -> RunConfig:
    """A RunConfig from a mapping; an unknown name is an error that says which names there are."""
    known = [f.name for f in dataclasses.fields(RunConfig)]
    for name in values:
        if name not in known:
            raise ErlibError(f"unknown setting '{name}'; the settings are {', '.join(known)}.")
    needed = [f.name for f in dataclasses.fields(RunConfig) if f.default is dataclasses.MISSING]
    if missing := [name for name in needed if name not in values]:
        raise ErlibError(f"a run needs {', '.join(missing)}; give each a value.")
    return RunConfig(**values)


def paper_config(
    benchmark: str,
    method: str,
    *,
    memory: str | None = None,
    samples_per_class: int | None = None,
    seed: int = 0,
    **changes: Any,
) -> RunConfig:
    """The paper's setting of one cell: protocol and Table 8 (else the CV stream's choice), with `changes` on top.

    >>> paper_config("permuted_mnist", "er", memory="ring", samples_per_class=1).lr
    0.1
    """
    bench = benchmark_named(benchmark)
    fields = registry.method_fields(method)
    writer = registry.fixed_writer(method) or memory
    if registry.fixed_writer(method) and memory not in (None, writer):
        raise ErlibError(f"method '{method}' always writes with '{writer}'; leave --memory out.")
    if "memory" in fields and writer is None:
        raise ErlibError(
            f"method '{method}' needs a memory writer; choose one of {', '.join(registry.MEMORIES)} with --memory."
        )
    stream = changes.get("stream", "ev")
    default_tasks = bench.cv_tasks if stream == "cv" else bench.ev_tasks
    table = TABLE_8[benchmark] | CV_CHOICE.get(benchmark, {})
    values: dict[str, Any] = {
        "benchmark": benchmark,
        "source": bench.sources[0],
        "method": method,
        "seed": seed,
        "tasks": default_tasks,
        "examples_per_task": bench.examples_per_task,
        "head": "shared" if bench.model == "mlp" else "per_task",
        "memory": writer if "memory" in fields else memory,
        "samples_per_class": 1 if "memory" in fields and samples_per_class is None else samples_per_class,
        "replay_batch": 10 if "replay_batch" in fields else None,
        "fisher_every": bench.fisher_every if "fisher_every" in fields else None,
        "mer_steps": "single" if "mer_steps" in fields else None,
        "mer_bn": "train" if "mer_bn" in fields and bench.model != "mlp" else None,
        "restart": False if "restart" in fields else None,
    }
    if "memory" in fields:
        values["replay_current"] = registry.replays_current(writer)
        values["distances"] = "current" if registry.uses_features(writer) else None
    if benchmark == "rotated_mnist":
        values |= {"angle": 20.0, "second_examples": 1000}
    values |= table.get(f"{method}/{writer}") or table.get(method) or table["finetune"]
    return from_dict(values | changes)


def parse_settings(pairs: list[str]) -> dict[str, Any]:
    """Settings of the command line, "lr=0.03", as values: numbers, true, false, null, or words."""
    values = {}
    for pair in pairs:
        name, sign, text = pair.partition("=")
        if not sign or name not in {f.name for f in dataclasses.fields(RunConfig)}:
            known = ", ".join(f.name for f in dataclasses.fields(RunConfig))
            raise ErlibError(f"--set {pair} is not NAME=VALUE with one of the settings {known}.")
        try:
            values[name] = json.loads(text)
        except json.JSONDecodeError:
            values[name] = text
    return values
