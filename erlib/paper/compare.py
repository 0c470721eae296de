"""The paper's tables beside ours: one line for each printed number, with its distance and its verdict."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

import pandas

from erlib.errors import ErlibError
from erlib.experiments import TABLES, experiment_named
from erlib.paper import verdict
from erlib.paper.numbers import published, records, value
from erlib.paper.runs import Place, first_seeds, places, waiting
from erlib.paper.timing import learning_times, ratios
from erlib.rows import FINETUNE, MAIN_ROWS, TABLE_ROWS
from erlib.store import Store

NAMES = ("tab1", "tab2", *TABLES, "tab7")
Runs = Mapping[str, dict[str, Any]]
_COLUMNS = {
    **dict.fromkeys(("table", "row", "paper_row", "benchmark")),
    **dict.fromkeys(("size", "angle", "second_examples"), "Int64"),
    "metric": None,
    **dict.fromkeys(("paper", "paper_spread", "ours", "ours_std"), "float64"),
    "n": "Int64",
    **dict.fromkeys(("difference", "low", "high", "p", "p_holm", "room"), "float64"),
    **dict.fromkeys(("verdict", "note", "run_ids")),
}


def table(name: str, source: Store | pandas.DataFrame, seeds: int | None = None) -> pandas.DataFrame:
    """A table of the paper beside our runs of it, at the paper's scale and on the paper's data.

    `source` is the store, or its `frame(curves=True)`. Runs are matched by id; `seeds` keeps the first so many. A-GEM
    and MER, which were run in two readings, have two lines with the same number of the paper. Columns: `table`, `row`,
    `paper_row`, `benchmark`, `size`, `angle`, `second_examples`, `metric`, `paper`, `paper_spread`, `ours`, `ours_std`
    (sample standard deviation), `n`, `difference`, `low`, `high`, `p`, `p_holm`, `room` (see
    `verdict.room`), `verdict`, `note`, `run_ids`.
    Accuracies are in percent. Tab. 1 prints no ±: it is that of the same numbers in Tab. 3 to 6. Tab. 2 compares
    ratios to finetune.

    >>> table("tab3", store)[["row", "size", "paper", "ours", "verdict"]]        # doctest: +SKIP
    """
    if name not in NAMES:
        raise ErlibError(f"'{name}' cannot be compared with the paper; choose among {', '.join(NAMES)}.")
    lines = _time_lines(source, seeds) if name == "tab2" else _lines(name, source, seeds)
    verdicts = verdict.judge([line["cell"] for line in lines])
    rows = [line | _judged(line["cell"], judged, line["note"]) for line, judged in zip(lines, verdicts)]
    kinds = {column: kind for column, kind in _COLUMNS.items() if kind}
    return pandas.DataFrame(rows)[list(_COLUMNS)].astype(kinds)


def _lines(name: str, source: Store | pandas.DataFrame, seeds: int | None) -> list[dict[str, Any]]:
    """One line for each printed number and each of our rows that reads it."""
    frame = source.frame(curves=True) if isinstance(source, Store) else source
    runs: Runs = {run["run_id"]: run for run in frame[~frame.stale].to_dict("records")}
    lines = []
    for printed in records(name):
        spread = _appendix_spread(printed) if name == "tab1" else printed["spread"]
        for row in TABLE_ROWS:
            where = (printed[column] for column in ("samples_per_class", "angle", "second_examples"))
            place = Place(printed["benchmark"], row.label, *where)
            if (row.method, row.memory) != (printed["method"], printed["memory"]) or place not in places(name):
                continue
            config = places(name)[place]
            found = first_seeds(config, runs, seeds)
            ours = [_measured(run, printed["metric"]) for run in found]
            planned = seeds or experiment_named(name).seeds_of(place.benchmark)
            later = waiting(config, runs, len(found), planned)
            lines.append(
                _described(printed, row.label, spread)
                | {"cell": verdict.cell(place.benchmark, printed["metric"], printed["value"], spread, ours)}
                | {"run_ids": tuple(run["run_id"] for run in found)}
                | {"note": f"{later} more wait for seed {len(found)}" if later else ""}
            )
    return lines


def _time_lines(source: Store | pandas.DataFrame, seeds: int | None) -> list[dict[str, Any]]:
    """Tab. 2 as ratios to finetune; each round of the measurement is one value."""
    if not isinstance(source, Store):
        raise ErlibError("Tab. 2 is read from the store's folder; give the store itself, not its frame.")
    times = learning_times(source.root)
    lines = []
    for printed in records("tab2"):
        base = value("tab2", row="finetune", benchmark=printed["benchmark"])
        printed |= {"metric": "time ratio", "value": printed["value"] / base}
        for row in MAIN_ROWS:
            if (row.method, row.memory) == (printed["method"], printed["memory"]):
                ours = ratios(times, printed["benchmark"], row.label, FINETUNE.label)[:seeds]
                cell = verdict.cell(printed["benchmark"], "time ratio", printed["value"], None, ours)
                lines.append(_described(printed, row.label, None) | {"cell": cell, "run_ids": (), "note": ""})
    return lines


def _described(printed: Mapping[str, Any], label: str, spread: float | None) -> dict[str, Any]:
    named = {"paper_row": "row", "size": "samples_per_class", "paper": "value"}
    kept = ("table", "benchmark", "angle", "second_examples", "metric")
    return (
        {key: printed[key] for key in kept}
        | {ours: printed[theirs] for ours, theirs in named.items()}
        | {"row": label, "paper_spread": spread}
    )


def _judged(cell: verdict.Cell, judged: verdict.Verdict, note: str) -> dict[str, Any]:
    low, high = judged.interval or (None, None)
    alone = "one run" if judged.word == verdict.INCONCLUSIVE and judged.n == 1 else ""
    return {
        "ours": statistics.fmean(cell.ours) if cell.ours else None,
        "ours_std": statistics.stdev(cell.ours) if judged.n > 1 else None,
        "n": judged.n,
        "difference": judged.difference,
        "low": low,
        "high": high,
        "p": judged.p,
        "p_holm": judged.p_holm,
        "room": verdict.room(cell),
        "verdict": judged.word,
        "note": "; ".join(filter(None, (alone, note))),
    }


def _appendix_spread(printed: Mapping[str, Any]) -> float:
    """The ± of a number of Tab. 1, from the benchmark's own table."""
    name = next(name for name, benchmark in TABLES.items() if benchmark == printed["benchmark"])
    same = {key: printed[key] for key in ("row", "samples_per_class", "metric")}
    return float(published(name, **same).spread.iloc[0])


def _measured(run: Mapping[str, Any], metric: str) -> float:
    """A run's number: A_T in percent, F_T, or Tab. 7's accuracies on task 1 in percent."""
    if metric in ("accuracy", "forgetting"):
        return run[metric]
    if "final" not in run:
        raise ErlibError("Tab. 7 needs the runs' final accuracies; give the store, or its frame(curves=True).")
    return 100 * run["final"][metric.removesuffix("_accuracy")]["accuracy"]
