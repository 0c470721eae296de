"""The book's command: clean pages, a failing page, links, the table of contents, generated text, code in prose."""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
import yaml

from erlib import book, book_texts
from erlib.config import paper_config
from erlib.errors import ErlibError
from erlib.notebook_noise import strip
from erlib.result import RunResult
from erlib.store import Store

ROOT = Path(__file__).parents[1]
TOC_PAGES = re.findall(r"file: (\S+)", (ROOT / "_toc.yml").read_text())


def notebook(*sources: str) -> nbformat.NotebookNode:
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    return nbformat.v4.new_notebook(cells=cells, metadata={"language_info": {"name": "python"}})


def noisy(seconds: float, address: str) -> nbformat.NotebookNode:
    """A page as papermill leaves it, with everything that changes from one execution to the next."""
    page = notebook("x = 1", "x = 1", "x")
    page.metadata |= {"papermill": {"duration": seconds, "input_path": f"{ROOT}/a.ipynb"}, "widgets": {address: {}}}
    for cell in page.cells:
        cell.metadata |= {"papermill": {"duration": seconds}, "execution": {"iopub.execute_input": address}, "tags": []}
    page.cells[2].metadata["tags"] = ["hide-input"]
    stream = [nbformat.v4.new_output("stream", name="stdout", text=text) for text in ("one", f" {ROOT}/results two\n")]
    shown = {"text/plain": f"<A at 0x{address}>", "application/vnd.jupyter.widget-view+json": {"model_id": address}}
    uuid = f"{address[:8]}-0000-1111-2222-{address[:12]}"
    html = nbformat.v4.new_output("display_data", data={"text/html": f"<div id='{uuid}'></div><p>{uuid}</p>"})
    whole = nbformat.v4.new_output("stream", name="stdout", text=stream[0].text + stream[1].text)
    page.cells[1].outputs = stream if seconds > 1 else [whole]
    page.cells[2].outputs = [nbformat.v4.new_output("display_data", data=shown), html]
    return page


def test_two_executions_leave_the_same_page():
    one, two = strip(noisy(0.5, "abcdef012345"), ROOT), strip(noisy(2.5, "fedcba543210"), ROOT)
    assert nbformat.writes(one) == nbformat.writes(two)
    nbformat.validate(one)


def test_strip_is_idempotent_and_keeps_what_the_author_wrote():
    page = strip(noisy(1.5, "abcdef012345"), ROOT)
    text = nbformat.writes(page)
    assert nbformat.writes(strip(nbformat.reads(text, as_version=4), ROOT)) == text
    assert str(ROOT) not in text
    assert "results two" in text
    assert page.cells[2].metadata.tags == ["hide-input"]
    assert len({cell.id for cell in page.cells}) == 3


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one page that works and one that fails, both with an older executed page."""
    for name, source in {"good": "greeting = 'hello'\nprint(greeting)", "bad": "raise ValueError('no\\nmore')"}.items():
        (tmp_path / "notebooks").mkdir(exist_ok=True)
        (tmp_path / "book" / "pages").mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook(source), tmp_path / "notebooks" / f"{name}.ipynb")
        (tmp_path / "book" / "pages" / f"{name}.ipynb").write_text("old")
    for name in book_texts.MARKED:
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "_config.yml", tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def command(*pages: str) -> int:
    return book.command(argparse.Namespace(page=pages, no_build=True, scale=None))


def test_a_failing_page_is_named_and_left_as_it_was(project: Path, capsys: pytest.CaptureFixture[str]):
    assert command() == 1
    pages = project / "book" / "pages"
    assert (pages / "bad.ipynb").read_text() == "old"
    assert "page bad failed and was left as it was: ValueError: no\n" in capsys.readouterr().err
    assert nbformat.read(pages / "good.ipynb", as_version=4).cells[0].outputs[0].text == "hello\n"
    assert sorted(path.name for path in pages.iterdir()) == ["bad.ipynb", "good.ipynb"]


def test_an_unknown_page_is_one_sentence(project: Path):
    with pytest.raises(ErlibError, match=r"^there is no page 'fig9'; choose among bad, good\.$"):
        command("fig9")


def test_parameters_stay_visible_in_the_page(project: Path):
    text = book.executed(project / "notebooks" / "good.ipynb", project, {"scale": "quick"})
    assert 'scale = "quick"' in nbformat.reads(text, as_version=4).cells[0].source


def test_the_configuration_in_the_book_is_a_relative_link():
    for name in ("_config.yml", "_toc.yml"):
        link = ROOT / "book" / name
        assert link.is_symlink()
        assert str(link.readlink()) == f"../{name}"


def test_the_table_of_contents_lists_every_page_once():
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text())
    listed = [toc["root"], *TOC_PAGES]
    prose = {path.stem for path in (ROOT / "book").glob("*.md")}
    sources = {f"pages/{path.stem}" for path in (ROOT / "notebooks").glob("*.ipynb")}
    pages = {f"pages/{path.stem}" for path in (ROOT / "book" / "pages").glob("*.ipynb")}
    assert len(listed) == len(set(listed))
    assert prose | sources | pages <= set(listed)
    assert set(listed) <= prose | sources  # nothing is listed that nobody wrote


def test_generated_text_agrees_with_the_code_and_the_store():
    for name, text in book_texts.texts(ROOT).items():
        assert (ROOT / name).read_text(encoding="utf-8") == text, f"{name} is out of step: run python -m erlib book"


def test_the_runs_line_counts_benchmarks_with_the_papers_runs():
    def run(benchmark: str, **changes: object) -> RunResult:
        config = paper_config(benchmark, "finetune", **changes)
        return RunResult(config=config, accuracy=[[1.0] * config.tasks] * config.tasks)

    toys = [run("split_cub", source="toy"), run("split_cifar", stream="cv"), run("permuted_mnist", source="mnist-5k")]
    assert "**0 of the paper's four benchmarks**." in book_texts.runs_line(toys)
    line = book_texts.runs_line([*toys, run("permuted_mnist"), run("split_cub"), run("split_cub", seed=1)])
    assert "**2 of the paper's four benchmarks**: Permuted MNIST (1 of 35 settings of its table)" in line
    assert "Split CUB (1 of 31 settings of its table). For Split CIFAR and" in line
    assert "the command that trains" not in book_texts.runs_line([run(name) for name in book_texts.TABLES.values()])


def test_what_came_out_is_counted_from_the_store(tmp_path: Path):
    def row(benchmark: str) -> list[str]:
        lines = book_texts.verdict_table(Store(tmp_path)).splitlines()
        return next(line for line in lines if benchmark in line).split(" | ")[1:]

    assert row("Split CIFAR")[0] == "not run 69"
    config = paper_config("split_cifar", "finetune")
    Store(tmp_path).put(RunResult(config=config, accuracy=[[0.4] * 17] * 17))
    assert row("Split CIFAR")[0] == "inconclusive 2, not run 67"  # A_T and F_T of one seed
    assert row("Permuted MNIST") == ["not run 69", "not run 52 |"]


def test_the_code_of_the_chapter_on_extending_runs(tmp_path: Path):
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "book" / "extending.md").read_text(), re.DOTALL)
    (tmp_path / "my_ideas.py").write_text("\n".join(blocks[:2]))
    command = [sys.executable, "-c", "\n".join(blocks[2:])]
    environment = {"PYTHONPATH": str(ROOT), "PATH": "", "HOME": str(tmp_path)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "6 runs trained, 0 were there already, 0 failed." in done.stdout
