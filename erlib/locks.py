"""One trainer a run: a lock file with owner and heartbeat, on the file system that the trainers share.

`<folder>/<name>.lock` is created with O_EXCL and holds who made it; while it is held a thread touches it every few
seconds. A lock is dead when its process is gone (seen at once on the same machine) or its last touch is too long ago.
A dead lock is taken over by the one process that first creates the claim file named after that very lock; it then
renames its own lock over the dead one, so two takers cannot both win and a new lock is never mistaken for the old one.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
import time
import uuid
from pathlib import Path
from typing import Any

from erlib.runfile import cannot_write

HEARTBEAT = 5.0  # seconds between two touches
STALE_AFTER = 60.0  # seconds without a touch after which an owner counts as dead

_held: set[Lock] = set()


class Lock:
    """The right to train one run."""

    def __init__(
        self, folder: Path, name: str, *, heartbeat: float = HEARTBEAT, stale_after: float = STALE_AFTER
    ) -> None:
        self.path = folder / f"{name}.lock"
        self.heartbeat, self.stale_after = heartbeat, stale_after
        self._token = uuid.uuid4().hex
        self._released = threading.Event()

    def acquire(self) -> bool:
        """Take the lock if nobody alive holds it. Does not wait."""
        try:
            if not self._create(self.path) and not self._take_over():
                return False
        except OSError as error:
            raise cannot_write(self.path, error) from error
        _held.add(self)
        self._released.clear()
        threading.Thread(target=self._beat, daemon=True).start()
        return True

    def release(self) -> None:
        """Give the lock back; harmless if it was taken over meanwhile."""
        self._released.set()
        _held.discard(self)
        with contextlib.suppress(OSError):  # what cannot be removed goes stale
            if self._owner().get("token") == self._token:
                self.path.unlink(missing_ok=True)

    def free(self) -> bool:
        """Could the lock be taken now?"""
        return not self.path.exists() or self._dead(self.path, self._owner())

    def _create(self, path: Path) -> bool:
        """Make a file that says who we are, unless it exists."""
        try:
            file = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
        except FileExistsError:
            return False
        with os.fdopen(file, "w") as stream:
            json.dump(_who() | {"token": self._token, "started": time.time()}, stream)
        return True

    def _take_over(self) -> bool:
        owner = self._owner()
        if not self._dead(self.path, owner):
            return False
        claim = self.path.with_suffix(f".{owner.get('token', 'unsigned')}.claim")
        if not self._create(claim):
            if self._dead(claim, _content(claim)):
                claim.unlink(missing_ok=True)  # its maker died between two lines of this method; next time
            return False
        try:
            if self._owner() != owner:
                return False  # another was faster, from first to last
            os.replace(claim, self.path)
            return True
        finally:
            claim.unlink(missing_ok=True)

    def _owner(self) -> dict[str, Any]:
        return _content(self.path)

    def _dead(self, path: Path, owner: dict[str, Any]) -> bool:
        """Is the maker of this file gone, as far as can be known from here?"""
        if owner.get("machine") == _machine() and not _alive(owner["pid"], owner["process_started"]):
            return True
        clock = path.parent / ".clock"  # the file system's own time: clocks of two machines may differ
        clock.touch()
        try:
            return clock.stat().st_mtime - path.stat().st_mtime > self.stale_after
        except FileNotFoundError:
            return False  # released this moment

    def _beat(self) -> None:
        while not self._released.wait(self.heartbeat):
            with contextlib.suppress(OSError):  # a file server that is away comes back, or the lock goes stale
                if self._owner().get("token") == self._token:
                    os.utime(self.path)


def release_all() -> None:
    """Give back every lock of this process, before it ends."""
    for lock in list(_held):
        lock.release()


def _content(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_bytes())
        return content if isinstance(content, dict) else {}
    except (FileNotFoundError, ValueError):
        return {}  # gone, or being written


def _who() -> dict[str, Any]:
    pid = os.getpid()
    return {"host": socket.gethostname(), "machine": _machine(), "pid": pid, "process_started": _started(pid)}


def _machine() -> str:
    """This kernel and this space of process numbers: containers may share a host name but not their processes."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return socket.gethostname()


def _alive(pid: int, started: str | None) -> bool:
    """Is the process that had this number, and began then, still there?"""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # another user's
    now = _started(pid)
    return now != "ended" and (now is None or started is None or now == started)


def _started(pid: int) -> str | None:
    """When a process began, in its kernel's count, which tells a reused number apart; None where that is not shown."""
    try:
        state, *rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return "ended" if state == "Z" else rest[18]
