"""Which runs stand behind each figure and table, by name.

`configs("tab3")` lists them in the order in which a sweep trains them: seed by seed, and within a seed the smallest
memory first. A run that two tables share is the same config, so it is trained once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from erlib import registry
from erlib.config import RunConfig, paper_config
from erlib.errors import ErlibError
from erlib.protocol import BENCHMARKS, TABLE_8
from erlib.rows import (
    AGEM_10,
    AGEM_256,
    ER_FULL_RING,
    ER_HYBRID,
    ER_KMEANS_LITERAL,
    ER_MOF_LITERAL,
    ER_RESERVOIR,
    ER_RING,
    ER_RING_CURRENT,
    EWC,
    FINETUNE,
    MAIN_ROWS,
    MEMORY_ONLY,
    MEMORY_RESTART,
    MER_APART,
    MER_BATCH,
    MER_RUNNING,
    MER_SHARED,
    MER_SINGLE,
    MULTITASK,
    ROTATION_ROWS,
    SELECTION_ROWS,
    WRITER_ROWS,
    Row,
    table_rows,
)

LEARNING_RATES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)  # the grid of the CV selection
TABLES = {"tab3": "permuted_mnist", "tab4": "split_cifar", "tab5": "split_miniimagenet", "tab6": "split_cub"}
# At quick scale: memory sizes, learning rates, every so many angles of a long sweep, and what a split task holds.
QUICK_SIZES = (1, 5)
QUICK_RATES = (0.03, 0.1)
QUICK_ANGLES = 3
QUICK_SPLIT = {"examples_per_task": 20, "test_examples": 20}  # two steps a task
QUICK_CUB = {"examples_per_task": 10, "test_examples": 20}  # one step: its ResNet18 is whole
SCALES = ("paper", "quick")


@dataclass(frozen=True)
class Cell:
    """One place of a table or figure, which each seed fills with a run."""

    benchmark: str
    row: Row
    size: int | None = None  # samples per class; None: the row has no memory
    changes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Experiment:
    """A figure or table: its cells at a scale, and how many seeds fill them."""

    title: str
    seeds: int | Mapping[str, int]  # for all, or by benchmark
    cells: Callable[[str], Iterator[Cell]]

    def seeds_of(self, benchmark: str) -> int:
        return self.seeds if isinstance(self.seeds, int) else self.seeds.get(benchmark, 5)


def sizes(benchmark: str, scale: str = "paper") -> tuple[int, ...]:
    """The memory sizes of a benchmark's table, in samples per class."""
    return BENCHMARKS[benchmark].samples_per_class if scale == "paper" else QUICK_SIZES


def _grid(benchmark: str, rows: Sequence[Row], at: Sequence[int], **changes: Any) -> Iterator[Cell]:
    """Rows without a memory and the first size, then the larger sizes."""
    for size in at:
        for row in rows:
            if "samples_per_class" in registry.method_fields(row.method):
                yield Cell(benchmark, row, size, changes)
            elif size == at[0]:
                yield Cell(benchmark, row, None, changes)


def _table(*benchmarks: str) -> Callable[[str], Iterator[Cell]]:
    return lambda scale: (c for b in benchmarks for c in _grid(b, table_rows(b), sizes(b, scale)))


def _evolution(benchmark: str) -> Callable[[str], Iterator[Cell]]:
    """Fig. 4 to 7: the smallest and the largest memory."""

    def cells(scale: str) -> Iterator[Cell]:
        smallest, *_, largest = sizes(benchmark, scale)
        return _grid(benchmark, table_rows(benchmark), (smallest, largest))

    return cells


def _tiny(rows: Sequence[Row], *benchmarks: str) -> Callable[[str], Iterator[Cell]]:
    """One sample per class."""
    return lambda scale: (c for b in benchmarks for c in _grid(b, rows, (1,)))


def _rotation(rows: Sequence[Row], angles: Sequence[float], seconds: Sequence[int]) -> Callable[[str], Iterator[Cell]]:
    def cells(scale: str) -> Iterator[Cell]:
        for second in seconds:
            for angle in angles if scale == "paper" or len(angles) <= 3 else angles[::QUICK_ANGLES]:
                examples = second if scale == "paper" else min(second, 1000)
                yield from _grid("rotated_mnist", rows, (1,), angle=float(angle), second_examples=examples)

    return cells


def _selection(scale: str) -> Iterator[Cell]:
    for benchmark in TABLES.values():
        for lr in LEARNING_RATES if scale == "paper" else QUICK_RATES:
            yield from _grid(benchmark, SELECTION_ROWS, (1,), stream="cv", lr=lr)


def _beyond_mnist(scale: str) -> Iterator[Cell]:
    rows = (ER_HYBRID, ER_FULL_RING, ER_RING_CURRENT, ER_KMEANS_LITERAL, ER_MOF_LITERAL)
    return _grid("permuted_mnist", rows, sizes("permuted_mnist", scale))


def _levers_mnist(scale: str) -> Iterator[Cell]:
    """What the paper leaves open on Permuted MNIST, one at a time: PyTorch's initial weights, a stream of 17 tasks."""
    rows = (FINETUNE, EWC, AGEM_256, MER_SINGLE, ER_RING, ER_RESERVOIR, MULTITASK)
    smallest, *_, largest = sizes("permuted_mnist", scale)
    for lever in ({"init": "pytorch"}, {"tasks": 17}):
        yield from _grid("permuted_mnist", rows, (smallest, largest), **lever)


def _levers_cifar(scale: str) -> Iterator[Cell]:
    """What the paper leaves open on Split CIFAR, one at a time, with 1 sample per class."""
    yield from _grid("split_cifar", (ER_RING_CURRENT,), (1,))
    yield from _grid("split_cifar", (ER_RING, ER_RESERVOIR), (1,), stacked=False)
    for lever in ({"init": "pytorch"}, {"bn_eps": 1e-5}, {"centred": False}):
        yield from _grid("split_cifar", (FINETUNE, ER_RING, ER_RESERVOIR), (1,), **lever)


def _lr_swap(scale: str) -> Iterator[Cell]:
    """Reservoir and ring each with the learning rate that Tab. 8 gives the other."""
    paper = TABLE_8["split_cifar"]
    for size in sizes("split_cifar", scale):
        yield Cell("split_cifar", ER_RESERVOIR, size, paper["er"])
        yield Cell("split_cifar", ER_RING, size, paper["er/reservoir"])


def _cv_questions(scale: str) -> Iterator[Cell]:
    """What is asked of the CV stream of Split CIFAR first: batch norm in MER's steps, and each writer's rate."""
    rows = (MER_SINGLE, MER_RUNNING, MER_APART, MER_SHARED, MER_BATCH)
    yield from _grid("split_cifar", rows, (1,), stream="cv")
    for lr in (0.03, 0.1):
        yield from _grid("split_cifar", (ER_RING, ER_RESERVOIR), (1,), stream="cv", lr=lr)


_MNIST_TEN = {"permuted_mnist": 10}
_FOUR = tuple(TABLES.values())
EXPERIMENTS: dict[str, Experiment] = {
    "fig1": Experiment("Average accuracy against memory size", _MNIST_TEN, _table(*_FOUR)),
    "fig2": Experiment("Hybrid and full ring on Split CIFAR", 3, _tiny(WRITER_ROWS, "split_cifar")),
    "fig3": Experiment("Rotation: memory, task 2, both", 5, _rotation(ROTATION_ROWS, (20, 40, 60), (20000,))),
    **{
        f"fig{number}": Experiment(f"{BENCHMARKS[b].title}: accuracy along the stream", _MNIST_TEN, _evolution(b))
        for number, b in enumerate(_FOUR, start=4)
    },
    "tab1": Experiment("One sample per class, four benchmarks", _MNIST_TEN, _tiny(MAIN_ROWS, *_FOUR)),
    **{name: Experiment(BENCHMARKS[b].title, _MNIST_TEN, _table(b)) for name, b in TABLES.items()},
    "tab7": Experiment(
        "Rotation: train, memory and test of task 1", 5, _rotation((ER_RING, AGEM_10), (10, 90), (1000, 20000))
    ),
    "tab8": Experiment("Learning rates on the CV stream", 3, _selection),
    "beyond_mnist": Experiment("Permuted MNIST beyond the paper", 10, _beyond_mnist),
    "levers_mnist": Experiment("Permuted MNIST: other initial weights, 17 tasks", 5, _levers_mnist),
    "levers_cifar": Experiment("Split CIFAR: initial weights, batch norm, mean image, two passes", 3, _levers_cifar),
    "rotation_sweep": Experiment(
        "Rotation by 0 to 180 degrees", 5, _rotation((FINETUNE, ER_RING), range(0, 190, 10), (1000,))
    ),
    "rotation_memory_only": Experiment(
        "Memory only, in both readings", 5, _rotation((MEMORY_ONLY, MEMORY_RESTART), (20, 40, 60), (20000,))
    ),
    "cv_questions": Experiment("Split CIFAR's CV stream: MER's batch norm, learning rates", 3, _cv_questions),
    "mer_bn": Experiment(
        "MER(single), other batch norm in its steps", 5, _tiny((MER_APART, MER_SHARED), "split_cifar")
    ),
    "lr_swap": Experiment("Reservoir and ring with each other's learning rate", 5, _lr_swap),
}


def configs(
    name: str,
    seeds: int | None = None,
    *,
    scale: str = "paper",
    benchmarks: Sequence[str] | None = None,
    rows: Sequence[str] | None = None,
    source: str | None = None,
    **overrides: Any,
) -> list[RunConfig]:
    """The runs of a figure or table, in the order of training.

    `benchmarks` and `rows` (labels) keep a part. `source` is used by the benchmarks that can be made from it.
    `overrides` change settings of the runs that have them. `scale="quick"` is 5 tasks, one seed, small memories, on
    data that needs no download. Each seed goes through all cells, small memories first, before the next one begins.

    >>> [config.seed for config in configs("tab3", seeds=2, rows=["Finetune"])]
    [0, 1]
    """
    experiment = experiment_named(name)
    cells = sorted(_chosen(name, scale, benchmarks, rows), key=lambda cell: cell.size or 1)
    if source is not None and not any(source in BENCHMARKS[cell.benchmark].sources for cell in cells):
        raise ErlibError(f"no run of {name} can be made from '{source}'; choose another source.")
    counts = [seeds or (1 if scale == "quick" else experiment.seeds_of(cell.benchmark)) for cell in cells]
    settings = [_settings(cell, scale, source, overrides) for cell in cells]
    for setting in overrides:
        if not any(setting in chosen for chosen in settings):
            raise ErlibError(f"no run of {name} uses {setting}; leave it out, or choose another figure or table.")
    runs = {
        config.run_id: config
        for seed in range(max(counts))
        for cell, count, chosen in zip(cells, counts, settings, strict=True)
        if seed < count
        for config in [_config(cell, seed, chosen)]
    }
    return list(runs.values())


def experiment_named(name: str) -> Experiment:
    """The figure or table of that name, or an error that lists them."""
    if name not in EXPERIMENTS:
        raise ErlibError(f"there is no figure or table '{name}'; choose among {', '.join(EXPERIMENTS)}.")
    return EXPERIMENTS[name]


def _chosen(name: str, scale: str, benchmarks: Sequence[str] | None, rows: Sequence[str] | None) -> list[Cell]:
    if scale not in SCALES:
        raise ErlibError(f"scale is '{scale}'; choose {' or '.join(SCALES)}.")
    cells = [cell for cell in experiment_named(name).cells(scale) if scale == "paper" or _quick(cell)]
    filters = (("benchmark", benchmarks, lambda c: c.benchmark), ("row", rows, lambda c: c.row.label))
    for what, wanted, of in filters:
        known = list(dict.fromkeys(of(cell) for cell in cells))
        for value in wanted or ():
            if value not in known:
                raise ErlibError(f"{name} has no {what} '{value}'; choose among {', '.join(known)}.")
        cells = [cell for cell in cells if not wanted or of(cell) in wanted]
    return cells


def _quick(cell: Cell) -> bool:
    """Can a cell run on generated images? CUB's network makes one pixel of 32 x 32, too few for MER(single)'s norm."""
    return not (cell.benchmark == "split_cub" and cell.row is MER_SINGLE)


def _settings(cell: Cell, scale: str, source: str | None, overrides: Mapping[str, Any]) -> dict[str, Any]:
    """What a cell's runs change in the paper's settings: the row's and the cell's own, the scale's, the overrides."""
    bench = BENCHMARKS[cell.benchmark]
    chosen = {**cell.row.changes, **cell.changes}
    if scale == "quick":
        most = bench.cv_tasks if (chosen | dict(overrides)).get("stream") == "cv" else bench.ev_tasks
        chosen |= {"tasks": min(5, most), "source": bench.sources[-1]}
        split = QUICK_CUB if bench.model == "resnet18" else QUICK_SPLIT
        chosen |= {"test_examples": 1000} if bench.model == "mlp" else split
    if source in bench.sources:
        chosen["source"] = source
    return chosen | {name: value for name, value in overrides.items() if _uses(cell, name)}


def _uses(cell: Cell, setting: str) -> bool:
    if setting in ("benchmark", "method", "memory", "seed"):
        raise ErlibError(f"{setting} is what a table compares and cannot be set; choose rows, benchmarks or seeds.")
    if setting == "distances":
        return registry.uses_features(cell.row.memory) if cell.row.memory else False
    if setting == "mer_bn" and BENCHMARKS[cell.benchmark].model == "mlp":
        return False
    if setting in ("angle", "second_examples"):
        return cell.benchmark == "rotated_mnist"
    return setting not in registry.METHOD_SETTINGS or setting in registry.method_fields(cell.row.method)


def _config(cell: Cell, seed: int, settings: Mapping[str, Any]) -> RunConfig:
    given = {"memory": cell.row.memory, "samples_per_class": cell.size, **settings}
    return paper_config(cell.benchmark, cell.row.method, seed=seed, **given)
