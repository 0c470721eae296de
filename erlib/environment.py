"""The machine: which device to use, and what a result says of where it was made."""

from __future__ import annotations

import platform
from datetime import UTC, datetime

import torch

import erlib
from erlib.errors import ErlibError

DEVICES = ("auto", "cpu", "cuda", "mps")


def resolve_device(name: str) -> torch.device:
    """The device of that name; "auto" takes the fastest there is."""
    present = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if name == "auto":
        name = next(device for device in ("cuda", "mps", "cpu") if present[device])
    if name not in present:
        raise ErlibError(f"unknown device '{name}'; choose one of {', '.join(DEVICES)}.")
    if not present[name]:
        raise ErlibError(f"this machine has no usable '{name}' device; use --device cpu or auto.")
    return torch.device(name)


def describe(device: torch.device) -> dict[str, str]:
    """What a result keeps of the machine that made it."""
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    return {
        "erlib": erlib.__version__,
        "torch": torch.__version__,
        "device": name,
        "cpu": _cpu(),
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _cpu() -> str:
    try:
        with open("/proc/cpuinfo") as lines:
            return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
