"""erlib: "On Tiny Episodic Memories in Continual Learning", reproduced.

>>> import erlib
>>> config = erlib.paper_config("permuted_mnist", "er", memory="ring", samples_per_class=1)
>>> result = erlib.run(config)          # doctest: +SKIP
>>> result.average_accuracy             # doctest: +SKIP
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

# Public names and where they live. They are imported when first used: `import erlib` pulls in nothing heavy.
_PUBLIC = {
    "RunConfig": "erlib.config",
    "paper_config": "erlib.config",
    "BENCHMARKS": "erlib.config",
    "TABLE_8": "erlib.config",
    "ErlibError": "erlib.errors",
    "numerics": "erlib.registry",
    "register_memory": "erlib.registry",
    "register_method": "erlib.registry",
    "RunResult": "erlib.result",
    "run": "erlib.training",
    "Store": "erlib.store",
    "select": "erlib.selection",
}
__all__ = [*_PUBLIC, "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'erlib' has no attribute '{name}'")
    return getattr(importlib.import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
