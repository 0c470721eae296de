"""The page on speed: aims judged from the file alone, figures from it, and what a page says without it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from erlib import report
from erlib.errors import ErlibError

MACHINE = {"cpu": "abacus", "cores": 2, "torch": "2", "avalanche": "0.6", "when": "2026-01-01T00:00", "load": 0.1}
RUN = {"tasks": 3, "examples_per_task": 50, "whole_tasks": 17}


def numbers(seconds: list[float], ratios: list[float]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, values in (("seconds", seconds), ("ratio", ratios)):
        found |= {name: values[1], f"{name}_low": values[0], f"{name}_high": values[2], f"{name}_repetitions": values}
    return found


def step(benchmark: str, method: str, side: str, ratio: float) -> dict[str, Any]:
    return {"benchmark": benchmark, "method": method, "side": side, **numbers([0.1] * 3, [ratio] * 3)}


def whole(what: str, side: str, seconds: float) -> dict[str, Any]:
    named = {"what": what, "benchmark": "split_cifar", "runs": 2 if what == "sweep" else 1, "side": side, **RUN}
    return named | numbers([seconds, 2 * seconds, 3 * seconds], [seconds] * 3) | {"megabytes": 100.0}


def point(writer: str, value: int, ratio: float) -> dict[str, Any]:
    return {"writer": writer, "axis": "samples per class", "value": value, **numbers([0.001] * 3, [ratio] * 3)}


@pytest.fixture
def measured(tmp_path: Path) -> Path:
    """A folder of results with a file of made-up measurements, without MNIST's runs."""
    heavy = {"what": "import erlib, after torch", "heavy": ["matplotlib"], **numbers([0.1] * 3, [1] * 3)}
    sections = {
        "steps": [
            step("split_cifar", "er", "bare", 1),
            step("split_cifar", "er", "erlib", 1.14),
            step("split_cifar", "er", "avalanche", 3),
            step("split_cifar", "ewc", "erlib", 1.26),
        ],
        "runs": [
            *(whole("run", side, seconds) for side, seconds in (("bare", 1), ("erlib", 1), ("avalanche", 1.5))),
            *(whole("sweep", side, seconds) for side, seconds in (("erlib", 0.75), ("avalanche", 1.5))),
        ],
        "growth": [point("ring", 1, 1), point("ring", 100, 1.05), point("mof", 1, 1), point("mof", 100, 1.2)],
        "startup": [heavy],
    }
    content = {name: {"rows": rows, "machine": MACHINE, "minutes": 1} for name, rows in sections.items()}
    (tmp_path / "speed.json").write_text(json.dumps(content))
    return tmp_path


def test_aims_are_judged_from_the_file(opened: Any, measured: Path) -> None:
    table = report.aims(opened("speed", results=str(measured)))
    word = table.shown.verdict
    assert word["Split CIFAR: a step of ER-Ring"] == "met"
    assert word["Split CIFAR: a step of EWC"] == "not met"
    assert word["Split CIFAR: a step of A-GEM(10)"] == "not run"
    assert word["Split CIFAR: a whole run"] == "met"  # 1.5
    assert word["Split CIFAR: a run in a sweep"] == "not met"  # 2
    assert word["ER-Ring: a step at 100 per class"] == "met"
    assert word["ER-MoF: a step at 100 per class"] == "not met"
    assert word["import erlib, after torch"] == "not met"  # quick, but with matplotlib
    assert "3 of" in table.caption


def test_the_table_and_the_figures_show_what_was_measured(opened: Any, measured: Path) -> None:
    page = opened("speed", results=str(measured))
    table = report.speed(page).shown
    assert table.loc[("Split CIFAR", "step, ER-Ring"), "Avalanche"] == "100 ms\n(3.00: 3.00 to 3.00)"
    assert table.loc[("Split CIFAR", "whole run"), "bare loop"].endswith("100 MB")
    assert "3 of 17 tasks, with 50 examples each" in repr(report.how(page))
    assert "whole run takes 1.50 times as long as the bare loop's" in repr(report.limits(page))
    left, _ = report.speed_ratios(page).figure.axes
    assert "not measured yet" in left.texts[0].get_text()
    assert [label.get_text() for label in left.get_yticklabels()][-1] == "run in a sweep"
    lines = report.growth(page).figure.axes[3].lines
    assert [list(line.get_ydata()) for line in lines] == [[1, 1.05], [1, 1.2]]


def test_without_measurements_the_page_says_how_to_make_them(opened: Any, tmp_path: Path) -> None:
    page = opened("speed", results=str(tmp_path))
    for shown in (report.speed(page), report.aims(page), report.limits(page), report.how(page)):
        assert "`python -m erlib bench` writes `results/speed.json`" in repr(shown)
    for plot in (report.speed_ratios(page), report.growth(page)):
        assert any("not measured yet" in text.get_text() for axes in plot.figure.axes for text in axes.texts)
    (tmp_path / "speed.json").write_text("[]")
    with pytest.raises(ErlibError, match="holds no measurements"):
        report.speed(page)
