"""What is measured: the jobs of each section, which `compare` hands to fresh processes again and again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from erlib.protocol import BENCHMARKS as FACTS
from erlib.registry import MEMORIES
from erlib.rows import MAIN_ROWS

SIDES = ("bare", "erlib", "avalanche")
BENCHMARKS = ("permuted_mnist", "split_cifar")
METHODS = ("finetune", "er", "agem", "ewc", "mer")
LONG = ("evaluation", "runs")  # sections of at most 3 repetitions
RUNS = {"permuted_mnist": 4, "split_cifar": 2}  # of a sweep
# Tasks of a whole run: at "paper" all of MNIST's; a Split CIFAR run is cut to 3 of 17, see `cut`.
TASKS = {"paper": {"permuted_mnist": None, "split_cifar": 3}, "small": {"permuted_mnist": 3, "split_cifar": 2}}
EXAMPLES = {"permuted_mnist": 1000, "split_cifar": 2500}  # of a task
CIFAR_STEPS = 10  # of a round of Table 2
DEAR = {"A-GEM(256)": 10, "MER(single)": 2}  # rows of Table 2 whose rounds have that many times fewer steps
NOT_MEASURED = "not measured"


@dataclass
class Job:
    """One thing to measure: the order for measure.py, the columns of its rows, and what has come back so far."""

    section: str
    side: str  # whose environment: Avalanche's for "avalanche", ours for the others
    labels: dict[str, Any]
    order: dict[str, Any]
    results: list[dict[str, Any]] = field(default_factory=list)
    note: str = NOT_MEASURED  # why there are no results


def repetitions(section: str, repeats: int) -> int:
    """How often a section's processes are started; Table 2's rounds are inside one process."""
    return 1 if section == "timing" else min(repeats, 3) if section in LONG else repeats


def jobs(section: str, repeats: int, scale: str, cub_steps: int) -> list[Job]:
    """The jobs of a section; the sides take turns."""
    if section == "timing":
        steps = {"split_cifar": CIFAR_STEPS, "split_cub": max(1, round(cub_steps / repeats))}
        return [_timing(benchmark, count, repeats) for benchmark, count in steps.items()]
    if section == "growth":
        return [Job(section, "erlib", {"writer": name}, {"kind": "growth", "writer": name}) for name in MEMORIES]
    if section == "runs":
        return [job for benchmark in BENCHMARKS for job in _runs(benchmark, scale)]
    orders = [{"kind": section, "side": side, "benchmark": name} for name in BENCHMARKS for side in SIDES[1:]]
    if section == "steps":
        orders = [order | {"methods": METHODS} for order in orders]
    return [Job(section, order["side"], {"benchmark": order["benchmark"]}, order) for order in orders]


def cut(benchmark: str, tasks: int | None) -> dict[str, int]:
    """Settings of a run of fewer tasks with the whole run's proportion of steps to evaluated images.

    After task i of T, i test sets are evaluated: (T + 1) / 2 a task on average. Tasks shrink with that number.
    """
    whole = FACTS[benchmark].ev_tasks
    if tasks is None:
        return {"tasks": whole, "examples_per_task": EXAMPLES[benchmark]}
    batches = round(EXAMPLES[benchmark] / 10 * (tasks + 1) / (whole + 1))
    return {"tasks": tasks, "examples_per_task": 10 * batches}


def _runs(benchmark: str, scale: str) -> Iterator[Job]:
    """A run on each side, and a sweep of erlib's; Avalanche has no sweep, its runs come one after the other."""
    settings = cut(benchmark, TASKS[scale][benchmark])
    labels = {"benchmark": benchmark, **settings, "whole_tasks": FACTS[benchmark].ev_tasks}
    order = {"benchmark": benchmark, "settings": settings}
    for side in SIDES:
        yield Job("runs", side, {"what": "run", **labels, "runs": 1}, {"kind": "run", "side": side, **order})
    runs = RUNS[benchmark]
    yield Job("runs", "erlib", {"what": "sweep", **labels, "runs": runs}, {"kind": "sweep", "runs": runs, **order})


def _timing(benchmark: str, steps: int, rounds: int) -> Job:
    """Table 2: all of its rows in one process, round by round."""
    rows = [
        {"label": row.label, "method": row.method, "steps": max(1, steps // DEAR.get(row.label, 1))}
        | {"settings": dict(row.changes) | ({"memory": row.memory} if row.memory else {})}
        for row in MAIN_ROWS
    ]
    order = {"kind": "timing", "benchmark": benchmark, "rows": rows, "rounds": rounds}
    return Job("timing", "erlib", {"benchmark": benchmark}, order)
