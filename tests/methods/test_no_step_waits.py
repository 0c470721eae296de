"""No step waits for the device: nothing in `observe` reads a result back, and nothing copies to it and waits.

Two detectors, since the machine of these tests may have no GPU. On the CPU a dispatch mode refuses the operations
whose result the host has to know. On torch's "meta" device tensors have no values at all, so that whatever reads
one back (also `.cpu()` and `.tolist()`) fails, while labels, which live on the host, can be read freely.
"""

from __future__ import annotations

from contextlib import nullcontext

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from erlib.benchmarks.make import make_stream
from erlib.config import paper_config
from erlib.passes import one_by_one, pooled
from erlib.training import make_method

WAITING = ("_local_scalar_dense", "is_nonzero", "nonzero", "masked_select", "unique", "_unique2", "equal", "bincount")

CELLS = {
    "finetune": ("finetune", {}),
    "ewc": ("ewc", {"fisher_every": 2}),
    "agem": ("agem", {}),
    "mer-single": ("mer", {}),
    "mer-batch": ("mer", {"mer_steps": "batch"}),
    "memory-only": ("memory_only", {}),
    "multitask": ("multitask", {}),
    "reservoir": ("er", {"memory": "reservoir"}),
    "ring": ("er", {"memory": "ring"}),
    "kmeans": ("er", {"memory": "kmeans"}),
    "kmeans-literal": ("er", {"memory": "kmeans", "distances": "literal"}),
    "mof": ("er", {"memory": "mof"}),
    "mof-literal": ("er", {"memory": "mof", "distances": "literal"}),
    "hybrid": ("er", {"memory": "hybrid"}),
    "full-ring": ("er", {"memory": "full_ring"}),
}
BENCHMARKS = {"permuted_mnist": "mnist-5k", "split_cifar": "toy"}


class NoReadBack(TorchDispatchMode):
    """Raises on an operation whose result has to come back to the host."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func.overloadpacket.__name__
        if name in WAITING:
            raise AssertionError(f"{func} waits for the device")
        if name == "index" and any(i is not None and i.dtype in (torch.bool, torch.uint8) for i in args[1]):
            raise AssertionError("indexing with a mask waits for the device")
        return func(*args, **(kwargs or {}))


class NoWaitingCopy(TorchDispatchMode):
    """Raises on a copy between host and device that waits: with CUDA, any without non_blocking=True."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = func.overloadpacket.__name__
        if name == "_to_copy" and kwargs.get("device", args[0].device) != args[0].device:
            assert kwargs.get("non_blocking"), "a copy to the device without non_blocking waits for it"
        if name == "copy_" and args[0].device != args[1].device:
            assert (len(args) > 2 and args[2]) or kwargs.get("non_blocking"), "a copy to the device waits for it"
        return func(*args, **kwargs)


def observe_all(benchmark, cell, device, mode, **changes):
    method, settings = CELLS[cell]
    options = {"source": BENCHMARKS[benchmark], "tasks": 2, "examples_per_task": 30} | settings | changes
    replay = options.pop("replay", 10)
    config = paper_config(benchmark, method, **options)
    if config.memory is not None:
        config = config.replace(replay_batch=replay)
    stream = make_stream(config, None, device)
    learner = make_method(config, stream, None, torch.device(device))
    for t, part in enumerate((pooled if learner.pooled else one_by_one)(stream, config)):
        for batch in part.batches():
            with mode():
                learner.observe(*batch)
        learner.end_task(t)
    return learner


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("cell", CELLS)
def test_no_operation_that_waits_on_permuted_mnist(cell):
    observe_all("permuted_mnist", cell, "cpu", NoReadBack)


@pytest.mark.parametrize("cell", ["kmeans", "agem", "mer-single"])
def test_no_operation_that_waits_on_a_split_benchmark(cell):
    observe_all("split_cifar", cell, "cpu", NoReadBack, examples_per_task=20, replay=2)


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_nothing_on_the_device_is_ever_read(benchmark, cell):
    count = 20 if benchmark == "permuted_mnist" else 10  # convolutions take their time, even without values
    learner = observe_all(benchmark, cell, "meta", nullcontext, examples_per_task=count, replay=2)
    assert learner.params[0].is_meta
    assert learner.memory is None or learner.memory.x.is_meta


@pytest.mark.parametrize("cell", CELLS)
def test_no_copy_to_the_device_waits(cell):
    observe_all("permuted_mnist", cell, "meta", NoWaitingCopy, head="per_task")


def test_a_restart_does_not_wait():
    observe_all("permuted_mnist", "memory-only", "meta", nullcontext, restart=True)


PLANTED = {
    "item": lambda x: x.sum().item(),
    "if": lambda x: bool(x.sum() > 0),
    "mask": lambda x: x[x > 0],
    "nonzero": lambda x: x.nonzero(),
    "float": lambda x: float(x.max()),
    "unique": lambda x: x.unique(),
}


@pytest.mark.parametrize("plant", PLANTED)
def test_the_detector_finds_a_planted_wait(monkeypatch, plant):
    from erlib.methods.base import Method

    derivative = Method.derivative
    monkeypatch.setattr(
        Method, "derivative", lambda self, loss: (PLANTED[plant](self.params[1]), derivative(self, loss))[1]
    )
    with pytest.raises(AssertionError, match="waits for the device"):
        observe_all("permuted_mnist", "finetune", "cpu", NoReadBack)


@pytest.mark.parametrize("read", [*PLANTED.values(), torch.Tensor.cpu, torch.Tensor.tolist, torch.Tensor.numpy])
def test_the_meta_device_has_nothing_to_read(read):
    with pytest.raises((RuntimeError, NotImplementedError, TypeError)):
        read(torch.ones(3, device="meta"))


def test_a_blocking_copy_is_found():
    with NoWaitingCopy():
        torch.ones(1).to("meta", non_blocking=True)
        with pytest.raises(AssertionError, match="non_blocking"):
            torch.ones(1).to("meta")
