"""The file of one run: checksummed JSON, written whole or not at all, and refused unless it is whole."""

from __future__ import annotations

import dataclasses
import errno
import hashlib
import json
import math
import os
import socket
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from erlib import registry
from erlib.config import from_dict, run_id
from erlib.errors import ErlibError
from erlib.result import RunResult

_RESULT_KEYS = ("accuracy", "curves", "final", "events", "seconds", "memory", "environment")
_KEYS = ("run_id", "config", "numerics", *_RESULT_KEYS, "checksum")
_ONE_LINE = ("memory", "numerics", "seconds")  # short, or long and dull: not worth a line for each entry
_DAMAGED = "delete it, or bring it back with git, and sweep again"
_FOREIGN = "move it out of the store, or read it with the erlib that wrote it"

# Verified contents, or why a file was refused: {path: (its stat, payload or reason)}.
_read_before: dict[Path, tuple[tuple[int, ...], dict[str, Any] | str]] = {}


@dataclass(frozen=True)
class Stored:
    """A whole file of the store. `run_id` is the one it was stored under, which for a stale run is not its config's."""

    run_id: str
    result: RunResult
    stale: bool


def write(path: Path, result: RunResult) -> None:
    """Store a run as `path`, replacing an older file of that name."""
    config = result.config
    payload: dict[str, Any] = {
        "run_id": config.run_id,
        "config": dataclasses.asdict(config),
        "numerics": registry.numerics(config),
    }
    payload |= {key: getattr(result, key) for key in _RESULT_KEYS}
    payload = _plain(payload)
    _check_matrix(payload["accuracy"])
    payload["checksum"] = checksum(payload)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, _layout(payload).encode())
    except OSError as error:
        raise cannot_write(path, error) from error


def read(path: Path) -> Stored | str:
    """A file as a stored run, or why it is refused and what to do about it."""
    payload = _payload(path)
    if isinstance(payload, str):
        return payload
    try:
        config = from_dict(payload["config"])
        _check_matrix(payload["accuracy"])
        result = RunResult(config=config, **{key: payload[key] for key in _RESULT_KEYS})
        name = run_id(config.canonical(), payload["numerics"])
        stale = payload["numerics"] != registry.numerics(config)
    except (ErlibError, TypeError, ValueError) as error:
        return f"is foreign ({str(error).rstrip('.')}): {_FOREIGN}"
    if not name == payload["run_id"] == path.stem or path.parent.name != config.benchmark:
        return f"is foreign (its place in the store is not that of its config): {_FOREIGN}"
    return Stored(name, result, stale)


def checksum(payload: dict[str, Any]) -> str:
    """sha256 over the canonical JSON of everything but the checksum."""
    text = json.dumps({k: v for k, v in payload.items() if k != "checksum"}, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def write_whole(path: Path, content: bytes) -> None:
    """Replace a file by new content, or leave it as it was: a temporary file beside it, fsync, rename."""
    owner = f"{socket.gethostname()}-{os.getpid()}-{threading.get_ident()}"
    temporary = path.with_name(f".{path.name}.{owner}.tmp")
    try:
        with open(temporary, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # the rename, too, is on the disk
    finally:
        os.close(folder)


def cannot_write(path: Path, error: OSError) -> ErlibError:
    """The sentence for a file or folder of the store that could not be written."""
    writable = "make its folder writable, or choose another with --results"
    remedies = {
        errno.ENOSPC: "free some space on that disk",
        errno.EDQUOT: "free some of your quota on that disk",
        errno.EROFS: "choose a folder that is not on a read-only file system with --results",
        errno.EACCES: writable,
        errno.EPERM: writable,
    }
    remedy = remedies.get(error.errno or 0, "mend that, or choose another folder with --results")
    return ErlibError(
        f"{path} could not be written ({error.strerror or error}); {remedy}, and give the same command again: "
        "stored runs and checkpoints are untouched."
    )


def _plain(value: Any) -> Any:
    """What JSON would give back: keys are strings, tuples are lists, and a float that is no number is null."""
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _layout(payload: dict[str, Any]) -> str:
    """JSON with sorted keys and a line for each setting and matrix row, so that a diff shows what changed."""
    lines = []
    for key, value in sorted(payload.items()):
        text = json.dumps(value, sort_keys=True)
        if value and key not in _ONE_LINE and isinstance(value, dict):
            entries = [f"{json.dumps(k)}: {json.dumps(v, sort_keys=True)}" for k, v in sorted(value.items())]
            text = "{\n  " + ",\n  ".join(entries) + "\n }"
        elif value and isinstance(value, list):
            text = "[\n  " + ",\n  ".join(json.dumps(row, sort_keys=True) for row in value) + "\n ]"
        lines.append(f" {json.dumps(key)}: {text}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _payload(path: Path) -> dict[str, Any] | str:
    """The verified content of a file, or why it is refused; read again only when the file has changed."""
    try:
        stat = path.stat()
        state = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
        if path in _read_before and _read_before[path][0] == state:
            return _read_before[path][1]
        payload = _verified(path.read_bytes())
    except OSError as error:
        return f"cannot be read ({error.strerror}): mend its permissions, or {_DAMAGED}"
    _read_before[path] = (state, payload)
    return payload


def _verified(content: bytes) -> dict[str, Any] | str:
    if not content.strip(b"\0 \n"):
        return f"is empty: {_DAMAGED}"
    try:
        payload = json.loads(content)
    except (ValueError, RecursionError):
        return f"is damaged (no whole JSON): {_DAMAGED}"
    if not isinstance(payload, dict) or any(key not in payload for key in _KEYS):
        return f"is not a run of erlib: {_FOREIGN}"
    if payload["checksum"] != checksum(payload):
        return f"is damaged (its checksum does not hold): {_DAMAGED}"
    return payload


def _check_matrix(matrix: Any) -> None:
    """The metrics need a square matrix whose last row is complete."""
    square = isinstance(matrix, list) and matrix and all(isinstance(r, list) and len(r) == len(matrix) for r in matrix)
    if not square or not all(isinstance(value, (int, float)) for value in matrix[-1]):
        raise ErlibError("its accuracy is not a T x T matrix with a complete last row.")
