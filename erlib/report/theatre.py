"""The memory theatre: what every writer holds at every step of a stream of digits."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from erlib.report.moving import Moving
from erlib.report.writers import Followed, follow, kept_plot

if TYPE_CHECKING:
    from erlib.training import Trainer

STREAMS = {"paper": {"tasks": 5, "examples": 200}, "quick": {"tasks": 3, "examples": 100}}  # by a page's scale
COLUMNS = 40  # digits in a row of the sheet of images
EMPTY = -1


@dataclass
class Recorder:
    """Watches one run: after each step, which slots hold something else, and which example of the stream that is."""

    steps: list[list[int]] = field(default_factory=list)  # slot, example, slot, example, ...; an emptied slot holds -1
    _number: dict[tuple[int, bytes], int] = field(default_factory=dict)
    _held: dict[int, int] = field(default_factory=dict)
    _seen: int = 0

    def __call__(self, trainer: Trainer) -> None:
        memory, config = trainer.method.memory, trainer.config
        per_task = len(trainer.stream.tasks[0].train)
        t, row = divmod(self._seen, per_task)
        batch, _ = trainer.stream.tasks[t].train.rows(slice(row, min(row + config.batch_size, per_task)))
        for image in batch.numpy():
            self._number[t, image.tobytes()] = self._seen
            self._seen += 1
        changed = []
        for slot, (task, image) in enumerate(zip(memory.t.tolist(), memory.x.numpy())):
            example = self._number[task, image.tobytes()] if task >= 0 else EMPTY
            if example != self._held.get(slot, EMPTY):
                self._held[slot] = example
                changed += [slot, example]
        self.steps.append(changed)


@dataclass(frozen=True)
class Theatre:
    """The recorded runs of some writers on the same stream."""

    runs: list[Followed]
    recorders: list[Recorder]

    def data(self) -> dict[str, Any]:
        """Everything that is shown, as JSON: the digits, the stream, and each slot's history."""
        trainer = self.runs[0].trainer
        config, tasks = trainer.config, trainer.stream.tasks
        index = np.concatenate([task.train.index.numpy() for task in tasks])
        used, image_of = np.unique(index, return_inverse=True)
        return {
            "tasks": config.tasks,
            "batch": config.batch_size,
            "perTask": len(tasks[0].train),
            "slots": config.memory_size,
            "labels": "".join(str(label) for task in tasks for label in task.train.labels.tolist()),
            "images": image_of.tolist(),
            "columns": COLUMNS,
            "sheet": _sheet(tasks[0].train.images[used].reshape(-1, 28, 28).numpy()),
            "writers": [_history(run, recorder) for run, recorder in zip(self.runs, self.recorders)],
        }


def record(writers: Sequence[str], *, tasks: int, examples: int, samples_per_class: int = 1, seed: int = 0) -> Theatre:
    """Learn the same stream once with each writer, which may be one of your own, and take down every slot's history."""
    recorders = [Recorder() for _ in writers]
    options = {"tasks": tasks, "examples": examples, "samples_per_class": samples_per_class, "seed": seed}
    return Theatre([follow(name, watch=seen, **options) for name, seen in zip(writers, recorders)], recorders)


def theatre(show: Theatre, *, live: bool = True) -> Moving:
    """The stage: a slider and a play button in the book, parameters of the stream beside them in Jupyter."""
    from erlib.report.theatre_widgets import controls

    return Moving("theatre", show.data(), kept_plot(show.runs), (lambda: controls(show)) if live else None)


def balance(show: Theatre) -> dict[str, dict[str, int]]:
    """The memories at the end: slots in use, classes held, classes lost, the most that a class holds."""
    lines = {}
    for run in show.runs:
        memory, config = run.trainer.method.memory, run.trainer.config
        counts = [count for count in memory.class_counts().values() if count]
        lost = config.classes - len(counts)
        lines[run.title] = {"slots": sum(counts), "classes": len(counts), "lost": lost, "most": max(counts)}
    return lines


def _history(run: Followed, recorder: Recorder) -> dict[str, Any]:
    switches = [event["step"] for event in run.trainer.method.memory.events if event["name"] == "switch"]
    return {"title": run.title, "steps": recorder.steps, "switch": switches[0] if switches else None}


def _sheet(digits: np.ndarray) -> str:
    """All digits on one sheet, in 8 shades of grey, as the address of a PNG."""
    from PIL import Image

    rows = -(-len(digits) // COLUMNS)
    sheet = np.zeros((rows * COLUMNS, 28, 28), np.uint8)
    sheet[: len(digits)] = digits >> 5
    sheet = sheet.reshape(rows, COLUMNS, 28, 28).swapaxes(1, 2).reshape(rows * 28, COLUMNS * 28)
    picture = Image.fromarray(sheet, mode="P")
    picture.putpalette([grey for shade in range(8) for grey in [shade * 255 // 7] * 3])
    buffer = io.BytesIO()
    picture.save(buffer, "PNG", optimize=True, bits=4)
    return f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}"
