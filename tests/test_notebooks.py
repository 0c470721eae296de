"""The sources of the pages: what they look like, and that each one runs at quick scale on an empty store."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import nbformat
import pytest

from erlib.report import PAGES

ROOT = Path(__file__).parent.parent
SOURCES = sorted((ROOT / "notebooks").glob("*.ipynb"))
OURS = [path for path in SOURCES if path.stem != "writers"]
COMMON = ("scale", "seeds", "missing", "results", "data", "device")


def code_cells(path: Path) -> list[Any]:
    return [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]


def run(path: Path, output: Path, **parameters: Any) -> Any:
    """Execute a notebook as papermill's command line would, from the root of the project."""
    import papermill

    return papermill.execute_notebook(
        path, output, parameters, cwd=ROOT, kernel_name="python3", progress_bar=False, log_output=False
    )


def test_there_is_a_notebook_for_each_page() -> None:
    assert {path.stem if path.stem in PAGES else path.stem.split("_")[0] for path in OURS} == set(PAGES)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_a_source_is_clean(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) >= (4, 5)
    assert notebook.metadata.kernelspec.name == "python3"
    assert len({cell.id for cell in notebook.cells}) == len(notebook.cells)
    for cell in code_cells(path):
        assert cell.outputs == []
        assert cell.execution_count is None
        assert len(cell.source.splitlines()) <= 30
    (parameters,) = (cell for cell in code_cells(path) if "parameters" in cell.metadata.get("tags", ()))
    names = [node.targets[0].id for node in ast.parse(parameters.source).body]
    assert tuple(names[: len(COMMON)]) == COMMON
    assert notebook.cells[0].source.startswith("# ")
    assert "?" in notebook.cells[0].source.splitlines()[0]
    assert path not in OURS or "chaudhry2019tiny" in notebook.cells[0].source


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.stem)
def test_tables_are_compared_and_figures_are_not(path: Path) -> None:
    for cell in code_cells(path):
        tags = cell.metadata.get("tags", ())
        if "mystnb" in cell.metadata:
            assert "nbval-ignore-output" in tags
            assert {"caption", "name"} <= set(cell.metadata.mystnb.figure)
    figures = [cell.metadata.mystnb.figure.name for p in OURS for cell in code_cells(p) if "mystnb" in cell.metadata]
    assert len(figures) == len(set(figures))


@pytest.fixture(scope="module")
def empty_results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One store for all pages, empty before the first."""
    return tmp_path_factory.mktemp("quick")


@pytest.mark.slow
@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_it_runs_at_quick_scale_on_an_empty_store(
    path: Path, empty_results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TQDM_DISABLE", "1")
    executed = run(path, tmp_path / "out.ipynb", scale="quick", results=str(empty_results))
    streams = [out for cell in executed.cells for out in cell.get("outputs", ()) if out.output_type == "stream"]
    assert not [out.text for out in streams if out.name == "stderr"]
    assert not (empty_results / "runs").exists()  # quick runs are never mixed with the others


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"scale": "big"}, "scale is 'big'; choose paper or quick."),
        ({"seeds": 0}, "seeds is 0; give a whole number of at least 1"),
        ({"sizes": [1]}, "tab2 has no parameter 'sizes'; its parameters are"),
    ],
)
def test_a_wrong_parameter_stops_with_one_sentence(given: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    from papermill.exceptions import PapermillExecutionError

    with pytest.raises(PapermillExecutionError) as caught:
        run(ROOT / "notebooks" / "tab2_learning_time.ipynb", tmp_path / "out.ipynb", **given)
    assert caught.value.ename == "ErlibError"
    assert sentence in caught.value.evalue
    assert caught.value.traceback == [f"erlib: {caught.value.evalue}"]
