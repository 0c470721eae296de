"""The lower bound: each method's arithmetic as a bare PyTorch loop on preloaded float tensors.

No stream, no writer, no sampling: which rows make up a step is known beforehand.
"""

from __future__ import annotations

import copy
from itertools import cycle, islice

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from work import FILL, Work, make_method

from erlib.benchmarks.make import make_stream
from erlib.benchmarks.streams import Stream, Task
from erlib.config import RunConfig
from erlib.methods import Method


class Bare:
    """Starts from the weights, memory and Fisher of an erlib method; its methods bear the names of erlib's.

    Rows are those of the task's training set; a memory slot's row is its number after them.
    """

    def __init__(self, method: Method, stream: Stream, task: Task) -> None:
        self.config, self.net = method.config, copy.deepcopy(method.net)
        self.params = list(self.net.parameters())
        self.optimizer = torch.optim.SGD(self.params, self.config.lr, fused=True)
        x, self.y = task.train.rows(slice(None))
        tasks = torch.full_like(self.y, task.id)
        self.slots = torch.empty(0, dtype=torch.int64)  # rows that may be replayed
        if method.memory is not None:
            self.slots = len(x) + torch.tensor(method.memory._replayable, dtype=torch.int64)
            x = torch.cat((x, method.memory.x))
            self.y, tasks = torch.cat((self.y, method.memory.y)), torch.cat((tasks, method.memory.t))
        self.x = stream.normalise(x)
        if self.x.dim() == 4:
            self.x = self.x.permute(0, 2, 3, 1).contiguous()
        self.outside = None if stream.shared_head else ~stream.heads()[tasks]
        self.rows = len(task.train)
        if self.config.method == "ewc":
            self.step = method.step
            names = ("window", "fisher", "importance", "anchor")
            self.window, self.fisher, self.importance, self.anchor = (
                [tensor.clone() for tensor in getattr(method, name)] for name in names
            )

    def loss(self, rows: Tensor) -> Tensor:
        x = self.x.index_select(0, rows)
        logits = self.net(x.permute(0, 3, 1, 2) if x.dim() == 4 else x)
        if self.outside is not None:
            logits = logits.masked_fill(self.outside.index_select(0, rows), -torch.inf)
        return cross_entropy(logits, self.y.index_select(0, rows))

    def gradients(self, rows: Tensor) -> list[Tensor]:
        return list(torch.autograd.grad(self.loss(rows), self.params))

    @torch.no_grad()
    def descend(self, gradients: list[Tensor], lr: float) -> None:
        torch._foreach_add_(self.params, gradients, alpha=-lr)

    def finetune(self, new: Tensor, past: Tensor) -> None:
        self.loss(new).backward()
        self.optimizer.step()
        self.optimizer.zero_grad()

    def er(self, new: Tensor, past: Tensor) -> None:
        self.finetune(torch.cat((new, past)), past)

    def agem(self, new: Tensor, past: Tensor) -> None:
        reference, gradients = self.gradients(past), self.gradients(new)
        dot = sum((g * r).sum() for g, r in zip(gradients, reference))
        if dot < 0:
            norm = sum((r * r).sum() for r in reference)
            torch._foreach_sub_(gradients, reference, alpha=(dot / norm).item())
        self.descend(gradients, self.config.lr)

    def ewc(self, new: Tensor, past: Tensor) -> None:
        gradients = self.gradients(new)
        self.step += 1
        if self.step % self.config.fisher_every == 0:
            torch._foreach_mul_(self.fisher, 0.1)
            torch._foreach_add_(self.fisher, self.window, alpha=0.9 / self.config.fisher_every)
            torch._foreach_zero_(self.window)
        torch._foreach_addcmul_(self.window, gradients, gradients)
        with torch.no_grad():
            pull = torch._foreach_sub(self.params, self.anchor)
        torch._foreach_addcmul_(gradients, pull, self.importance, 2 * self.config.ewc_lambda)
        self.descend(gradients, self.config.lr)

    def mer(self, new: Tensor, past: Tensor) -> None:
        start = [p.detach().clone() for p in self.params]
        for row in past.split(1 if self.config.mer_steps == "single" else len(past)):
            self.descend(self.gradients(row), self.config.lr)
        self.descend(self.gradients(new), self.config.mer_s * self.config.lr)
        with torch.no_grad():
            torch._foreach_lerp_(self.params, start, 1 - self.config.mer_gamma)

    def learning(self, steps: int) -> Work:
        """Blocks of bare steps."""
        step, size = getattr(self, self.config.method), self.config.batch_size
        news = cycle([new for new in torch.arange(self.rows).split(size) if len(new) == size])
        count = min(self.config.replay_batch or 0, len(self.slots))
        drawn = [self.slots[torch.randperm(len(self.slots))[:count]] for _ in range(100)]
        pasts = cycle(drawn)

        def work() -> int:
            for new, past in islice(zip(news, pasts), steps):
                step(new, past)
            return steps

        return work


Test = tuple[Tensor, Tensor, Tensor | None]  # images, labels, units outside the task's head


def preloaded(method: Method, stream: Stream, task: Task) -> list[Test]:
    """A test set as batches of normalised floats, channels_last for images."""
    outside = None if stream.shared_head else ~stream.heads()[task.id]
    batches = []
    for x, y in task.test.batches(method.net.eval_batch):
        layout = torch.channels_last if x.dim() == 4 else torch.contiguous_format
        batches.append((stream.normalise(x).contiguous(memory_format=layout), y, outside))
    return batches


@torch.no_grad()
def hits(net: nn.Module, tests: list[Test]) -> Tensor:
    """How many guesses are right, batch norm not folded."""
    right = torch.zeros((), dtype=torch.int64)
    for x, y, outside in tests:
        logits = net(x) if outside is None else net(x).masked_fill(outside, -torch.inf)
        right += (logits.argmax(1) == y).sum()
    return right


def evaluating(method: Method, stream: Stream, seen: int) -> Work:
    """A bare pass over the preloaded test sets: evaluation mode, the same batches."""
    net = copy.deepcopy(method.net).eval()
    tests = [test for task in stream.tasks[:seen] for test in preloaded(method, stream, task)]

    def work() -> float:
        hits(net, tests)
        return sum(len(y) for _, y, _ in tests) / 1000

    return work


def run(config: RunConfig) -> None:
    """A whole run: each task's steps, then all test sets seen; the memory is written once a task, at its end."""
    stream = make_stream(config)
    method = make_method(config, stream, None, torch.device("cpu"))
    tests: list[list[Test]] = []
    for task in stream.tasks:
        lower = Bare(method, stream, task)
        lower.learning(len(task.train) // config.batch_size)()
        method.net.load_state_dict(lower.net.state_dict())
        method.memory.write(*task.train.rows(slice(FILL)), task.id)
        method.end_task(task.id)
        tests.append(preloaded(method, stream, task))
        lower.net.eval()
        for test in tests:
            hits(lower.net, test).item()
