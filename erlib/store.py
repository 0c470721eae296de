"""Results on disk: one file a run, `<root>/runs/<benchmark>/<run_id>.json`.

A run exists if and only if its file is whole, its checksum holds and its id belongs to its config. Everything else
found in the folder is named in `Store.problems` and left out. A run made with other numerics (see `registry`) is stale:
it is never the answer to a config, but `frame` shows it and marks it.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

from erlib import metrics, runfile
from erlib.config import RunConfig
from erlib.result import RunResult
from erlib.runfile import Stored

if TYPE_CHECKING:
    import pandas

_MEASURED = ("accuracy", "forgetting", "learning_accuracy", "seconds_train", "seconds_eval", "stale")
_CURVES = ("accuracy_curve", "matrix", "curves", "final", "events")


class Store:
    """The runs below one folder. `Store()` is the results folder of the project around the current directory."""

    def __init__(self, root: str | Path | None = None) -> None:
        self.root = Path(root) if root is not None else default_root()

    def path(self, config: RunConfig) -> Path:
        """Where the run of a config is, or would be."""
        return self.root / "runs" / config.benchmark / f"{config.run_id}.json"

    @property
    def work(self) -> Path:
        """Locks and checkpoints of runs under way: beside the runs, so that all machines of a cluster see them."""
        return self.root / ".work"

    def checkpoint(self, config: RunConfig) -> Path:
        """The checkpoint of a run under way."""
        return self.work / f"{config.run_id}.checkpoint"

    def prepare(self) -> None:
        """Make the folder for locks and checkpoints; raises before the first run, not after it, if nothing can be."""
        try:
            self.work.mkdir(parents=True, exist_ok=True)
            runfile.write_whole(self.work / ".gitignore", b"*\n")
        except OSError as error:
            raise runfile.cannot_write(self.work, error) from error

    def put(self, result: RunResult) -> Path:
        """Store a run, replacing an older file of the same id. The whole file is there afterwards, or an error."""
        path = self.path(result.config)
        runfile.write(path, result)
        return path

    def get(self, config: RunConfig) -> RunResult | None:
        """The stored run of a config, or None if there is no whole one. Reads that one file."""
        path = self.path(config)
        found = runfile.read(path) if path.is_file() else None
        return found.result if isinstance(found, Stored) and not found.stale else None

    def has(self, config: RunConfig) -> bool:
        """Is there a whole run of this config? Reads that one file."""
        return self.get(config) is not None

    def entries(self) -> list[Stored]:
        """Every whole file, stale runs included, ordered by benchmark and id."""
        return [found for found in self._scan().values() if isinstance(found, Stored)]

    def load(self) -> list[RunResult]:
        """Every run that is not stale."""
        return [stored.result for stored in self.entries() if not stored.stale]

    @property
    def problems(self) -> list[str]:
        """A sentence for each damaged or foreign file: its name, what is wrong, what to do."""
        return [f"{path} {found}." for path, found in self._scan().items() if isinstance(found, str)]

    def frame(self, curves: bool = False) -> pandas.DataFrame:
        """One row a run: the config's columns and what was measured.

        `accuracy` (A_T) and `learning_accuracy` are in percent, `forgetting` (F_T) is a fraction as in the paper. Stale
        runs are rows too, with `stale` true. `curves=True` adds `accuracy_curve` (A_k, percent), `matrix` (fractions),
        `curves`, `final` and `events`, one object a run.
        """
        import pandas

        fields = {f.name: f.type for f in dataclasses.fields(RunConfig)}
        columns = ["run_id", *fields, *_MEASURED, *(_CURVES if curves else ())]
        frame = pandas.DataFrame([_row(stored) for stored in self.entries()], columns=columns)
        kinds = {"int | None": "Int64", "bool | None": "boolean"}  # 1 stays 1 beside a missing value
        return frame.astype({name: kinds[kind] for name, kind in fields.items() if kind in kinds} | {"stale": bool})

    def _scan(self) -> dict[Path, Stored | str]:
        return {path: runfile.read(path) for path in sorted((self.root / "runs").glob("*/[!.]*.json"))}


def default_root() -> Path:
    """`results` beside the nearest `_config.yml`, looking upward from the current directory; else `./results`."""
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / "_config.yml").is_file():
            return (folder / "_config.yml").resolve().parent / "results"  # the book's is a link to the project's
    return here / "results"


def _row(stored: Stored) -> dict[str, Any]:
    result = stored.result
    learning = metrics.learning_accuracy(result.accuracy)
    points = metrics.accuracy_curve(result.accuracy)
    return {
        "run_id": stored.run_id,
        **dataclasses.asdict(result.config),
        "accuracy": 100 * result.average_accuracy,
        "forgetting": result.forgetting,
        "learning_accuracy": None if learning is None else 100 * learning,
        "seconds_train": result.seconds.get("train"),
        "seconds_eval": result.seconds.get("eval"),
        "stale": stored.stale,
        "accuracy_curve": [None if point is None else 100 * point for point in points],
        "matrix": result.accuracy,
        "curves": result.curves,
        "final": result.final,
        "events": result.events,
    }
