"""The runs behind a place of a table or figure: matched by id, seeds 0 to n-1, none dropped."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from erlib.config import RunConfig
from erlib.experiments import configs
from erlib.rows import row_of

T = TypeVar("T")


class Place(NamedTuple):
    """A place in a table or figure; every seed fills it with a run."""

    benchmark: str
    row: str  # the label
    size: int | None = None  # samples per class
    angle: float | None = None
    second_examples: int | None = None


@functools.cache
def places(experiment: str) -> Mapping[Place, RunConfig]:
    """The places of an experiment at the paper's scale, each with its config of seed 0."""
    found = {
        Place(c.benchmark, row_of(c).label, c.samples_per_class, c.angle, c.second_examples): c
        for c in configs(experiment, seeds=1)
    }
    return MappingProxyType(found)


def first_seeds(config: RunConfig, stored: Mapping[str, T], most: int | None = None) -> list[T]:
    """What is stored under the ids of seeds 0, 1, ... of a config, up to the first seed that is missing (or `most`)."""
    found: list[T] = []
    while most is None or len(found) < most:
        run_id = _id(config, len(found))
        if run_id not in stored:
            break
        found.append(stored[run_id])
    return found


def waiting(config: RunConfig, stored: Mapping[str, T], found: int, planned: int) -> int:
    """Stored runs of later seeds that count only once seed `found` is there too."""
    return sum(_id(config, seed) in stored for seed in range(found + 1, planned))


def _id(config: RunConfig, seed: int) -> str:
    return dataclasses.replace(config, seed=seed).run_id
