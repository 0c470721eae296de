"""A run that is killed again and again, and goes on, gives the numbers of one that never was."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import erlib
from erlib import training
from erlib.config import RunConfig, paper_config
from erlib.store import Store

MNIST = {"source": "mnist-5k", "tasks": 4, "examples_per_task": 60, "test_examples": 100}
TOY = {"source": "toy", "tasks": 2, "examples_per_task": 20, "test_examples": 10}
ROTATED = {"source": "mnist-5k", "examples_per_task": 60, "second_examples": 60, "test_examples": 100}


def er(memory: str, **changes: object) -> RunConfig:
    return paper_config("permuted_mnist", "er", memory=memory, **MNIST | {"samples_per_class": 2} | changes)


RUNS = {
    "finetune": paper_config("permuted_mnist", "finetune", **MNIST),
    "ewc": paper_config("permuted_mnist", "ewc", **MNIST | {"fisher_every": 4}),
    "agem": paper_config("permuted_mnist", "agem", **MNIST),
    "mer single": paper_config("permuted_mnist", "mer", **MNIST),
    "mer batch": paper_config("permuted_mnist", "mer", mer_steps="batch", **MNIST),
    "multitask": paper_config("permuted_mnist", "multitask", **MNIST),
    "er reservoir": er("reservoir"),
    "er ring": er("ring"),
    "er kmeans": er("kmeans"),
    "er mof": er("mof"),
    "er kmeans literal": er("kmeans", distances="literal"),
    "er mof literal": er("mof", distances="literal"),
    "er hybrid": er("hybrid", samples_per_class=1),
    "er full_ring": er("full_ring"),
    "memory_only": paper_config("rotated_mnist", "memory_only", restart=True, **ROTATED),
    "er kmeans, batch norm": paper_config("split_cifar", "er", memory="kmeans", **TOY),
}

# One process imports torch, then forks: once for the whole run, and once for each life of the killed one.
DRIVER = """
import dataclasses, json, os, random, signal, sys
from pathlib import Path
import sympy, torch  # torch would import sympy with the first step of every child
from erlib import registry, training
from erlib.benchmarks import make
from erlib.config import from_dict
from erlib.store import Store
from erlib.workers import train_one

def life(config, store, fatal_step=None):
    '''Train in a child, which kills itself before that step. The number of steps it took.'''
    steps = Path(store.root) / "steps"
    child = os.fork()
    if child == 0:
        method = registry.method_class(config.method)
        observe, taken = method.observe, 0
        def counted(self, *batch):
            nonlocal taken
            taken += 1
            if taken == fatal_step:
                os.kill(os.getpid(), signal.SIGKILL)
            observe(self, *batch)
        method.observe = counted
        outcome = train_one(dataclasses.asdict(config), str(store.root), None, "cpu")
        steps.write_text(str(taken))
        print(outcome, file=sys.stderr)
        os._exit(0 if outcome == {"state": "done"} else 1)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) == (fatal_step is not None), status
    return int(steps.read_text()) if fatal_step is None else None

torch.set_num_threads(1)
out = {}
for name, values in json.loads(sys.argv[1]).items():
    config, draw = from_dict(values), random.Random(name)
    make.load(config.source, config.benchmark, None)  # once, for all children
    whole, killed = (Store(Path(sys.argv[2]) / kind) for kind in ("whole", "killed"))
    whole.root.mkdir(exist_ok=True), killed.root.mkdir(exist_ok=True)
    total = life(config, whole)
    a_task = total // config.tasks
    fatal = [a_task + draw.randint(1, a_task)]  # in the second task, then anywhere in what is left of it
    fatal += [draw.randint(1, a_task) for _ in range(2)]
    for step in fatal:
        life(config, killed, step)
    out[name] = {"total": total, "fatal": fatal, "last": life(config, killed)}
print(json.dumps(out))
"""


@pytest.fixture(scope="module")
def lives(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, dict[str, object]], Path]:
    """Each run in one go and in several lives; what was counted, and the folder with both stores."""
    from dataclasses import asdict

    folder = tmp_path_factory.mktemp("lives")
    environment = {**os.environ, "PYTHONPATH": str(Path(erlib.__file__).parents[1]), "OMP_NUM_THREADS": "1"}
    runs = json.dumps({name: asdict(config) for name, config in RUNS.items()})
    driver = subprocess.run(
        [sys.executable, "-c", DRIVER, runs, str(folder)], env=environment, capture_output=True, text=True, check=False
    )
    assert driver.returncode == 0, driver.stderr
    return json.loads(driver.stdout), folder


@pytest.mark.parametrize("name", RUNS)
def test_a_killed_run_goes_on_to_the_same_numbers(name: str, lives: tuple[dict[str, dict[str, object]], Path]) -> None:
    counted, folder = lives
    whole, killed = (Store(folder / kind).get(RUNS[name]) for kind in ("whole", "killed"))
    for part in ("accuracy", "curves", "final", "events", "memory"):
        assert getattr(killed, part) == getattr(whole, part), (part, counted[name])
    assert counted[name]["last"] < counted[name]["total"]  # it did not begin again
    assert list((folder / "killed" / ".work").glob("*.checkpoint")) == []


@pytest.mark.parametrize("damage", ["empty", "truncated", "garbled", "another run's"])
def test_a_damaged_checkpoint_is_ignored_with_a_warning(damage: str, tmp_path: Path) -> None:
    config, other = RUNS["er ring"], RUNS["er kmeans"]
    whole = training.run(config)
    checkpoint = tmp_path / "run.checkpoint"
    training.run(other if damage == "another run's" else config, checkpoint=checkpoint)
    content = checkpoint.read_bytes()
    broken = {
        "empty": b"",
        "truncated": content[: len(content) // 2],
        "garbled": content[:5000] + b"?" + content[5001:],
        "another run's": content,
    }
    checkpoint.write_bytes(broken[damage])
    with pytest.warns(UserWarning, match=r"run\.checkpoint"):
        again = training.run(config, checkpoint=checkpoint)
    assert again.accuracy == whole.accuracy
