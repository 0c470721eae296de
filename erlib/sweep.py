"""Many runs: train what the store misses, on all cores or on any executor, and lose none."""

from __future__ import annotations

import argparse
import dataclasses
import sys
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from erlib import experiments, registry
from erlib.config import RunConfig, parse_settings
from erlib.errors import ErlibError
from erlib.locks import Lock
from erlib.rows import label
from erlib.status import Timings
from erlib.store import Store
from erlib.workers import Here, Processes, cores, train_one

POLL = 1.0  # seconds between two looks at what others train, and at the time left


@dataclass
class Report:
    """What became of the runs of a sweep. `skipped` were stored already, or by another sweep meanwhile."""

    done: list[RunConfig] = field(default_factory=list)
    failed: list[tuple[RunConfig, str]] = field(default_factory=list)
    skipped: list[RunConfig] = field(default_factory=list)
    here: list[str] = field(default_factory=list)  # why runs were trained in this process: once for each class

    def __str__(self) -> str:
        """A line of counts, then a line for each cause of failure."""
        lines = [f"{len(self.done)} runs trained, {len(self.skipped)} were there already, {len(self.failed)} failed."]
        causes: dict[str, list[RunConfig]] = {}
        for config, error in self.failed:
            causes.setdefault(error, []).append(config)
        for error, configs in causes.items():
            more = f" and {len(configs) - 1} more" if len(configs) > 1 else ""
            lines.append(f"failed: {label(configs[0])}{more}: {error}")
        for reason in self.here:
            lines.append(f"trained in this process, one after the other: {reason}")
        return "\n".join(lines)


def sweep(
    configs: Iterable[RunConfig],
    store: Store | str | Path | None = None,
    *,
    executor: Executor | None = None,
    workers: int | None = None,
    data: str | Path | None = None,
    device: str = "cpu",
    progress: bool = True,
) -> Report:
    """Train the runs that the store misses, in the given order, each once.

    Without an executor: `workers` single-threaded processes, by default one per core (on a GPU: one). Any other with
    the `concurrent.futures` interface will do; its workers need erlib and the store's folder. A failed run is in the
    report and stops no other. A registered class that can be imported from a module is trained by the workers; one
    that was written in a notebook is trained in this process, and the report says so. Ctrl-C ends the processes; the
    same call goes on from their checkpoints.
    """
    store = store if isinstance(store, Store) else Store(store)
    wanted = list({config.run_id: config for config in configs}.values())
    report = Report(skipped=[config for config in wanted if store.has(config)])
    there = {config.run_id for config in report.skipped}
    missing = [config for config in wanted if config.run_id not in there]
    if not missing:
        return report
    store.prepare()
    count = workers or (cores() if executor is not None or _on_cpu(device) else 1)
    with _pool(executor, min(count, len(missing))) as pool:
        under_way = _UnderWay(store, pool, executor is None, (data and str(Path(data).absolute()), device), report)
        with _bar(missing, store, count, progress) as tell:
            try:
                under_way.train(missing, tell)
            except KeyboardInterrupt:
                under_way.cancel()
                done = sum(store.has(config) for config in missing)
                raise KeyboardInterrupt(f"stopped: {done} runs done, resume with the same command") from None
    return report


class _UnderWay:
    """The runs that were handed to the executor, and those that somebody else is training."""

    def __init__(self, store: Store, pool: Executor, local: bool, where: tuple[Any, str], report: Report) -> None:
        self.store, self.pool, self.local, self.where, self.report = store, pool, local, where, report
        self.futures: dict[Future[dict[str, str]], RunConfig] = {}
        self.elsewhere: list[RunConfig] = []

    def train(self, configs: list[RunConfig], tell: Any) -> None:
        for config in sorted(configs, key=_only_here):
            self._submit(config)
        while self.futures or self.elsewhere:
            finished = wait(self.futures, POLL, FIRST_COMPLETED).done if self.futures else time.sleep(POLL) or ()
            for future in finished:
                self._settle(self.futures.pop(future, None), future)
            self._look_elsewhere()
            tell([*self.futures.values(), *self.elsewhere])

    def cancel(self) -> None:
        for future in self.futures:
            future.cancel()
        if isinstance(self.pool, Processes):
            self.pool.stop()

    def _submit(self, config: RunConfig) -> None:
        pool, parcel = self.pool, ()
        try:
            parcel = registry.parcel(config)
        except ErlibError as only_here:
            if not self.local:
                self.report.failed.append((config, str(only_here)))
                return
            pool = Here()
            if str(only_here) not in self.report.here:
                self.report.here.append(str(only_here))
        root = str(self.store.root.absolute())
        options = {"parcel": parcel} if parcel else {}
        self.futures[pool.submit(train_one, dataclasses.asdict(config), root, *self.where, **options)] = config

    def _settle(self, config: RunConfig | None, future: Future[dict[str, str]]) -> None:
        """Book a finished run."""
        if config is None:
            return  # given up with its data set, below
        try:
            outcome = future.result()
        except ErlibError as error:
            outcome = {"state": "failed", "error": str(error)}
        except Exception as error:  # of the executor: a lost cluster, a broken pool
            outcome = {"state": "failed", "error": f"the executor lost it ({type(error).__name__}: {error})"}
        if outcome["state"] == "done":
            self.report.done.append(config)
        elif outcome["state"] == "stored":
            self.report.skipped.append(config)
        elif outcome["state"] == "busy":
            self.elsewhere.append(config)
        else:
            self.report.failed.append((config, outcome["error"]))
        if outcome["state"] == "no data":
            self._give_up(config.source, outcome["error"])

    def _give_up(self, source: str, error: str) -> None:
        """The other runs of a data set that cannot be read would only say so again."""
        for future, config in list(self.futures.items()):
            if config.source == source and future.cancel():
                del self.futures[future]
                self.report.failed.append((config, error))

    def _look_elsewhere(self) -> None:
        """Another sweep's runs: take note of those it has stored, and try those again that it has left."""
        for config in self.elsewhere[:]:
            stored = self.store.has(config)
            if stored or Lock(self.store.work, config.run_id).free():
                self.elsewhere.remove(config)
                self.report.skipped.append(config) if stored else self._submit(config)


@contextmanager
def _pool(executor: Executor | None, workers: int) -> Iterator[Executor]:
    """The given executor, which stays its owner's, or our own processes."""
    if executor is not None:
        yield executor
        return
    with Processes(workers) as pool:
        yield pool


@contextmanager
def _bar(missing: list[RunConfig], store: Store, workers: int, show: bool) -> Iterator[Any]:
    """A live bar at a terminal or in Jupyter; gives the function that tells it which runs are left."""
    from tqdm.auto import tqdm

    timings = Timings(store.load())
    layout = "{desc} |{bar}| {n_fmt}/{total_fmt} runs, {elapsed} gone{postfix}"
    with tqdm(total=len(missing), desc="sweep", bar_format=layout, disable=None if show else True) as bar:

        def tell(left: list[RunConfig]) -> None:
            bar.set_postfix_str(f"{timings.all(left, workers)} left", refresh=False)
            bar.update(len(missing) - len(left) - bar.n)
            bar.refresh()

        tell(missing)
        yield tell


def _only_here(config: RunConfig) -> bool:
    """Does the run use a class that a worker process cannot import?"""
    try:
        registry.parcel(config)
    except ErlibError:
        return True
    return False


def _on_cpu(device: str) -> bool:
    if device == "auto":
        from erlib.environment import resolve_device

        return resolve_device(device).type == "cpu"
    return device == "cpu"


def command(args: argparse.Namespace) -> int:
    """`python -m erlib sweep`. The exit code is 1 if a run failed, 130 after Ctrl-C."""
    store, settings = Store(args.results), parse_settings(args.set)
    options = {"scale": args.scale, "benchmarks": args.benchmark, "rows": args.row, **settings}
    configs = [config for name in args.names for config in experiments.configs(name, args.seeds, **options)]
    for problem in store.problems:
        print(f"left out: {problem}", file=sys.stderr)
    if args.dry_run:
        return _list(configs, store, args.workers or cores())
    try:
        with _cluster(args.scheduler) as executor:
            report = sweep(configs, store, executor=executor, workers=args.workers, data=args.data, device=args.device)
    except KeyboardInterrupt as stopped:
        print(stopped or "stopped", file=sys.stderr)
        return 130
    print(report)
    return 1 if report.failed else 0


def _list(configs: list[RunConfig], store: Store, workers: int) -> int:
    missing = [config for config in dict.fromkeys(configs) if not store.has(config)]
    for config in missing:
        print(f"{config.run_id} {label(config)}")
    print(f"{len(missing)} runs missing, {Timings(store.load()).all(missing, workers)} on {workers} at a time.")
    return 0


@contextmanager
def _cluster(address: str | None) -> Iterator[Executor | None]:
    """The executor of a Dask cluster, or None without an address."""
    if address is None:
        yield None
        return
    try:
        from distributed import Client
    except ImportError as error:
        raise ErlibError("--scheduler needs Dask; install it with pip install distributed.") from error
    try:
        client = Client(address, timeout=10, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ErlibError(
            f"no Dask scheduler answers at {address}; start one with `dask scheduler`, and `dask worker {address}`."
        ) from error
    with client:
        yield client.get_executor(pure=False)
