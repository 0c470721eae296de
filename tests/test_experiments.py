"""Which runs stand behind each figure and table."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import erlib
from erlib.config import paper_config
from erlib.errors import ErlibError
from erlib.experiments import EXPERIMENTS, SCALES, TABLES, configs, table_rows
from erlib.protocol import BENCHMARKS
from erlib.rows import ALL_ROWS, label, row_of
from erlib.store import Store

ALL = [(name, scale) for name in EXPERIMENTS for scale in SCALES]


@pytest.mark.parametrize(("name", "scale"), ALL)
def test_every_plan_is_made_of_different_runs_seed_by_seed(name: str, scale: str) -> None:
    runs = configs(name, scale=scale)
    assert len({run.run_id for run in runs}) == len(runs) > 0
    assert [run.seed for run in runs] == sorted(run.seed for run in runs)
    first = [run.samples_per_class or 1 for run in runs if run.seed == 0]
    assert first == sorted(first)


def test_the_appendix_tables_have_a_cell_for_each_row_and_size() -> None:
    counts = {name: len(configs(name, seeds=1)) for name in TABLES}
    assert counts == {"tab3": 35, "tab4": 35, "tab5": 35, "tab6": 31}
    assert len(configs("tab3")) == 350
    assert len(configs("tab4")) == 175


def test_figure_1_is_the_four_tables_and_their_runs_are_shared() -> None:
    ids = {run.run_id for name in TABLES for run in configs(name)}
    assert {run.run_id for run in configs("fig1")} == ids
    for name in ("tab1", "fig4", "fig5", "fig6", "fig7"):
        assert {run.run_id for run in configs(name)} < ids


def test_table_1_has_one_sample_per_class() -> None:
    runs = configs("tab1", seeds=1)
    assert len(runs) == 4 * 7
    assert {run.samples_per_class for run in runs} == {None, 1}


@pytest.mark.parametrize(
    ("name", "benchmark", "sizes"), [("fig4", "permuted_mnist", {1, 15}), ("fig7", "split_cub", {1, 10})]
)
def test_the_evolution_has_the_smallest_and_the_largest_memory(name: str, benchmark: str, sizes: set[int]) -> None:
    runs = configs(name)
    assert {run.benchmark for run in runs} == {benchmark}
    assert {run.samples_per_class for run in runs} == {None, *sizes}


def test_figure_2_has_85_slots_and_four_writers() -> None:
    runs = configs("fig2")
    assert {run.memory_size for run in runs} == {85}
    assert len(runs) == 12
    assert {run.memory: run.lr for run in runs} == {"reservoir": 0.1, "ring": 0.03, "hybrid": 0.1, "full_ring": 0.03}
    assert {run.lr for run in configs("fig2", rows=["ER-Hybrid"], lr=0.03)} == {0.03}


def test_the_rotation_analysis() -> None:
    figure, table = configs("fig3"), configs("tab7")
    assert {(run.angle, run.second_examples) for run in figure} == {(a, 20000) for a in (20.0, 40.0, 60.0)}
    assert {(run.method, run.restart) for run in figure} == {
        ("finetune", None),
        ("er", None),
        ("memory_only", False),
        ("memory_only", True),
    }
    assert {(run.angle, run.second_examples) for run in table} == {(a, n) for a in (10.0, 90.0) for n in (1000, 20000)}
    assert len(table) == 5 * 2 * 2 * 2
    assert {run.replay_batch for run in table} == {10}
    assert len(configs("rotation_sweep")) == 5 * 19 * 2
    assert {r.run_id for r in configs("rotation_memory_only")} < {r.run_id for r in figure}


def test_the_selection_stays_on_the_cv_stream() -> None:
    runs = configs("tab8")
    assert {run.stream for run in runs} == {"cv"}
    assert {run.tasks for run in runs} == {3}
    assert {run.benchmark for run in runs} == set(TABLES.values())


def test_the_variants() -> None:
    assert {run.mer_bn for run in configs("mer_bn")} == {"apart", "shared"}
    assert {(run.memory, run.lr) for run in configs("lr_swap")} == {("reservoir", 0.03), ("ring", 0.1)}
    questions = configs("cv_questions")
    assert {run.stream for run in questions} == {"cv"}
    assert {(run.mer_steps, run.mer_bn) for run in questions if run.method == "mer"} == {
        ("single", "train"),
        ("single", "running"),
        ("single", "apart"),
        ("single", "shared"),
        ("batch", "train"),
    }
    assert {(run.memory, run.lr) for run in questions if run.method == "er"} == {
        (memory, lr) for memory in ("ring", "reservoir") for lr in (0.03, 0.1)
    }
    assert len(configs("beyond_mnist", seeds=1)) == 5 * 4
    assert {(run.init, run.tasks) for run in configs("levers_mnist")} == {("pytorch", 20), ("paper", 17)}


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_quick_runs_need_no_data_set(name: str) -> None:
    for run in configs(name, scale="quick"):
        assert run.source in ("mnist-5k", "toy")
        assert run.seed == 0
        assert run.tasks <= 5
        assert (run.second_examples or 0) <= 1000
        assert run.samples_per_class in (None, 1, 5)
    assert {run.source for run in configs("tab3", scale="quick", source="mnist")} == {"mnist"}


def test_overrides_reach_the_runs_that_have_the_setting() -> None:
    runs = configs("tab3", seeds=1, samples_per_class=3, ewc_lambda=5)
    assert {run.samples_per_class for run in runs} == {None, 3}
    assert {run.ewc_lambda for run in runs} == {None, 5.0}
    assert len(runs) == len(table_rows("permuted_mnist"))
    assert {run.tasks for run in configs("mer_bn", stream="cv")} == {3}
    assert {run.distances for run in configs("tab3", distances="literal")} == {None, "literal"}


def test_filters_keep_a_part() -> None:
    assert {run.benchmark for run in configs("fig1", benchmarks=["split_cub"])} == {"split_cub"}
    runs = configs("tab4", seeds=1, rows=["A-GEM(256)", "ER-Ring"])
    assert {(run.method, run.replay_batch) for run in runs} == {("agem", 256), ("er", 10)}


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: configs("tab9"), "choose among fig1"),
        (lambda: configs("tab3", scale="huge"), "paper or quick"),
        (lambda: configs("tab3", benchmarks=["split_cub"]), "tab3 has no benchmark"),
        (lambda: configs("tab3", rows=["GEM"]), "Finetune, EWC"),
        (lambda: configs("tab3", angle=3), "no run of tab3 uses angle"),
        (lambda: configs("tab3", method="er"), "cannot be set"),
        (lambda: configs("tab3", source="cub"), "no run of tab3 can be made from"),
    ],
)
def test_a_wrong_name_is_one_sentence(call: object, sentence: str) -> None:
    with pytest.raises(ErlibError, match=sentence):
        call()


def test_a_run_finds_its_row() -> None:
    labels = {row_of(run).label for name in EXPERIMENTS for run in configs(name, seeds=1)}
    assert labels == {row.label for row in ALL_ROWS}
    for benchmark, name in ((b, n) for n, b in TABLES.items()):
        assert [row_of(run) for run in configs(name, 1) if run.samples_per_class in (None, 1)] == list(
            table_rows(benchmark)
        )
    assert label(configs("tab3", rows=["ER-Ring"])[0]) == "permuted_mnist ER-Ring, 1 per class, seed 0"


def test_the_sizes_are_the_papers() -> None:
    for name, benchmark in TABLES.items():
        found = {run.samples_per_class for run in configs(name, 1)} - {None}
        assert found == set(BENCHMARKS[benchmark].samples_per_class)


def test_plans_and_store_import_neither_torch_nor_pandas() -> None:
    code = "import sys, erlib.sweep, erlib.__main__; print({'torch', 'pandas', 'distributed'} & set(sys.modules))"
    found = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(erlib.__file__).parents[1])},
    )
    assert found.stdout == "set()\n"


def test_the_hybrid_has_the_learning_rate_that_the_cv_stream_chose() -> None:
    store, decided = Store(), []
    for benchmark in TABLES.values():
        found = [(run.lr, store.get(run)) for run in configs("tab8", benchmarks=[benchmark], rows=["ER-Hybrid"])]
        if all(result for _, result in found):  # where its runs are stored
            scores = {lr: sum(result.average_accuracy for at, result in found if at == lr) for lr, _ in found}
            assert paper_config(benchmark, "er", memory="hybrid").lr == max(scores, key=scores.get)
            decided.append(benchmark)
    assert "permuted_mnist" in decided
