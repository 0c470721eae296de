"""The methods and writers by name, what each one uses, and the version of each component's arithmetic.

Built-in classes are imported when a run needs them, so that naming them costs nothing. `register_method` and
`register_memory` add a class from outside the package.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from erlib import plugin_source, plugins
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
    "agem": 2,
    "mer": 1,
    "er": 1,
    "multitask": 2,
    "memory_only": 1,
    "reservoir": 1,
    "ring": 1,
    "kmeans": 3,
    "mof": 3,
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
    source: str | None = None  # of a registered class: the hash of its source, as it was when it was registered


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
    from erlib.protocol import BENCHMARKS

    names = ["core", BENCHMARKS[config.benchmark].model, config.benchmark, config.method]
    names += [config.memory] if config.memory else []
    return {name: NUMERICS[name] if name in NUMERICS else _source_hash(name) for name in names}


def _source_hash(name: str) -> str:
    component = METHODS.get(name) or MEMORIES[name]
    return component.source or plugin_source.source_hash(load(component), name)


def register_method(name: str, *, fields: tuple[str, ...] = (), writer: str | None = None) -> Callable[[type], type]:
    """Decorator: make a class known as a method, so that configs, sweeps and figures can name it.

    `fields` are the settings that it uses beside the common ones; "memory" brings all settings of a memory along.
    """

    def add(cls: type) -> type:
        _refuse_built_in(name)
        given = fields or getattr(cls, "fields", ())
        plugins.check_method(cls, name, given, METHOD_SETTINGS)
        used = tuple(dict.fromkeys((*given, *(_MEMORY if "memory" in given else ()))))
        METHODS[name] = Component(cls, used, writer, source=plugin_source.source_hash(cls, name))
        return cls

    return add


def register_memory(name: str, *, replays_current: bool = False) -> Callable[[type], type]:
    """Decorator: make a class known as a memory writer."""

    def add(cls: type) -> type:
        _refuse_built_in(name)
        plugins.check_writer(cls, name)
        source = plugin_source.source_hash(cls, name)
        MEMORIES[name] = Component(cls, replays_current=replays_current, source=source)
        return cls

    return add


def _refuse_built_in(name: str) -> None:
    if name in NUMERICS:
        raise ErlibError(f"'{name}' is one of erlib's own names; register the class under another.")


Parcel = list[tuple[str, str, Component]]  # ("method" or "memory", name, where another process finds the class)


def registered(config: Any) -> list[str]:
    """The names of the registered classes that a config's run uses; none for a run of erlib's own."""
    return [name for name in (config.method, config.memory) if name and name not in NUMERICS]


def parcel(config: Any) -> Parcel:
    """What another process needs to know the registered classes of a config; an error if it could not import them."""
    packed: Parcel = []
    for kind, table, name in (("method", METHODS, config.method), ("memory", MEMORIES, config.memory)):
        if name and name not in NUMERICS:
            component = _named(table, kind, name)
            where = component.where if isinstance(component.where, str) else plugin_source.address(component.where)
            if where is None:
                raise ErlibError(
                    f"'{name}' is a class that only this process knows; put it into a module, such as ideas.py, and "
                    "import it from there, and worker processes can train it."
                )
            packed.append((kind, name, dataclasses.replace(component, where=where)))
    return packed


def unpack(parcel: Parcel) -> None:
    """Make the classes of a parcel known in this process, and see that they are the ones that were sent."""
    for kind, name, component in parcel:
        try:
            cls = load(component)
        except (ImportError, AttributeError) as error:
            raise ErlibError(
                f"a worker cannot import '{name}' from {component.where} ({error}); put the module's folder on the "
                "worker's PYTHONPATH."
            ) from error
        if component.source not in (None, plugin_source.source_hash(cls, name)):
            raise ErlibError(
                f"the source of '{name}' was changed after it was imported; restart Python, or reload the module, and "
                "sweep again."
            )
        (METHODS if kind == "method" else MEMORIES)[name] = component
