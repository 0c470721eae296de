"""The whole comparison: every job in fresh processes, repetition by repetition, then the table and the files.

Each process measures the bare loop too, block about, so that a ratio never compares two moments.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from plan import NOT_MEASURED, Job, jobs, repetitions
from report import Row, rows, table
from startup import start_up

from erlib.bench import SPEED
from erlib.errors import ErlibError
from erlib.paper.timing import FILE as LEARNING_TIME
from erlib.runfile import write_whole

HERE = Path(__file__).resolve().parent


def compare(sections: list[str], repeats: int, scale: str, cub_steps: int, avalanche: Path, out: Path) -> list[str]:
    """Measure the sections, each written as it ends; returns what failed. Sections not asked for stay as they were."""
    machine = describe(avalanche)
    pythons = {"erlib": sys.executable, "bare": sys.executable}
    if machine["avalanche"]:
        pythons["avalanche"] = str(avalanche)
    else:
        print(f"Avalanche is not measured: {avalanche} is not a Python that has it; `make bench` makes one.")
    failures = []
    for section in sections:
        start = time.perf_counter()
        if section == "startup":
            found = start_up(repeats)
        else:
            planned = jobs(section, repeats, scale, cub_steps)
            failures += measured(planned, pythons, repetitions(section, repeats))
            found = rows(planned)
        print("\n".join(table(section, found)), flush=True)
        minutes = round((time.perf_counter() - start) / 60, 1)
        write(section, found, {"minutes": minutes, "machine": machine}, out)
    return failures


def measured(planned: list[Job], pythons: dict[str, str], repeats: int) -> list[str]:
    """All jobs, one after the other, as often as asked for; one that fails is left out, the others go on."""
    present = [job for job in planned if job.side in pythons]
    failures = []
    for repetition in range(repeats):
        for number, job in enumerate(present, start=1):
            if job.note != NOT_MEASURED:
                continue
            start = time.perf_counter()
            try:
                job.results.append(measure(job, pythons[job.side]))
            except ErlibError as error:
                job.note, job.results = "failed", []
                failures.append(str(error))
                print(error, flush=True)
            name = " ".join(str(value) for value in job.labels.values() if value is not None)
            place = f"{job.section} {repetition + 1}/{repeats}, {number}/{len(present)}"
            print(f"{place}: {name}, {job.side}: {time.perf_counter() - start:.0f} s", flush=True)
    return failures


def measure(job: Job, python: str) -> dict[str, Any]:
    """One measurement in a fresh, single-threaded process."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE", "PYTHONPATH": str(HERE.parent)}
    command = [python, "-W", "ignore", str(HERE / "measure.py"), json.dumps(job.order)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        cause = (done.stderr.strip() or f"exit code {done.returncode}").splitlines()[-1]
        raise ErlibError(f"measuring {json.dumps(job.order)} failed: {cause}")
    return json.loads(done.stdout.splitlines()[-1])


def describe(avalanche: Path) -> dict[str, Any]:
    """The machine, the versions, the date, and how busy it was; Avalanche's version is null without it."""
    import torch

    from erlib.environment import describe as describe_machine
    from erlib.workers import cores

    ask = "import importlib.metadata as m; print(m.version('avalanche-lib'), m.version('torch'))"
    versions = [None, None]
    if avalanche.exists():
        done = subprocess.run([str(avalanche), "-c", ask], capture_output=True, text=True, check=False)
        versions = done.stdout.split() if done.returncode == 0 else versions
    return {
        **describe_machine(torch.device("cpu")),
        "cores": cores(),
        "python": sys.version.split()[0],
        "avalanche": versions[0],
        "avalanche_torch": versions[1],
        "load": round(os.getloadavg()[0], 2),  # processes that wanted a core in the minute before
    }


def write(section: str, found: list[Row], about: dict[str, Any], out: Path) -> None:
    """Table 2's times go to learning_time.json, all else to speed.json; the file is replaced as a whole."""
    out.mkdir(parents=True, exist_ok=True)
    path = out / (LEARNING_TIME if section == "timing" else SPEED)
    content = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    if section == "timing":
        content |= about
        for row in found:
            if "seconds" in row:
                for name, value in (("steps", row["steps"]), ("seconds", row["seconds_repetitions"])):
                    content.setdefault(name, {}).setdefault(row["benchmark"], {})[row["label"]] = value
    else:
        content[section] = about | {"rows": found}
    write_whole(path, (json.dumps(content, indent=1) + "\n").encode())
    print(f"Written: {section} to {path}", flush=True)
