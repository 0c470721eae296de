"""The bench: fair yardsticks, a stable schema, a light start. Times never decide a test."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from erlib import bench
from erlib.errors import ErlibError
from erlib.paper.timing import learning_times, ratios
from erlib.rows import MAIN_ROWS

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench"))

import bare  # noqa: E402
import compare  # noqa: E402
import plan  # noqa: E402
import report  # noqa: E402
import work  # noqa: E402

METHODS = {"finetune": {}, "er": {"memory": "ring"}, "agem": {}, "ewc": {}, "mer": {}}


@pytest.fixture(autouse=True)
def small_images(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Random images, few of them, and only for the test."""
    small = {name: (*facts[:2], 20 * facts[1], facts[1]) for name, facts in work.SHAPES.items()}
    monkeypatch.setattr(work, "SHAPES", small)
    work.images.cache_clear()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    monkeypatch.setattr(work.make, "load", lambda source, benchmark, data: work.images(benchmark))
    yield
    torch.set_num_threads(threads)
    work.images.cache_clear()


@pytest.mark.parametrize("benchmark", ["permuted_mnist", "split_cifar"])
@pytest.mark.parametrize("method", METHODS)
def test_the_bare_loop_does_the_same_arithmetic(method: str, benchmark: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the same state and the same examples, erlib and the bare loop arrive at the same weights."""
    sizes = {
        "tasks": 3,
        "examples_per_task": 50,
        "source": "mnist-5k" if benchmark == "permuted_mnist" else "cifar100",
    }
    config = work.config(benchmark, method, **METHODS[method], **sizes)
    learner, stream = work.prepare(config, 2)
    task = stream.tasks[2]
    lower = bare.Bare(learner, stream, task)
    before = [p.detach().clone() for p in lower.params]
    slots: list[torch.Tensor] = []  # those that erlib replays
    if learner.memory is not None:
        at = learner.memory.at
        monkeypatch.setattr(learner.memory, "at", lambda chosen: slots.append(chosen) or at(chosen))
    # One step of MER, whose reservoir overwrites what is replayed, and of A-GEM, whose rounding batch norm magnifies.
    for step in range(1 if method in ("mer", "agem") else 3):
        rows = torch.arange(10 * step, 10 * step + 10)
        learner.observe(*task.train.rows(rows), task.id)
        past = lower.rows + slots[-1] if slots else torch.empty(0, dtype=torch.int64)
        assert torch.isin(past, lower.slots).all()
        getattr(lower, method)(rows, past)
    assert len(past) == (10 if slots else 0)
    moved = torch._foreach_norm([p.detach() - start for p, start in zip(learner.params, before)])
    apart = torch._foreach_norm([p.detach() - q.detach() for p, q in zip(learner.params, lower.params)])
    assert min(moved) > 0
    assert max(a / m for a, m in zip(apart, moved)) < 1e-4


@pytest.mark.parametrize("benchmark", ["permuted_mnist", "split_cifar"])
def test_a_contender_does_the_steps_it_counts(benchmark: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = {
        "tasks": 3,
        "examples_per_task": 50,
        "source": "mnist-5k" if benchmark == "permuted_mnist" else "cifar100",
    }
    learner, stream = work.prepare(work.config(benchmark, "er", memory="ring", **sizes), 2)
    seen: list[tuple[int, int]] = []
    monkeypatch.setattr(learner, "observe", lambda x, y, t: seen.append((len(y), t)))
    assert work.learning(learner, stream.tasks[2], 25)() == 25
    assert seen == [(10, 2)] * 25
    assert bare.evaluating(learner, stream, 2)() == sum(len(task.test) for task in stream.tasks[:2]) / 1000


def test_alternating_gives_seconds_and_the_ratio_to_the_first() -> None:
    calls: list[str] = []
    contenders = {name: lambda name=name: calls.append(name) or 2 for name in ("bare", "erlib")}
    numbers = work.alternate(contenders, 3)
    assert calls == ["bare", "erlib"] * 4  # one block for warmth
    assert set(numbers) == {"bare", "erlib"}
    assert numbers["bare"]["ratio"] == 1
    assert numbers["erlib"]["seconds"] > 0


def made_up(job: plan.Job, python: str) -> dict:
    """A measurement of the right form; the n-th repetition takes n seconds, Avalanche ten times as long."""
    one = {"seconds": (1.0 + len(job.results)) * (10 if job.side == "avalanche" else 1), "ratio": 2.0}
    numbers = dict.fromkeys(["bare", job.side], one)
    if job.section == "runs":
        numbers = {job.side: {"seconds": one["seconds"]}}
    elif job.section == "steps":
        numbers = dict.fromkeys(job.order["methods"], numbers)
    elif job.section == "growth":
        numbers = {"classes": {"20": one, "50": one}}
    elif job.section == "timing":
        numbers = {row["label"]: [2.0, 4.0] for row in job.order["rows"]}
    return {"numbers": numbers, "megabytes": 100.0}


def test_every_section_writes_flat_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With measurements made up, the files have their schema, and a second call keeps what it does not measure."""
    monkeypatch.setattr(compare, "measure", made_up)
    missing = tmp_path / "no" / "python"
    compare.compare(["steps", "evaluation", "growth", "timing"], 3, "small", 6, missing, tmp_path)
    assert compare.compare(["runs"], 3, "small", 6, missing, tmp_path) == []
    speed = json.loads((tmp_path / "speed.json").read_text())
    assert set(speed) == {"steps", "evaluation", "growth", "runs"}
    for section in speed.values():
        assert section["machine"]["avalanche"] is None
        for row in section["rows"]:
            assert not any(isinstance(value, dict) for value in row.values())
            assert (row.get("side") == "avalanche") == (row.get("note") == "not measured")
            if "note" not in row:
                assert (row["seconds_low"], row["seconds"], row["seconds_high"]) == (1.5, 2.0, 2.5)
                assert len(row["seconds_repetitions"]) == 3
    assert {row["ratio"] for row in speed["runs"]["rows"] if row["side"] != "avalanche"} == {1.0}
    assert all(row["megabytes"] == 100 for row in speed["runs"]["rows"] if row["side"] != "avalanche")
    times = learning_times(tmp_path)
    assert set(times) == {"split_cifar", "split_cub"}
    for rows in times.values():
        assert rows == {row.label: [2.0, 4.0] for row in MAIN_ROWS}
    assert ratios(times, "split_cub", "ER-Ring", "Finetune") == [1.0, 1.0]


def test_a_failure_costs_its_own_rows_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(job: plan.Job, python: str) -> dict:
        if (job.side, job.labels["benchmark"]) == ("bare", "split_cifar") and job.results:
            raise ErlibError("it broke")
        return made_up(job, python)

    monkeypatch.setattr(compare, "measure", breaks)
    monkeypatch.setattr(compare, "describe", lambda avalanche: {"avalanche": "0.6"})
    assert compare.compare(["runs"], 3, "paper", 6, tmp_path, tmp_path) == ["it broke"]
    found = json.loads((tmp_path / "speed.json").read_text())["runs"]["rows"]
    assert [row["benchmark"] + " " + row["side"] for row in found if row.get("note") == "failed"] == [
        "split_cifar bare"
    ]
    alone, swept = (row for row in found if (row["benchmark"], row["side"]) == ("permuted_mnist", "avalanche"))
    assert alone["ratio"] == swept["ratio"] == 10  # Avalanche has no sweep
    assert (alone["what"], swept["what"], swept["runs"]) == ("run", "sweep", plan.RUNS["permuted_mnist"])
    assert not any("ratio" in row for row in found if row["benchmark"] == "split_cifar")


def test_a_cut_run_keeps_the_proportion_of_steps_to_evaluation() -> None:
    def evaluated(tasks: int) -> int:  # test sets in a run
        return tasks * (tasks + 1) // 2

    whole, cut = plan.cut("split_cifar", None), plan.cut("split_cifar", 3)
    shares = [run["tasks"] * run["examples_per_task"] / evaluated(run["tasks"]) for run in (whole, cut)]
    assert shares[1] == pytest.approx(shares[0], rel=0.02)
    assert cut["tasks"] < whole["tasks"]


@pytest.mark.parametrize("benchmark", ["permuted_mnist", "split_cifar"])
def test_a_bare_run_learns_and_evaluates_as_erlibs_does(benchmark: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = {"tasks": 3, "examples_per_task": 20, "source": "mnist-5k" if benchmark == "permuted_mnist" else "cifar100"}
    stacks: list[int] = []
    evaluated: list[int] = []
    er, hits = bare.Bare.er, bare.hits
    monkeypatch.setattr(bare.Bare, "er", lambda s, new, past: stacks.append(len(new) + len(past)) or er(s, new, past))
    monkeypatch.setattr(bare, "hits", lambda net, tests: evaluated.append(net.training) or hits(net, tests))
    bare.run(work.config(benchmark, "er", memory="ring", **sizes))
    assert stacks[:2] == [10, 10]
    assert len(stacks) == 6
    assert all(size > 10 for size in stacks[2:])
    assert evaluated == [False] * 6


def test_the_sides_take_turns() -> None:
    for section in ("steps", "evaluation"):
        sides = [job.side for job in plan.jobs(section, 3, "small", 6)]
        assert sides == ["erlib", "avalanche"] * 2
    assert [job.side for job in plan.jobs("runs", 3, "small", 6)][:3] == ["bare", "erlib", "avalanche"]
    assert "not measured" in "\n".join(report.table("steps", report.rows(plan.jobs("steps", 3, "small", 6))))
    assert [plan.repetitions(section, 5) for section in ("steps", "runs", "timing")] == [5, 3, 1]


def test_one_measurement_in_a_fresh_process() -> None:
    row = {"label": "Finetune", "method": "finetune", "steps": 2, "settings": {}}
    order = {"kind": "timing", "benchmark": "permuted_mnist", "rows": [row], "rounds": 2}
    result = compare.measure(plan.Job("timing", "erlib", {}, order), sys.executable)
    assert list(result["numbers"]) == ["Finetune"]
    assert len(result["numbers"]["Finetune"]) == 2
    assert result["megabytes"] > 0
    row["method"] = "none"
    with pytest.raises(ErlibError, match="unknown method 'none'"):
        compare.measure(plan.Job("timing", "erlib", {}, order), sys.executable)


@pytest.mark.parametrize(
    ("options", "sentence"), [(["--only", "steps,nothing"], "no section 'nothing'"), (["--repeats", "0"], "at least 1")]
)
def test_a_wrong_option_is_one_sentence(options: list[str], sentence: str) -> None:
    parser = argparse.ArgumentParser()
    bench.add_options(parser)
    with pytest.raises(ErlibError, match=sentence):
        bench.command(parser.parse_args(options))


@pytest.mark.parametrize(
    ("code", "forbidden"),
    [
        ("import erlib", {"torch", "torchvision", "mlxtend", "dask", "matplotlib", "pandas"}),
        ("import erlib, erlib.sweep; erlib.run, erlib.Store", {"torchvision", "mlxtend", "dask", "matplotlib"}),
        ("import erlib.__main__ as m; m.parser().format_help()", {"torch", "pandas", "numpy", "tqdm", "mlxtend"}),
    ],
)
def test_starting_imports_nothing_heavy(code: str, forbidden: set[str]) -> None:
    listing = f"{code}\nimport sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", listing], cwd=ROOT, capture_output=True, text=True, check=True)
    assert not forbidden & set(done.stdout.split())
