"""Locks: one owner at a time, and a dead owner stops nobody."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import erlib
from erlib import locks
from erlib.errors import ErlibError
from erlib.locks import Lock

PACKAGE = str(Path(erlib.__file__).parents[1])
LOCK_AND_DIE = """
import os, sys
from pathlib import Path
from erlib.locks import Lock
assert Lock(Path(sys.argv[1]), "run").acquire()
os._exit(0)
"""


def changed(lock: Lock, age: float = 0.0, **values: object) -> None:
    """Rewrite who holds a lock, and when its last heartbeat was."""
    lock.path.write_text(json.dumps(json.loads(lock.path.read_text()) | values))
    os.utime(lock.path, (time.time() - age, time.time() - age))


@pytest.fixture
def abandoned(tmp_path: Path) -> Lock:
    """A lock whose owner died without a word."""
    subprocess.run(
        [sys.executable, "-c", LOCK_AND_DIE, tmp_path], check=True, env={**os.environ, "PYTHONPATH": PACKAGE}
    )
    return Lock(tmp_path, "run")


def test_only_one_holds_a_lock(tmp_path: Path) -> None:
    first, second = Lock(tmp_path, "run"), Lock(tmp_path, "run")
    assert first.free()
    assert first.acquire()
    assert not second.acquire()
    assert not second.free()
    second.release()  # not its own
    assert not second.acquire()
    first.release()
    assert second.acquire()
    second.release()
    assert not second.path.exists()


def test_locks_of_two_runs_are_apart(tmp_path: Path) -> None:
    first, second = Lock(tmp_path, "a"), Lock(tmp_path, "b")
    assert first.acquire()
    assert second.acquire()
    locks.release_all()
    assert first.free()
    assert second.free()


def test_the_lock_says_who_holds_it(tmp_path: Path) -> None:
    lock = Lock(tmp_path, "run")
    lock.acquire()
    owner = json.loads(lock.path.read_text())
    lock.release()
    assert owner["pid"] == os.getpid()
    assert {"host", "started"} <= set(owner)


def test_a_dead_process_of_this_machine_is_seen_at_once(abandoned: Lock) -> None:
    assert abandoned.free()
    assert abandoned.acquire()
    assert not Lock(abandoned.path.parent, "run").acquire()
    abandoned.release()


def test_a_process_with_a_reused_number_is_not_the_owner(tmp_path: Path) -> None:
    first, second = Lock(tmp_path, "run"), Lock(tmp_path, "run")
    first.acquire()
    if json.loads(first.path.read_text())["process_started"] is None:
        pytest.skip("this system does not tell when a process began")
    changed(first, process_started="1")
    assert second.acquire()
    first.release()
    assert not first.free()  # what a loser gives back is not the winner's
    second.release()


def test_an_owner_elsewhere_is_dead_when_its_heart_stops(tmp_path: Path) -> None:
    first, second = Lock(tmp_path, "run"), Lock(tmp_path, "run", stale_after=60)
    first.acquire()
    changed(first, machine="another", pid=1, age=30)
    assert not second.acquire()
    changed(first, age=90)
    assert second.acquire()
    second.release()


def test_the_heart_beats_until_the_release(tmp_path: Path) -> None:
    lock = Lock(tmp_path, "run", heartbeat=0.02)
    lock.acquire()
    changed(lock, age=1000)
    deadline = time.monotonic() + 20
    while time.time() - lock.path.stat().st_mtime > 500 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert time.time() - lock.path.stat().st_mtime < 500
    lock.release()


def test_of_many_takers_one_wins(abandoned: Lock) -> None:
    start, winners = threading.Barrier(16), []

    def take() -> None:
        lock = Lock(abandoned.path.parent, "run")
        start.wait()
        if lock.acquire():
            winners.append(lock)

    threads = [threading.Thread(target=take) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(winners) == 1
    winners[0].release()
    assert [path.name for path in abandoned.path.parent.glob("*.claim")] == []


def test_a_taker_that_died_at_it_stops_nobody_for_long(abandoned: Lock) -> None:
    owner = json.loads(abandoned.path.read_text())
    claim = abandoned.path.with_suffix(f".{owner['token']}.claim")
    claim.write_bytes(abandoned.path.read_bytes())  # by the same dead process
    assert not abandoned.acquire()  # sees it and clears it away
    assert abandoned.acquire()
    abandoned.release()


def test_a_lock_that_cannot_be_made_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(ErlibError, match="could not be written"):
        Lock(tmp_path / "missing", "run").acquire()
