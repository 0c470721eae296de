"""The theatre's parameters as widgets, for Jupyter: choose the stream and the writers, run it, watch it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from erlib.errors import ErlibError
from erlib.registry import MEMORIES

if TYPE_CHECKING:
    from erlib.report.theatre import Theatre


def controls(show: Theatre) -> Any:
    """Sliders for the stream, a list of the writers (yours too, once registered), and the stage below them."""
    import ipywidgets

    config = show.runs[0].trainer.config
    chosen = [run.trainer.config.memory for run in show.runs]
    wide = {"style": {"description_width": "9em"}, "layout": {"width": "24em"}, "continuous_update": False}
    tasks = ipywidgets.IntSlider(config.tasks, 2, 10, description="tasks", **wide)
    examples = ipywidgets.IntSlider(config.examples_per_task, 50, 400, 50, description="examples a task", **wide)
    size = ipywidgets.IntSlider(config.samples_per_class, 1, 5, description="samples per class", **wide)
    seed = ipywidgets.IntSlider(config.seed, 0, 9, description="seed", **wide)
    writers = ipywidgets.SelectMultiple(options=list(MEMORIES), value=chosen, rows=7, description="writers")
    button = ipywidgets.Button(description="Run the stream", button_style="primary", icon="play")
    stage = ipywidgets.Output()

    def run(_: Any) -> None:
        from erlib.report.theatre import record

        button.disabled, button.description = True, "Running …"
        stream = {"tasks": tasks.value, "examples": examples.value, "samples_per_class": size.value}
        try:
            put_on(stage, record(writers.value or chosen, seed=seed.value, **stream))
        except ErlibError as error:
            stage.outputs = ()
            stage.append_stdout(f"{error}\n")
        finally:
            button.disabled, button.description = False, "Run the stream"

    button.on_click(run)
    put_on(stage, show)
    sliders = ipywidgets.VBox([tasks, examples, size, seed, button])
    return ipywidgets.VBox([ipywidgets.HBox([sliders, writers], layout={"flex_flow": "row wrap"}), stage])


def put_on(stage: Any, show: Theatre) -> None:
    """Show recorded runs in an output widget, in place of what it holds."""
    from erlib.report.theatre import theatre

    stage.outputs = ()
    stage.append_display_data(theatre(show, live=False))
