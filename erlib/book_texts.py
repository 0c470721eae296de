"""Sentences and tables of the book's prose that are made from the code and the store, never typed.

`update` rewrites them where they are: a marked line in README.md and in book/intro.md, and the files that pages
include from book/generated.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from erlib.config import RunConfig
from erlib.errors import ErlibError
from erlib.experiments import TABLES, configs
from erlib.protocol import BENCHMARKS
from erlib.result import RunResult
from erlib.runfile import write_whole
from erlib.store import Store

MARK = "<!-- runs -->"  # ends the line that says which benchmarks have runs
MARKED = ("README.md", "book/intro.md")
_PAGES = {
    "tab3": "tab3_mnist",
    "tab4": "tab4_cifar",
    "tab5": "tab5_miniimagenet",
    "tab6": "tab6_cub",
    "tab7": "tab7_mnist_rotation",
}


def update(root: Path) -> None:
    """Rewrite everything that is generated; a file that is right already is not touched."""
    for name, text in texts(root).items():
        path = root / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, text.encode())


def texts(root: Path) -> dict[str, str]:
    """What each file with generated text must contain."""
    from erlib.paper.verdict import RULE

    store = Store(root / "results")
    line = runs_line(store.load())
    marked = {name: _with_line((root / name).read_text(encoding="utf-8"), line, name) for name in MARKED}
    included = {
        "book/generated/benchmarks.md": benchmark_table(),
        "book/generated/settings.md": settings_table(),
        "book/generated/verdict_rule.md": RULE.strip() + "\n",
        "book/generated/verdicts.md": verdict_table(store),
    }
    return marked | included


def runs_line(results: list[RunResult]) -> str:
    """How many of the paper's four benchmarks have runs, and how many settings of each one's table."""
    stored = {result.config.replace(seed=0).run_id for result in results}
    cells = {table: {config.run_id for config in configs(table, seeds=1)} for table in TABLES}
    have = [
        f"{BENCHMARKS[name].title} ({len(cells[table] & stored)} of {len(cells[table])} settings of its table)"
        for table, name in TABLES.items()
        if cells[table] & stored
    ]
    lack = [BENCHMARKS[name].title for table, name in TABLES.items() if not cells[table] & stored]
    names = f": {_listed(have)}" if have else ""
    sentence = f"Runs are shipped for **{len(have)} of the paper's four benchmarks**{names}."
    if lack:
        sentence += f" For {_listed(lack)} the pages show the paper's values and the command that trains ours."
    return f"{sentence} {MARK}"


def benchmark_table() -> str:
    """The facts of the benchmarks as a Markdown table."""
    rows = ["| benchmark | data | tasks (CV + EV) | classes a task | examples a task | samples per class |"]
    rows.append("|---|---|---|---|---|---|")
    for name in TABLES.values():
        bench = BENCHMARKS[name]
        sizes = ", ".join(map(str, bench.samples_per_class))
        examples = f"{bench.examples_per_task:,}" if bench.examples_per_task else "all"
        tasks = f"{bench.cv_tasks} + {bench.ev_tasks}"
        cells = (bench.title, f"`{bench.sources[0]}`", tasks, str(bench.classes_per_task), examples, sizes)
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


def verdict_table(store: Store) -> str:
    """What came out on each benchmark as a Markdown table: its printed numbers, and its lines in the ledger."""
    from erlib.paper import claims, compare, verdict

    ledger = claims.ledger(store)
    rows = ["| benchmark | the numbers that its table prints | lines of the paper's claims |", "|---|---|---|"]
    for table, name in (TABLES | {"tab7": "rotated_mnist"}).items():
        numbers = _counted(compare.table(table, store).verdict, verdict.WORDS)
        sentences = _counted(ledger[ledger.benchmark == name].judgement, claims.WORDS)
        rows.append(f"| {{doc}}`{BENCHMARKS[name].title} <pages/{_PAGES[table]}>` | {numbers} | {sentences} |")
    return "\n".join(rows) + "\n"


def settings_table() -> str:
    """The settings of a run as a Markdown table: names, defaults and the comments of their lines in the source."""
    pattern = re.compile(r"^    (\w+): [^=#\n]+?(?: = ([^#\n]+?))?  # (.+)$", re.MULTILINE)
    found = {name: (default, comment) for name, default, comment in pattern.findall(inspect.getsource(RunConfig))}
    rows = ["| setting | default | meaning |", "|---|---|---|"]
    for field in dataclasses.fields(RunConfig):
        default, comment = found[field.name]
        default = default.removeprefix("late(").removesuffix(")")
        rows.append(f"| `{field.name}` | {f'`{default}`' if default else ''} | {comment} |")
    return "\n".join(rows) + "\n"


def _counted(found: Iterable[str], words: Iterable[str]) -> str:
    count = Counter(found)
    return ", ".join(f"{word} {count[word]}" for word in words if count[word])


def _listed(names: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _with_line(text: str, line: str, name: str) -> str:
    lines = text.split("\n")
    places = [i for i, old in enumerate(lines) if old.endswith(MARK)]
    if len(places) != 1:
        raise ErlibError(f"{name} must have one line that ends with {MARK}, and has {len(places)}; put it back.")
    lines[places[0]] = line
    return "\n".join(lines)
