"""Configs: the paper's Table 8, ids that live on, and one sentence for what no run can follow."""

from __future__ import annotations

import dataclasses

import pytest

from erlib import config as module
from erlib.config import RunConfig, from_dict, late, paper_config, run_id
from erlib.errors import ErlibError
from erlib.protocol import BENCHMARKS

COLUMNS = ("permuted_mnist", "split_cifar", "split_cub", "split_miniimagenet")
OTHERS = ("ring", "kmeans", "mof", "full_ring")
# Table 8 as printed: MNIST, CIFAR, CUB, miniImageNet. The hybrid is not in it: on CIFAR the CV stream chose.
TABLE_8 = {
    "finetune": [{"lr": 0.1}, {"lr": 0.03}, {"lr": 0.03}, {"lr": 0.03}],
    "ewc": [{"lr": lr, "ewc_lambda": 10} for lr in (0.1, 0.03, 0.03, 0.03)],
    "agem": [{"lr": 0.1}, {"lr": 0.03}, {"lr": 0.03}, {"lr": 0.03}],
    "mer": [{"lr": lr, "mer_gamma": 0.1, "mer_s": s} for lr, s in ((0.03, 10), (0.03, 5), (0.1, 5), (0.03, 5))],
    "er/reservoir": [{"lr": 0.1}, {"lr": 0.1}, {"lr": 0.03}, {"lr": 0.1}],
    **{f"er/{writer}": [{"lr": 0.1}, {"lr": 0.03}, {"lr": 0.03}, {"lr": 0.03}] for writer in OTHERS},
    "er/hybrid": [{"lr": 0.1}, {"lr": 0.1}, {"lr": 0.03}, {"lr": 0.03}],
}


@pytest.mark.parametrize("row", TABLE_8)
@pytest.mark.parametrize(("column", "benchmark"), enumerate(COLUMNS))
def test_paper_config_is_table_8(row, column, benchmark):
    method, _, writer = row.partition("/")
    config = paper_config(benchmark, method, memory=writer or None)
    for name, value in TABLE_8[row][column].items():
        assert getattr(config, name) == value


@pytest.mark.parametrize(
    ("benchmark", "tasks", "slots", "examples"),
    [
        ("permuted_mnist", 20, [200, 600, 1000, 3000], 1000),
        ("split_cifar", 17, [85, 255, 425, 1105], None),
        ("split_miniimagenet", 17, [85, 255, 425, 1105], None),
        ("split_cub", 17, [170, 510, 850, 1700], None),
    ],
)
def test_paper_config_is_the_protocol(benchmark, tasks, slots, examples):
    bench = BENCHMARKS[benchmark]
    configs = [paper_config(benchmark, "er", memory="ring", samples_per_class=n) for n in bench.samples_per_class]
    assert [config.memory_size for config in configs] == slots
    first = configs[0]
    assert (first.tasks, first.examples_per_task, first.test_examples) == (tasks, examples, None)
    assert (first.batch_size, first.replay_batch, first.init, first.stream) == (10, 10, "paper", "ev")
    assert first.head == ("shared" if benchmark == "permuted_mnist" else "per_task")
    assert paper_config(benchmark, "finetune", stream="cv").tasks == 3
    assert paper_config(benchmark, "ewc").fisher_every == (10 if benchmark == "permuted_mnist" else 50)


@pytest.mark.parametrize("writer", ["reservoir", *OTHERS])
def test_reservoir_and_hybrid_replay_the_current_task_and_the_others_do_not(writer):
    config = paper_config("split_cifar", "er", memory=writer)
    assert config.replay_current == (writer in ("reservoir", "hybrid"))
    assert config.distances == ("current" if writer in ("kmeans", "mof") else None)


def test_methods_with_a_writer_of_their_own():
    agem, mer = paper_config("split_cifar", "agem"), paper_config("split_cifar", "mer")
    assert (agem.memory, agem.replay_current, agem.replay_batch) == ("ring", False, 10)
    assert (mer.memory, mer.replay_current, mer.mer_steps, mer.mer_bn) == ("reservoir", True, "single", "train")
    assert paper_config("split_cifar", "agem", replay_batch=256).replay_batch == 256


WRONG = {
    "benchmark": (lambda: paper_config("split_mnist", "finetune"), "unknown benchmark 'split_mnist'"),
    "method": (lambda: paper_config("permuted_mnist", "sgd"), "unknown method 'sgd'"),
    "writer": (lambda: paper_config("permuted_mnist", "er", memory="heap"), "unknown memory writer 'heap'"),
    "no writer": (lambda: paper_config("permuted_mnist", "er"), "needs a memory writer"),
    "setting": (lambda: paper_config("permuted_mnist", "finetune", momentum=0.9), "unknown setting 'momentum'"),
    "source": (lambda: paper_config("permuted_mnist", "finetune", source="toy"), "not made from 'toy'"),
    "own writer": (lambda: paper_config("permuted_mnist", "agem", memory="mof"), "always writes with 'ring'"),
    "unused": (lambda: paper_config("permuted_mnist", "finetune", ewc_lambda=1.0), "does not use ewc_lambda"),
    "no memory": (lambda: paper_config("permuted_mnist", "finetune", samples_per_class=1), "does not use samples"),
    "too many tasks": (lambda: paper_config("split_cifar", "finetune", tasks=18), "has 17"),
    "too many cv": (lambda: paper_config("split_cifar", "finetune", tasks=4, stream="cv"), "has 3"),
    "angle": (lambda: paper_config("permuted_mnist", "finetune", angle=20.0), "belong to rotated_mnist"),
    "head": (lambda: paper_config("split_cifar", "finetune", head="shared"), "head for each task"),
    "distances": (lambda: paper_config("split_cifar", "er", memory="ring", distances="literal"), "kmeans and mof"),
    "choice": (lambda: paper_config("permuted_mnist", "finetune", init="zeros"), "init is 'zeros'"),
    "no batch norm": (lambda: paper_config("permuted_mnist", "finetune", bn_eps=1e-5), "networks with batch norm"),
    "no mean image": (lambda: paper_config("split_cub", "finetune", centred=False), "subtracted from 'cub'"),
    "no stack": (lambda: paper_config("split_cifar", "agem", stacked=False), "'agem' stacks no batches"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_config_gets_one_sentence(wrong):
    make, words = WRONG[wrong]
    with pytest.raises(ErlibError, match=words) as error:
        make()
    assert str(error.value).endswith(".")
    assert "\n" not in str(error.value)


BAD_VALUES = [
    *[("samples_per_class", value) for value in (0, -1, 1.5, "1", True)],
    *[("lr", value) for value in (0, -0.1, "0.1", float("nan"), float("inf"), True)],
    *[("batch_size", value) for value in (0, -10, 10.0, "10")],
    *[("seed", value) for value in (-1, 0.5, "0")],
    *[("tasks", value) for value in (0, -1, "3")],
    ("replay_current", "yes"),
    ("test_examples", 0),
    ("replay_batch", 0),
]


@pytest.mark.parametrize(("name", "value"), BAD_VALUES)
def test_a_wrong_value_gets_one_sentence_that_names_it(name, value):
    with pytest.raises(ErlibError, match=f"^{name} is"):
        paper_config("permuted_mnist", "er", memory="ring", **{name: value})


@pytest.mark.parametrize("name", ["lr", "batch_size", "tasks", "seed", "centred", "stacked"])
def test_null_is_refused_where_every_run_needs_a_value(name):
    with pytest.raises(ErlibError, match=name):
        paper_config("permuted_mnist", "finetune", **{name: None})


def test_a_missing_field_gets_one_sentence():
    with pytest.raises(ErlibError, match="lr"):
        from_dict({"benchmark": "permuted_mnist", "source": "mnist", "method": "finetune", "seed": 0})


def test_one_is_not_true():
    config = paper_config("permuted_mnist", "er", memory="ring", replay_current=True)
    try:
        other = config.replace(replay_current=1)
    except ErlibError:
        return
    assert other.run_id == config.run_id


def test_whole_and_real_numbers_are_the_same_run():
    config = paper_config("permuted_mnist", "ewc")
    assert config.replace(ewc_lambda=10).run_id == config.replace(ewc_lambda=10.0).run_id == config.run_id


def test_every_field_moves_the_id():
    base = paper_config("permuted_mnist", "er", memory="kmeans")
    changes = {
        "seed": 1, "tasks": 3, "examples_per_task": 10, "test_examples": 10, "batch_size": 5, "lr": 0.2,
        "init": "pytorch", "head": "per_task", "samples_per_class": 3, "replay_batch": 5, "replay_current": True,
        "distances": "literal", "source": "mnist-5k",
    }  # fmt: skip
    ids = {base.run_id} | {base.replace(**{name: value}).run_id for name, value in changes.items()}
    assert len(ids) == 1 + len(changes)


def test_the_levers_of_split_cifar_move_the_id():
    base = paper_config("split_cifar", "er", memory="ring")
    changes = {"bn_eps": 1e-5, "centred": False, "stacked": False}
    ids = {base.run_id} | {base.replace(**{name: value}).run_id for name, value in changes.items()}
    assert len(ids) == 4
    assert not set(changes) & set(base.canonical())


def test_ids_survive_a_field_that_is_added_later(monkeypatch):
    config = paper_config("permuted_mnist", "finetune")
    new = dataclasses.make_dataclass(
        "Newer", [("momentum", float, late(0.0))], bases=(RunConfig,), frozen=True, kw_only=True
    )
    same = new(**dataclasses.asdict(config))
    assert same.canonical() == config.canonical()
    assert same.run_id == config.run_id
    assert dataclasses.replace(same, momentum=0.9).run_id != config.run_id


def test_the_id_is_the_hash_of_the_canonical_json():
    """A fixed point: if this number changes, every stored run becomes stale."""
    assert run_id({"b": 1, "a": 0.1}, {"core": 1}) == run_id({"a": 0.1, "b": 1}, {"core": 1})
    assert run_id({"a": 0.1}, {"core": 1}) != run_id({"a": 0.1}, {"core": 2})
    assert len(run_id({}, {})) == 16


def test_numerics_of_used_components_only_move_the_id(monkeypatch):
    config = paper_config("permuted_mnist", "er", memory="ring")
    before = config.run_id
    monkeypatch.setitem(module.registry.NUMERICS, "kmeans", 99)
    monkeypatch.setitem(module.registry.NUMERICS, "resnet18", 99)
    assert config.run_id == before
    for name in ("core", "mlp", "permuted_mnist", "er", "ring"):
        with monkeypatch.context() as patch:
            patch.setitem(module.registry.NUMERICS, name, 99)
            assert config.run_id != before


def test_a_config_survives_a_dictionary():
    config = paper_config("split_cub", "mer", samples_per_class=3, seed=4)
    assert from_dict(dataclasses.asdict(config)) == config
