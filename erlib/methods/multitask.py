"""Multi-task: all tasks' examples pooled and shuffled, in one pass. Not continual learning, an upper reference."""

from __future__ import annotations

from erlib.methods.finetune import Finetune


class Multitask(Finetune):
    """The finetune step on mini-batches that mix the tasks, each example under its own head."""

    pooled = True
