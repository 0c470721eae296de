"""`python -m erlib run`: one run, with a live bar, into the store."""

from __future__ import annotations

import argparse
import dataclasses
import sys

from erlib.config import RunConfig, paper_config, parse_settings
from erlib.errors import ErlibError
from erlib.protocol import benchmark_named
from erlib.store import Store


def command(args: argparse.Namespace) -> int:
    """Train the run (or find it in the store), print A_T and F_T."""
    from tqdm import tqdm

    from erlib.workers import keep_freed_memory, train_one

    changes = parse_settings(args.set)
    config = paper_config(
        args.benchmark,
        args.method,
        memory=args.memory,
        samples_per_class=args.samples_per_class,
        seed=args.seed,
        **changes | {"source": args.source or changes.get("source") or default_source(args.benchmark, args.data)},
    )
    store = Store(args.results)
    keep_freed_memory()
    with tqdm(total=None, unit="step", desc=label(config), leave=False) as bar:

        def progress(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        outcome = train_one(dataclasses.asdict(config), str(store.root), args.data, args.device, progress)
    if outcome["state"] == "busy":
        raise ErlibError(f"run {config.run_id} is being trained by another process; wait for it, or stop that one.")
    if "error" in outcome:
        raise ErlibError(outcome["error"])
    report(config, store, outcome["state"] == "stored")
    return 0


def report(config: RunConfig, store: Store, already: bool) -> None:
    """Print what a stored run says."""
    result = store.get(config)
    if config.source in ("mnist-5k", "toy"):
        kind = "the embedded 5,000 images" if config.source == "mnist-5k" else "generated images"
        print(f"Made from {kind} ({config.source}): not comparable with the paper.")
    if result.diverged:
        print("The run diverged: its weights are no longer finite, and its accuracy is a blind guess's; lower lr.")
    print(f"A_T = {100 * result.average_accuracy:.2f} %")
    print("F_T = not defined" if result.forgetting is None else f"F_T = {result.forgetting:.3f}")
    print(f"{'Already stored' if already else 'Stored'} in {store.path(config)}")


def default_source(benchmark: str, data: str | None) -> str:
    """The paper's data set; for MNIST the embedded one where the real one is not on this machine."""
    source = benchmark_named(benchmark).sources[0]
    if source == "mnist":
        from erlib.benchmarks import mnist

        if not mnist.present(data):
            print("MNIST is not on this machine: using the embedded 5,000 images (mnist-5k).", file=sys.stderr)
            return "mnist-5k"
    return source


def label(config: RunConfig) -> str:
    """A short name of a run for people."""
    parts = [config.benchmark, config.method, config.memory, config.samples_per_class, f"seed {config.seed}"]
    return " ".join(str(part) for part in parts if part is not None)
