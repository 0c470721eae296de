"""From repetitions to rows: medians, quartiles, ratios; and the table for people."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from typing import Any

from plan import Job

Row = dict[str, Any]


def rows(jobs: list[Job]) -> list[Row]:
    """The flat rows of a section: one for each contender, for each point of a line, or for each row of Table 2."""
    if jobs[0].section == "growth":
        return [row for job in jobs for row in _growth(job)]
    if jobs[0].section == "timing":
        return [_timing(job) for job in jobs]
    if jobs[0].section == "runs":
        return [row for job in jobs for row in _contenders(job, _beside(job, jobs))]
    return [row for job in jobs for row in _contenders(job)]


def summary(numbers: list[dict[str, float]]) -> Row:
    """Median and quartiles over the repetitions, of the seconds and of the ratio; and the repetitions."""
    columns: Row = {}
    for name in ("seconds", "ratio"):
        values = [n[name] for n in numbers if name in n]
        if values:
            low, middle, high = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
            columns |= {name: middle, f"{name}_low": low, f"{name}_high": high, f"{name}_repetitions": values}
    return columns


def _contenders(job: Job, yardsticks: list[float] | None = None) -> Iterator[Row]:
    if not job.results:
        yield job.labels | {"side": job.side, "note": "not measured"}
        return
    for side in job.results[0]["numbers"]:
        if side == "bare" and job.side != "erlib":
            continue  # it was the yardstick of that process
        numbers = [result["numbers"][side] for result in job.results]
        if yardsticks is not None:
            numbers = [n | {"ratio": n["seconds"] / one} for n, one in zip(numbers, yardsticks)]
        memory = statistics.median(result["megabytes"] for result in job.results)
        yield job.labels | {"side": side} | summary(numbers) | {"megabytes": memory}


def _beside(job: Job, jobs: list[Job]) -> list[float]:
    """Of whole runs: erlib's seconds in the same repetition."""
    ours = next(other for other in jobs if other.labels == job.labels and other.side == "erlib")
    return [result["numbers"]["erlib"]["seconds"] for result in ours.results]


def _growth(job: Job) -> Iterator[Row]:
    """Ratios are to the first point of the line."""
    lines = [result["numbers"] for result in job.results]
    for axis, points in lines[0].items():
        for value in points:
            yield job.labels | {"axis": axis, "value": int(value)} | summary([line[axis][value] for line in lines])


def _timing(job: Job) -> Row:
    numbers = summary([result["numbers"]["method"] for result in job.results])
    return job.labels | {
        "seconds_per_step": numbers["seconds"],
        "ratio": numbers["ratio"],
        "spread": [numbers["ratio_low"], numbers["ratio_high"]],
        "repeats": len(job.results),
    }


def table(section: str, found: list[Row]) -> Iterator[str]:
    """A section for people: seconds, ratio with its quartiles over the repetitions."""
    against = {"runs": "erlib", "growth": "the first of its line", "timing": "finetune"}.get(section, "the bare loop")
    units = {"evaluation": "for 1,000 images", "runs": "a run", "startup": ""}.get(section, "a step")
    yield f"\n{section}: seconds {units}; ratio to {against}, with quartiles" if units else f"\n{section}: seconds"
    for row in found:
        names = ("what", "benchmark", "method", "label", "writer", "axis", "value", "side")
        shown = [str(row[name]) for name in names if name in row and not (name == "method" and "label" in row)]
        yield f"  {' '.join(shown):<52}{_cells(row)}"


def _cells(row: Row) -> str:
    if "note" in row:
        return row["note"]
    text = f"{row.get('seconds', row.get('seconds_per_step')):10.5f}"
    if "ratio" in row:
        low, high = row.get("spread") or (row["ratio_low"], row["ratio_high"])
        text += f"  {row['ratio']:6.2f} ({low:.2f} to {high:.2f})"
    return text + (f"  imports {', '.join(row['heavy']) or 'nothing heavy'}" if "heavy" in row else "")
