"""Tables, notes and their LaTeX, on a small store and on an empty one."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import pytest

from erlib import report
from erlib.config import paper_config
from erlib.paper.timing import FILE
from erlib.report import timing
from erlib.report.levers import changed
from erlib.report.shown import Note
from erlib.result import DIVERGED, RunResult
from erlib.store import Store
from tests.report.conftest import made_up

TABLES = ("tab1", "tab3", "tab4", "tab5", "tab6")


@pytest.mark.parametrize("name", TABLES)
def test_a_table_without_runs_shows_the_paper(name: str, opened: Any, empty_store: Path) -> None:
    page = opened(name, results=str(empty_store))
    table = report.comparison(page, "forgetting")
    assert set(table.frame.verdict) == {"not run"}
    assert "paper 0." in table.html()
    assert f"not run {len(report.lines(page))}." in repr(report.counts(page))


def test_a_cell_shows_ours_the_papers_the_distance_and_the_word(opened: Any) -> None:
    table = report.comparison(opened("tab3"), "accuracy")
    ours, paper, verdict = table.shown.loc["ER-Ring", "1"].split("\n")
    assert ours.endswith("(n = 3)")
    assert paper == "paper 70.2 ± 0.6"
    assert verdict.split(" · ")[1] in ("reproduced", "differs", "inconclusive")
    assert table.shown.loc["ER-k-means", "1"].endswith("not run")
    html = table.html()
    assert html == report.comparison(opened("tab3"), "accuracy").html()
    assert "background-color" in html
    assert "0x" not in repr(table)


def test_what_further_seeds_could_call_reproduced(opened: Any, empty_store: Path) -> None:
    page = opened("tab3")
    cells = report.lines(page).query("verdict == 'inconclusive'")
    shown = report.room(page).shown
    assert len(shown) == len(cells) > 0
    words = dict(zip(shown.index, shown["can be called reproduced"]))
    for _, cell in cells.iterrows():
        size = "" if cell.isna()["size"] else f", {cell['size']} per class"
        word = words[f"{cell['row']}{size}, {'A_T' if cell.metric == 'accuracy' else 'F_T'}"]
        may = abs(cell.difference) < cell.room
        assert word == ("further seeds may" if may else "not at this distance" if cell.room > 0 else "at no distance")
    counts = [list(words.values()).count(w) for w in ("further seeds may", "not at this distance", "at no distance")]
    text = repr(report.room_counts(page))
    assert [int(part) for part in re.findall(r"\b\d+\b", text)] == [len(cells), *counts]
    nothing = opened("tab3", results=str(empty_store))
    assert "No cell" in repr(report.room(nothing))
    assert "No cell" in repr(report.room_counts(nothing))


def test_methods_and_seeds_reach_the_table(opened: Any) -> None:
    table = report.comparison(opened("tab3", methods=["ER-Ring"], seeds=2), "accuracy")
    assert list(table.shown.index) == ["ER-Ring"]
    assert "(n = 2)" in table.shown.iloc[0, 0]


def test_latex_has_a_line_for_each_row(opened: Any) -> None:
    table = report.comparison(opened("tab3"), "accuracy")
    latex = report.to_latex(table)
    assert latex.count(r"\makecell") >= len(table.shown)
    assert r"\caption" in latex
    assert "±" not in latex
    assert all(line.count("{") == line.count("}") for line in latex.splitlines())
    assert "10\\textdegree{}" in report.to_latex(report.rotation_table(opened("tab7")))


def test_what_the_cv_stream_was_asked(opened: Any, empty_store: Path) -> None:
    shown = report.asked(opened("tab4", results=str(empty_store)), "cv_questions").shown
    mer = ["MER(single)", "MER(single), running BN", "MER(single), averages apart", "MER(single), shared BN"]
    assert list(shown.index[:5]) == [*mer, "MER(batch)"]
    assert list(shown["learning rate"].iloc[5:]) == ["0.03", "0.03", "0.1", "0.1"]
    assert set(shown.iloc[:, 1]) == {"not run"}


def test_reservoir_and_ring_with_the_same_learning_rate(opened: Any, tmp_path: Path, empty_store: Path) -> None:
    store = Store(tmp_path)
    levels = {("reservoir", 0.1): (0.68, 3), ("ring", 0.03): (0.62, 3), ("reservoir", 0.03): (0.65, 2)}
    for (memory, lr), (level, seeds) in levels.items():
        for seed in range(seeds):
            config = paper_config("split_cifar", "er", memory=memory, samples_per_class=13, lr=lr, seed=seed)
            store.put(
                RunResult(
                    config=config,
                    accuracy=_level(level + 0.1 * (seed == 2 and memory == "reservoir"), 17),
                    seconds={"train": 1.0},
                )
            )
    line = report.same_rate(opened("tab4", results=str(tmp_path))).shown.loc["13 per class"]
    assert line["both 0.03"] == "+3.0 (n = 2)\n+3.0 to +3.0"
    assert line["each its own: 0.1, 0.03"] == "+6.0 (n = 2)\n+6.0 to +6.0"  # the third seed has no partner
    assert line["both 0.1"] == "not run"
    assert set(report.same_rate(opened("tab4", results=str(empty_store))).shown.iloc[0]) == {"not run"}
    assert "among `methods`" in repr(report.same_rate(opened("tab4", methods=["ER-Ring"])))


def test_rows_beyond_the_paper(opened: Any, empty_store: Path) -> None:
    shown = report.beyond(opened("tab3"), "beyond_mnist").shown
    assert "(n = 3)" in shown.loc["ER-Hybrid", "1"]
    assert shown.loc["ER-Full ring", "1"] == "not run"
    assert set(report.beyond(opened("tab3", results=str(empty_store)), "beyond_mnist").shown.iloc[0]) == {"not run"}


def test_a_lever_is_found_by_what_it_changes(opened: Any, tmp_path: Path, empty_store: Path) -> None:
    store = Store(tmp_path)
    for seed in range(2):
        for change in ({}, {"init": "pytorch"}):
            store.put(made_up(paper_config("permuted_mnist", "finetune", seed=seed, **change)))
    table = report.levers(opened("tab3", results=str(tmp_path)))
    assert table.shown.loc["Finetune", "lever"] == "init: paper → pytorch"
    assert table.shown.loc["Finetune", "n"] == 2
    runs = {(run.config.init, run.config.seed): run.forgetting for run in store.load()}
    change = sum(runs["pytorch", seed] - runs["paper", seed] for seed in range(2)) / 2
    assert table.shown.loc["Finetune", "change of F_T"] == f"{change:+.3f}".replace("-", "−")
    assert "replay_current: False → True" in repr(report.levers(opened("tab3")))
    plain = paper_config("split_cifar", "finetune")
    assert changed(plain.replace(bn_eps=1e-5), plain) == "bn_eps: default → 1e-05"
    assert isinstance(report.levers(opened("tab3", results=str(empty_store))), Note)


def test_a_differing_cell_shows_what_each_lever_leaves_of_it(opened: Any, tmp_path: Path, empty_store: Path) -> None:
    store = Store(tmp_path)
    for init, level in (("paper", 0.435), ("pytorch", 0.505)):
        for seed in range(5):
            config = paper_config("permuted_mnist", "finetune", seed=seed, init=init)
            store.put(RunResult(config=config, accuracy=_level(level + seed / 10_000), seconds={"train": 1.0}))
    shown = report.differing(opened("tab3", results=str(tmp_path))).shown
    line = shown.loc["Finetune, A_T"]
    assert line["distance"] == "−10.0"  # the paper prints 53.5
    assert line["levers"] == "init: paper → pytorch: +7.0, leaves −3.0 (n = 5)"
    for reference, level in ((10, 0.521), (256, 0.631)):
        for seed in range(5):
            config = paper_config("permuted_mnist", "agem", seed=seed, replay_batch=reference)
            store.put(RunResult(config=config, accuracy=_level(level + seed / 10_000), seconds={"train": 1.0}))
    line = report.differing(opened("tab3", results=str(tmp_path))).shown.loc["A-GEM(10), 1 per class, A_T"]
    assert line["levers"] == "the other reading, A-GEM(256): leaves +1.0 (n = 5)"  # the paper prints 62.1
    assert "No cell" in repr(report.differing(opened("tab3", results=str(empty_store))))


def _level(accuracy: float, tasks: int = 20) -> list[list[float | None]]:
    return [[accuracy if j <= i else None for j in range(tasks)] for i in range(tasks)]


def test_the_best_and_the_papers_learning_rate_are_marked(opened: Any, tmp_path: Path) -> None:
    page = opened("tab8", results=str(tmp_path), methods=["Finetune"], benchmarks=["permuted_mnist"], seeds=1)
    assert report.choices(page, "permuted_mnist").shown.loc["Finetune", "lr 0.1"] == "not run ◆"
    for config in page.wanted["tab8"]:
        Store(tmp_path).put(made_up(config))
    page = opened("tab8", results=str(tmp_path), methods=["Finetune"], benchmarks=["permuted_mnist"], seeds=1)
    cells = report.choices(page, "permuted_mnist").shown.loc["Finetune"]
    assert sum("★" in cell for cell in cells) == 1
    assert "of 1 methods (1 seed each)" in repr(report.agreement(page))
    assert isinstance(report.choices(page, "split_cub"), Note)
    worst = page.wanted["tab8"][-1]  # lr 1
    Store(tmp_path).put(dataclasses.replace(made_up(worst), events=[{"name": DIVERGED, "task": 2, "step": None}]))
    page = opened("tab8", results=str(tmp_path), methods=["Finetune"], benchmarks=["permuted_mnist"], seeds=1)
    cells = report.choices(page, "permuted_mnist").shown.loc["Finetune"]
    assert [cell.partition("\n")[2] for cell in cells] == [""] * 5 + ["1 of 1 diverged"]


def test_learning_rates_are_compared_on_the_seeds_that_all_have(opened: Any, tmp_path: Path) -> None:
    chosen = {"results": str(tmp_path), "methods": ["Finetune"], "benchmarks": ["permuted_mnist"], "seeds": 2}
    for config in opened("tab8", **chosen).wanted["tab8"]:
        level = 0.5 if config.seed else (0.8 if config.lr == 0.03 else 0.7)  # 0.03 alone has the bad second seed
        if config.seed == 0 or config.lr == 0.03:
            Store(tmp_path).put(RunResult(config=config, accuracy=[[level] * 3] * 3))
    cells = report.choices(opened("tab8", **chosen), "permuted_mnist").shown.loc["Finetune"]
    assert cells["lr 0.03"] == "65.0 (n = 2) ★"


def test_learning_time_shows_the_papers_ratios(opened: Any, tmp_path: Path) -> None:
    assert timing.paper_ratios() == {"finetune": 1.0, "ewc": 1.83, "a-gem": 2.64, "mer": 8.68, "er-ringbuffer": 1.33}
    page = opened("tab2", results=str(tmp_path))
    assert "not measured yet" in repr(report.ordering(page))
    assert "erlib bench --only timing" in repr(report.rounds(page))
    seconds = {"Finetune": [1.0, 2.0], "EWC": [1.4, 2.8], "ER-Ring": [1.8, 4.0], "A-GEM(10)": [2.2, 4.4]}
    content = {"seconds": {"split_cifar": seconds}, "steps": {"split_cifar": dict.fromkeys(seconds, 5) | {"EWC": 1}}}
    machine = {"cpu": "abacus", "torch": "2", "when": "2026-01-01T00:00", "load": 0.5}
    (tmp_path / FILE).write_text(json.dumps(content | {"machine": machine}))
    assert report.learning_table(page).shown.loc["ER-Ring", ("Split CIFAR", "ours")] == "1.90 ± 0.14"
    assert "Finetune < EWC < ER-Ring < A-GEM(10)" in repr(report.ordering(page))
    assert "Split CUB: not measured yet" in repr(report.ordering(page))
    assert "Split CIFAR: 2 rounds of 5 steps a row (EWC 1)." in repr(report.rounds(page))


def test_the_ledger_is_readable_with_and_without_runs(opened: Any, empty_store: Path) -> None:
    for results in ({}, {"results": str(empty_store)}):
        lines = report.claim_lines(opened("claims", **results))
        assert len(report.claim_table(lines).shown) == lines.claim.nunique()
        assert len(report.evidence_table(lines).shown) == len(lines)
        assert f"Of {lines.claim.nunique()} claims" in repr(report.claim_counts(lines))


def test_a_note_escapes_and_marks_code() -> None:
    html = Note("a < b, run `python -m erlib`")._repr_mimebundle_()["text/html"]
    assert html == "<p>a &lt; b, run <code>python -m erlib</code></p>"
