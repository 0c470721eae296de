"""Parameters of a page, and which runs it finds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from erlib import ErlibError, register_memory, report
from erlib.memory.ring import Ring
from erlib.registry import MEMORIES
from erlib.rows import Row


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"scale": "big"}, "scale is 'big'; choose paper or quick"),
        ({"seeds": 0}, "seeds is 0; give a whole number of at least 1"),
        ({"seeds": True}, "seeds is True"),
        ({"missing": "train"}, "choose skip or run"),
        ({"device": "tpu"}, "choose cpu"),
        ({"results": 3}, "results is 3; give a folder"),
        ({"lr": 0.1}, "fig1 has no parameter 'lr'; its parameters are scale"),
        ({"methods": ["GEM"]}, "no row 'GEM'; choose among Finetune"),
        ({"methods": 3}, "methods is 3"),
        ({"methods": []}, "methods is "),
        ({"benchmarks": ["cifar"]}, "no benchmark 'cifar'"),
        ({"samples_per_class": [0]}, "samples_per_class is "),
    ],
)
def test_a_wrong_parameter_is_one_sentence(opened: Any, given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ErlibError) as caught:
        opened("fig1", **given)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value._render_traceback_() == [f"erlib: {caught.value}"]


def test_a_missing_parameter_and_an_unknown_page_are_named() -> None:
    with pytest.raises(ErlibError, match="needs the parameter 'scale'"):
        report.open_page("fig1", {})
    with pytest.raises(ErlibError, match="choose among quickstart"):
        report.open_page("fig9", {})


def test_in_a_notebook_only_its_cells_of_parameters_count(opened: Any, small_store: Path) -> None:
    own_cell = 'scale = "paper"\nseeds = None'
    opened("fig2", In=["", own_cell, "x = 3"], x=3)  # a name of the reader's own is no parameter
    with pytest.raises(ErlibError, match="no parameter 'seed'"):
        opened("fig2", In=["", own_cell, "# Parameters\nseed = 3\n"], seed=3)


def test_single_values_are_lists_of_one(opened: Any) -> None:
    page = opened("fig4", methods="ER-Ring", samples_per_class=3)
    assert [(s.label, s.config.samples_per_class) for s in page.series()] == [("ER-Ring", 3)]


def test_seeds_keep_the_first_runs(opened: Any) -> None:
    assert {series.n for series in opened("fig2", methods=["ER-Hybrid"]).series()} == {3}
    assert {series.n for series in opened("fig2", methods=["ER-Hybrid"], seeds=2).series()} == {2}


def test_a_size_that_the_paper_does_not_have_is_wanted_by_name(opened: Any) -> None:
    page = opened("fig4", methods=["ER-Ring"], samples_per_class=[2])
    assert [config.samples_per_class for config in page.missing("fig4")] == [2] * 10
    assert "--benchmark permuted_mnist" in repr(report.missing(page))


def test_missing_runs_are_named_with_their_command_and_time(opened: Any, empty_store: Path) -> None:
    text = repr(report.missing(opened("tab3")))
    assert "python -m erlib sweep tab3 --benchmark permuted_mnist" in text
    assert "ER-k-means" in text
    assert " min" in text or " h " in text
    assert "unknown" in repr(report.missing(opened("tab3", results=str(empty_store))))
    assert "Every run of this page is stored" in repr(report.missing(opened("fig2", seeds=1, methods=["ER-Ring"])))


class Mine(Ring):
    """A writer from outside the package."""


def test_a_row_of_ones_own_stands_beside_the_papers(small_store: Path) -> None:
    register_memory("mine")(Mine)
    try:
        given = {"scale": "paper", "seeds": 1, "missing": "skip", "results": str(small_store), "data": None}
        given |= {"device": "cpu", "methods": ["ER-Ring"]}
        page = report.open_page("fig2", given, rows=[Row("Mine", "er", "mine")])
        assert [series.label for series in page.series()] == ["ER-Ring", "Mine"]
        assert report.look("Mine").colour not in {report.look(row).colour for row in ("ER-Ring", "Finetune")}
        report.hybrid_switch(page)
    finally:
        del MEMORIES["mine"]


def test_a_benchmark_may_stand_in_two_lines_of_what_is_missing(opened: Any, empty_store: Path) -> None:
    page = opened("tab3", results=str(empty_store))
    assert report.missing(page).html().count("Permuted MNIST") == 2
