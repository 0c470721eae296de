"""The store: whole files only, nothing good lost, nothing bad used."""

from __future__ import annotations

import dataclasses
import errno
import json
import math
import os
import resource
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from erlib import registry, runfile
from erlib.config import RunConfig, paper_config
from erlib.errors import ErlibError
from erlib.result import RunResult
from erlib.store import Store


def config(seed: int = 0, **changes: object) -> RunConfig:
    return paper_config("permuted_mnist", "er", memory="ring", samples_per_class=1, seed=seed, tasks=3, **changes)


def result(config: RunConfig, value: float = 0.5) -> RunResult:
    size = config.tasks
    rows = [[round(value + 0.01 * j, 4) if j <= i else None for j in range(size)] for i in range(size)]
    seconds = {"train": 2.0, "eval": 1.0}
    return RunResult(config=config, accuracy=rows, seconds=seconds, memory={"0/0": 1}, environment={"device": "cpu"})


def rewrite(path: Path, **changes: object) -> None:
    """Change a stored file and give it a checksum that holds."""
    payload = json.loads(path.read_text()) | changes
    path.write_text(json.dumps(payload | {"checksum": runfile.checksum(payload)}))
    touch(path)


def touch(path: Path) -> None:
    """A time of change that no cache has seen: two writes may fall into one tick of the clock."""
    os.utime(path, ns=(0, time.time_ns() + 10**9))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "results")


def test_what_is_put_is_got(store: Store) -> None:
    stored = result(config())
    path = store.put(stored)
    assert path == store.root / "runs" / "permuted_mnist" / f"{stored.run_id}.json"
    assert store.get(config()) == stored
    assert store.has(config())
    assert not store.has(config(seed=1))
    assert store.load() == [stored]
    assert store.problems == []
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_file_is_sorted_json_with_a_line_for_each_matrix_row(store: Store) -> None:
    text = store.put(result(config())).read_text()
    assert "\n  [0.5, 0.51, null],\n" in text
    assert '\n  "lr": 0.1,\n' in text
    payload = json.loads(text)
    assert list(payload) == sorted(payload)
    assert payload["config"] == dataclasses.asdict(config())
    assert payload["numerics"] == registry.numerics(config())


def test_putting_twice_gives_the_same_bytes(store: Store) -> None:
    first = store.put(result(config())).read_bytes()
    assert store.put(result(config())).read_bytes() == first


@settings(deadline=None)
@given(st.recursive(st.none() | st.floats() | st.integers() | st.text(), lambda inner: st.lists(inner), max_leaves=9))
def test_any_value_survives_the_way_through_json(value: object) -> None:
    payload = {"events": runfile._plain([value]), "accuracy": [[1.0]]}
    assert json.loads(runfile._layout(payload)) == payload
    assert runfile.checksum(json.loads(runfile._layout(payload))) == runfile.checksum(payload)


def test_a_loss_that_is_no_number_is_stored_as_null(store: Store) -> None:
    curves = {"test_loss": {"step": [0, 1], "value": [2.3, math.nan]}}
    store.put(dataclasses.replace(result(config()), curves=curves))
    assert store.get(config()).curves == {"test_loss": {"step": [0, 1], "value": [2.3, None]}}


def test_a_result_without_a_complete_last_row_is_refused(store: Store) -> None:
    with pytest.raises(ErlibError, match="complete last row"):
        store.put(dataclasses.replace(result(config()), accuracy=[[0.5, None], [0.5, None]]))
    assert store.load() == []


DAMAGE = {
    "empty": lambda content: b"",
    "truncated": lambda content: content[: len(content) // 2],
    "zeroed by a crash": lambda content: bytes(len(content)),
    "a digit changed": lambda content: content.replace(b"0.51", b"0.61"),
    "not text": lambda content: b"\xff\xfe" + content,
    "no checksum": lambda content: content.replace(b'"checksum"', b'"checksam"'),
    "another JSON": lambda content: b'{"a": 1}',
    "a list": lambda content: b"[]",
    "nested too deep": lambda content: b"[" * 200_000,
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_file_is_named_and_left_out_and_the_others_stay(store: Store, kind: str) -> None:
    good, bad = store.put(result(config(0))), store.put(result(config(1)))
    assert len(store.load()) == 2
    bad.write_bytes(DAMAGE[kind](bad.read_bytes()))
    touch(bad)
    assert [r.config.seed for r in store.load()] == [0]
    assert not store.has(config(1))
    assert store.get(config(1)) is None
    (problem,) = store.problems
    assert str(bad) in problem
    assert any(word in problem for word in ("delete it", "move it"))
    assert good.is_file()
    assert list(store.frame().seed) == [0]
    store.put(result(config(1)))  # a sweep trains it again
    assert store.has(config(1))
    assert store.problems == []


def test_foreign_files_are_named(store: Store) -> None:
    path = store.put(result(config()))
    unknown = store.put(result(config(1)))
    payload = json.loads(unknown.read_text())
    rewrite(unknown, config=payload["config"] | {"warp": 9})
    copied = path.with_name("0123456789abcdef.json")
    copied.write_bytes(path.read_bytes())
    changed = store.put(result(config(2)))
    rewrite(changed, config=dataclasses.asdict(config(3)))
    elsewhere = store.root / "runs" / "split_cifar" / path.name
    elsewhere.parent.mkdir()
    elsewhere.write_bytes(path.read_bytes())
    assert [r.config.seed for r in store.load()] == [0]
    problems = "\n".join(store.problems)
    assert "unknown setting 'warp'" in problems
    assert all(str(file) in problems for file in (unknown, copied, changed, elsewhere))


def test_the_run_of_a_method_that_is_not_registered_here_is_named(store: Store) -> None:
    path = store.put(result(config()))
    rewrite(path, config=dataclasses.asdict(config()) | {"method": "mine"})
    (problem,) = store.problems
    assert "unknown method 'mine'" in problem


def test_other_numerics_make_a_run_stale(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.put(result(config()))
    old = config().run_id
    monkeypatch.setitem(registry.NUMERICS, "ring", registry.NUMERICS["ring"] + 1)
    assert config().run_id != old
    assert not store.has(config())
    assert store.load() == []
    assert store.problems == []
    frame = store.frame()
    assert list(frame.stale) == [True]
    assert list(frame.run_id) == [old]
    store.put(result(config()))
    assert sorted(store.frame().stale) == [False, True]


def test_a_file_from_before_a_late_field_loads_with_its_default(store: Store) -> None:
    path = store.put(result(config()))
    payload = json.loads(path.read_text())
    del payload["config"]["test_examples"]  # stands for a field that did not exist yet
    rewrite(path, config=payload["config"])
    assert store.get(config()) == result(config())


def test_the_frame_has_a_row_a_run(store: Store) -> None:
    store.put(result(config(0), 0.7))
    store.put(dataclasses.replace(result(paper_config("permuted_mnist", "finetune", tasks=3)), seconds={}))
    frame = store.frame().set_index("method")
    assert {f.name for f in dataclasses.fields(RunConfig)} <= {*frame.columns, "method"}
    assert frame.accuracy["er"] == pytest.approx(71.0)
    assert frame.learning_accuracy["er"] == pytest.approx(71.0)
    assert frame.forgetting["er"] == pytest.approx(0.0)
    assert (frame.seconds_train["er"], frame.seconds_eval["er"]) == (2.0, 1.0)
    assert str(frame.samples_per_class["er"]) == "1"
    assert "matrix" not in frame.columns
    curves = store.frame(curves=True).set_index("method")
    assert curves.accuracy_curve["er"] == pytest.approx([70.0, 70.5, 71.0])
    assert curves.matrix["er"][0] == [0.7, None, None]


def test_an_empty_store_gives_an_empty_frame_with_its_columns(store: Store) -> None:
    assert store.load() == []
    frame = store.frame()
    assert len(frame) == 0
    assert {"run_id", "benchmark", "accuracy", "stale"} <= set(frame.columns)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EIO])
@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_failed_write_names_file_and_remedy_and_keeps_the_old_run(
    store: Store, monkeypatch: pytest.MonkeyPatch, code: int, call: str
) -> None:
    """A full or read-only disk, by the error that the kernel gives (permission bits do not stop root)."""
    path = store.put(result(config(), 0.5))

    def fail(*args: object) -> None:
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as broken:
        broken.setattr(os, call, fail)
        with pytest.raises(ErlibError) as caught:
            store.put(result(config(), 0.9))
    assert str(path) in str(caught.value)
    assert os.strerror(code) in str(caught.value)
    assert any(word in str(caught.value) for word in ("free some", "--results"))
    assert store.get(config()) == result(config(), 0.5)
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_disk_that_fills_in_the_middle_of_a_file_keeps_the_old_run(store: Store) -> None:
    """The kernel stops the write after 100 bytes, as a full disk does."""
    path = store.put(result(config(), 0.5))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        with pytest.raises(ErlibError) as caught:
            store.put(result(config(), 0.9))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert str(path) in str(caught.value)
    assert store.get(config()) == result(config(), 0.5)
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_a_store_in_a_place_that_cannot_be_is_an_error_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ErlibError, match="--results"):
        Store(tmp_path / "file" / "results").prepare()


def test_the_default_store_is_the_projects_from_any_folder_below(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "_config.yml").write_text("")
    (tmp_path / "book" / "pages").mkdir(parents=True)
    (tmp_path / "book" / "_config.yml").symlink_to("../_config.yml")
    for folder in (".", "book", "book/pages"):
        monkeypatch.chdir(tmp_path / folder)
        assert Store().root == tmp_path / "results"


def test_five_hundred_runs_load(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    for seed in range(500):
        long = paper_config("permuted_mnist", "er", memory="ring", seed=seed)
        store.put(result(long, 0.5))
    runfile._read_before.clear()
    start = time.perf_counter()
    assert len(store.frame()) == 500
    with capsys.disabled():
        print(f" [500 runs loaded in {time.perf_counter() - start:.2f} s]", end="")
