"""What is measured: the jobs of each section, which `compare` hands to fresh processes again and again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from erlib.registry import MEMORIES
from erlib.rows import MAIN_ROWS

SIDES = ("erlib", "avalanche")
BENCHMARKS = ("permuted_mnist", "split_cifar")
METHODS = ("finetune", "er", "agem", "ewc", "mer")
RUNS = 4  # of a sweep


@dataclass
class Job:
    """One thing to measure: the order for measure.py, the columns of its rows, and what has come back so far."""

    section: str
    side: str  # whose environment: erlib or avalanche
    labels: dict[str, Any]
    order: dict[str, Any]
    results: list[dict[str, Any]] = field(default_factory=list)


def jobs(section: str, repeats: int, scale: str, cub_steps: int) -> list[Job]:
    """The jobs of a section, erlib's and Avalanche's by turns."""
    if section == "growth":
        return [Job(section, "erlib", {"writer": name}, {"kind": "growth", "writer": name}) for name in MEMORIES]
    if section == "timing":
        return list(_timing(repeats, cub_steps))
    return [
        Job(section, side, labels, {"side": side, **order})
        for labels, order in _pairs(section, scale)
        for side in SIDES
    ]


def _pairs(section: str, scale: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    for benchmark in BENCHMARKS:
        if section == "steps":
            for method in METHODS:
                labels = {"benchmark": benchmark, "method": method}
                yield labels, {"kind": "steps", **labels}
        elif section == "evaluation":
            yield {"benchmark": benchmark}, {"kind": "evaluation", "benchmark": benchmark}
        elif section == "runs":
            where = {"benchmark": benchmark, "scale": scale}
            yield {"what": "run", **where, "runs": 1}, {"kind": "run", **where}
            yield {"what": "sweep", **where, "runs": RUNS}, {"kind": "sweep", **where, "runs": RUNS}


def _timing(repeats: int, cub_steps: int) -> Iterator[Job]:
    """Table 2: each row beside finetune (finetune beside itself shows the noise)."""
    cub_blocks = max(1, round(cub_steps / 2 / repeats))
    for benchmark, steps, blocks in (("split_cifar", 10, 5), ("split_cub", 2, cub_blocks)):
        for row in MAIN_ROWS:
            settings = {"memory": row.memory, **row.changes} if row.memory else dict(row.changes)
            labels = {"label": row.label, "method": row.method, "memory": row.memory, **row.changes}
            work = {"kind": "timing", "benchmark": benchmark, "steps": steps, "blocks": blocks}
            yield Job("timing", "erlib", labels | {"benchmark": benchmark}, {**work, "method": row.method, **settings})
