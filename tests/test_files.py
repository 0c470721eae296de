"""Finding, verifying, downloading, unpacking, unpickling and decoding, and every way these can fail."""

from __future__ import annotations

import errno
import gzip
import hashlib
import io
import os
import pickle
import tarfile
import urllib.request
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from erlib.benchmarks import files
from erlib.errors import ErlibError


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("ERLIB_DATA", raising=False)
    return tmp_path / "cache" / "erlib"


def md5(content: bytes) -> str:
    return hashlib.md5(content).hexdigest()


def one_sentence(error: pytest.ExceptionInfo, *words: str) -> None:
    text = str(error.value)
    assert "\n" not in text
    assert text.endswith((".", ".sha256"))
    for word in words:
        assert word in text


def full_disk(monkeypatch) -> None:
    """Every file that erlib opens for writing belongs to a full disk; a few bytes still fit."""

    class Full(io.FileIO):
        def write(self, content):
            super().write(bytes(content)[:3])
            raise OSError(errno.ENOSPC, "No space left on device")

        def writelines(self, lines):
            for line in lines:
                self.write(line)

    def opener(path, mode="r", **options):
        return Full(path, "w") if "w" in mode else open(path, mode, **options)

    monkeypatch.setattr(files, "open", opener, raising=False)


def forbidden(monkeypatch) -> None:
    """Root may read everything, so a refusal is played."""

    def opener(path, *_, **__):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(files, "open", opener, raising=False)


# --- searching


def test_search_path_is_the_given_folder_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("ERLIB_DATA", "elsewhere")
    assert files.search_path(tmp_path) == [tmp_path]
    assert files.search_path(str(tmp_path)) == [tmp_path]


def test_search_path_is_erlib_data_then_the_cache(cache, monkeypatch):
    assert files.search_path() == [cache]
    monkeypatch.setenv("ERLIB_DATA", "elsewhere")
    assert files.search_path() == [Path("elsewhere"), cache]


def test_the_cache_folder_follows_xdg(tmp_path, monkeypatch):
    assert files.cache_folder() == tmp_path / "cache" / "erlib"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert files.cache_folder() == tmp_path / ".cache" / "erlib"


def test_find_prefers_earlier_folders_and_then_earlier_names(tmp_path, cache, monkeypatch):
    first = tmp_path / "first"
    for folder in (first, cache):
        folder.mkdir(parents=True)
        (folder / "b").touch()
    (cache / "a").touch()
    monkeypatch.setenv("ERLIB_DATA", str(first))
    assert files.find("a", "b") == first / "b"
    assert files.find("a") == cache / "a"
    assert files.find("c") is None
    assert files.find("a", data=first) is None


def test_a_data_folder_that_does_not_exist_is_an_error(tmp_path):
    with pytest.raises(files.MissingData) as error:
        files.find("a", data=tmp_path / "typo")
    one_sentence(error, "typo", "--data")


# --- reading


def test_read_verifies_plain_and_packed_files(tmp_path):
    (tmp_path / "plain").write_bytes(b"content")
    (tmp_path / "packed.gz").write_bytes(gzip.compress(b"content"))
    assert files.read(tmp_path / "plain", md5(b"content")) == b"content"
    assert files.read(tmp_path / "packed.gz", md5(b"content")) == b"content"
    sha256 = hashlib.sha256(b"content").hexdigest()
    files.verify(tmp_path / "plain", sha256)
    assert files.has_digest(tmp_path / "plain", sha256)
    assert not files.has_digest(tmp_path / "plain", sha256[::-1])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30, deadline=None)
@given(content=st.binary(min_size=1, max_size=200), data=st.data())
def test_any_flipped_bit_is_noticed(tmp_path, content, data):
    at, bit = data.draw(st.integers(0, len(content) - 1)), data.draw(st.integers(0, 7))
    damaged = bytearray(content)
    damaged[at] ^= 1 << bit
    path = tmp_path / "file"
    path.write_bytes(damaged)
    for check in (files.read, files.verify, files.unpickle):
        with pytest.raises(ErlibError) as error:
            check(path, md5(content))
        one_sentence(error, str(path), "wrong md5 checksum", "fetch it again")


def test_a_truncated_gz_is_damaged(tmp_path):
    path = tmp_path / "file.gz"
    whole = gzip.compress(os.urandom(1000))
    for part in (whole[:500], b"not gzip at all", whole[:200] + bytes(300) + whole[500:]):
        path.write_bytes(part)
        with pytest.raises(ErlibError) as error:
            files.read(path, md5(b""))
        one_sentence(error, str(path), "truncated or damaged")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ErlibError) as error:
        files.read(tmp_path / "gone", md5(b""))
    one_sentence(error, str(tmp_path / "gone"), "is missing")


def test_an_unreadable_file_is_named(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    forbidden(monkeypatch)
    with pytest.raises(ErlibError) as error:
        files.read(tmp_path / "file", md5(b""))
    one_sentence(error, str(tmp_path / "file"), "permissions", "chmod")


# --- downloading


def published(folder: Path, content: bytes) -> str:
    (folder / "published").write_bytes(content)
    return (folder / "published").as_uri()


def test_download_takes_the_first_mirror_with_the_right_content(tmp_path):
    wrong = tmp_path / "wrong"
    wrong.write_bytes(b"other")
    urls = [(tmp_path / "gone").as_uri(), wrong.as_uri(), published(tmp_path, b"content")]
    destination = tmp_path / "new" / "folder" / "file"
    assert files.download(urls, md5(b"content"), destination) == destination
    assert destination.read_bytes() == b"content"
    assert os.listdir(destination.parent) == ["file"]


def test_a_failed_download_says_what_to_fetch_and_leaves_nothing(tmp_path):
    wrong = published(tmp_path, b"other")
    destination = tmp_path / "to" / "file"
    with pytest.raises(ErlibError) as error:
        files.download([(tmp_path / "gone").as_uri(), wrong], md5(b"content"), destination)
    one_sentence(error, (tmp_path / "gone").as_uri(), "wrong md5", f"put it at {destination}")
    assert os.listdir(destination.parent) == []


def test_a_connection_that_breaks_off_leaves_what_was_there(tmp_path, monkeypatch):
    destination = tmp_path / "file"
    destination.write_bytes(b"before")

    class Breaking:
        def __init__(self):
            self.headers = {"Content-Length": "10"}
            self.chunks = iter([b"half"])

        def __enter__(self):
            return self

        def __exit__(self, *_):
            return None

        def read(self, _):
            for chunk in self.chunks:
                return chunk
            raise ConnectionResetError(errno.ECONNRESET, "Connection reset by peer")

    monkeypatch.setattr(urllib.request, "urlopen", lambda *_, **__: Breaking())
    with pytest.raises(ErlibError) as error:
        files.download(["http://mirror/file"], md5(b"content"), destination)
    one_sentence(error, "http://mirror/file", "Connection reset")
    assert os.listdir(tmp_path) == ["file"]
    assert destination.read_bytes() == b"before"


def test_a_full_disk_is_not_blamed_on_the_network(tmp_path, monkeypatch):
    url, destination = published(tmp_path, b"content"), tmp_path / "to" / "file"
    full_disk(monkeypatch)
    with pytest.raises(ErlibError) as error:
        files.download([url], md5(b"content"), destination)
    one_sentence(error, str(destination), "disk is full", "free some space")
    assert os.listdir(destination.parent) == []


def test_replacing_keeps_the_old_file_when_the_block_fails(tmp_path):
    path = tmp_path / "file"
    path.write_text("before")

    def interrupted() -> None:
        with files.replacing(path) as part:
            part.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text() == "before"
    assert os.listdir(tmp_path) == ["file"]
    with files.replacing(path) as part:
        part.write_text("after")
    assert path.read_text() == "after"
    assert os.listdir(tmp_path) == ["file"]


def test_replacing_never_writes_into_the_old_file(tmp_path):
    path, reader = tmp_path / "file", tmp_path / "someone still reads it"
    path.write_text("before")
    os.link(path, reader)
    with files.replacing(path) as part:
        part.write_text("after")
    assert path.read_text() == "after"
    assert reader.read_text() == "before"


# --- unpacking


def archive_of(path: Path, **members: bytes) -> str:
    with tarfile.open(path, "w:gz") as tar:
        for name, content in members.items():
            entry = tarfile.TarInfo(name.replace("__", "/"))
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return md5(path.read_bytes())


def test_unpack_puts_the_folder_beside_the_archive(tmp_path):
    digest = archive_of(tmp_path / "a.tgz", set__one=b"1", set__two=b"2", readme=b"")
    assert files.unpack(tmp_path / "a.tgz", "set", digest) == tmp_path / "set"
    assert (tmp_path / "set" / "two").read_bytes() == b"2"
    assert sorted(os.listdir(tmp_path)) == ["a.tgz", "set"]


def test_unpack_leaves_a_folder_that_is_there(tmp_path):
    digest = archive_of(tmp_path / "a.tgz", set__one=b"1")
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "mine").touch()
    files.unpack(tmp_path / "a.tgz", "set", digest)
    assert os.listdir(tmp_path / "set") == ["mine"]


@pytest.mark.parametrize("damage", ["flip", "truncate", "empty folder", "escape"])
def test_a_bad_archive_leaves_nothing_behind(tmp_path, damage):
    path = tmp_path / "a.tgz"
    digest = archive_of(path, **{"..__escaped" if damage == "escape" else "other__one": os.urandom(20_000)})
    if damage == "flip":
        content = bytearray(path.read_bytes())
        content[100] ^= 1
        path.write_bytes(content)
    if damage == "truncate":  # by whoever made the checksum
        path.write_bytes(path.read_bytes()[:10_000])
        digest = md5(path.read_bytes())
    with pytest.raises(ErlibError) as error:
        files.unpack(path, "set", digest)
    one_sentence(error, str(path), "fetch")
    assert os.listdir(tmp_path) == ["a.tgz"]


def test_a_full_disk_while_unpacking_leaves_nothing_behind(tmp_path, monkeypatch):
    digest = archive_of(tmp_path / "a.tgz", set__one=b"1", set__two=b"2")

    def extractall(tar, folder, **_):
        (Path(folder) / "set").mkdir()
        (Path(folder) / "set" / "one").touch()
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tarfile.TarFile, "extractall", extractall)
    with pytest.raises(ErlibError) as error:
        files.unpack(tmp_path / "a.tgz", "set", digest)
    one_sentence(error, str(tmp_path / "set"), "disk is full")
    assert os.listdir(tmp_path) == ["a.tgz"]


# --- unpickling


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_unpickle_builds_arrays_and_containers(tmp_path, protocol):
    value = {"x": np.arange(6, dtype=np.uint8).reshape(2, 3), "y": [1, 2], "z": {"n01": (0, 1.5, b"b", None)}}
    content = pickle.dumps(value, protocol)
    (tmp_path / "p").write_bytes(content)
    loaded = files.unpickle(tmp_path / "p", md5(content))
    assert np.array_equal(loaded.pop("x"), value.pop("x"))
    assert loaded == value


class Hostile:
    def __reduce__(self):
        return os.mkdir, ("hostile",)


def test_unpickle_runs_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for value in (Hostile(), [np.array([Hostile()], dtype=object)], Path("x")):
        content = pickle.dumps(value)
        Path("p").write_bytes(content)
        with pytest.raises(ErlibError) as error:
            files.unpickle(Path("p"), md5(content))
        one_sentence(error, "it asks for")
    assert os.listdir() == ["p"]


@pytest.mark.parametrize("content", [b"", b"garbage", pickle.dumps([1, 2])[:-2]])
def test_a_verified_file_that_is_no_pickle_is_named(tmp_path, content):
    (tmp_path / "p").write_bytes(content)
    with pytest.raises(ErlibError) as error:
        files.unpickle(tmp_path / "p", md5(content))
    one_sentence(error, str(tmp_path / "p"), "fetch")


# --- decoding


@pytest.fixture
def pictures(tmp_path) -> list[Path]:
    folder = tmp_path / "pictures"
    folder.mkdir()
    for i, mode in enumerate(("RGB", "L", "P")):
        Image.new("RGB", (9, 5), (80 * i, 30, 200)).convert(mode).save(folder / f"{i}.png")
    Image.new("RGB", (4, 4), (1, 2, 3)).save(folder / "3.png")
    return sorted(folder.iterdir())


def test_decoded_is_rgb_of_one_size(pictures, cache):
    x = files.decoded("set", pictures, 4)
    assert x.shape == (4, 4, 4, 3)
    assert x.dtype == np.uint8
    assert (x[0] == (0, 30, 200)).all()
    assert (x[3] == (1, 2, 3)).all()
    assert (x[1] == x[1, 0, 0, 0]).all()
    assert sorted(path.suffix for path in (cache / "decoded").iterdir()) == [".npy", ".sha256"]


def test_decoding_happens_once_and_a_write_stays_in_memory(pictures, monkeypatch):
    first = files.decoded("set", pictures, 4).copy()
    monkeypatch.setattr(files, "_pixels", lambda *_: pytest.fail("decoded again"))
    again = files.decoded("set", pictures, 4)
    assert np.array_equal(first, again)
    again[:] = 0
    assert np.array_equal(first, files.decoded("set", pictures, 4))


@pytest.mark.parametrize("damage", ["flip", "truncate", "empty", "no checksum", "odd checksum"])
def test_a_damaged_cache_is_decoded_again(pictures, cache, damage):
    expected = files.decoded("set", pictures, 4).copy()
    (file,) = (cache / "decoded").glob("*.npy")
    content = file.read_bytes()
    beside = Path(f"{file}.sha256")
    if damage == "flip":
        file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    elif damage == "no checksum":
        beside.unlink()
    elif damage == "odd checksum":
        beside.write_bytes(b"\xff\n")
    else:
        file.write_bytes(content[:-1] if damage == "truncate" else b"")
    assert np.array_equal(files.decoded("set", pictures, 4), expected)
    assert file.read_bytes() == content
    assert len(list(file.parent.iterdir())) == 2
    assert files.stored_digest(file) == hashlib.sha256(content).hexdigest()


def test_other_images_are_decoded_anew(pictures):
    assert (files.decoded("set", pictures, 4)[3] == (1, 2, 3)).all()
    Image.effect_noise((64, 64), 90).save(pictures[3])
    assert not (files.decoded("set", pictures, 4)[3] == (1, 2, 3)).all()
    assert (files.decoded("set", pictures[:3][::-1], 4)[2] == (0, 30, 200)).all()
    assert files.decoded("set", pictures, 6).shape == (4, 6, 6, 3)


@pytest.mark.parametrize("damage", ["garbage", "truncated", "gone"])
def test_an_image_that_cannot_be_decoded_is_named(pictures, cache, damage):
    Image.effect_noise((64, 64), 90).save(pictures[1])
    content = pictures[1].read_bytes()
    pictures[1].unlink()
    if damage != "gone":
        pictures[1].write_bytes(b"garbage" if damage == "garbage" else content[: len(content) // 2])
    with pytest.raises(ErlibError) as error:
        files.decoded("set", pictures, 4)
    one_sentence(error, str(pictures[1]))
    assert not (cache / "decoded").exists() or not any((cache / "decoded").iterdir())


def test_a_full_disk_while_decoding_leaves_nothing_behind(pictures, cache, monkeypatch):
    full_disk(monkeypatch)
    with pytest.raises(ErlibError) as error:
        files.decoded("set", pictures, 4)
    one_sentence(error, str(cache / "decoded"), "disk is full", "XDG_CACHE_HOME")
    assert not any((cache / "decoded").iterdir())


def test_a_cache_that_cannot_be_made_is_named(pictures, tmp_path):
    (tmp_path / "cache").write_text("a file where a folder should be")
    with pytest.raises(ErlibError) as error:
        files.decoded("set", pictures, 4)
    one_sentence(error, "cannot be written", "writable")
