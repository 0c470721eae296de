"""What two executions of the same notebook differ in, taken out: times, paths, random ids, the way output was cut."""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nbformat import NotebookNode

_CELL_KEYS = ("tags", "mystnb", "editable", "raw_mimetype")  # of a cell's metadata: what its author wrote
_BOOK_KEYS = ("mystnb", "title", "jupytext")  # the same of the notebook
_WIDGET = "application/vnd.jupyter.widget-view+json"  # dead without a kernel, and its ids are random
_UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
_CELL_FILE = re.compile(r"(?<!\S)\S*ipykernel_\d+/\d+\.py")  # from a word's beginning: pages hold words of a megabyte
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def strip(notebook: NotebookNode, root: Path) -> NotebookNode:
    """The notebook without noise, changed in place. Doing it twice changes nothing more."""
    own = {key: notebook.metadata[key] for key in _BOOK_KEYS if key in notebook.metadata}
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook.metadata = type(notebook)(own | {"kernelspec": kernel, "language_info": {"name": "python"}})
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    clean, names = _cleaner(root), Counter[str]()
    for cell in notebook.cells:
        cell.metadata = type(notebook)({key: cell.metadata[key] for key in _CELL_KEYS if cell.metadata.get(key)})
        cell.id = _cell_id(cell.source, names)
        if cell.cell_type == "code":
            cell.outputs = [_clean(output, clean) for output in _merged(cell.outputs)]
    return notebook


def _cell_id(source: str, names: Counter[str]) -> str:
    """The hash of the source, so that a new cell changes no other's id; a number tells equal cells apart."""
    digest = hashlib.sha256(source.encode()).hexdigest()[:12]
    names[digest] += 1
    return digest if names[digest] == 1 else f"{digest}-{names[digest]}"


def _merged(outputs: list[Any]) -> list[Any]:
    """Neighbouring pieces of the same stream as one: where the kernel cuts them is a matter of time."""
    merged: list[Any] = []
    for output in outputs:
        if output.output_type == "stream" and merged and merged[-1].get("name") == output.name:
            merged[-1].text += output.text
        else:
            merged.append(output)
    return merged


def _clean(value: Any, clean: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return type(value)({key: _clean(entry, clean) for key, entry in value.items() if key != _WIDGET})
    return [_clean(entry, clean) for entry in value] if isinstance(value, list) else value


def _cleaner(root: Path) -> Any:
    """A function that takes this machine's paths and random ids out of a text; equal ids stay equal."""
    numbers: dict[str, str] = {}

    def numbered(match: re.Match[str]) -> str:
        found = match.group()
        if found.startswith("00000000-0000-4000-8000-"):  # one of ours, from an earlier cleaning
            return found
        return numbers.setdefault(found, f"00000000-0000-4000-8000-{len(numbers) + 1:012d}")

    def clean(text: str) -> str:
        text = _CELL_FILE.sub("cell", text)
        for path, name in ((f"{root}/", ""), (str(root), "."), (str(Path.home()), "~"), (tempfile.gettempdir(), "tmp")):
            if len(path) > 2:
                text = text.replace(path, name)
        return _UUID.sub(numbered, _ADDRESS.sub("", text))

    return clean
