"""The methods and writers by name, what each one uses, and the version of each component's arithmetic.

Built-in classes are imported when a run needs them, so that naming them costs nothing. `register_method` and
`register_memory` add a class from outside the package.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from erlib.errors import ErlibError

# Bumped by hand when a component's arithmetic changes; a stored run made with another number is stale.
NUMERICS: dict[str, int] = {
    "core": 1,
    "mlp": 1,
    "resnet18_reduced": 1,
    "resnet18": 1,
    "permuted_mnist": 1,
    "rotated_mnist": 1,
    "split_cifar": 1,
    "split_miniimagenet": 1,
    "split_cub": 1,
    "finetune": 1,
    "ewc": 1,
    "agem": 1,
    "mer": 1,
    "er": 1,
    "multitask": 1,
    "memory_only": 1,
    "reservoir": 1,
    "ring": 1,
    "kmeans": 2,
    "mof": 2,
    "hybrid": 1,
    "full_ring": 1,
}

_MEMORY = ("memory", "samples_per_class", "replay_batch", "replay_current", "distances")
_MER = ("mer_gamma", "mer_s", "mer_steps", "mer_bn")
METHOD_SETTINGS = (*_MEMORY, "ewc_lambda", "fisher_every", *_MER, "restart")
OPTIONAL_SETTINGS = ("distances", "mer_bn")  # null for some writers and for networks without batch norm


@dataclass(frozen=True)
class Component:
    """A method or a writer: where its class is, and which settings it uses."""

    where: str | type  # "module:Class", or the class itself
    fields: tuple[str, ...] = ()  # of a method: the settings it uses beside the common ones
    writer: str | None = None  # of a method: the only writer it works with
    replays_current: bool = False  # of a writer: default of replay_current
    uses_features: bool = False  # of a writer: does it compare features?


METHODS: dict[str, Component] = {
    "finetune": Component("erlib.methods.finetune:Finetune"),
    "ewc": Component("erlib.methods.ewc:EWC", ("ewc_lambda", "fisher_every")),
    "agem": Component("erlib.methods.agem:AGEM", _MEMORY, writer="ring"),
    "mer": Component("erlib.methods.mer:MER", (*_MEMORY, *_MER), writer="reservoir"),
    "er": Component("erlib.methods.er:ER", _MEMORY),
    "multitask": Component("erlib.methods.multitask:Multitask"),
    "memory_only": Component("erlib.methods.memory_only:MemoryOnly", (*_MEMORY, "restart"), writer="ring"),
}
MEMORIES: dict[str, Component] = {
    "reservoir": Component("erlib.memory.reservoir:Reservoir", replays_current=True),
    "ring": Component("erlib.memory.ring:Ring"),
    "kmeans": Component("erlib.memory.kmeans:KMeans", uses_features=True),
    "mof": Component("erlib.memory.mof:MeanOfFeatures", uses_features=True),
    "hybrid": Component("erlib.memory.hybrid:Hybrid", replays_current=True),
    "full_ring": Component("erlib.memory.full_ring:FullRing"),
}


def _named(table: dict[str, Component], kind: str, name: str) -> Component:
    if name not in table:
        raise ErlibError(f"unknown {kind} '{name}'; choose one of {', '.join(table)}.")
    return table[name]


def method_fields(name: str) -> tuple[str, ...]:
    """The settings that a method uses beside the common ones."""
    return _named(METHODS, "method", name).fields


def fixed_writer(method: str) -> str | None:
    """The only writer that a method works with, if there is one."""
    return _named(METHODS, "method", method).writer


def check_memory(name: str) -> None:
    """Raise unless a writer of that name exists."""
    _named(MEMORIES, "memory writer", name)


def replays_current(memory: str | None) -> bool:
    """Does this writer's memory replay the task being learned, by default?"""
    return _named(MEMORIES, "memory writer", str(memory)).replays_current


def uses_features(memory: str | None) -> bool:
    """Does this writer compare features?"""
    return _named(MEMORIES, "memory writer", str(memory)).uses_features


def load(component: Component) -> type:
    """The component's class, imported now if it is one of erlib's own."""
    if isinstance(component.where, str):
        module, name = component.where.split(":")
        return getattr(importlib.import_module(module), name)
    return component.where


def method_class(name: str) -> type:
    """The class of a method."""
    return load(_named(METHODS, "method", name))


def memory_class(name: str) -> type:
    """The class of a writer."""
    return load(_named(MEMORIES, "memory writer", name))


def numerics(config: Any) -> dict[str, int | str]:
    """The versions of the components that a config's run uses; of a registered class, the hash of its source."""
    from erlib.config import BENCHMARKS

    names = ["core", BENCHMARKS[config.benchmark].model, config.benchmark, config.method]
    names += [config.memory] if config.memory else []
    return {name: NUMERICS[name] if name in NUMERICS else _source_hash(name) for name in names}


def _source_hash(name: str) -> str:
    component = METHODS.get(name) or MEMORIES[name]
    try:
        source = inspect.getsource(load(component))
    except OSError as error:
        raise ErlibError(
            f"the source of '{name}' cannot be read, so its runs could not be told apart; "
            "define the class in a file or in a notebook cell."
        ) from error
    return hashlib.sha256(source.encode()).hexdigest()[:12]


def register_method(name: str, *, fields: tuple[str, ...] = (), writer: str | None = None) -> Callable[[type], type]:
    """Decorator: make a class known as a method, so that configs, sweeps and figures can name it."""

    def add(cls: type) -> type:
        _refuse_built_in(name, METHODS, cls, ("observe", "end_task"))
        METHODS[name] = Component(cls, fields or getattr(cls, "fields", ()), writer)
        return cls

    return add


def register_memory(name: str, *, replays_current: bool = False) -> Callable[[type], type]:
    """Decorator: make a class known as a memory writer."""

    def add(cls: type) -> type:
        _refuse_built_in(name, MEMORIES, cls, ("write", "sample", "state_dict"))
        MEMORIES[name] = Component(cls, replays_current=replays_current)
        return cls

    return add


def _refuse_built_in(name: str, table: dict[str, Component], cls: type, verbs: tuple[str, ...]) -> None:
    if name in NUMERICS:
        raise ErlibError(f"'{name}' is one of erlib's own names; register the class under another.")
    for verb in verbs:
        if not callable(getattr(cls, verb, None)):
            raise ErlibError(f"class {cls.__name__} has no {verb}(); add it before registering it as '{name}'.")
