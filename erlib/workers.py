"""What a sweep's workers do: train one run; and the local ones: a process for each core that survives a crash.

A Dask worker runs the same `train_one`. Nothing here imports torch before a run begins.
"""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import queue
import signal
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from multiprocessing.connection import Connection
from typing import Any

from erlib import locks, registry
from erlib.config import RunConfig, from_dict
from erlib.errors import ErlibError
from erlib.store import Store

Progress = Callable[[int, int], None]


def train_one(
    config: dict[str, Any],
    root: str,
    data: str | None,
    device: str,
    progress: Progress | None = None,
    parcel: registry.Parcel = (),
) -> dict[str, str]:
    """Train one run and store it, unless it is stored or somebody else is at it.

    `parcel` are the registered classes that it uses. Returns {"state": ...}: "done"; "stored", it was there already;
    "busy", somebody else holds its lock; "failed", with the sentence as `error`; "no data", the same for a data set
    that cannot be read, which other runs need not try.
    """
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    store = Store(root)
    try:
        registry.unpack(parcel)
        wanted = from_dict(config)
        lock = locks.Lock(store.work, wanted.run_id)
        if store.has(wanted) and not lock.path.exists():  # with a lock beside it somebody died, or is about to leave
            return {"state": "stored"}
        store.prepare()
        if not lock.acquire():
            return {"state": "busy"}
    except ErlibError as error:
        return {"state": "failed", "error": str(error)}
    try:
        return _train(wanted, store, data, device, progress)
    except ErlibError as error:
        return {"state": "failed", "error": str(error)}
    except Exception as error:  # a defect of a method must not stop the other runs
        where = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{os.path.basename(where.filename)}, line {where.lineno}"
        return {"state": "failed", "error": f"{type(error).__name__}: {error} ({place})"}
    finally:
        lock.release()


def _train(config: RunConfig, store: Store, data: str | None, device: str, progress: Progress | None) -> dict[str, str]:
    from erlib import training
    from erlib.benchmarks import make

    checkpoint = store.checkpoint(config)
    state = "stored"
    if not store.has(config):  # another sweep may have finished it before we had the lock
        try:
            make.load(config.source, config.benchmark, data)
        except ErlibError as error:
            return {"state": "no data", "error": str(error)}
        store.put(training.run(config, data=data, device=device, checkpoint=checkpoint, progress=progress))
        state = "done"
    checkpoint.unlink(missing_ok=True)
    return {"state": state}


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def keep_freed_memory() -> None:
    """In a process that only trains: have glibc reuse the activations' memory, which it else returns in each step."""
    trim_threshold, mmap_threshold = -1, -3  # mallopt's names for them
    with contextlib.suppress(OSError, AttributeError, TypeError):  # another C library: nothing to set
        libc = ctypes.CDLL(None)
        libc.mallopt(mmap_threshold, 32 << 20)  # the most that it takes, in bytes
        libc.mallopt(trim_threshold, 1 << 30)


class Here(Executor):
    """Calls in this very process, one after the other: for classes that only this process knows."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Call fn now; it is done when this returns."""
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


class Processes(Executor):
    """Single-threaded worker processes. A call whose process dies is tried once more in a new one, then fails.

    Each process serves one call at a time, so that a crash concerns that call alone.
    """

    def __init__(self, workers: int) -> None:
        self._threads = ThreadPoolExecutor(workers)
        self._idle: queue.SimpleQueue[_Process | None] = queue.SimpleQueue()
        self._alive: set[_Process] = set()
        self._stopped = False
        for _ in range(workers):
            self._idle.put(None)  # started when first needed

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Call fn in a worker process; calls start in the order in which they were submitted."""
        return self._threads.submit(self._call, fn, args, kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Let the calls under way finish, then end the processes."""
        self._threads.shutdown(wait, cancel_futures=cancel_futures)
        for process in list(self._alive) if wait else []:
            process.close()

    def stop(self) -> None:
        """End the processes now. A run under way keeps its last checkpoint and gives its lock back."""
        self._stopped = True
        self._threads.shutdown(wait=False, cancel_futures=True)
        processes = list(self._alive)
        for process in processes:
            process.process.terminate()
        for process in processes:
            process.process.join(5)
            process.process.kill()

    def _call(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        process = self._idle.get()
        code = None
        try:
            for _ in range(2):
                if process is None:
                    process = _Process()
                    self._alive.add(process)
                if self._stopped:
                    break
                try:
                    good, value = process.call(fn, args, kwargs)
                except (EOFError, OSError):
                    code = process.close()
                    self._alive.discard(process)
                    process = None
                    continue
                if good:
                    return value
                raise value
            raise ErlibError(
                f"its worker process died twice (exit code {code}): if memory ran out, use fewer --workers; a script "
                'that sweeps needs `if __name__ == "__main__":` around the call.'
            )
        finally:
            self._idle.put(process)


class _Process:
    """A worker process and the pipe to it."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")  # a forked child would share torch's thread pool
        self._pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()

    def call(self, *call: Any) -> tuple[bool, Any]:
        """Whether the call returned, and its value or its exception. EOFError: the process died."""
        self._pipe.send(call)
        return self._pipe.recv()

    def close(self) -> int | None:
        """End the process when it has nothing to do; its exit code."""
        self._pipe.close()
        self.process.join()
        return self.process.exitcode


def _serve(pipe: Connection) -> None:
    """The life of a worker process: serve calls until the pipe closes; leave at once with the parent."""
    os.environ["OMP_NUM_THREADS"] = "1"
    keep_freed_memory()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the parent decides
    signal.signal(signal.SIGTERM, _leave)
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    while True:
        try:
            fn, args, kwargs = pipe.recv()
        except EOFError:
            return
        try:
            reply = (True, fn(*args, **kwargs))
        except Exception as error:
            reply = (False, error)
        pipe.send(reply)


def _leave(*_: Any) -> None:
    locks.release_all()
    os._exit(128 + signal.SIGTERM)


def _leave_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        _leave()
