"""Fixtures shared by the tests."""

from __future__ import annotations

import itertools
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from jupyter_client.connect import LocalPortCache

# One thread, here and in every process that a test starts: two spin against each other on a busy machine.
os.environ |= {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}

PORTS_OF_A_PROCESS = 500


def pytest_configure(config: pytest.Config) -> None:
    """Kernels of two pytest processes never meet on a port: each process has ports of its own to give away.

    Jupyter asks the system for a free port and lets it go until the kernel has started, so a kernel started from
    another process meanwhile may be given the same one.
    """
    if not hasattr(config, "workerinput"):
        return
    first = 20_000 + PORTS_OF_A_PROCESS * int(config.workerinput["workerid"].removeprefix("gw"))
    ports = itertools.cycle(range(first, first + PORTS_OF_A_PROCESS))

    def taken(ip: str, port: int) -> bool:
        with socket.socket() as trial:
            return trial.connect_ex((ip, port)) == 0

    LocalPortCache.find_available_port = lambda self, ip: next(port for port in ports if not taken(ip, port))


@pytest.fixture
def real_data() -> Callable[[str], Path]:
    """`real_data("MNIST/raw")`: the folder $ERLIB_DATA, if it holds that; else the test is skipped."""

    def folder(holding: str) -> Path:
        named = os.environ.get("ERLIB_DATA")
        if not named:
            pytest.skip("ERLIB_DATA is not set: no real data to test with")
        if not (Path(named) / holding).exists():
            pytest.skip(f"ERLIB_DATA holds no {holding}")
        return Path(named)

    return folder
