"""What the store does not hold of a page, by name, with the command that would train it and how long that takes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pandas

from erlib.config import RunConfig
from erlib.protocol import BENCHMARKS
from erlib.report.page import Page
from erlib.report.shown import Note, Table, prose
from erlib.rows import row_of
from erlib.status import Timings


def missing(page: Page) -> Table | Note:
    """The page's missing runs as a table, one line a benchmark; or a sentence that there are none."""
    lines = [line for experiment in page.wanted for line in _lines(page, experiment)]
    failed = [f"Could not be trained: {failure}" for failure in page.failures]
    wanted = len({config.run_id for configs in page.wanted.values() for config in configs})
    if not lines:
        return Note(f"Every run of this page is stored: {wanted} of {wanted}.", *failed)
    count = sum(line["missing"] for line in lines)
    caption = f"Not run yet: {count} of the {wanted} runs that this page wants. " + " ".join(failed)
    frame = pandas.DataFrame(lines).set_index("benchmark").rename_axis(None)
    return Table(frame, f"missing-{page.name}", caption.strip(), decorate=prose(2, "32em"))  # for the longest command


def _lines(page: Page, experiment: str) -> Iterable[dict[str, Any]]:
    absent = page.missing(experiment)
    timings = Timings(page.store.load()) if absent else None
    for benchmark in dict.fromkeys(config.benchmark for config in absent):
        configs = [config for config in absent if config.benchmark == benchmark]
        yield {
            "benchmark": BENCHMARKS[benchmark].title,
            "missing": len(configs),
            "on one core": timings.all(configs, 1),
            "rows and command": f"{rows_text(configs)}\n{command(experiment, [benchmark])}",
        }


def rows_text(configs: Sequence[RunConfig]) -> str:
    """The labels of some runs' rows, each once."""
    labels = [row.label if row else config.memory or config.method for config in configs for row in [row_of(config)]]
    return ", ".join(dict.fromkeys(labels))


def command(experiment: str, benchmarks: Sequence[str] = ()) -> str:
    """The command that trains an experiment's runs."""
    return " ".join(["python -m erlib sweep", experiment, *(f"--benchmark {name}" for name in benchmarks)])
