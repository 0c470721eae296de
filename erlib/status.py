"""What the store holds of each figure and table, and how long the rest would take."""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from erlib import experiments
from erlib.config import RunConfig
from erlib.result import RunResult
from erlib.store import Store
from erlib.workers import cores

# Runs alike in these settings have the same speed: the first kind that is stored counts. The steps are scaled.
_ALIKE = (
    ("benchmark", "source", "method", "memory", "mer_steps", "replay_batch", "samples_per_class", "tasks", "stream"),
    ("benchmark", "source", "method", "memory", "mer_steps", "replay_batch"),
    ("benchmark", "source", "method", "memory"),
    ("benchmark", "source"),
)


class Timings:
    """Seconds a run will take, from those that are stored."""

    def __init__(self, results: Iterable[RunResult]) -> None:
        rates = defaultdict(list)
        for result in results:
            for names in _ALIKE:
                rates[_key(result.config, names)].append(sum(result.seconds.values()) / _examples(result.config))
        self._rates = {key: statistics.median(values) for key, values in rates.items()}

    def seconds(self, config: RunConfig) -> float | None:
        """The median of the most similar stored runs, scaled by their steps; None if there is nothing like it."""
        keys = (_key(config, names) for names in _ALIKE)
        rate = next((self._rates[key] for key in keys if key in self._rates), None)
        return None if rate is None else rate * _examples(config)

    def all(self, configs: Iterable[RunConfig], workers: int) -> str:
        """How long these runs take on so many workers, in words."""
        seconds = [self.seconds(config) for config in configs]
        known = [value for value in seconds if value is not None]
        if seconds and not known:
            return "unknown"
        # the last runs do not share out evenly, and nothing is faster than its longest run
        total = max(sum(known) / workers, *known) if known else 0.0
        return duration(total) if len(known) == len(seconds) else f"over {duration(total)}"


@dataclass(frozen=True)
class State:
    """The runs of one figure or table: all that it wants, and those that are stored, stale or missing."""

    name: str
    wanted: list[RunConfig]
    stored: list[RunConfig]
    stale: list[RunConfig]
    missing: list[RunConfig]


def state(name: str, store: Store, stale: set[str]) -> State:
    """Look up each run of a figure or table; `stale` holds the settings of the stale runs, see `stale_settings`."""
    found = State(name, experiments.configs(name), [], [], [])
    for config in found.wanted:
        rest = found.stale if _settings(config) in stale else found.missing
        (found.stored if store.has(config) else rest).append(config)
    return found


def stale_settings(store: Store) -> set[str]:
    """The settings of the stored runs whose numerics are no longer those of this erlib."""
    return {_settings(stored.result.config) for stored in store.entries() if stored.stale}


def command(args: argparse.Namespace) -> int:
    """Print a line for each figure and table."""
    store, workers = Store(args.results), args.workers or cores()
    timings, stale = Timings(store.load()), stale_settings(store)
    lines = [("", "wanted", "stored", "stale", "missing", "time left", "")]
    for name, experiment in experiments.EXPERIMENTS.items():
        found = state(name, store, stale)
        rest = found.stale + found.missing
        counts = (str(len(part)) for part in (found.wanted, found.stored, found.stale, found.missing))
        lines.append((name, *counts, timings.all(rest, workers) if rest else "-", experiment.title))
    print(_aligned(lines))
    print(f"Time left: on {workers} at a time, from the stored timings. Store: {store.root}")
    for problem in store.problems:
        print(f"left out: {problem}", file=sys.stderr)
    return 0


def duration(seconds: float) -> str:
    """A time in the two largest units that matter: "3 h 20 min"."""
    minutes, hours = round(seconds / 60), round(seconds / 3600)
    if seconds < 90:
        return f"{seconds:.0f} s"
    if minutes < 60:
        return f"{minutes} min"
    if hours < 48:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{hours // 24} days {hours % 24} h"


def _key(config: RunConfig, names: Sequence[str]) -> tuple[object, ...]:
    return tuple((name, getattr(config, name)) for name in names)


def _examples(config: RunConfig) -> int:
    """Training examples of a run; a whole split task counts as 2,500, of which only ratios matter."""
    usual = config.examples_per_task or 2500
    return usual + config.second_examples if config.second_examples else usual * config.tasks


def _settings(config: RunConfig) -> str:
    return json.dumps(config.canonical(), sort_keys=True)


def _aligned(lines: Sequence[Sequence[str]]) -> str:
    """Columns as wide as their widest entry; all but the first and the last to the right."""
    widths = [max(len(cell) for cell in column) for column in zip(*lines, strict=True)]
    rows = []
    for first, *middle, last in lines:
        cells = [cell.rjust(width) for cell, width in zip(middle, widths[1:-1], strict=True)]
        rows.append("  ".join([first.ljust(widths[0]), *cells, last]).rstrip())
    return "\n".join(rows)
