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

from plan import Job, jobs
from report import Row, rows, table
from startup import start_up

from erlib.errors import ErlibError

HERE = Path(__file__).resolve().parent


def compare(sections: list[str], repeats: int, scale: str, cub_steps: int, avalanche: Path, out: Path) -> None:
    """Measure the sections; those of an earlier measurement that are not measured now stay in the files."""
    machine = describe(avalanche)
    pythons = {"erlib": sys.executable}
    if machine["avalanche"]:
        pythons["avalanche"] = str(avalanche)
    else:
        print(f"Avalanche is not measured: {avalanche} is not a Python that has it; `make bench` makes one.")
    for section in sections:
        found = (
            start_up(repeats)
            if section == "startup"
            else measured(jobs(section, repeats, scale, cub_steps), pythons, repeats)
        )
        print("\n".join(table(section, found)), flush=True)
        write(section, found, machine, out)


def measured(planned: list[Job], pythons: dict[str, str], repeats: int) -> list[Row]:
    """All jobs, one after the other, as often as asked for."""
    present = [job for job in planned if job.side in pythons]
    for repetition in range(repeats):
        for number, job in enumerate(present, start=1):
            start = time.perf_counter()
            job.results.append(measure(job, pythons[job.side]))
            name = " ".join(str(value) for value in job.labels.values() if value is not None)
            place = f"{job.section} {repetition + 1}/{repeats}, {number}/{len(present)}"
            print(f"{place}: {name}, {job.side}: {time.perf_counter() - start:.0f} s", flush=True)
    return rows(planned)


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


def write(section: str, found: list[Row], machine: dict[str, Any], out: Path) -> None:
    """timing.json holds Table 2's times, speed.json all else."""
    out.mkdir(parents=True, exist_ok=True)
    path = out / ("timing.json" if section == "timing" else "speed.json")
    content = json.loads(path.read_text()) if path.exists() else {}
    content["machine"] = machine
    content["rows" if section == "timing" else section] = found
    if section != "timing":
        content.setdefault("when", {})[section] = machine["when"]
    path.write_text(json.dumps(content, indent=1) + "\n")
    print(f"Written: {section} to {path}", flush=True)
