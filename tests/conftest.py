"""Fixtures shared by the tests."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

# One thread, here and in every process that a test starts: two spin against each other on a busy machine.
os.environ |= {"OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}


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
