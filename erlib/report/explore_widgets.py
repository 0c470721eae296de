"""The explorer's two figures in Plotly, and the widgets that choose them in Jupyter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from erlib.protocol import BENCHMARKS
from erlib.report.explore import FIRST_SHOWN, METRICS, Explorer, along, symbol
from erlib.report.memory_size import printed
from erlib.report.numbers import LEAST, mean_and_half
from erlib.report.style import look

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from erlib.report.page import Series

MEAN = "the mean"


def curves(
    runs: Explorer, benchmark: str, size: int | None, rows: Sequence[str], metric: str, seeds: bool = True
) -> go.Figure:
    """A metric along the stream: for each row its interval, its seeds, its mean, and the paper's value at the end."""
    import plotly.graph_objects as go

    figure = go.Figure()
    places = runs.at(benchmark, size, rows)
    for number, place in enumerate(places):
        points = [(k + 1, column) for k, column in enumerate(zip(*(along(run, metric) for run in place.results)))]
        points = [(k, column) for k, column in points if None not in column]
        if place.n >= LEAST:
            figure.add_scatter(**_band(place, points))
        if seeds and points:
            figure.add_scatter(**_seeds(place, metric))
        if points:
            figure.add_scatter(**_mean(place, points))
        if value := (printed(place.config, metric) if metric in ("accuracy", "forgetting") else None):
            tasks = place.config.tasks + 0.35 + 0.25 * (number % 4)  # beside the last task, so that none hides another
            figure.add_scatter(**_paper(place, tasks, *value))
    title = f"{BENCHMARKS[benchmark].title}, {size} per class"
    figure.update_layout(title=title, showlegend=False, template="simple_white", height=420, hovermode="closest")
    figure.update_xaxes(title="tasks learned k", range=[0.5, places[0].config.tasks + 1.5] if places else None)
    figure.update_yaxes(title=METRICS[metric], showgrid=True)
    return figure


def matrix(runs: Explorer, benchmark: str, size: int | None, row: str, seed: int | None = None) -> go.Figure:
    """The accuracy matrix as a heat map, of one seed or the mean of all: rows are the tasks learned so far."""
    import plotly.graph_objects as go

    places = runs.at(benchmark, size, [row])
    held = [run for place in places for run in place.results if seed in (None, run.config.seed)]
    tasks = list(range(1, places[0].config.tasks + 1)) if places else []
    cells = [
        [None if None in column else 100 * sum(column) / len(column) for column in zip(*rows)]
        for rows in zip(*(run.accuracy for run in held))
    ]
    figure = go.Figure()
    figure.add_heatmap(x=tasks, y=tasks, z=cells, colorscale="Viridis", colorbar={"title": "%"})
    which = f"mean of {len(held)}" if seed is None else f"seed {seed}"
    figure.update_layout(title=f"{row}, {which}: accuracy [%]", template="simple_white", height=440)
    figure.update_xaxes(title="on task", dtick=1).update_yaxes(title="after task", autorange="reversed", dtick=1)
    return figure


def controls(runs: Explorer) -> Any:
    """Menus for everything that can be chosen, and the two figures below them."""
    import ipywidgets

    titles = [(BENCHMARKS[name].title, name) for name in runs.benchmarks]
    benchmark = ipywidgets.Dropdown(options=titles, description="benchmark")
    metric = ipywidgets.Dropdown(options=[(title, name) for name, title in METRICS.items()], description="metric")
    size = ipywidgets.ToggleButtons(description="per class", style={"button_width": "3em"})
    rows = ipywidgets.SelectMultiple(rows=9, description="methods")
    row, seed = ipywidgets.Dropdown(description="matrix of"), ipywidgets.Dropdown(description="seed")
    upper, lower = ipywidgets.Output(), ipywidgets.Output()

    def choose_benchmark(*_: Any) -> None:
        size.options = runs.sizes(benchmark.value)
        labels = list(dict.fromkeys(place.label for place in runs.at(benchmark.value)))
        rows.options = labels
        rows.value = [label for label in labels if label in FIRST_SHOWN] or labels

    def choose_rows(*_: Any) -> None:
        row.options = rows.value
        choose_row()

    def choose_row(*_: Any) -> None:
        held = [run.config.seed for place in runs.at(benchmark.value, size.value, [row.value]) for run in place.results]
        seed.options = [(MEAN, None), *((str(number), number) for number in held)]

    def draw(*_: Any) -> None:
        _show(upper, curves(runs, benchmark.value, size.value, rows.value, metric.value))
        _show(lower, matrix(runs, benchmark.value, size.value, row.value, seed.value))

    choose_benchmark()
    choose_rows()
    draw()
    for widget, react in ((benchmark, choose_benchmark), (rows, choose_rows), (size, choose_row), (row, choose_row)):
        widget.observe(react, "value")
    for widget in (benchmark, metric, size, rows, row, seed):
        widget.observe(draw, "value")
    menus = ipywidgets.HBox([ipywidgets.VBox([benchmark, metric, size]), rows], layout={"flex_flow": "row wrap"})
    return ipywidgets.VBox([menus, upper, ipywidgets.HBox([row, seed], layout={"flex_flow": "row wrap"}), lower])


def _show(output: Any, figure: go.Figure) -> None:
    """A figure in an output widget, in Plotly's own format, which JupyterLab draws where plotly is installed."""
    plain = "a Plotly figure: install plotly in the environment of JupyterLab itself to see it"
    bundle = {"application/vnd.plotly.v1+json": figure.to_plotly_json(), "text/plain": plain}
    output.outputs = ({"output_type": "display_data", "data": bundle, "metadata": {}},)


def _band(place: Series, points: Sequence[Any]) -> dict[str, Any]:
    ends = [(k, *mean_and_half(column)) for k, column in points]
    low, high = [mean - half for _, mean, half in ends], [mean + half for _, mean, half in ends]
    ks = [k for k, *_ in ends]
    outline = {"x": [*ks, *reversed(ks)], "y": [*low, *reversed(high)], "line": {"width": 0}, "mode": "lines"}
    return outline | {"fill": "toself", "fillcolor": _faint(place), "hoverinfo": "skip"}


def _seeds(place: Series, metric: str) -> dict[str, Any]:
    xs, ys, words = [], [], []
    for run in place.results:
        values = along(run, metric)
        xs += [*range(1, len(values) + 1), None]
        ys += [*values, None]
        words += [f"seed {run.config.seed}, run {run.run_id}"] * len(values) + [""]
    style = {"mode": "lines+markers", "line": {"width": 0.8}, "marker": {"size": 3}, "opacity": 0.45}
    hover = f"{place.label}, after task %{{x}}: %{{y:.4~g}}<br>%{{text}}<extra></extra>"
    return style | {"x": xs, "y": ys, "text": words, "hovertemplate": hover, "line_color": look(place.label).colour}


def _mean(place: Series, points: Sequence[Any]) -> dict[str, Any]:
    ids = [run.run_id for run in place.results]
    runs = "<br>".join(", ".join(ids[i : i + 3]) for i in range(0, len(ids), 3))
    ends = [(k, *mean_and_half(column)) for k, column in points]
    within = ["" if half is None else f", 95% {mean - half:.4g} to {mean + half:.4g}" for _, mean, half in ends]
    words = [f"mean {mean:.4g}{text}, n = {place.n}<br>runs {runs}" for (_, mean, _), text in zip(ends, within)]
    style = {"mode": "lines+markers", "line": {"width": 2, "color": look(place.label).colour}}
    style |= {"marker": {"symbol": symbol(place.label), "size": 7}}
    hover = f"<b>{place.label}</b>, after task %{{x}}<br>%{{text}}<extra></extra>"
    return style | {"x": [k for k, *_ in ends], "y": [m for _, m, _ in ends], "text": words, "hovertemplate": hover}


def _paper(place: Series, x: float, value: float, spread: float | None) -> dict[str, Any]:
    marker = {"symbol": symbol(place.label), "size": 8, "color": "white"}
    marker |= {"line": {"width": 1.5, "color": look(place.label).colour}}
    within = "" if spread is None else f" ± {spread:g}"
    style: dict[str, Any] = {"mode": "markers", "marker": marker, "x": [x], "y": [value]}
    if spread is not None:
        style["error_y"] = {"array": [spread], "color": look(place.label).colour, "thickness": 1, "width": 2}
    return style | {"hovertemplate": f"<b>{place.label}</b>, the paper: {value:g}{within}<extra></extra>"}


def _faint(place: Series) -> str:
    red, green, blue = (int(look(place.label).colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.16)"
