"""The page on speed: what `python -m erlib bench` measured beside a bare PyTorch loop and Avalanche, and its aims."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator
from typing import Any

import pandas

from erlib.bench import COMMAND, SPEED
from erlib.config import paper_config
from erlib.errors import ErlibError
from erlib.protocol import BENCHMARKS
from erlib.registry import MEMORIES
from erlib.report.page import Page
from erlib.report.shown import Note, Table
from erlib.rows import row_of
from erlib.store import Store

METHODS = {"finetune": "Finetune", "er": "ER-Ring", "agem": "A-GEM(10)", "ewc": "EWC", "mer": "MER(single)"}
SIDES = {"bare": "bare loop", "erlib": "erlib", "avalanche": "Avalanche"}
# Set before anything was measured: a step over a bare one's at most, Avalanche's time over ours at least.
STEP = {"er": 1.15, "ewc": 1.25, "agem": 1.25}
FASTER = {("permuted_mnist", "run"): 6, ("permuted_mnist", "sweep"): 12}
FASTER |= {("split_cifar", "run"): 1.4, ("split_cifar", "sweep"): 2.5}
FLAT = 0.10  # a writer's step from 1 to 100 samples per class
START = {"import erlib, after torch": 0.3, "python -m erlib --help": 0.5}  # seconds
LIGHT = {"import erlib, after torch": ("torchvision", "mlxtend", "dask", "matplotlib")}
LIGHT |= {"python -m erlib --help": ("torch",)}
Measured = dict[str, Any]


def speed(page: Page) -> Table | Note:
    """Steps, evaluation and whole runs: seconds, the ratio to the bare loop, the memory of a run."""
    found = [row for section in ("steps", "evaluation", "runs") for row in rows(page, section)]
    if not found:
        return absent(page)
    lines = {}
    for row in found:
        line = lines.setdefault((BENCHMARKS[row["benchmark"]].title, work(row)), {})
        line[SIDES[row["side"]]] = _cell(row)
    lines = dict(sorted(lines.items(), key=lambda line: line[0][0]))  # by benchmark, the order of a benchmark's kept
    shown = pandas.DataFrame(lines.values(), index=pandas.MultiIndex.from_tuples(lines), columns=list(SIDES.values()))
    caption = (
        "Time, and in brackets its ratio to the bare loop with quartiles over the repetitions; memory at its peak."
    )
    return Table(shown.fillna("–"), page.name, caption, frame=pandas.DataFrame(found))


def aims(page: Page) -> Table | Note:
    """What was to be reached, what was measured, and whether it is met."""
    if not read(page):
        return absent(page)
    shown = pandas.DataFrame(_aims(page), columns=["aim", "bound", "measured", "verdict"]).set_index("aim")
    shown = shown[["verdict", "measured", "bound"]]  # the verdict first, so that no screen cuts it off
    words = shown.apply(lambda column: column if column.name == "verdict" else column.map(lambda _: ""))
    met = list(shown.verdict).count("met")
    return Table(shown, f"{page.name}-aims", f"{met} of {len(shown)} aims are met.", words=words)


def limits(page: Page) -> Note:
    """How much faster than Avalanche's run a program could be: as much as the bare loop is."""
    ratio = {(row["benchmark"], row["side"]): row["ratio"] for row in rows(page, "runs") if row["what"] == "run"}
    words = [
        f"{BENCHMARKS[benchmark].title}: Avalanche's whole run takes {theirs:.2f} times as long as the bare loop's, "
        "which has nothing around its arithmetic to leave out; so with the same arithmetic no program could gain more "
        f"on one core. erlib's takes {ratio[benchmark, 'erlib']:.2f} times as long as the bare loop's."
        for (benchmark, side), theirs in ratio.items()
        if side == "avalanche" and (benchmark, "erlib") in ratio
    ]
    return Note(*words) if words else absent(page)


def how(page: Page) -> Note:
    """The machine, how often, and what was cut short."""
    content = read(page)
    if not content:
        return absent(page)
    sittings: dict[str, list[str]] = {}
    for name, section in content.items():
        machine = section["machine"]
        sentence = (
            f"measured on {machine['cpu']}, {machine['cores']} cores, PyTorch {machine['torch']}, Avalanche "
            f"{machine['avalanche'] or 'absent'}, {machine['when'][:10]}; load before: {machine['load']}."
        )
        sittings.setdefault(sentence, []).append(name)
    words = [f"{', '.join(names).capitalize()}: {sentence}" for sentence, names in sittings.items()]
    counts = {
        name: max((len(row.get("seconds_repetitions", ())) for row in rows(page, name)), default=0) for name in content
    }
    words.append("Repetitions: " + ", ".join(f"{name} {count}" for name, count in counts.items()) + ".")
    sweeps = {BENCHMARKS[row["benchmark"]].title: row["runs"] for row in rows(page, "runs") if row["what"] == "sweep"}
    words.append("A sweep: " + ", ".join(f"{count} runs of {title}" for title, count in sweeps.items()) + ".")
    for row in rows(page, "runs"):
        if (row["what"], row["side"]) == ("run", "erlib") and row["tasks"] < row["whole_tasks"]:
            words.append(
                f"{BENCHMARKS[row['benchmark']].title}: a run of {row['tasks']} of {row['whole_tasks']} tasks, with "
                f"{row['examples_per_task']} examples each, the same work on every side: the proportion of steps to "
                "evaluated images is the whole run's."
            )
    return Note(*words)


def read(page: Page) -> Measured:
    """The file of measurements by section; empty if nothing was measured yet."""
    path = Store(page.settings["results"]).root / SPEED
    if not path.is_file():
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return {name: section | {"rows": list(section["rows"])} for name, section in content.items()}
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ErlibError(f"{path} holds no measurements; delete it and measure again.") from error


def rows(page: Page, section: str) -> list[Measured]:
    """The measured rows of a section."""
    return [row for row in read(page).get(section, {"rows": []})["rows"] if "seconds" in row]


def absent(page: Page) -> Note:
    """What is missing, and the command that makes it."""
    return Note(f"Not measured yet: `{COMMAND}` writes `results/{SPEED}`, which this page shows.")


def work(row: Measured) -> str:
    """What a row measured, in words."""
    if "method" in row:
        return f"step, {METHODS[row['method']]}"
    if "what" not in row:
        return "evaluation, 1,000 images"
    return "whole run" if row["what"] == "run" else "run in a sweep"


def writer_label(writer: str) -> str:
    """The row of ER with that writer; a writer of your own has its own name."""
    row = row_of(paper_config("permuted_mnist", "er", memory=writer)) if writer in MEMORIES else None
    return row.label if row else writer


def faster(page: Page, benchmark: str, what: str) -> list[float]:
    """Avalanche's seconds a run over erlib's, repetition by repetition."""
    seconds = {
        row["side"]: row["seconds_repetitions"]
        for row in rows(page, "runs")
        if (row["benchmark"], row["what"]) == (benchmark, what)
    }
    return [theirs / ours for theirs, ours in zip(seconds.get("avalanche", ()), seconds.get("erlib", ()))]


def _aims(page: Page) -> Iterator[tuple[str, str, str, str]]:
    """Aim, bound, measured, verdict."""
    for benchmark in ("permuted_mnist", "split_cifar"):
        title = BENCHMARKS[benchmark].title
        for method, most in STEP.items():
            where = {"benchmark": benchmark, "method": method, "side": "erlib"}
            found = next((row for row in rows(page, "steps") if where.items() <= row.items()), None)
            values = found["ratio_repetitions"] if found else []
            name, bound = f"{title}: a step of {METHODS[method]}", f"at most {most:g} bare ones"
            yield name, bound, *_judged(values, most=most)
        for what, words in (("run", "a whole run"), ("sweep", "a run in a sweep")):
            least = FASTER[benchmark, what]
            name, bound = f"{title}: {words}", f"{least:g} times as fast as Avalanche"
            yield name, bound, *_judged(faster(page, benchmark, what), least=least)
    lines: dict[str, list[Measured]] = {}
    for row in rows(page, "growth"):
        if row["axis"] == "samples per class":
            lines.setdefault(row["writer"], []).append(row)
    for writer, points in lines.items():
        far = max(points, key=lambda point: abs(point["ratio"] - 1))
        name, bound = f"{writer_label(writer)}: a step at {far['value']} per class", f"within {FLAT:.0%} of one at 1"
        yield name, bound, *_judged(far["ratio_repetitions"], least=1 - FLAT, most=1 + FLAT)
    for row in rows(page, "startup"):
        if row["what"] in START:
            most, heavy = START[row["what"]], [name for name in LIGHT[row["what"]] if name in row["heavy"]]
            text, word = _judged(row["seconds_repetitions"], most=most, unit=" s")
            text += f", imports {', '.join(heavy)}" if heavy else ""
            bound = f"under {most:g} s, without\n{', '.join(LIGHT[row['what']])}"
            yield row["what"], bound, text, "not met" if heavy else word


def _judged(values: list[float], least: float = 0, most: float = float("inf"), unit: str = "") -> tuple[str, str]:
    """The median with its quartiles, and whether it lies within the bounds."""
    if not values:
        return "not measured", "not run"
    middle = statistics.median(values)
    text = f"{middle:.2f}{unit}"
    if len(values) > 1:
        low, _, high = statistics.quantiles(values, n=4, method="inclusive")
        text += f" ({low:.2f} to {high:.2f})"
    return text, "met" if least <= middle <= most else "not met"


def _cell(row: Measured) -> str:
    seconds = row["seconds"]
    text = f"{seconds:.1f} s" if seconds >= 10 else f"{seconds:.2f} s" if seconds >= 1 else f"{1000 * seconds:.3g} ms"
    if "ratio" in row and row["side"] != "bare":
        text += f"\n({row['ratio']:.2f}: {row['ratio_low']:.2f} to {row['ratio_high']:.2f})"
    return text + (f"\n{row['megabytes']:.0f} MB" if "megabytes" in row else "")
