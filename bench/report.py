"""From repetitions to rows: medians, quartiles, ratios; and the table for people."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import Any

from plan import Job

Row = dict[str, Any]


def rows(jobs: list[Job]) -> list[Row]:
    """The flat rows of a section: one for each contender, for each point of a line, or for each row of Table 2."""
    section = jobs[0].section
    if section == "runs":
        return [row for job in jobs for row in _run(job, jobs)]
    one = {"steps": _steps, "growth": _growth, "timing": _timing}.get(section, _contenders)
    return [row for job in jobs for row in (one(job) if job.results else [_absent(job)])]


def summary(numbers: list[dict[str, float]]) -> Row:
    """Median and quartiles over the repetitions, of the seconds and of the ratio; and the repetitions."""
    columns: Row = {}
    for name in ("seconds", "ratio"):
        values = [n[name] for n in numbers if name in n]
        if values:
            low, middle, high = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
            columns |= {name: middle, f"{name}_low": low, f"{name}_high": high, f"{name}_repetitions": values}
    return columns


def _absent(job: Job) -> Row:
    return job.labels | {"side": job.side, "note": job.note}


def _steps(job: Job) -> Iterator[Row]:
    for method in job.results[0]["numbers"]:
        of_method = [result["numbers"][method] for result in job.results]
        yield from _sides(job, {"method": method}, of_method)


def _contenders(job: Job) -> Iterator[Row]:
    yield from _sides(job, {}, [result["numbers"] for result in job.results])


def _sides(job: Job, labels: Row, results: list[dict[str, dict[str, float]]]) -> Iterator[Row]:
    """The contenders of a process; the bare loop only where it stands beside erlib, elsewhere it is the yardstick."""
    for side in results[0]:
        if side != "bare" or job.side == "erlib":
            yield job.labels | labels | {"side": side} | summary([numbers[side] for numbers in results])


def _run(job: Job, jobs: list[Job]) -> Iterator[Row]:
    """Whole runs: ratios are to the bare run of the same repetition, memory is the largest process's.

    Avalanche has no sweep, so that a run of its sweep costs what its single run does: that row is not measured again.
    """
    of_side = {other.side: other for other in jobs if _where(other) == (job.labels["benchmark"], "run")}
    yield _whole(job, of_side["bare"]) if job.results else _absent(job)
    if job.labels["what"] == "sweep":
        alone = of_side["avalanche"]
        row = _whole(alone, of_side["bare"]) if alone.results else _absent(alone)
        yield row | {"what": "sweep", "runs": job.labels["runs"], "from": "its single run"}


def _where(job: Job) -> tuple[str, str]:
    return job.labels["benchmark"], job.labels["what"]


def _whole(job: Job, bare: Job) -> Row:
    numbers = [result["numbers"][job.side] for result in job.results]
    yardsticks = [result["numbers"]["bare"]["seconds"] for result in bare.results]
    if yardsticks:
        numbers = [n | {"ratio": n["seconds"] / one} for n, one in zip(numbers, yardsticks)]
    memory = statistics.median(result["megabytes"] for result in job.results)
    return job.labels | {"side": job.side} | summary(numbers) | {"megabytes": memory}


def _growth(job: Job) -> Iterator[Row]:
    """Ratios are to the first point of the line."""
    lines = [result["numbers"] for result in job.results]
    for axis, points in lines[0].items():
        for value in points:
            yield job.labels | {"axis": axis, "value": int(value)} | summary([line[axis][value] for line in lines])


def _timing(job: Job) -> Iterator[Row]:
    """Ratios are to finetune in the same round."""
    seconds = job.results[0]["numbers"]
    first = next(iter(seconds.values()))
    for row in job.order["rows"]:
        rounds = [{"seconds": mine, "ratio": mine / theirs} for mine, theirs in zip(seconds[row["label"]], first)]
        yield job.labels | {"label": row["label"], "steps": row["steps"]} | summary(rounds)


def table(section: str, found: list[Row]) -> Iterator[str]:
    """A section for people: seconds, ratio with its quartiles over the repetitions."""
    against = {"growth": "the first of its line", "timing": "finetune"}.get(section, "the bare loop")
    units = {"evaluation": "for 1,000 images", "runs": "a run", "startup": ""}.get(section, "a step")
    yield f"\n{section}: seconds {units}; ratio to {against}, with quartiles" if units else f"\n{section}: seconds"
    for row in found:
        names = ("what", "benchmark", "method", "label", "writer", "axis", "value", "side")
        shown = [str(row[name]) for name in names if name in row]
        yield f"  {' '.join(shown):<52}{_cells(row)}"


def _cells(row: Row) -> str:
    if "note" in row:
        return row["note"]
    text = f"{row['seconds']:10.5f}"
    if "ratio" in row:
        text += f"  {row['ratio']:6.2f} ({row['ratio_low']:.2f} to {row['ratio_high']:.2f})"
    if "megabytes" in row:
        text += f"  {row['megabytes']:6.0f} MB"
    return text + (f"  imports {', '.join(row['heavy']) or 'nothing heavy'}" if "heavy" in row else "")
