"""The published numbers: spot checks by eye, and the tables against one another."""

from __future__ import annotations

import subprocess
import sys

import pytest

from erlib.errors import ErlibError
from erlib.experiments import TABLES
from erlib.paper.numbers import in_text, published, text_value, value
from erlib.protocol import BENCHMARKS, TABLE_8


def test_how_many_numbers_each_table_prints():
    counts = published().groupby("table").size().to_dict()
    assert counts == {"tab1": 20, "tab2": 10, "tab3": 53, "tab4": 53, "tab5": 53, "tab6": 45, "tab7": 24, "tab8": 36}


@pytest.mark.parametrize(
    ("table", "row", "size", "metric", "printed", "spread"),
    [
        ("tab3", "finetune", None, "accuracy", 53.5, 1.46),
        ("tab3", "ewc", None, "forgetting", 0.18, 0.01),
        ("tab3", "mer", 15, "accuracy", 81.2, 0.28),
        ("tab3", "er-reservoir", 1, "forgetting", 0.15, 0.01),
        ("tab4", "a-gem", 3, "accuracy", 56.9, 3.45),
        ("tab4", "er-ringbuffer", 5, "forgetting", 0.08, 0.02),
        ("tab4", "er-mof", 1, "forgetting", 0.12, 0.01),
        ("tab4", "multi-task", None, "accuracy", 68.3, None),
        ("tab5", "a-gem", 13, "accuracy", 54.0, 3.63),
        ("tab5", "er-reservoir", 13, "forgetting", 0.04, 0.06),
        ("tab5", "er-k-means", 1, "accuracy", 48.5, 0.35),
        ("tab6", "er-k-means", 10, "accuracy", 76.1, 1.74),
        ("tab6", "er-ringbuffer", 10, "forgetting", 0.02, 0.01),
        ("tab6", "multi-task", None, "accuracy", 65.6, None),
    ],
)
def test_spot_checks_of_the_appendix(table, row, size, metric, printed, spread):
    line = published(table, row=row, samples_per_class=size, metric=metric).iloc[0]
    assert line.value == printed
    assert line.benchmark == TABLES[table]
    assert line.spread == spread or (spread is None and line.spread != line.spread)


def test_spot_checks_of_times_and_rotation():
    assert value("tab2", row="a-gem", benchmark="split_cub") == 510
    assert value("tab2", row="er-ringbuffer", benchmark="split_cifar") == 116
    assert value("tab7", row="a-gem", angle=90, second_examples=1000, metric="memory_accuracy") == 73.3
    assert value("tab7", row="a-gem", angle=10, second_examples=20000, metric="memory_accuracy") == 100
    assert value("tab7", row="er-ringbuffer", angle=90, second_examples=20000, metric="test_accuracy") == 33.4
    assert value("tab7", row="er-ringbuffer", angle=10, second_examples=1000, metric="train_accuracy") == 85.6


def test_table_1_is_the_forgetting_of_the_appendix_at_one_sample_per_class():
    for line in published("tab1").itertuples():
        table = next(name for name, benchmark in TABLES.items() if benchmark == line.benchmark)
        size = 1 if line.memory == line.memory else None
        assert value(table, row=line.row, samples_per_class=size, metric="forgetting") == line.value


@pytest.mark.parametrize("table", TABLES)
def test_the_appendix_tables_are_complete(table):
    sizes = BENCHMARKS[TABLES[table]].samples_per_class
    with_memory = published(table).dropna(subset="samples_per_class")
    for (_row, metric), lines in with_memory.groupby(["row", "metric"]):
        assert tuple(lines.samples_per_class) == sizes
        assert lines.spread.notna().all()
        assert lines.value.between(*((0, 1) if metric == "forgetting" else (30, 100))).all()
    writers = set(with_memory[with_memory.method == "er"].memory)
    assert writers == {"ring", "kmeans", "reservoir"} | ({"mof"} if table != "tab6" else set())
    assert len(published(table, samples_per_class=None)) == 5  # finetune and EWC twice, multi-task


def test_table_8_is_the_one_that_the_configs_use():
    printed: dict[str, dict[str, dict[str, float]]] = {}
    for line in published("tab8").itertuples():
        method = "er/reservoir" if line.memory == "reservoir" and line.method == "er" else line.method
        printed.setdefault(line.benchmark, {}).setdefault(method, {})[line.metric] = line.value
    assert printed == {name: TABLE_8[name] for name in TABLES.values()}


def test_numbers_of_the_text():
    assert text_value("er_over_agem_1") == 1.7
    assert {7, 17, 1.7, 5, 15, 28, 3.5, 0.5, 85, 40, 30} <= set(in_text().value)
    assert in_text().name.is_unique


def test_questions_without_an_answer_say_so():
    with pytest.raises(ErlibError, match="no column 'size'"):
        published(size=1)
    with pytest.raises(ErlibError, match="prints 4 numbers"):
        value("tab3", row="mer", metric="accuracy")
    with pytest.raises(ErlibError, match="no number 'gain'"):
        text_value("gain")


def test_nothing_here_needs_torch():
    code = "import sys, erlib.paper.compare, erlib.paper.claims as c; c.claims(); print('torch' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "False"
