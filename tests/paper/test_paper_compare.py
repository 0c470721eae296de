"""The tables beside the paper's, from stores made by hand."""

from __future__ import annotations

import json
import math
import statistics

import pytest

from erlib import registry
from erlib.errors import ErlibError
from erlib.experiments import TABLES, configs
from erlib.paper.compare import NAMES, table
from erlib.paper.numbers import published
from erlib.paper.timing import FILE
from erlib.result import RunResult
from erlib.rows import row_of
from erlib.store import Store


def stored(store, config, last=0.7, first=0.8):
    """A run whose A_T is `last` and whose F_T is `first - last`."""
    tasks = config.tasks
    matrix = [[first if j <= i else None for j in range(tasks)] for i in range(tasks - 1)] + [[last] * tasks]
    store.put(RunResult(config=config, accuracy=matrix))
    return config.run_id


def ring(seeds, **changes):
    """ER-Ring on Permuted MNIST at one sample per class."""
    found = [c for c in configs("tab3", seeds=seeds, rows=["ER-Ring"]) if c.samples_per_class == 1]
    return [config.replace(**changes) for config in found]


def cell(frame, row="ER-Ring", size=1, metric="accuracy"):
    found = frame[(frame.row == row) & (frame["size"].fillna(0) == size) & (frame.metric == metric)]
    assert len(found) == 1
    return found.iloc[0]


@pytest.mark.parametrize("name", NAMES)
def test_an_empty_store_gives_the_whole_table_as_not_run(tmp_path, name):
    frame = table(name, Store(tmp_path))
    assert set(frame.verdict) == {"not run"}
    assert (frame.n == 0).all()
    assert frame.difference.isna().all()
    assert frame.paper.notna().all()
    printed = published(name)
    assert set(zip(frame.paper_row, frame.benchmark)) == set(zip(printed.row, printed.benchmark))


def test_agem_and_mer_have_two_lines_with_the_same_number_of_the_paper(tmp_path):
    frame = table("tab4", Store(tmp_path))
    for row, readings in (("a-gem", {"A-GEM(10)", "A-GEM(256)"}), ("mer", {"MER(single)", "MER(batch)"})):
        lines = frame[(frame.paper_row == row) & (frame["size"] == 3) & (frame.metric == "accuracy")]
        assert set(lines.row) == readings
        assert lines.paper.nunique() == 1
    assert len(frame) == len(published("tab4")) + 2 * 8


def test_one_cell_by_hand(tmp_path):
    store, values = Store(tmp_path), [0.69, 0.70, 0.71]
    ids = [stored(store, config, last=value) for config, value in zip(ring(3), values)]
    line = cell(table("tab3", store))
    assert line.run_ids == tuple(ids)
    assert (line.n, line.paper, line.paper_spread) == (3, 70.2, 0.56)
    assert line.ours == pytest.approx(70.0)
    assert line.ours_std == pytest.approx(statistics.stdev([69, 70, 71]))
    assert line.difference == pytest.approx(-0.2)
    assert line.low < -0.2 < line.high
    assert line.verdict == "reproduced"  # half a width of 1.5 around -0.2, inside 2
    forgotten = cell(table("tab3", store), metric="forgetting")
    assert forgotten.ours == pytest.approx(0.1)
    assert forgotten.difference == pytest.approx(-0.02)


def test_the_store_and_its_frame_give_the_same_table(tmp_path):
    store = Store(tmp_path)
    for config in ring(2):
        stored(store, config)
    frame = store.frame(curves=True)
    assert table("tab3", frame).equals(table("tab3", store))


@pytest.mark.parametrize(
    "changes",
    [{"source": "mnist-5k"}, {"tasks": 19}, {"lr": 0.03}, {"replay_current": True}, {"test_examples": 1000}],
)
def test_a_run_of_another_setting_is_not_ours(tmp_path, changes):
    store = Store(tmp_path)
    for config in ring(3, **changes):
        stored(store, config)
    assert set(table("tab3", store).verdict) == {"not run"}


def test_a_stale_run_is_not_ours(tmp_path, monkeypatch):
    store = Store(tmp_path)
    for config in ring(3):
        stored(store, config)
    assert cell(table("tab3", store)).n == 3
    monkeypatch.setitem(registry.NUMERICS, "ring", 10**6)
    assert cell(table("tab3", store)).n == 0


def test_seeds_count_from_zero_without_a_gap(tmp_path):
    store = Store(tmp_path)
    for config in ring(6):
        if config.seed not in (2,):
            stored(store, config)
    line = cell(table("tab3", store))
    assert line.n == 2
    assert line.note == "3 more wait for seed 2"
    stored(store, ring(3)[2])
    assert cell(table("tab3", store)).n == 6
    assert cell(table("tab3", store, seeds=4)).n == 4


def test_seeds_beyond_the_plan_count_too(tmp_path):
    store = Store(tmp_path)
    for config in ring(12):
        stored(store, config)
    assert cell(table("tab3", store)).n == 12


def test_one_run_is_named(tmp_path):
    store = Store(tmp_path)
    stored(store, ring(1)[0])
    line = cell(table("tab3", store))
    assert (line.verdict, line.note, line.n) == ("inconclusive", "one run", 1)
    assert line.difference == pytest.approx(-0.2)
    assert math.isnan(line.low)


def test_table_1_takes_its_spread_from_the_appendix(tmp_path):
    frame = table("tab1", Store(tmp_path))
    agem = frame[(frame.row == "A-GEM(256)") & (frame.benchmark == "split_cifar")].iloc[0]
    assert (agem.paper, agem.paper_spread) == (0.14, 0.03)


def test_multitask_shows_its_distance_only(tmp_path):
    store = Store(tmp_path)
    for config in configs("tab3", seeds=2, rows=["Multi-task"]):
        store.put(RunResult(config=config, accuracy=[[None] * 20] * 19 + [[0.85] * 20]))
    line = cell(table("tab3", store), row="Multi-task", size=0)
    assert (line.verdict, line.n) == ("distance only", 2)
    assert line.difference == pytest.approx(2.0)


def test_table_7_reads_the_final_accuracies(tmp_path):
    store = Store(tmp_path)
    for config in configs("tab7", seeds=2):
        level = {"ER-Ring": 0.9, "A-GEM(10)": 0.6}[row_of(config).label] + config.angle / 1000
        final = {part: {"accuracy": level, "loss": 0.1} for part in ("train", "memory", "test")}
        store.put(RunResult(config=config, accuracy=[[0.8, None], [0.7, 0.8]], final=final))
    frame = table("tab7", store)
    assert set(frame.verdict) == {"distance only"}
    line = frame[(frame.paper_row == "a-gem") & (frame.angle == 90) & (frame.second_examples == 1000)].iloc[1]
    assert (line.metric, line.paper, line.row) == ("memory_accuracy", 73.3, "A-GEM(10)")
    assert line.ours == pytest.approx(69.0)
    assert line.difference == pytest.approx(-4.3)
    with pytest.raises(ErlibError, match="curves=True"):
        table("tab7", store.frame())


def test_table_2_compares_ratios_to_finetune(tmp_path):
    seconds = {"Finetune": [10, 20], "ER-Ring": [15, 32], "A-GEM(256)": [100, 200]}
    (tmp_path / FILE).write_text(json.dumps({"seconds": {"split_cifar": seconds}}))
    frame = table("tab2", Store(tmp_path)).query("benchmark == 'split_cifar'").set_index("row")
    assert frame.ours["ER-Ring"] == pytest.approx(1.55)
    assert frame.paper["ER-Ring"] == pytest.approx(116 / 87)
    assert frame.verdict["A-GEM(256)"] == "distance only"
    assert frame.verdict["A-GEM(10)"] == "not run"
    with pytest.raises(ErlibError, match="store itself"):
        table("tab2", Store(tmp_path).frame())
    (tmp_path / FILE).write_text("[]")
    with pytest.raises(ErlibError, match="holds no learning times"):
        table("tab2", Store(tmp_path))


def test_an_unknown_table_is_named():
    with pytest.raises(ErlibError, match="tab1, tab2"):
        table("tab8", Store("nowhere"))


def test_every_cell_of_the_appendix_is_planned():
    """A published number whose runs no experiment lists would be left out silently."""
    for name in TABLES:
        frame = table(name, Store("nowhere"))
        assert {*zip(frame.paper_row, frame["size"].fillna(0), frame.metric)} == {
            *zip(published(name).row, published(name).samples_per_class.fillna(0), published(name).metric)
        }
