"""Every figure on a small store and on an empty one: no warning, no empty panel, the same bytes twice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.colors
import pytest

from erlib import report
from erlib.config import paper_config
from erlib.experiments import configs
from erlib.report import style
from erlib.result import RunResult
from erlib.rows import TABLE_ROWS
from erlib.store import Store
from tests.report.conftest import made_up

FIGURES: dict[str, tuple[str, Callable[[report.Page], report.Plot]]] = {
    "fig1": ("fig1", report.memory_size),
    "fig2": ("fig2", report.hybrid_switch),
    "fig3": ("fig3", report.rotation_curves),
    "fig3-strength": ("fig3", report.rotation_strength),
    "fig3-sweep": ("fig3", report.rotation_sweep),
    "fig4": ("fig4", report.along_stream),
    "fig7": ("fig7", report.along_stream),
    "tab2": ("tab2", report.time_bars),
    "tab3-levers": ("tab3", report.lever_intervals),
    "claims": ("claims", lambda page: report.intervals(report.claim_lines(page))),
}


@pytest.mark.parametrize("name", FIGURES)
def test_the_same_page_gives_the_same_bytes(name: str, opened: Any) -> None:
    page, draw = FIGURES[name]
    first, second = draw(opened(page)), draw(opened(page))
    svg = first.svg()
    assert svg == second.svg()
    assert "<dc:date>" not in svg
    assert "Matplotlib v" not in svg
    assert list(first._repr_mimebundle_()) == ["image/svg+xml", "text/plain"]


def test_a_figure_can_be_drawn_twice_and_saved(opened: Any, tmp_path: Path) -> None:
    plot = report.rotation_sweep(opened("fig3"))
    assert plot.svg() == plot.svg()
    plot.save(tmp_path / "figure.png", dpi=40)
    assert (tmp_path / "figure.png").stat().st_size > 1000


@pytest.mark.parametrize("name", FIGURES)
def test_nothing_is_clipped_and_every_panel_has_something(name: str, opened: Any, empty_store: Path) -> None:
    page, draw = FIGURES[name]
    for results in ({}, {"results": str(empty_store)}):
        figure = draw(opened(page, **results)).figure
        box = figure.bbox
        for legend in figure.legends:
            extent = legend.get_window_extent()
            assert box.x0 <= extent.x0
            assert extent.x1 <= box.x1
            assert box.y0 <= extent.y0
        for axes in (axes for axes in figure.axes if axes.axison):
            assert axes.lines or axes.texts or axes.patches
            assert axes.get_xlabel() or axes.get_shared_x_axes().get_siblings(axes)
            sizes = [text.get_fontsize() for text in axes.findobj(style.matplotlib.text.Text) if text.get_text()]
            assert min(sizes) >= 9 or axes.get_yscale() == "symlog"  # exponents are smaller


def test_a_lever_is_drawn_beside_what_the_row_lacks_of_the_paper(opened: Any, tmp_path: Path) -> None:
    levels = {("paper", 0): 0.40, ("paper", 1): 0.42, ("paper", 2): 0.5, ("pytorch", 0): 0.43, ("pytorch", 1): 0.46}
    for (init, seed), level in levels.items():
        config = paper_config("permuted_mnist", "finetune", seed=seed, init=init)
        Store(tmp_path).put(RunResult(config=config, accuracy=[[level] * 20] * 20, seconds={"train": 1.0}))
    (axes,) = report.lever_intervals(opened("tab3", results=str(tmp_path))).figure.axes
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["Finetune", "init: paper → pytorch (n = 2)"]
    points = {line.get_marker(): line.get_xdata()[0] for line in axes.lines if len(line.get_xdata()) == 1}
    assert points["D"] == pytest.approx(53.5 - 41)  # the paper's, less ours of the two seeds that have the lever
    assert points[style.look("Finetune").marker] == pytest.approx(3.5)


def test_an_empty_store_says_so_in_the_figure(opened: Any, empty_store: Path) -> None:
    figure = report.along_stream(opened("fig7", results=str(empty_store))).figure
    assert "not run yet" in figure.axes[0].texts[0].get_text()
    figure = report.memory_size(opened("fig1", results=str(empty_store))).figure
    assert all("no runs yet" in axes.get_title() for axes in figure.axes)
    assert "over Finetune: not run (paper +16.7)" in figure.axes[0].texts[-1].get_text()


def test_the_switch_stands_in_its_task(opened: Any) -> None:
    (place,) = (place for place in opened("fig2").series() if place.label == "ER-Hybrid")
    assert report.stream.switch_positions(place) == [3.6] * 3  # step 900 of 250 a task


def test_figure_2_draws_the_seeds_that_all_writers_have(opened: Any, tmp_path: Path) -> None:
    store = Store(tmp_path)
    for row, seeds in (("ER-Ring", 4), ("ER-Hybrid", 2)):
        for config in configs("fig2", seeds, rows=[row]):
            store.put(made_up(config))
    (axes,) = report.hybrid_switch(opened("fig2", results=str(tmp_path))).figure.axes
    assert axes.get_title() == "85 slots, n = 2"
    ring = report.look("ER-Ring").colour
    dots = [line for line in axes.lines if line.get_marker() == "." and line.get_color() == ring]
    assert {len(line.get_ydata()) for line in dots} == {2}


def test_a_band_wider_than_all_values_does_not_set_the_range(opened: Any, tmp_path: Path) -> None:
    for config, level in zip(configs("fig2", 3, rows=["ER-Ring"]), (0.4, 0.5, 0.6)):  # the band: 25 to 75
        Store(tmp_path).put(RunResult(config=config, accuracy=[[level] * 17] * 17))
    (axes,) = report.hybrid_switch(opened("fig2", results=str(tmp_path))).figure.axes
    low, high = axes.get_ylim()
    assert 35 < low < 40
    assert 60 < high < 65


def test_the_interval_of_two_seeds_does_not_set_the_range(opened: Any) -> None:
    lines = report.claim_lines(opened("claims"))
    line = lines[(lines.unit == "points") & (lines.n == 3)].head(1)
    wide = line.assign(mean=5.0, low=-45.0, high=55.0, n=2)
    (axes,) = report.intervals(wide).figure.axes
    assert axes.get_xlim()[1] < 30
    (axes,) = report.intervals(wide.assign(n=3)).figure.axes
    assert axes.get_xlim()[1] > 50


def test_colours_belong_to_methods_and_differ() -> None:
    labels = [row.label for row in TABLE_ROWS] + ["ER-Hybrid", "ER-Full ring", "Memory only"]
    looks = [report.look(label) for label in labels]
    assert len({look.colour for look in looks}) == len(labels)
    assert len({look.marker for look in looks}) == len(labels)
    for look in looks:
        red, green, blue = matplotlib.colors.to_rgb(look.colour)
        assert 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.75  # visible on white


def test_a_band_says_what_it_is() -> None:
    assert style.band_handle([3, 5]).get_label() == "95% interval of the mean, n = 3 to 5"
    assert style.band_handle([1, 2]).get_label().endswith("(drawn from 3 seeds on)")
    assert style.runs_text([]) == style.runs_text([0]) == "no runs yet"
