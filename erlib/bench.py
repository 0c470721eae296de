"""`python -m erlib bench`: speed beside a bare PyTorch loop and Avalanche. What is measured, and how, is in bench/."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from erlib.errors import ErlibError

BENCH = Path(__file__).resolve().parent.parent / "bench"
COMMAND = "python -m erlib bench"
SPEED = "speed.json"  # in results/, beside learning_time.json
SECTIONS = ("steps", "evaluation", "runs", "growth", "startup", "timing")


def add_options(command: argparse.ArgumentParser) -> None:
    """The options of the command."""
    command.add_argument("--only", metavar="NAMES", help=f"some of {','.join(SECTIONS)} (default: all)")
    command.add_argument(
        "--repeats", type=int, default=5, metavar="N", help="repetitions, of long ones at most 3 (default 5)"
    )
    command.add_argument("--scale", default="paper", choices=("paper", "small"), help="of the whole runs")
    command.add_argument("--cub-steps", type=int, default=50, metavar="N", help="steps of Table 2's CUB (default 50)")
    command.add_argument("--out", metavar="DIR", help="where speed.json and learning_time.json go (default: results/)")
    command.add_argument(
        "--avalanche", default=".venv-avalanche/bin/python", metavar="PYTHON", help="Avalanche's (default: %(default)s)"
    )


def command(args: argparse.Namespace) -> int:
    """Measure, print the table, write the files."""
    wanted = args.only.split(",") if args.only else list(SECTIONS)
    for name in wanted:
        if name not in SECTIONS:
            raise ErlibError(f"bench has no section '{name}'; choose some of {','.join(SECTIONS)}.")
    if args.repeats < 1 or args.cub_steps < 1:
        raise ErlibError("--repeats and --cub-steps need a whole number of at least 1.")
    if not (BENCH / "compare.py").exists():
        raise ErlibError("the folder bench/ is not beside the package; run this from a clone of the project.")
    sys.path.insert(0, str(BENCH))
    from compare import compare

    out = Path(args.out) if args.out else BENCH.parent / "results"
    failures = compare(wanted, args.repeats, args.scale, args.cub_steps, Path(args.avalanche), out)
    for failure in failures:
        print(f"erlib: {failure}", file=sys.stderr)
    return 1 if failures else 0
