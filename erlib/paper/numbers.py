"""The numbers that the paper prints: Tab. 1 to 8 (`tables.csv`) and those of its text (`text.csv`).

Accuracies are in percent, forgetting is a fraction, as printed. Tab. 7 prints a full memory as "1"; here it is 100.
`spread` is the printed ±; it is missing where the paper gives none.
"""

from __future__ import annotations

import functools
from importlib import resources
from typing import Any

import pandas

from erlib.errors import ErlibError

RUNS = 5  # runs behind each number of the tables (Fig. 1); Fig. 2 and 3 average 3
_WHOLE = ("samples_per_class", "angle", "second_examples")


@functools.cache
def _read(name: str) -> pandas.DataFrame:
    with resources.files("erlib.paper").joinpath(name).open(encoding="utf-8") as file:
        frame = pandas.read_csv(file)
    return frame.astype({column: "Int64" for column in _WHOLE if column in frame})


@functools.cache
def _records() -> list[dict[str, Any]]:
    frame = _read("tables.csv").astype(object)
    return frame.where(frame.notna(), None).to_dict("records")


def _fitting(table: str | None, columns: dict[str, object]) -> list[int]:
    """The positions of the printed numbers that fit; None fits an empty column."""
    wanted = ({} if table is None else {"table": table}) | columns
    records = _records()
    for column in wanted:
        if column not in records[0]:
            raise ErlibError(f"the published numbers have no column '{column}'; choose among {', '.join(records[0])}.")
    return [i for i, line in enumerate(records) if all(line[column] == value for column, value in wanted.items())]


def published(table: str | None = None, **columns: object) -> pandas.DataFrame:
    """The printed numbers, one a line, in the order of print; each argument keeps a part.

    `table` is "tab1" to "tab8"; the other columns are `row` (the paper's own name), `benchmark`, `method`, `memory`,
    `samples_per_class`, `angle`, `second_examples`, `metric`. None keeps the lines in which that column is empty.

    >>> published("tab4", row="er-reservoir", metric="accuracy").value.tolist()
    [53.1, 59.7, 65.5, 68.5]
    """
    return _read("tables.csv").iloc[_fitting(table, columns)].reset_index(drop=True)


def records(table: str) -> list[dict[str, Any]]:
    """A table's printed numbers as mappings, in which None stands for an empty column."""
    return [dict(_records()[i]) for i in _fitting(table, {})]


def value(table: str, **columns: object) -> float:
    """The one printed number that fits.

    >>> value("tab2", row="mer", benchmark="split_cifar")
    755.0
    """
    found = _fitting(table, columns)
    if len(found) != 1:
        asked = ", ".join(f"{name} {wanted}" for name, wanted in columns.items())
        raise ErlibError(f"the paper prints {len(found)} numbers for {table}, {asked}; ask for exactly one.")
    return float(_records()[found[0]]["value"])


def in_text() -> pandas.DataFrame:
    """The numbers of the paper's sentences: `name`, `section`, `value`, `unit`, `about`."""
    return _read("text.csv").copy()


def text_value(name: str) -> float:
    """The number of a sentence by its name.

    >>> text_value("kmeans_over_reservoir")
    3.5
    """
    values = dict(zip(_read("text.csv").name, _read("text.csv").value))
    if name not in values:
        raise ErlibError(f"the text has no number '{name}'; choose among {', '.join(values)}.")
    return float(values[name])
