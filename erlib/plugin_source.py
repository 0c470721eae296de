"""The source of a registered class: its hash, which tells runs apart, and where another process can import it from."""

from __future__ import annotations

import ast
import hashlib
import importlib
import inspect
import linecache
from collections.abc import Iterator

from erlib.errors import ErlibError


def source_hash(cls: type, name: str) -> str:
    """Twelve hex digits of the source of a class and of its bases outside erlib: a changed line is another run."""
    own = [base for base in cls.__mro__ if not _of_a_library(base)] or [cls]
    try:
        texts = [_source(base) for base in own]
    except (OSError, TypeError) as error:
        raise ErlibError(
            f"the source of '{name}' cannot be read, so its runs could not be told apart; "
            "define the class in a file or in a notebook cell."
        ) from error
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:12]


def address(cls: type) -> str | None:
    """ "module:Class" if another process can import the class; None for one of a notebook, a script or a function."""
    if cls.__module__ == "__main__" or "." in cls.__qualname__:
        return None
    try:
        found = getattr(importlib.import_module(cls.__module__), cls.__qualname__, None)
    except ImportError:
        return None
    return f"{cls.__module__}:{cls.__qualname__}" if found is cls else None


def _of_a_library(cls: type) -> bool:
    return cls.__module__.split(".")[0] in ("erlib", "builtins", "torch", "abc", "typing")


def _source(cls: type) -> str:
    try:
        return inspect.getsource(cls)
    except (OSError, TypeError):
        for cell in _cells(cls) if cls.__module__ == "__main__" else ():
            text = "".join(linecache.getlines(cell))
            for node in _classes(text):
                if node.name == cls.__qualname__:
                    return ast.get_source_segment(text, node) or ""
        raise


def _cells(cls: type) -> Iterator[str]:
    """Where a class of a notebook may be defined: the cell of its functions, the one being run, the newest first."""
    yield from (value.__code__.co_filename for value in vars(cls).values() if inspect.isfunction(value))
    frame = inspect.currentframe()
    while frame is not None:
        yield frame.f_code.co_filename
        frame = frame.f_back
    yield from reversed(list(linecache.cache))  # IPython keeps every cell there


def _classes(text: str) -> list[ast.ClassDef]:
    try:
        return [node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)]
    except SyntaxError:
        return []
