"""Learning times for Tab. 2: measured apart from the runs, on an idle machine, in rounds that time every row once.

`python -m erlib bench` writes the file `learning_time.json` beside the store's runs: `{"seconds": {benchmark: {row
label: [seconds a step, one a round]}}, "steps": {benchmark: {row label: steps a round}}, "machine", "minutes"}`.
A round gives one ratio, so the ratios are paired.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from erlib.errors import ErlibError

FILE = "learning_time.json"


def read(root: Path) -> dict[str, Any]:
    """The file as it is; empty if nothing was measured yet."""
    path = root / FILE
    if not path.is_file():
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        seconds = content["seconds"]
        times = {b: {row: [float(s) for s in rounds] for row, rounds in rows.items()} for b, rows in seconds.items()}
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ErlibError(f"{path} holds no learning times; delete it and measure again.") from error
    return content | {"seconds": times}


def learning_times(root: Path) -> dict[str, dict[str, list[float]]]:
    """Seconds by benchmark and row label, one a round; empty if nothing was measured yet."""
    return read(root).get("seconds", {})


def ratios(times: dict[str, dict[str, list[float]]], benchmark: str, row: str, base: str) -> list[float]:
    """Seconds of `row` over those of `base`, round by round."""
    rows = times.get(benchmark, {})
    return [a / b for a, b in zip(rows.get(row, ()), rows.get(base, ()))]
