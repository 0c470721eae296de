"""The command line: what it prints, and that every mistake is one sentence with exit code 2."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from erlib import Store, paper_config
from erlib.__main__ import main

TINY = ["--source", "mnist-5k", "--set", "tasks=2", "--set", "examples_per_task=50", "--set", "test_examples=100"]


def tiny_run(store: Path, *extra: str) -> list[str]:
    return ["run", "--benchmark", "permuted_mnist", "--results", str(store), *TINY, *extra]


def sentence(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """What a wrong command says; it must be one line, end with exit code 2 and hold no traceback."""
    try:
        code = main(arguments)
    except SystemExit as error:  # argparse's own refusals
        code = error.code
    said = capsys.readouterr().err.strip()
    assert code == 2, said
    assert "Traceback" not in said
    last = said.splitlines()[-1]
    assert "erlib: " in last
    return last


def test_a_run_is_stored_and_its_metrics_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(tiny_run(tmp_path, "--method", "er", "--memory", "ring")) == 0
    said = capsys.readouterr().out
    small = {"tasks": 2, "examples_per_task": 50, "test_examples": 100}
    config = paper_config("permuted_mnist", "er", memory="ring", source="mnist-5k", **small)
    result = Store(tmp_path).get(config)
    assert f"A_T = {100 * result.average_accuracy:.2f} %" in said
    assert f"F_T = {result.forgetting:.3f}" in said
    assert "embedded" in said
    assert not list((tmp_path / ".work").glob("*.checkpoint"))


def test_a_run_that_diverged_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(tiny_run(tmp_path, "--method", "finetune", "--set", "lr=1e6")) == 0
    assert "diverged" in capsys.readouterr().out


def test_a_stored_run_is_shown_and_not_trained_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(tiny_run(tmp_path, "--method", "finetune")) == 0
    path = next((tmp_path / "runs").rglob("*.json"))
    before = path.stat().st_mtime_ns
    assert main(tiny_run(tmp_path, "--method", "finetune")) == 0
    assert "Already stored" in capsys.readouterr().out
    assert path.stat().st_mtime_ns == before


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        (["--method", "magic"], "unknown method 'magic'"),
        (["--method", "er", "--memory", "attic"], "unknown memory writer 'attic'"),
        (["--method", "er"], "needs a memory writer"),
        (["--method", "er", "--memory", "ring", "--samples-per-class", "-1"], "samples_per_class is -1"),
        (["--method", "er", "--memory", "ring", "--samples-per-class", "0"], "samples_per_class is 0"),
        (["--method", "finetune", "--samples-per-class", "1"], "does not use samples_per_class"),
        (["--method", "agem", "--memory", "reservoir"], "always writes with 'ring'"),
        (["--method", "finetune", "--seed", "-3"], "seed is -3"),
        (["--method", "finetune", "--set", "lr=fast"], "lr is 'fast'"),
        (["--method", "finetune", "--set", "speed=3"], "--set speed=3"),
        (["--method", "finetune", "--set", "lr"], "--set lr"),
        (["--method", "finetune", "--set", "lr=-0.1"], "lr is -0.1"),
        (["--method", "finetune", "--set", "tasks=40"], "has 20"),
        (["--method", "finetune", "--set", "examples_per_task=5000"], "has 4000"),
        (["--method", "finetune", "--set", "test_examples=5000"], "has 1000"),
        (["--method", "finetune", "--source", "cifar100"], "not made from 'cifar100'"),
        (["--method", "finetune", "--set", "init=zero"], "init is 'zero'"),
        (["--method", "er", "--memory", "ring", "--set", "distances=literal"], "distances"),
    ],
)
def test_a_wrong_setting_is_one_sentence(
    extra: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert words in sentence(tiny_run(tmp_path, *extra), capsys)
    assert not list(tmp_path.rglob("*.json"))


def test_an_unknown_benchmark_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["run", "--benchmark", "split_mnist", "--method", "finetune", "--results", str(tmp_path)]
    assert "unknown benchmark 'split_mnist'" in sentence(arguments, capsys)


def test_an_unknown_table_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "tab99" in sentence(["sweep", "tab99", "--results", str(tmp_path)], capsys)


def test_a_missing_data_set_says_what_to_fetch_and_where(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["run", "--benchmark", "split_cub", "--method", "finetune", "--results", str(tmp_path / "store")]
    (tmp_path / "data").mkdir()
    said = sentence([*arguments, "--data", str(tmp_path / "data")], capsys)
    assert "CUB_200_2011" in said
    assert str(tmp_path / "data") in said


def test_a_results_folder_that_is_a_file_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "taken").write_text("mine")
    assert str(tmp_path / "taken") in sentence(tiny_run(tmp_path / "taken", "--method", "finetune"), capsys)
    assert (tmp_path / "taken").read_text() == "mine"


def test_a_damaged_result_is_reported_and_the_run_trained_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(tiny_run(tmp_path, "--method", "finetune")) == 0
    path = next((tmp_path / "runs").rglob("*.json"))
    whole = json.loads(path.read_text())
    path.write_text(path.read_text()[:-40])
    assert main(["status", "--results", str(tmp_path)]) == 0
    assert path.name in capsys.readouterr().err
    assert main(tiny_run(tmp_path, "--method", "finetune")) == 0
    assert json.loads(path.read_text())["accuracy"] == whole["accuracy"]


@pytest.mark.parametrize("command", [[], ["run"], ["sweep"], ["status"], ["data"]])
def test_help_works_everywhere_and_without_torch(command: list[str]) -> None:
    code = "import sys, erlib.__main__ as m\ntry: m.main(sys.argv[1:])\nfinally: print('torch' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code, *command, "--help"], capture_output=True, text=True, check=True)
    assert "usage" in shown.stdout
    assert shown.stdout.rstrip().endswith("False")
