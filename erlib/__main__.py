"""The command line: python -m erlib run | sweep | status | data | book | bench."""

from __future__ import annotations

import argparse
import sys

from erlib.errors import ErlibError

DEVICES = ("auto", "cpu", "cuda", "mps")


def parser() -> argparse.ArgumentParser:
    """All commands and their options. Building it imports nothing heavy."""
    top = argparse.ArgumentParser(
        prog="python -m erlib", description="On Tiny Episodic Memories in Continual Learning, reproduced."
    )
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    run = commands.add_parser("run", help="train and evaluate one run", description="Train and evaluate one run.")
    run.add_argument("--benchmark", required=True, help="permuted_mnist, rotated_mnist, split_cifar, …")
    run.add_argument("--method", required=True, help="finetune, ewc, agem, mer, er, multitask or memory_only")
    run.add_argument("--memory", help="the writer for er: reservoir, ring, kmeans, mof, hybrid or full_ring")
    run.add_argument("--samples-per-class", type=int, metavar="N", help="memory slots for each class (default 1)")
    run.add_argument("--seed", type=int, default=0, metavar="N", help="default 0")
    run.add_argument("--source", help="data set (default: the paper's; MNIST falls back to mnist-5k, the embedded one)")
    _common(run)
    run.set_defaults(call=_run)

    sweep = commands.add_parser(
        "sweep",
        help="train what figures and tables miss",
        description="Train the runs of the named figures and tables that the store misses, on all cores.",
    )
    sweep.add_argument("names", nargs="+", metavar="NAME", help="fig1 … fig7, tab1, tab3 … tab8, and more: see status")
    sweep.add_argument("--seeds", type=int, metavar="N", help="how many seeds (default: as many as the table wants)")
    sweep.add_argument("--workers", type=int, metavar="N", help="processes (default: one for each core)")
    sweep.add_argument("--scheduler", metavar="ADDRESS", help="a Dask scheduler, tcp://host:port, instead of processes")
    sweep.add_argument("--benchmark", action="append", metavar="NAME", help="only these benchmarks (repeatable)")
    sweep.add_argument("--row", action="append", metavar="LABEL", help="only these rows, such as ER-Ring (repeatable)")
    sweep.add_argument("--scale", default="paper", choices=("paper", "quick"), help="quick: small, for a try")
    sweep.add_argument("--dry-run", action="store_true", help="list what is missing, train nothing")
    _common(sweep)
    sweep.set_defaults(call=_sweep)

    status = commands.add_parser(
        "status",
        help="what is trained, what is missing",
        description="For each figure and table: how many of its runs exist, are stale, are missing, and how long "
        "the missing ones would take on this machine.",
    )
    status.add_argument("--results", metavar="DIR", help="the store (default: results/ of the project)")
    status.add_argument("--workers", type=int, metavar="N", help="processes to plan with (default: one for each core)")
    status.set_defaults(call=_status)

    data = commands.add_parser(
        "data",
        help="which data sets are here",
        description="Say which data sets were found, where, whether they are whole, and what to do for the others.",
    )
    data.add_argument("--data", metavar="DIR", help="folder of the data sets (default: $ERLIB_DATA, then the cache)")
    data.set_defaults(call=_data)

    book = commands.add_parser(
        "book",
        help="execute the notebooks and build the book",
        description="Execute the notebooks one after another with papermill and build the book from them.",
    )
    book.add_argument("--page", action="append", metavar="NAME", help="only this notebook (repeatable; default: all)")
    book.add_argument("--scale", choices=("paper", "quick"), help="the pages' scale (default: their own, paper)")
    book.add_argument("--no-build", action="store_true", help="execute only")
    book.set_defaults(call=_book)

    from erlib import bench

    measure = commands.add_parser(
        "bench",
        help="measure speed beside a bare loop and Avalanche",
        description="Measure steps, evaluation and whole runs beside a bare PyTorch loop and Avalanche, in one run.",
    )
    bench.add_options(measure)
    measure.set_defaults(call=bench.command)
    return top


def _common(command: argparse.ArgumentParser) -> None:
    command.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="change a setting: lr=0.03")
    command.add_argument("--results", metavar="DIR", help="the store of results (default: results/ of the project)")
    command.add_argument("--data", metavar="DIR", help="folder of the data sets (default: $ERLIB_DATA, then the cache)")
    command.add_argument("--device", default="cpu", choices=DEVICES, help="default cpu")


def _run(args: argparse.Namespace) -> int:
    from erlib import run_command

    return run_command.command(args)


def _sweep(args: argparse.Namespace) -> int:
    from erlib.sweep import command

    return command(args)


def _status(args: argparse.Namespace) -> int:
    from erlib import status

    return status.command(args)


def _data(args: argparse.Namespace) -> int:
    from erlib import data_command

    return data_command.main(args.data)


def _book(args: argparse.Namespace) -> int:
    from erlib import book

    return book.command(args)


def main(arguments: list[str] | None = None) -> int:
    """Run a command; a mistake of the user is one sentence on standard error and exit code 2."""
    args = parser().parse_args(arguments)
    try:
        return args.call(args)
    except ErlibError as error:
        print(f"erlib: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("erlib: stopped; start the same command again to go on.", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
