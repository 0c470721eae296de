"""Checkpoints: the state of a run after a task, in one file that is whole or is not there."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import warnings
from pathlib import Path
from typing import Any

import torch

from erlib.errors import ErlibError


def save(path: Path, run_id: str, state: dict[str, Any]) -> None:
    """Write the state: a checksum, then torch's own format; to a temporary file first, then moved."""
    buffer = io.BytesIO()
    torch.save({"run_id": run_id, "state": state}, buffer)
    payload = buffer.getvalue()
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(temporary, "wb") as file:
            file.write(hashlib.sha256(payload).digest() + payload)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise ErlibError(
            f"the checkpoint {path} could not be written ({error.strerror}); free some space or choose another "
            "--results folder, then start the run again."
        ) from error


def load(path: Path, run_id: str) -> dict[str, Any] | None:
    """The state of this run, or None with a warning if the file is damaged or another run's."""
    try:
        content = path.read_bytes()
    except OSError as error:
        return _ignored(path, str(error.strerror))
    digest, payload = content[:32], content[32:]
    if hashlib.sha256(payload).digest() != digest:
        return _ignored(path, "it is damaged")
    saved = torch.load(io.BytesIO(payload), weights_only=True)
    if saved["run_id"] != run_id:
        return _ignored(path, f"it belongs to run {saved['run_id']}")
    return saved["state"]


def _ignored(path: Path, why: str) -> None:
    warnings.warn(f"the checkpoint {path} is not used: {why}; the run starts from its first task.", stacklevel=3)
