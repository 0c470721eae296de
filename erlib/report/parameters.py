"""The parameters of a page: which there are, and which values they take. A mistake is one sentence."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from typing import Any

from erlib.errors import ErlibError
from erlib.experiments import SCALES

_VALUES = (str, int, float, bool, list, tuple, dict, type(None))  # what papermill can hand over


def _choice(*words: str) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if value not in words:
            raise ValueError(f"choose {' or '.join(words)}")
        return value

    return check


def _count(value: Any) -> int | None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value >= 1):
        return value
    raise ValueError("give a whole number of at least 1, or None for as many as the table wants")


def _folder(value: Any) -> str | None:
    if value is None or (isinstance(value, str) and value):
        return value
    raise ValueError("give a folder, or None")


def _device(value: Any) -> str:
    if isinstance(value, str) and re.fullmatch(r"auto|cpu|mps|cuda(:\d+)?", value):
        return value
    raise ValueError("choose cpu, cuda, cuda:1, mps or auto")


def _several(kind: str, fits: Callable[[Any], bool]) -> Callable[[Any], list[Any] | None]:
    def check(value: Any) -> list[Any] | None:
        if value is None:
            return None
        values = list(value) if isinstance(value, (list, tuple)) else [value]
        if not values or not all(fits(one) for one in values):
            raise ValueError(f"give {kind}, a list of them, or None for all that the paper has")
        return list(dict.fromkeys(values))

    return check


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


COMMON: dict[str, Callable[[Any], Any]] = {
    "scale": _choice(*SCALES),
    "seeds": _count,
    "missing": _choice("skip", "run"),
    "results": _folder,
    "data": _folder,
    "device": _device,
}
OWN: dict[str, Callable[[Any], Any]] = {
    "benchmarks": _several("the name of a benchmark", lambda value: isinstance(value, str)),
    "methods": _several("the name of a row", lambda value: isinstance(value, str)),
    "samples_per_class": _several("a whole number", lambda value: _number(value) and value == int(value) >= 1),
    "angles": _several("an angle in degrees", _number),
    "learning_rates": _several("a number above 0", lambda value: _number(value) and value > 0),
}


def read(page: str, own: tuple[str, ...], namespace: Mapping[str, Any]) -> dict[str, Any]:
    """The page's parameters out of a notebook's names, checked; a name that is no parameter is an error."""
    known = (*COMMON, *own)
    for name in _given(namespace):
        if name not in known:
            raise ErlibError(f"{page} has no parameter '{name}'; its parameters are {', '.join(known)}.")
    values = {}
    for name in known:
        if name not in namespace:
            raise ErlibError(f"{page} needs the parameter '{name}'; set it in the cell of parameters.")
        try:
            values[name] = (COMMON | OWN)[name](namespace[name])
        except ValueError as error:
            raise ErlibError(f"{name} is {namespace[name]!r}; {error}.") from None
    return values


def _given(namespace: Mapping[str, Any]) -> list[str]:
    """The names set as parameters: in a notebook those of its cells of parameters (its own, and papermill's)."""
    cells = namespace.get("In")
    if isinstance(cells, list):
        assigned = [names for cell in cells for names in [_assigned(cell)] if "scale" in names or _injected(cell)]
        return [name for names in assigned for name in names]
    return [name for name, value in namespace.items() if not name.startswith("_") and isinstance(value, _VALUES)]


def _injected(cell: str) -> bool:
    return cell.startswith("# Parameters")  # how papermill heads the cell that it adds


def _assigned(cell: str) -> list[str]:
    try:
        tree = ast.parse(cell)
    except SyntaxError:
        return []
    targets = [target for node in tree.body if isinstance(node, ast.Assign) for target in node.targets]
    return [target.id for target in targets if isinstance(target, ast.Name)]
