"""Choosing hyper-parameters on the CV stream, as section 3.1 of the paper has it. The EV stream is never touched."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from erlib.config import RunConfig
from erlib.errors import ErlibError
from erlib.protocol import BENCHMARKS
from erlib.store import Store
from erlib.sweep import sweep


@dataclass(frozen=True)
class Choice:
    """One point of the grid and the average accuracy A_T (a fraction) of each of its CV runs."""

    settings: dict[str, Any]
    accuracies: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Mean A_T over the seeds."""
        return sum(self.accuracies) / len(self.accuracies)


def cv_config(config: RunConfig) -> RunConfig:
    """The same setting on the CV stream: three tasks, and a memory of the same size per class."""
    return config.replace(stream="cv", tasks=BENCHMARKS[config.benchmark].cv_tasks)


def grid_configs(config: RunConfig, grid: Mapping[str, Sequence[Any]], seeds: int) -> list[RunConfig]:
    """All CV runs of a grid, point by point."""
    base = cv_config(config)
    points = [dict(zip(grid, values)) for values in itertools.product(*grid.values())]
    return [base.replace(seed=seed, **point) for point in points for seed in range(seeds)]


def select(
    config: RunConfig,
    grid: Mapping[str, Sequence[Any]],
    *,
    seeds: int = 3,
    store: Store | None = None,
    data: str | Path | None = None,
    device: str = "cpu",
    workers: int | None = None,
) -> list[Choice]:
    """All points of the grid, best mean A_T on the CV stream first (of equals, the earlier in the grid).

    >>> select(config, {"lr": [0.03, 0.1]})[0].settings        # doctest: +SKIP
    {'lr': 0.1}
    """
    store = store or Store()
    configs = grid_configs(config, grid, seeds)
    report = sweep(configs, store, data=data, device=device, workers=workers)
    if report.failed:
        raise ErlibError(f"{len(report.failed)} runs of the grid failed, the first because: {report.failed[0][1]}")
    choices = []
    for start in range(0, len(configs), seeds):
        runs = configs[start : start + seeds]
        settings = {name: getattr(runs[0], name) for name in grid}
        choices.append(Choice(settings, tuple(store.get(run).average_accuracy for run in runs)))
    return sorted(choices, key=lambda choice: -choice.mean)
