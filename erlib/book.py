"""The book: execute the notebooks one after another, clean what they leave behind, build the pages.

Sources are `notebooks/<name>.ipynb`, without outputs; executed pages are `book/pages/<name>.ipynb`, committed. A
rebuild without a change gives the same bytes, so everything that would differ is taken out of an executed page.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from erlib import book_texts
from erlib.errors import ErlibError
from erlib.notebook_noise import strip
from erlib.runfile import write_whole

START = "from jupyter_book.cli.main import main; main()"  # the package has no __main__
JUPYTER_BOOK = ("build", "-W", "--keep-going", "-n", "--all", "-q")  # --all: a warning of the last build counts again


def command(args: argparse.Namespace) -> int:
    """Make the pages that were asked for and the book; the last line is where it is. 1 if anything failed."""
    root = project_root()
    parameters = {} if args.scale is None else {"scale": args.scale}
    failed = execute(root, chosen(root, args.page), parameters)
    book_texts.update(root)
    built = True if args.no_build else build(root)
    for name, reason in failed.items():
        print(f"erlib: page {name} failed and was left as it was: {reason}", file=sys.stderr)
    if built and not args.no_build:
        print(root / "book" / "_build" / "html" / "index.html")
    return 0 if built and not failed else 1


def project_root() -> Path:
    """The folder of the project around the current directory: the one that holds `_config.yml` and `notebooks`."""
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / "_config.yml").is_file() and (folder / "notebooks").is_dir():
            return folder
    raise ErlibError("there is no book around this folder; go to the folder of the project, which holds _config.yml.")


def chosen(root: Path, names: Sequence[str] | None) -> list[Path]:
    """The notebooks of these names, or all."""
    known = {path.stem: path for path in sorted((root / "notebooks").glob("*.ipynb"))}
    for name in names or ():
        if name not in known:
            raise ErlibError(f"there is no page '{name}'; choose among {', '.join(known)}.")
    return [known[name] for name in names or known]


def execute(root: Path, notebooks: Sequence[Path], parameters: Mapping[str, Any]) -> dict[str, str]:
    """Execute notebooks, one at a time, into `book/pages`. Returns the failed ones with a line about why."""
    failed = {}
    for number, source in enumerate(notebooks, start=1):
        start = time.perf_counter()
        try:
            page = executed(source, root, parameters)
        except Exception as error:  # whatever a notebook raises: the others go on
            failed[source.stem] = _one_line(error)
        else:
            target = root / "book" / "pages" / source.name
            target.parent.mkdir(parents=True, exist_ok=True)
            write_whole(target, page.encode())
        state = "FAILED" if source.stem in failed else "done"
        seconds = time.perf_counter() - start
        print(f"[{number}/{len(notebooks)}] {source.stem}: {state}, {seconds:.0f} s", file=sys.stderr, flush=True)
    return failed


def executed(source: Path, root: Path, parameters: Mapping[str, Any]) -> str:
    """An executed copy of a notebook as text, without noise. Runs in the root, as `papermill` from there would."""
    import nbformat
    import papermill

    os.environ |= {"TQDM_DISABLE": "1", "PYTHONHASHSEED": "0"}  # for the kernel, which is a process of its own
    with tempfile.TemporaryDirectory(prefix="erlib-book-") as folder:
        output = Path(folder) / source.name
        papermill.execute_notebook(
            source,
            output,
            dict(parameters),
            kernel_name="python3",
            cwd=root,
            progress_bar=False,
            extra_arguments=["--log-level=ERROR"],  # the kernel's own words are not ours
        )
        notebook = nbformat.read(output, as_version=4)
    return nbformat.writes(strip(notebook, root)) + "\n"


def build(root: Path, output: Path | None = None) -> bool:
    """Build the book with every warning an error; what the builder has to say is shown if it fails."""
    where = () if output is None else ("--path-output", str(output))
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", START, *JUPYTER_BOOK, *where, "book"],
        cwd=root,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, (str(root), os.environ.get("PYTHONPATH"))))},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        print(done.stdout, file=sys.stderr)
        print("erlib: the book was not built; the warnings above say where.", file=sys.stderr)
    else:
        print(f"built the pages, {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    return done.returncode == 0


def _one_line(error: Exception) -> str:
    """What a notebook died of: its own error, not papermill's frame around it."""
    name, value = getattr(error, "ename", type(error).__name__), getattr(error, "evalue", str(error))
    lines = [line.strip() for line in value.splitlines() if line.strip()]
    return f"{name}: {lines[0]}" if lines else name
