"""What a run's settings must agree with: a config that no run can follow is refused in one sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from erlib import registry
from erlib.errors import ErlibError
from erlib.protocol import CENTRED, benchmark_named

if TYPE_CHECKING:
    from erlib.config import RunConfig

_CHOICES = {
    "stream": ("ev", "cv"),
    "init": ("paper", "pytorch"),
    "head": ("shared", "per_task"),
    "distances": ("current", "literal", None),
    "mer_steps": ("single", "batch", None),
    "mer_bn": ("train", "apart", "shared", "running", None),
}
_WHOLE = ("seed", "tasks", "examples_per_task", "test_examples", "batch_size", "samples_per_class", "replay_batch")
_WHOLE += ("fisher_every", "second_examples")
_REAL = ("lr", "ewc_lambda", "mer_gamma", "mer_s", "angle", "bn_eps")
_FLAGS = ("replay_current", "restart", "centred", "stacked")
_NEVER_NULL = ("seed", "tasks", "batch_size", "lr", "centred", "stacked")


def check(config: RunConfig) -> None:
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
        raise ErlibError(
            "mer_bn is for networks with batch norm; give train, apart, shared or running; null for the mlp."
        )
    if config.bn_eps is not None and bench.model == "mlp":
        raise ErlibError("bn_eps is for networks with batch norm; leave it out for the mlp.")
    if not config.centred and config.source not in CENTRED:
        raise ErlibError(f"no mean image is subtracted from '{config.source}'; leave centred out.")
    if not config.stacked and config.method != "er":
        raise ErlibError(f"method '{config.method}' stacks no batches; leave stacked out.")
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
