"""Memory only (blue in Fig. 3): after task 1 the network trains on its memory and on nothing else."""

from __future__ import annotations

import copy
from typing import Any

from torch import Tensor

from erlib.methods.base import Method
from erlib.randomness import generator


class MemoryOnly(Method):
    """The stream of task 2 only counts the steps. With `restart` task 2 begins from a fresh network."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.restarted = False

    def observe(self, x: Tensor, y: Tensor, t: int) -> None:
        if t == 0:
            self.descend(self.gradients(x, y, t))
            self.memory.write(x, y, t)
            return
        if self.config.restart and not self.restarted:
            self._restart()
        self.descend(self.gradients(*self.replay()))

    def _restart(self) -> None:
        fresh = copy.deepcopy(self.net).to_empty(device="cpu")  # initialise() defines all of it
        fresh.initialise(self.config.init, generator(self.config.seed, "restart"))
        for own, new in zip(self.net.state_dict().values(), fresh.state_dict().values()):
            own.copy_(new, non_blocking=True)
        self.restarted = True

    def state_dict(self) -> dict[str, Any]:
        return {"restarted": self.restarted}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.restarted = state["restarted"]
