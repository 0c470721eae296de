"""What a run leaves behind: a RunResult, which is one JSON file of the store."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from erlib import metrics
from erlib.config import RunConfig

DIVERGED = "diverged"  # the event of a run that ended with weights that are not finite
Matrix = list[list[float | None]]


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """The numbers of one run. Accuracies are fractions in [0, 1]."""

    config: RunConfig
    accuracy: Matrix  # row = after task i, column = test set of task j; None where it was not evaluated
    curves: dict[str, dict[str, list[float]]] = field(default_factory=dict)  # rotation: {name: {"step":, "value":}}
    final: dict[str, dict[str, float]] = field(default_factory=dict)  # rotation: {"train": {"accuracy":, "loss":}, ...}
    events: list[dict[str, Any]] = field(default_factory=list)  # [{"name": "switch", "task": 4, "step": 812}]
    memory: dict[str, int] = field(default_factory=dict)  # final class counts, {"task/class": n}
    seconds: dict[str, float] = field(default_factory=dict)  # {"train":, "eval":}
    environment: dict[str, str] = field(default_factory=dict)  # erlib, torch, device, cpu, when

    @property
    def run_id(self) -> str:
        return self.config.run_id

    @property
    def diverged(self) -> bool:
        """Did the weights overflow? All accuracies since then are those of one and the same guess."""
        return any(event["name"] == DIVERGED for event in self.events)

    @property
    def average_accuracy(self) -> float:
        """A_T: mean accuracy over all tasks after the last one."""
        return metrics.average_accuracy(self.accuracy)

    @property
    def forgetting(self) -> float | None:
        """F_T, or None where it is not defined (multi-task, a single task)."""
        return metrics.forgetting(self.accuracy)
