"""The rows of the paper's tables, which are the curves of its figures: a label for each method as it was run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from erlib.config import RunConfig


@dataclass(frozen=True)
class Row:
    """A row of a table, a curve of a figure: a method, its writer, and what it changes in the paper's settings."""

    label: str
    method: str
    memory: str | None = None
    changes: Mapping[str, Any] = field(default_factory=dict)


FINETUNE = Row("Finetune", "finetune")
EWC = Row("EWC", "ewc")
AGEM_10 = Row("A-GEM(10)", "agem", "ring", {"replay_batch": 10})
AGEM_256 = Row("A-GEM(256)", "agem", "ring", {"replay_batch": 256})
MER_SINGLE = Row("MER(single)", "mer", "reservoir", {"mer_steps": "single"})
MER_BATCH = Row("MER(batch)", "mer", "reservoir", {"mer_steps": "batch"})
ER_RING = Row("ER-Ring", "er", "ring")
ER_MOF = Row("ER-MoF", "er", "mof")
ER_KMEANS = Row("ER-k-means", "er", "kmeans")
ER_RESERVOIR = Row("ER-Reservoir", "er", "reservoir")
ER_HYBRID = Row("ER-Hybrid", "er", "hybrid")
ER_FULL_RING = Row("ER-Full ring", "er", "full_ring")
MULTITASK = Row("Multi-task", "multitask")
MEMORY_ONLY = Row("Memory only", "memory_only", "ring", {"restart": False})
MEMORY_RESTART = Row("Memory only, fresh network", "memory_only", "ring", {"restart": True})
ER_RING_CURRENT = Row("ER-Ring, current task too", "er", "ring", {"replay_current": True})
ER_MOF_LITERAL = Row("ER-MoF, stored distances", "er", "mof", {"distances": "literal"})
ER_KMEANS_LITERAL = Row("ER-k-means, stored distances", "er", "kmeans", {"distances": "literal"})
MER_RUNNING = Row("MER(single), running BN", "mer", "reservoir", {"mer_steps": "single", "mer_bn": "running"})
MER_APART = Row("MER(single), averages apart", "mer", "reservoir", {"mer_steps": "single", "mer_bn": "apart"})
MER_SHARED = Row("MER(single), shared BN", "mer", "reservoir", {"mer_steps": "single", "mer_bn": "shared"})

MAIN_ROWS = (FINETUNE, EWC, AGEM_10, AGEM_256, MER_SINGLE, MER_BATCH, ER_RING)  # Tab. 1
TABLE_ROWS = (*MAIN_ROWS, ER_MOF, ER_KMEANS, ER_RESERVOIR, MULTITASK)  # Tab. 3 to 6
WRITER_ROWS = (ER_RESERVOIR, ER_RING, ER_HYBRID, ER_FULL_RING)  # Fig. 2
ROTATION_ROWS = (FINETUNE, ER_RING, MEMORY_ONLY, MEMORY_RESTART)  # Fig. 3
SELECTION_ROWS = (FINETUNE, EWC, AGEM_10, MER_SINGLE, ER_RESERVOIR, ER_RING, ER_HYBRID)  # Tab. 8, and the hybrid's lr
VARIANT_ROWS = (ER_RING_CURRENT, ER_MOF_LITERAL, ER_KMEANS_LITERAL, MER_RUNNING, MER_APART, MER_SHARED)
ALL_ROWS = (*VARIANT_ROWS, *TABLE_ROWS, ER_HYBRID, ER_FULL_RING, MEMORY_ONLY, MEMORY_RESTART)


def table_rows(benchmark: str) -> tuple[Row, ...]:
    """The rows of a benchmark's table in the paper's appendix; CUB's has no MoF."""
    return tuple(row for row in TABLE_ROWS if not (benchmark == "split_cub" and row is ER_MOF))


def row_of(config: RunConfig) -> Row | None:
    """The row that a run belongs to, as the most special one that fits; None for a method or writer of your own."""
    for row in ALL_ROWS:
        fits = (config.method, config.memory) == (row.method, row.memory)
        if fits and all(getattr(config, name) == value for name, value in row.changes.items()):
            return row
    return None


def label(config: RunConfig) -> str:
    """A run in a few words: "permuted_mnist ER-Ring, 1 per class, seed 0"."""
    row = row_of(config)
    words = [f"{config.benchmark} {row.label if row else ' '.join(filter(None, (config.method, config.memory)))}"]
    words += [f"{config.samples_per_class} per class"] if config.samples_per_class else []
    words += [f"{config.angle:g} degrees"] if config.angle is not None else []
    words += [f"cv, lr {config.lr:g}"] if config.stream == "cv" else []
    return ", ".join([*words, f"seed {config.seed}"])
