"""The pages to touch: what they carry, that it is what was measured, and that they degrade to a picture."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from erlib import report
from erlib.report import explore, explore_widgets
from erlib.report.numbers import mean_and_half

VIEW = "application/vnd.jupyter.widget-view+json"


@pytest.fixture
def runs(opened: Any) -> report.Explorer:
    return report.Explorer(opened("explore_results"))


def unpacked(text: str, tasks: int) -> list[list[float | None]]:
    """A matrix as the book's script reads it."""
    numbers = iter(np.frombuffer(base64.b64decode(text), "<u2").tolist())
    rows = [[next(numbers) if j <= i else explore.NOT_EVALUATED for j in range(tasks)] for i in range(tasks)]
    return [[None if v == explore.NOT_EVALUATED else v / explore.UNIT for v in row] for row in rows]


def test_the_page_carries_every_matrix(runs: report.Explorer) -> None:
    carried = {
        run["id"]: unpacked(run["matrix"], bench["tasks"])
        for bench in runs.data()["benchmarks"]
        for place in bench["places"]
        for run in place["runs"]
    }
    stored = {run.run_id: run.accuracy for place in runs.places for run in place.results}
    assert carried.keys() == stored.keys()
    assert len(carried) > 30
    for name, matrix in stored.items():
        for row, there in zip(matrix, carried[name]):
            assert [v is None for v in row] == [v is None for v in there]
            assert [v or 0 for v in there] == pytest.approx([v or 0 for v in row], abs=1e-5)


def test_a_metric_along_the_stream_ends_with_the_runs_own(runs: report.Explorer) -> None:
    for run in (run for place in runs.places for run in place.results):
        assert explore.along(run, "accuracy")[-1] == pytest.approx(100 * run.average_accuracy)
        assert explore.along(run, "forgetting")[-1] == (pytest.approx(run.forgetting) if run.forgetting else None)
        assert explore.along(run, "newest")[-1] == 100 * run.accuracy[-1][-1]


def test_the_figure_says_mean_interval_n_and_run_ids(runs: report.Explorer) -> None:
    figure = explore_widgets.curves(runs, "permuted_mnist", 1, ["ER-Ring", "Finetune"], "accuracy")
    (ring,) = runs.at("permuted_mnist", 1, ["ER-Ring"])
    mean, half = mean_and_half(ring.accuracies)
    (trace,) = (t for t in figure.data if t.hovertemplate and t.hovertemplate.startswith("<b>ER-Ring</b>, after"))
    assert trace.y[-1] == pytest.approx(mean)
    assert f"mean {mean:.4g}, 95% {mean - half:.4g} to {mean + half:.4g}, n = 3" in trace.text[-1]
    assert all(run.run_id in trace.text[-1] for run in ring.results)
    (paper,) = (t for t in figure.data if t.hovertemplate and t.hovertemplate.startswith("<b>ER-Ring</b>, the paper"))
    assert paper.y == (70.2,)


def test_the_table_is_tidy(runs: report.Explorer) -> None:
    table = runs.table()
    run = runs.places[0].results[0]
    of_it = table[(table.run_id == run.run_id) & (table.after_task == run.config.tasks)]
    assert of_it.accuracy.mean() == pytest.approx(run.average_accuracy)
    assert not table.duplicated(["run_id", "after_task", "task"]).any()


def test_widgets_change_the_figures(runs: report.Explorer) -> None:
    box = explore_widgets.controls(runs)
    menus, upper, below, _ = box.children
    (_, metric, size), rows = menus.children[0].children, menus.children[1]

    def shown() -> Any:
        return upper.outputs[0]["data"]["application/vnd.plotly.v1+json"]

    before = shown()
    metric.value = "forgetting"
    assert shown()["layout"]["yaxis"]["title"]["text"] == "Forgetting F_k"
    size.value = 3
    rows.value = ["EWC"]
    assert below.children[0].options == ("EWC",)
    assert shown()["data"] != before["data"]
    box.children[0].children[0].children[0].value = "split_cifar"
    assert shown()["layout"]["title"]["text"] == "Split CIFAR, 1 per class"


def test_there_is_a_picture_where_there_is_no_front_end(opened: Any, empty_store: Path) -> None:
    shows = [
        report.explorer(opened("explore_results")),
        report.explorer(opened("explore_results", results=str(empty_store))),
    ]
    shows.append(report.theatre(report.record(["ring"], tasks=2, examples=20)))
    for moving in shows:
        bundle = moving._repr_mimebundle_()
        assert VIEW in bundle  # for Jupyter
        still = re.search(
            r'<img class="erlib-still" alt="[^"]+" src="data:image/png;base64,([^"]+)">', bundle["text/html"]
        )
        assert base64.b64decode(still[1]).startswith(b"\x89PNG")
        assert not re.search(r"""["'(]https?://""", bundle["text/html"])
        assert moving.html() == moving.html()


WRITERS = ["reservoir", "ring", "kmeans", "mof", "hybrid", "full_ring"]


@pytest.fixture(scope="module")
def show() -> Any:
    return report.record(WRITERS, tasks=3, examples=100)


def test_the_histories_end_with_what_the_memories_hold(show: Any) -> None:
    data = json.loads(json.dumps(show.data()))
    assert len(data["labels"]) == len(data["images"]) == 300
    for run, writer in zip(show.runs, data["writers"]):
        slots = [-1] * data["slots"]
        for step in writer["steps"]:
            for slot, example in zip(step[::2], step[1::2]):
                slots[slot] = example
        memory = run.trainer.method.memory
        tasks = [-1 if example < 0 else example // data["perTask"] for example in slots]
        assert tasks == memory.t.tolist()
        assert [int(data["labels"][e]) if e >= 0 else -1 for e in slots] == memory.y.tolist()
        assert len(writer["steps"]) == 30


def test_the_stage_shows_what_the_paper_says(show: Any) -> None:
    balance = report.balance(show)
    assert balance["Reservoir"]["lost"] > 0
    assert balance["Ring buffer"] == {"slots": 30, "classes": 30, "lost": 0, "most": 1}
    switches = {writer["title"]: writer["switch"] for writer in show.data()["writers"]}
    assert 10 < switches.pop("Hybrid") <= 30  # after the first task
    assert set(switches.values()) == {None}


def test_the_sheet_holds_the_digits_of_the_stream(show: Any) -> None:
    import io

    from PIL import Image

    data = show.data()
    sheet = np.array(Image.open(io.BytesIO(base64.b64decode(data["sheet"].split(",")[1]))).convert("L"))
    task = show.runs[0].trainer.stream.tasks[1].train
    for example in (100, 137, 199):
        row, column = divmod(data["images"][example], data["columns"])
        shown = sheet[28 * row : 28 * row + 28, 28 * column : 28 * column + 28].astype(int)
        real = task.images[task.index[example - 100]].reshape(28, 28).numpy().astype(int)
        assert abs(shown - real).max() <= 36  # eight shades of grey


def test_widgets_run_the_stream_anew_and_say_what_is_wrong(show: Any) -> None:
    from erlib.report.theatre_widgets import controls

    box = controls(show)
    (tasks, examples, *_, button), writers = box.children[0].children[0].children, box.children[0].children[1]
    stage = box.children[1]
    before = stage.outputs
    tasks.value, examples.value, writers.value = 2, 50, ("ring",)
    button.click()
    assert stage.outputs != before
    assert '"tasks":2' in stage.outputs[0]["data"]["text/html"]
    assert button.description == "Run the stream"
