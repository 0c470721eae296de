"""What a run is made of: one frozen dataclass, and the paper's settings as data.

`RunConfig` holds everything that can change a number and nothing else. `paper_config` fills one in from the
paper's Table 8 and the protocol of its four benchmarks. Nothing here imports torch.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

from erlib import registry
from erlib.errors import ErlibError


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """The fixed facts of a benchmark (section 5.1 of the paper)."""

    title: str
    sources: tuple[str, ...]  # data sets it can be made from; the first is the paper's
    model: str
    cv_tasks: int
    ev_tasks: int
    classes_per_task: int
    samples_per_class: tuple[int, ...]  # the memory sizes of the paper's table
    examples_per_task: int | None  # None: all that the data set has
    fisher_every: int  # EWC: steps between two updates of the Fisher average


BENCHMARKS: dict[str, Benchmark] = {
    "permuted_mnist": Benchmark(
        title="Permuted MNIST",
        sources=("mnist", "mnist-5k"),
        model="mlp",
        cv_tasks=3,
        ev_tasks=20,
        classes_per_task=10,
        samples_per_class=(1, 3, 5, 15),
        examples_per_task=1000,
        fisher_every=10,
    ),
    "rotated_mnist": Benchmark(
        title="MNIST rotation",
        sources=("mnist", "mnist-5k"),
        model="mlp",
        cv_tasks=2,
        ev_tasks=2,
        classes_per_task=10,
        samples_per_class=(1,),
        examples_per_task=1000,
        fisher_every=10,
    ),
    "split_cifar": Benchmark(
        title="Split CIFAR",
        sources=("cifar100", "toy"),
        model="resnet18_reduced",
        cv_tasks=3,
        ev_tasks=17,
        classes_per_task=5,
        samples_per_class=(1, 3, 5, 13),
        examples_per_task=None,
        fisher_every=50,
    ),
    "split_miniimagenet": Benchmark(
        title="Split miniImageNet",
        sources=("miniimagenet", "toy"),
        model="resnet18_reduced",
        cv_tasks=3,
        ev_tasks=17,
        classes_per_task=5,
        samples_per_class=(1, 3, 5, 13),
        examples_per_task=None,
        fisher_every=50,
    ),
    "split_cub": Benchmark(
        title="Split CUB",
        sources=("cub", "toy"),
        model="resnet18",
        cv_tasks=3,
        ev_tasks=17,
        classes_per_task=10,
        samples_per_class=(1, 3, 5, 10),
        examples_per_task=None,
        fisher_every=50,
    ),
}

# Table 8 of the paper. "er" holds every writer but the reservoir; the rotation analysis uses MNIST's column.
_MNIST = {
    "finetune": {"lr": 0.1},
    "ewc": {"lr": 0.1, "ewc_lambda": 10.0},
    "agem": {"lr": 0.1},
    "mer": {"lr": 0.03, "mer_gamma": 0.1, "mer_s": 10.0},
    "er/reservoir": {"lr": 0.1},
    "er": {"lr": 0.1},
}
_IMAGES = {
    "finetune": {"lr": 0.03},
    "ewc": {"lr": 0.03, "ewc_lambda": 10.0},
    "agem": {"lr": 0.03},
    "mer": {"lr": 0.03, "mer_gamma": 0.1, "mer_s": 5.0},
    "er/reservoir": {"lr": 0.1},
    "er": {"lr": 0.03},
}
TABLE_8: dict[str, dict[str, dict[str, float]]] = {
    "permuted_mnist": _MNIST,
    "rotated_mnist": _MNIST,
    "split_cifar": _IMAGES,
    "split_miniimagenet": _IMAGES,
    "split_cub": _IMAGES | {"mer": {"lr": 0.1, "mer_gamma": 0.1, "mer_s": 5.0}, "er/reservoir": {"lr": 0.03}},
}


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
    mer_bn: str | None = None  # MER(single) with batch norm: "train" mode or "running" averages in the inner steps
    angle: float | None = None  # rotation analysis: degrees between task 1 and task 2
    second_examples: int | None = None  # rotation analysis: training examples of task 2
    restart: bool | None = None  # memory_only: does task 2 begin from a fresh network?

    def __post_init__(self) -> None:
        _check(self)

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


def late(default: Any) -> Any:
    """A field added after runs were stored: left out of the hash while it has its default."""
    return field(default=default, metadata={"late": True})


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
    """The paper's setting of one cell: protocol and Table 8, with `changes` on top.

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
    table = TABLE_8[benchmark]
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


def benchmark_named(name: str) -> Benchmark:
    """The benchmark of that name, or an error that lists them."""
    if name not in BENCHMARKS:
        raise ErlibError(f"unknown benchmark '{name}'; choose one of {', '.join(BENCHMARKS)}.")
    return BENCHMARKS[name]


_CHOICES = {
    "stream": ("ev", "cv"),
    "init": ("paper", "pytorch"),
    "head": ("shared", "per_task"),
    "distances": ("current", "literal", None),
    "mer_steps": ("single", "batch", None),
    "mer_bn": ("train", "running", None),
}
_WHOLE = ("seed", "tasks", "examples_per_task", "test_examples", "batch_size", "samples_per_class", "replay_batch")
_WHOLE += ("fisher_every", "second_examples")
_REAL = ("lr", "ewc_lambda", "mer_gamma", "mer_s", "angle")
_FLAGS = ("replay_current", "restart")
_NEVER_NULL = ("seed", "tasks", "batch_size", "lr")


def _check(config: RunConfig) -> None:
    """Refuse a config that no run can follow, in one sentence."""
    bench = benchmark_named(config.benchmark)
    if config.source not in bench.sources:
        raise ErlibError(
            f"benchmark '{config.benchmark}' is not made from '{config.source}'; choose {' or '.join(bench.sources)}."
        )
    fields = registry.method_fields(config.method)
    for name in _NEVER_NULL:
        if getattr(config, name) is None:
            raise ErlibError(f"{name} cannot be null; give it a value.")
    for name, choices in _CHOICES.items():
        if getattr(config, name) not in choices:
            words = ", ".join(c for c in choices if c)
            raise ErlibError(f"{name} is '{getattr(config, name)}'; choose one of {words}.")
    for name in _WHOLE:
        value, least = getattr(config, name), 0 if name == "seed" else 1
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < least):
            raise ErlibError(f"{name} is {value!r}; give a whole number of at least {least}.")
    for name in _REAL:
        value = getattr(config, name)
        if value is None:
            continue
        if not isinstance(value, (int, float)) or isinstance(value, bool) or not abs(value) < float("inf"):
            raise ErlibError(f"{name} is {value!r}; give a number.")
        if name != "angle" and not value > 0:
            raise ErlibError(f"{name} is {value!r}; give a number above 0.")
        object.__setattr__(config, name, float(value))  # 1 and 1.0 are the same run
    for name in _FLAGS:
        if not isinstance(getattr(config, name), (bool, type(None))):
            raise ErlibError(f"{name} is {getattr(config, name)!r}; give true or false.")
    for name in registry.METHOD_SETTINGS:
        needed = name in fields and name not in registry.OPTIONAL_SETTINGS
        if needed and getattr(config, name) is None:
            raise ErlibError(f"method '{config.method}' needs {name}; give it a value.")
        if name not in fields and getattr(config, name) is not None:
            raise ErlibError(f"method '{config.method}' does not use {name}; leave it out.")
    if "mer_bn" in fields and (config.mer_bn is None) != (bench.model == "mlp"):
        raise ErlibError("mer_bn is for networks with batch norm; give train or running there, null for the mlp.")
    if config.memory is not None:
        registry.check_memory(config.memory)
        if registry.fixed_writer(config.method) not in (None, config.memory):
            raise ErlibError(f"method '{config.method}' always writes with '{registry.fixed_writer(config.method)}'.")
        if (config.distances is not None) != registry.uses_features(config.memory):
            raise ErlibError(f"distances belongs to the writers kmeans and mof, and '{config.memory}' got it wrong.")
    limit = bench.cv_tasks if config.stream == "cv" else bench.ev_tasks
    if config.tasks > limit:
        raise ErlibError(
            f"tasks is {config.tasks}, but the {config.stream} stream of {config.benchmark} has {limit}; ask for fewer."
        )
    rotated = config.benchmark == "rotated_mnist"
    if rotated != (config.angle is not None) or rotated != (config.second_examples is not None):
        raise ErlibError("angle and second_examples belong to rotated_mnist, which needs both.")
    if config.head == "shared" and bench.model != "mlp":
        raise ErlibError(f"benchmark '{config.benchmark}' has a head for each task; head cannot be 'shared'.")
