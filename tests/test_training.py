"""run(config): bit-identical for a seed, alone with its random state, evaluated as the contract says."""

from __future__ import annotations

import pytest
import torch

from erlib.benchmarks import make
from erlib.benchmarks import toy as toy_set
from erlib.config import paper_config
from erlib.training import Trainer, run

CELLS = {
    "finetune": ("finetune", {}),
    "ewc": ("ewc", {"fisher_every": 2}),
    "agem": ("agem", {}),
    "mer-single": ("mer", {}),
    "mer-batch": ("mer", {"mer_steps": "batch"}),
    "memory-only": ("memory_only", {}),
    "restart": ("memory_only", {"restart": True}),
    "multitask": ("multitask", {}),
    **{name: ("er", {"memory": name}) for name in ("reservoir", "ring", "kmeans", "mof", "hybrid", "full_ring")},
    "kmeans-literal": ("er", {"memory": "kmeans", "distances": "literal"}),
}


def tiny(cell="ring", **changes):
    method, settings = CELLS[cell]
    values = {"source": "mnist-5k", "tasks": 3, "examples_per_task": 60, "test_examples": 50} | settings | changes
    return paper_config("permuted_mnist", method, **values)


def trained(config):
    trainer = Trainer(config, None, torch.device("cpu"))
    trainer.train(None, lambda done, total: None)
    return trainer


def assert_identical(first, second):
    assert first.accuracy == second.accuracy
    for a, b in zip(first.method.net.state_dict().values(), second.method.net.state_dict().values()):
        assert torch.equal(a, b)


@pytest.fixture(scope="module", autouse=True)
def small_toy():
    """The toy images, fewer and smaller: made in a moment."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"SIDE": 16, "TRAIN": 12, "TEST": 4}.items():
            patch.setattr(toy_set, name, value)
        make.load.cache_clear()
        yield
    make.load.cache_clear()


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("cell", CELLS)
def test_the_same_seed_twice_is_bit_identical_whatever_the_global_generator(cell):
    torch.manual_seed(1)
    first = trained(tiny(cell))
    torch.manual_seed(2)
    torch.rand(17)
    before = torch.get_rng_state()
    second = trained(tiny(cell))
    assert torch.equal(before, torch.get_rng_state())
    assert_identical(first, second)


@pytest.mark.parametrize("cell", ["agem", "kmeans"])
def test_the_same_seed_twice_is_bit_identical_on_a_split_benchmark(cell):
    method, settings = CELLS[cell]
    config = paper_config(
        "split_cifar", method, source="toy", tasks=2, examples_per_task=20, test_examples=10, **settings
    )
    assert_identical(trained(config), trained(config))


def test_another_seed_is_another_run():
    first, second = trained(tiny()), trained(tiny(seed=1))
    assert not torch.equal(first.method.net.fc1.weight, second.method.net.fc1.weight)


def test_every_method_starts_from_the_same_weights():
    nets = [Trainer(tiny(cell, lr=0.1), None, torch.device("cpu")).method.net for cell in CELLS]
    for net in nets[1:]:
        assert all(torch.equal(a, b) for a, b in zip(net.parameters(), nets[0].parameters()))


def test_extra_reads_of_the_memory_move_neither_stream_nor_writes():
    plain, reading = (Trainer(tiny("reservoir"), None, torch.device("cpu")) for _ in range(2))
    seen = []
    for trainer in (plain, reading):
        batches = []
        for task in trainer.stream.tasks:
            for x, y in task.train.batches(10):
                trainer.method.memory.write(x, y, task.id)
                batches.append(x)
                if trainer is reading:
                    trainer.method.replay()
        seen.append(batches)
    assert all(torch.equal(a, b) for a, b in zip(*seen))
    assert torch.equal(plain.method.memory.x, reading.method.memory.x)
    assert torch.equal(plain.method.memory.y, reading.method.memory.y)


def test_run_gives_the_thread_count_back():
    torch.set_num_threads(2)
    used = []
    run(tiny(tasks=1, examples_per_task=20), progress=lambda done, total: used.append(torch.get_num_threads()))
    assert set(used) == {1}
    assert torch.get_num_threads() == 2


def test_the_thread_count_comes_back_after_an_error_too():
    torch.set_num_threads(2)

    def fail(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(tiny(tasks=1, examples_per_task=20), progress=fail)
    assert torch.get_num_threads() == 2


def test_the_accuracy_matrix_is_what_a_slow_evaluation_finds():
    trainer = trained(tiny("ring", head="per_task"))
    net, last = trainer.method.net, trainer.accuracy[-1]
    for task in trainer.stream.tasks:
        hits = 0
        x, y = task.test.rows(slice(None))
        for image, label in zip(x, y.tolist()):
            with torch.no_grad():
                logits = net(image.float().unsqueeze(0) / 255)[0]
            hits += max(task.classes, key=lambda unit: logits[unit].item()) == label
        assert last[task.id] == hits / len(y)
    assert [[value is None for value in row] for row in trainer.accuracy] == [
        [False, True, True],
        [False, False, True],
        [False, False, False],
    ]


@pytest.mark.parametrize("cell", CELLS)
def test_a_resumed_run_ends_like_an_uninterrupted_one(cell, tmp_path):
    whole = trained(tiny(cell))
    path = tmp_path / "checkpoint"

    class StopError(Exception):
        pass

    def stop(done, total):
        if path.exists():
            raise StopError

    broken = Trainer(tiny(cell), None, torch.device("cpu"))
    with pytest.raises(StopError):
        broken.train(path, stop)
    resumed = Trainer(tiny(cell), None, torch.device("cpu"))
    resumed.resume(path)
    assert len(resumed.accuracy) == 1
    resumed.train(path, lambda done, total: None)
    assert_identical(whole, resumed)


def test_rotation_watches_task_1_while_task_2_is_learned():
    config = paper_config(
        "rotated_mnist",
        "er",
        memory="ring",
        source="mnist-5k",
        examples_per_task=100,
        second_examples=40,
        test_examples=50,
    )
    result = run(config)
    assert result.curves["test_accuracy"]["step"] == [0, 1, 2, 3, 4]
    assert result.curves["test_accuracy"]["value"][0] == result.accuracy[0][0]
    assert result.curves["test_accuracy"]["value"][-1] == result.accuracy[1][0] == result.final["test"]["accuracy"]
    assert set(result.final) == {"train", "memory", "test"}
    assert result.memory == {f"{t}/{y}": 1 for t in range(2) for y in range(10)}


def test_the_result_tells_of_weights_that_overflowed():
    assert not run(tiny("ring")).diverged
    result = run(tiny("ring").replace(lr=1e6))
    assert result.diverged
    assert [event["name"] for event in result.events] == ["diverged"]
    assert 0 < result.average_accuracy < 0.3  # the class that it always guesses


def test_the_result_tells_of_the_hybrids_switch():
    result = run(tiny("hybrid"))
    (event,) = result.events
    assert event["name"] == "switch"
    assert 6 * event["task"] < event["step"] <= 6 * event["task"] + 6  # six steps a task, counted from 1
    assert event["task"] >= 1
