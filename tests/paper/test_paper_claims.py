"""The ledger: its lines by hand, its judgement, and what the paper's own tables say."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from erlib.experiments import configs
from erlib.paper.claims import RULE, claims, ledger, summary
from erlib.paper.claims_results import best_writer
from erlib.paper.claims_writers import evicted_classes
from erlib.paper.lines import WORDS, interval, judged
from erlib.paper.timing import FILE
from erlib.protocol import BENCHMARKS
from erlib.result import RunResult
from erlib.rows import row_of
from erlib.store import Store

ISSUE_5 = {
    "er-over-no-memory",
    "gain-7-to-17",
    "cifar-gain-15",
    "cifar-gain-28",
    "cifar-over-agem-1.7",
    "cifar-over-agem-5",
    "er-over-memory-methods",
    "lowest-forgetting",
    "grows-with-memory",
    "no-saturation",
    "reservoir-best-from-3",
    "balanced-best-at-1",
    "cifar-kmeans-over-reservoir",
    "cifar-balanced-within-0.5",
    "reservoir-evicts",
    "hybrid-at-least-as-good",
    "slight-overhead",
    "cheaper-than-agem-and-mer",
    "memory-loss-near-zero",
    "memory-alone-overfits-continued",
    "memory-alone-overfits-fresh",
    "positive-transfer",
    "both-over-task-2",
    "task-2-harms-at-60-continued",
    "task-2-harms-at-60-fresh",
    "agem-not-perfect",
    "agem-underfits",
}


def put(store, config, last, first=0.8, **parts):
    tasks = config.tasks
    matrix = [[first if j <= i else None for j in range(tasks)] for i in range(tasks - 1)] + [[last] * tasks]
    store.put(RunResult(config=config, accuracy=matrix, **parts))


def fill(store, name, level, seeds=3, **part):
    """Runs of an experiment whose A_T is level(config)."""
    for config in configs(name, seeds=seeds, **part):
        put(store, config, level(config))


def of(frame, claim):
    return frame[frame.claim == claim]


def test_every_claim_is_there_once_and_says_where():
    ids = [claim.id for claim in claims()]
    assert len(ids) == len(set(ids))
    assert set(ids) >= ISSUE_5
    for claim in claims():
        assert claim.lines
        assert "ection" in claim.where or "Fig." in claim.where or "Tab." in claim.where
        assert len({line.what for line in claim.lines}) == len(claim.lines)
        for line in claim.lines:
            assert line.least < line.most
            for config in line.arms:
                assert (config.seed, config.stream) == (0, "ev")
                assert config.source == BENCHMARKS[config.benchmark].sources[0]


def test_an_empty_store_judges_nothing(tmp_path):
    frame = ledger(Store(tmp_path))
    assert set(frame.judgement) == {"not run"}
    assert (frame.n == 0).all()
    assert set(summary(frame).judgement) == {"not run"}


def test_what_the_papers_own_tables_say(tmp_path):
    frame = ledger(Store(tmp_path))
    against = frame[frame.paper_table == "does not support"]
    assert set(against.claim) == {"er-over-memory-methods", "no-saturation", "reservoir-best-from-3", "agem-underfits"}
    mer = of(against, "er-over-memory-methods").what.tolist()
    assert all("MER" in what and "MNIST" in what and (" 5 per" in what or " 15 per" in what) for what in mer)
    at_3 = of(against, "reservoir-best-from-3").what[lambda w: w.str.contains("3 per class")]
    for benchmark in ("Split CIFAR", "Split CUB", "Split miniImageNet"):
        assert at_3.str.contains(benchmark).any()
    assert not at_3.str.contains("MNIST").any()
    seventeen = of(frame, "gain-7-to-17").paper
    assert (round(seventeen.min(), 1), round(seventeen.max(), 1)) == (7.1, 16.7)
    assert of(frame, "cifar-over-agem-1.7").paper.round(6).tolist() == [1.7, 1.7]
    assert of(frame, "cifar-over-agem-5").paper.round(6).tolist() == [5.4, 5.4]
    assert of(frame, "cifar-gain-28").paper.round(6).tolist() == [27.9, 27.3]


def test_er_without_a_writer_is_the_best_of_the_papers_table():
    assert best_writer("split_cifar", 13).label == "ER-Reservoir"
    assert best_writer("split_cifar", 1).label == "ER-k-means"  # MoF has the same 56.6
    assert best_writer("split_miniimagenet", 1).label == "ER-Ring"


def test_a_paired_difference_by_hand(tmp_path):
    store, spread = Store(tmp_path), [0.0, 0.01, 0.05]
    levels = {"ER-Ring": 0.70, "Finetune": 0.55, "EWC": 0.70}
    for config in configs("tab3", seeds=3, rows=list(levels)):
        if config.samples_per_class in (None, 1):
            extra = 0.01 * config.seed if config.method == "er" else 0.0  # 15, 16, 17 points over finetune
            put(store, config, levels[row_of(config).label] + spread[config.seed] + extra)
    lines = of(ledger(store), "er-over-no-memory")
    finetune, ewc = lines.iloc[0], lines.iloc[1]
    assert (finetune.n, finetune.judgement) == (3, "holds")
    assert finetune["mean"] == pytest.approx(16.0)
    half = stats.t.ppf(0.975, 2) / math.sqrt(3)
    assert (finetune.low, finetune.high) == pytest.approx((16 - half, 16 + half))
    assert len(finetune.run_ids) == 6
    assert ewc.judgement == "not enough runs"  # 0, 1, 2 points
    between = of(ledger(store), "gain-7-to-17").iloc[0]
    assert between.judgement == "not enough runs"  # the interval crosses 17
    assert of(ledger(store, seeds=1), "er-over-no-memory").iloc[0].judgement == "not enough runs"
    whole = summary(ledger(store)).set_index("claim")
    assert whole.judgement["er-over-no-memory"] == "not enough runs"
    assert whole["not run"]["er-over-no-memory"] == 6


def test_only_seeds_that_all_arms_have_are_paired(tmp_path):
    store = Store(tmp_path)
    fill(store, "tab3", lambda c: 0.7 + 0.01 * c.seed, seeds=4, rows=["ER-Ring"])
    fill(store, "tab3", lambda c: 0.5, seeds=2, rows=["Finetune"])
    line = of(ledger(store), "er-over-no-memory").iloc[0]
    assert line.n == 2
    assert line["mean"] == pytest.approx(20.5)


def test_numbers_named_in_a_sentence(tmp_path):
    store = Store(tmp_path)
    level = {"ER-k-means": 0.566, "ER-Reservoir": 0.531, "ER-Ring": 0.562, "ER-MoF": 0.50}
    level |= {"A-GEM(10)": 0.46, "A-GEM(256)": 0.60}
    fill(store, "tab4", lambda c: level[row_of(c).label] + 0.001 * (c.seed * len(c.memory) % 3), rows=list(level))
    frame = ledger(store)
    below = of(frame, "cifar-kmeans-over-reservoir").iloc[0]
    assert (below.judgement, below.claimed, bool(below.claimed_inside)) == ("holds", 3.5, True)
    agem = of(frame, "cifar-over-agem-1.7")
    assert agem.judgement.tolist() == ["holds", "does not hold"]
    assert agem.claimed_inside.tolist() == [False, False]
    within = of(frame, "cifar-balanced-within-0.5").set_index("what").judgement
    assert within["ER-k-means − ER-MoF, Split CIFAR, 1 per class"] == "does not hold"
    assert summary(frame).set_index("claim").judgement["cifar-over-agem-1.7"] == "does not hold"


def test_reservoir_evicting_classes_is_counted_from_the_memory(tmp_path):
    store = Store(tmp_path)
    for config in configs("tab3", seeds=2, rows=["ER-Reservoir"]):
        # tasks 0 to 17 whole; of task 18 one class evicted and one never written; of the last task nothing
        memory = {f"{t}/{y}": 1 for t in range(18) for y in range(10)} | {f"18/{y}": 1 for y in range(8)} | {"18/8": 0}
        put(store, config, 0.7, memory=memory)
    assert {evicted_classes(run) for run in store.load()} == {2}
    line = of(ledger(store), "reservoir-evicts").iloc[0]
    assert (line["mean"], line.judgement, line.unit) == (2, "holds", "classes")


def test_the_hybrid_is_followed_along_the_stream(tmp_path):
    store = Store(tmp_path)
    for config in configs("fig2", seeds=3):
        early, late = {"hybrid": (0.6, 0.5), "reservoir": (0.6, 0.4), "ring": (0.5, 0.55), "full_ring": (0.6, 0.5)}[
            config.memory
        ]
        matrix = [[early if i < 8 else late] * (i + 1) + [None] * (16 - i) for i in range(17)]
        store.put(RunResult(config=config, accuracy=matrix))
    frame = ledger(store)
    assert of(frame, "hybrid-over-ring-early").judgement.tolist() == ["holds"]
    assert of(frame, "hybrid-over-ring-early")["mean"].iloc[0] == pytest.approx(10.0)
    assert of(frame, "hybrid-over-reservoir-late")["mean"].iloc[0] == pytest.approx(10.0)
    good = of(frame, "hybrid-at-least-as-good").set_index("what").judgement
    assert good["ER-Hybrid − ER-Ring, A_k after tasks 9 to 17"] == "does not hold"
    assert good["ER-Hybrid − ER-Full ring, A_k after tasks 1 to 8"] == "holds"


def rotated(store, config, start, end, memory=1.0, loss=0.01):
    steps = [0, 100, 2000]
    curves = {
        "test_accuracy": {"step": steps, "value": [start, start, end]},
        "memory_loss": {"step": steps, "value": [1.0, loss * 30, loss]},
    }
    final = {"test": {"accuracy": end, "loss": 1.0}, "train": {"accuracy": end, "loss": 1.0}}
    final["memory"] = {"accuracy": memory, "loss": loss}
    store.put(RunResult(config=config, accuracy=[[start, None], [end, 0.9]], curves=curves, final=final))


def test_the_rotation_analysis(tmp_path):
    store = Store(tmp_path)
    end = {"Finetune": 0.30, "ER-Ring": 0.45, "Memory only": 0.82, "Memory only, fresh network": 0.41}
    for config in configs("fig3", seeds=3):
        noise = 0.001 * config.seed
        rotated(store, config, 0.84 + noise, end[row_of(config).label] - noise)
    frame = ledger(store).set_index("what")
    loss = frame[frame.claim == "memory-loss-near-zero"].judgement
    assert loss["loss on the memory after 100 steps, 20°"] == "does not hold"
    assert loss["loss on the memory in the end, 60°"] == "holds"
    continued = of(frame, "memory-alone-overfits-continued")
    assert continued.judgement.tolist() == ["holds", "does not hold"]  # it falls, but not to 40%
    assert continued.claimed.tolist() == [45, 40]
    assert of(frame, "memory-alone-overfits-fresh").judgement.tolist() == ["holds", "holds"]
    assert of(frame, "after-task-1").judgement.tolist() == ["holds"]
    assert of(frame, "both-over-task-2").judgement.tolist() == ["holds"] * 3
    assert of(frame, "task-2-regularises-fresh").judgement.tolist() == ["holds"] * 2
    assert of(frame, "task-2-regularises-continued").judgement.tolist() == ["does not hold"] * 2
    assert of(frame, "task-2-harms-at-60-continued").judgement.tolist() == ["holds", "does not hold"]
    assert of(frame, "task-2-harms-at-60-fresh").judgement.tolist()[0] == "does not hold"
    assert of(frame, "positive-transfer").judgement.tolist() == ["not run", "does not hold"]


def test_memory_and_training_set_of_table_7(tmp_path):
    store = Store(tmp_path)
    for config in configs("tab7", seeds=3):
        agem = config.method == "agem"
        perfect = not agem or config.second_examples == 20000
        rotated(store, config, 0.8, 0.6 - 0.1 * agem + 0.001 * config.seed, memory=1.0 if perfect else 0.9)
    frame = ledger(store)
    for claim in ("memory-perfect", "agem-not-perfect", "agem-perfect-later", "agem-underfits"):
        assert set(of(frame, claim).judgement) == {"holds"}
    gap = of(frame, "agem-underfits").iloc[0]
    assert (gap.low, gap.high) == pytest.approx((10, 10))


def test_learning_times(tmp_path):
    seconds = {
        "Finetune": [10, 20, 15],
        "ER-Ring": [14, 27, 20],
        "A-GEM(10)": [13, 25, 19],
        "MER(single)": [90, 170, 120],
    }
    (tmp_path / FILE).write_text(json.dumps({"seconds": {"split_cifar": seconds}, "machine": "test"}))
    frame = ledger(Store(tmp_path)).set_index("what").judgement
    assert frame["time of ER-Ring / Finetune, Split CIFAR"] == "holds"
    assert frame["time of A-GEM(10) / ER-Ring, Split CIFAR"] == "does not hold"
    assert frame["time of MER(single) / ER-Ring, Split CIFAR"] == "holds"
    assert frame["time of MER(batch) / ER-Ring, Split CIFAR"] == "not run"
    assert frame["time of ER-Ring / Finetune, Split CUB"] == "not run"


@pytest.mark.parametrize(
    ("values", "least", "most", "word"),
    [
        ([], 0, math.inf, "not run"),
        ([5.0], 0, math.inf, "not enough runs"),
        ([1.0, 1.1, 1.2], 0, math.inf, "holds"),
        ([-1.0, -1.1, -1.2], 0, math.inf, "does not hold"),
        ([-1.0, 1.0], 0, math.inf, "not enough runs"),
        ([0.0, 0.0], 0, math.inf, "does not hold"),  # all seeds alike, and not above 0
        ([0.1, 0.12, 0.11], -0.5, 0.5, "holds"),
        ([0.9, 0.92, 0.91], -0.5, 0.5, "does not hold"),
        ([-0.9, -0.92, -0.91], -0.5, 0.5, "does not hold"),
        ([0.4, 0.5, 0.6], -0.5, 0.5, "not enough runs"),
    ],
)
def test_the_judgement(values, least, most, word):
    assert judged(values, least, most) == word


@given(st.lists(st.floats(-10, 10), min_size=2, max_size=8), st.floats(-5, 5), st.floats(0.01, 5))
def test_a_wider_range_never_speaks_against_the_claim(values, least, width):
    narrow, wide = judged(values, least, least + width), judged(values, least - 1, least + width + 1)
    order = ("does not hold", "not enough runs", "holds")
    assert order.index(wide) >= order.index(narrow)


@given(st.lists(st.floats(-100, 100), min_size=2, max_size=8).filter(lambda v: max(v) - min(v) > 1e-3))
def test_the_interval_is_that_of_scipy(values):
    theirs = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert interval(values) == pytest.approx((theirs.low, theirs.high))


def test_the_printed_rule_names_every_word_and_constant():
    for text in (*WORDS, "95%", "1 point", "2 times", "0.1", "5 points"):
        assert text in RULE
