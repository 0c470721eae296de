"""Start-up: what `import erlib` costs beyond torch, and how soon the help is on the screen."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from report import summary

ROOT = Path(__file__).resolve().parent.parent
HEAVY = ("torch", "torchvision", "mlxtend", "dask", "matplotlib", "pandas")
IMPORTS = f"""
import json, sys, time
marks = [time.perf_counter()]
import torch
marks.append(time.perf_counter())
before = set(sys.modules)
import erlib
marks.append(time.perf_counter())
light = set(sys.modules)
erlib.run
marks.append(time.perf_counter())
heavy = [[name for name in {HEAVY} if name in after - before] for after in (light, set(sys.modules))]
print(json.dumps([[b - a for a, b in zip(marks, marks[1:])], heavy]))
"""
NAMES = ("import torch", "import erlib, after torch", "erlib.run, after both", "python -m erlib --help")


def start_up(repeats: int) -> list[dict[str, Any]]:
    """Seconds, and which heavy packages each of the four pulls in."""
    seconds: list[list[float]] = [[] for _ in NAMES]
    heavy: list[list[str]] = [["torch"], [], [], []]
    for _ in range(repeats):
        spent, heavy[1:3] = json.loads(_python("-c", IMPORTS).stdout)
        start = time.perf_counter()
        _python("-m", "erlib", "--help")
        for values, value in zip(seconds, [*spent, time.perf_counter() - start]):
            values.append(value)
    listed = _python("-X", "importtime", "-m", "erlib", "--help").stderr.splitlines()
    imported = {line.split("|")[-1].strip() for line in listed}
    heavy[3] = [name for name in HEAVY if name in imported]
    measured = [summary([{"seconds": value} for value in values]) for values in seconds]
    return [{"what": name, **row, "heavy": found} for name, row, found in zip(NAMES, measured, heavy)]


def _python(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True, check=True)
